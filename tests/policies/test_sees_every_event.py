"""A policy that sees every event is called after each, on both engines, also with nothing pending or no room."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.witness import Witness
from vinesim.engine.compiled import CompiledRun
from vinesim.engine.engine_choice import code_of
from vinesim.engine.reference_run import ReferenceRun
from vinesim.state.build import build_model


def one_unit(arrivals):
    n = len(arrivals)
    work = vs.Workload(np.full(n, 2), np.arange(n + 1), arrivals, np.full(n, 3e6), *np.zeros((3, n)), [-1] * n)
    return vs.Scenario(vs.Datacenter([0], [0], [0]), work, policy=Witness())


def compiled(scenario, model, policy):
    return CompiledRun(scenario, model, policy, policy, code_of(scenario, model, policy, policy), 0)


def of(engine, scenario):
    return engine(scenario, build_model(scenario), scenario.policy)


def reference(scenario, model, policy):
    return ReferenceRun(scenario, model, policy, policy, 0)


@pytest.mark.parametrize("engine", [compiled, reference])
@pytest.mark.parametrize("arrivals", [np.arange(6) * 1e6, np.arange(6.0), np.zeros(6)], ids=["idle", "queue", "burst"])
def test_every_finish_is_seen(engine, arrivals):
    run = of(engine, one_unit(arrivals))
    run.advance(np.inf, np.inf, 1000)
    assert run.n_done == 6
    assert run.scratch.finished[0] == 6
    assert run.scratch.asked[0] >= run.n_events == 12


class Blind(Witness):
    sees_every_event = False


def test_without_the_promise_some_are_not():
    run = of(compiled, replace(one_unit(np.arange(6) * 1e6), policy=Blind()))
    run.advance(np.inf, np.inf, 1000)
    assert run.scratch.finished[0] == 0  # nothing is pending when a task ends
