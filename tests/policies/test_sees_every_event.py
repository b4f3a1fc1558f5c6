"""A policy that sees every event is asked after each, on both engines, also with nothing pending or no room."""

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.witness import Witness
from vinesim.engine.binding import bound_in_slot
from vinesim.engine.compiled import CompiledRun
from vinesim.engine.reference_run import ReferenceRun
from vinesim.state.build import build_model


def one_unit(arrivals):
    n = len(arrivals)
    work = vs.Workload(np.full(n, 2), np.arange(n + 1), arrivals, np.full(n, 3e6), *np.zeros((3, n)), [-1] * n)
    return vs.Scenario(vs.Datacenter([0], [0], [0]), work, policy=Witness())


def compiled(*arguments):
    """The loop for all policies: another one would be compiled for each."""
    return CompiledRun(*arguments, bind=bound_in_slot)


@pytest.mark.parametrize("engine", [compiled, ReferenceRun])
@pytest.mark.parametrize("arrivals", [np.arange(6) * 1e6, np.arange(6.0), np.zeros(6)], ids=["idle", "queue", "burst"])
def test_every_finish_is_seen(engine, arrivals):
    run = engine(build_model(one_unit(arrivals)), Witness(), 0, False)
    run.advance(np.inf, np.inf, 1000)
    assert run.n_done == 6
    assert run.scratch.finished[0] == 6
    assert run.scratch.asked[0] >= run.n_events == 12


class Blind(Witness):
    sees_every_event = False


def test_without_the_promise_some_are_not():
    run = compiled(build_model(one_unit(np.arange(6) * 1e6)), Blind(), 0, False)
    run.advance(np.inf, np.inf, 1000)
    assert run.scratch.finished[0] == 0  # nothing is pending when a task ends
