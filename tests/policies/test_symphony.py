"""Symphony at the edges of its rule, by hand: one application on one unit, an operation takes a microsecond."""

import math

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.application import Application


def begins(options, arrival_us, sizes):
    """When requests start that are due 20 us after they arrive, two of which may start together."""
    n = len(sizes)
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        arrival_us,
        sizes,
        *np.zeros((3, n)),
        np.full(n, -1),
        application=np.zeros(n),
        task_types=(vs.TaskType("A"),),
        application_names=("A",),
    )
    case = vs.Scenario(
        vs.Datacenter([0], [0], [0], (vs.ProcessorType("GPU"),)),
        work,
        policy="symphony",
        options=options,
        affinity=np.ones((1, 1)),
        applications=(Application("A", 20.0, False, 1.0, 2),),
    )
    return vs.simulate(case, engine="reference").tasks["init_us"].tolist()


def test_requests_that_are_expected_to_end_together_at_the_deadline_are_not_too_many():
    """Sizes of 10 and 20 have taught that time is size. At 30 two of 10 are there, both due at 50."""
    assert begins({"trim": "yes"}, [0.0, 10.0, 30.0, 30.0], [10.0, 20.0, 10.0, 10.0]) == [0, 10, 30, 30]
    assert begins({"trim": "yes"}, [0.0, 10.0, 30.0, 30.0], [10.0, 20.0, 10.0, 10.5]) == [0, 10, 30, 40]


@pytest.mark.parametrize(("deadline_us", "unit"), [(50.0, 1), (49.9, 0)])
def test_a_request_that_is_expected_to_end_at_its_deadline_fits(deadline_us, unit):
    """The first two have taught that P takes 10 us and Q 20. The third, at 30, fits both types, and Q most closely."""
    work = vs.Workload(
        [0] * 3, range(4), [0, 0, 30], [10.0] * 3, *np.zeros((3, 3)), [-1] * 3, application=[0] * 3,
        deadline_us=[99.0, 99.0, deadline_us], task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter.of([("P", 0, 0), ("Q", 0, 1)], (vs.ProcessorType("P"), vs.ProcessorType("Q")))
    case = vs.Scenario(center, work, policy="symphony", options={"resource": "fit"}, affinity=[[1.0], [0.5]])
    assert vs.simulate(case, engine="reference").tasks["unit"].tolist() == [0, 1, unit]


@pytest.mark.parametrize("policy", ["symphony", "symphony_recommended"])
@pytest.mark.parametrize("second", [20.0, 10.0])
def test_a_request_without_end_or_deadline_lets_those_go_first_that_have_a_deadline(policy, second):
    """Two requests have taught that time is size, or that it does not depend on it; then one without end waits too, and
    ends at its limit, which teaches nothing."""
    work = vs.Workload(
        [0] * 5, range(6), [0, 0, 30, 30, 50], [10.0, second, math.inf, 5.0, 7.0], *np.zeros((3, 5)), [-1] * 5,
        application=[0, 0, 0, 1, 0], deadline_us=[40.0, 40.0, math.inf, 99.0, 99.0], task_types=(vs.TaskType("T"),),
        limit_us=[math.inf, math.inf, 10.0, math.inf, math.inf],
    )  # fmt: skip
    center = vs.Datacenter.of([("P", 0, 0)], (vs.ProcessorType("P"),))
    case = vs.Scenario(center, work, policy=policy, affinity=[[1.0]])
    assert vs.simulate(case, engine="reference").tasks["init_us"].tolist() == [0, 10, 35, 30, 50]
