"""EDF that consolidates: whether requests overtake others of their application."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.application import Application

MS = 1e3


def run(policy, consolidate, requests, limits=(2, 2)):
    """Starts and finishes, us, of requests (application, arrival ms, size) on one GPU that does 1 size a ms, each
    start 1 ms more; each is due a ms after its arrival for each of its size, those of the first application 10 ms."""
    applications = tuple(
        Application(f"A{a}", relative_deadline_us=due * MS, per_size=True, average_load=1.0, max_consolidated=limit)
        for a, (due, limit) in enumerate(zip((10.0, 1.0), limits, strict=True))
    )
    code, arrival, size = (np.array(column, float) for column in zip(*requests, strict=True))
    n = len(requests)
    work = vs.Workload(
        job_task_type=code,
        job_first=np.arange(n + 1),
        arrival_us=arrival * MS,
        operations=size,
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(n)),
        preferred_type=np.full(n, -1),
        demand=np.ones(n),
        application=code,
        task_types=(vs.TaskType("A0"), vs.TaskType("A1")),
        application_names=("A0", "A1"),
    )
    case = vs.Scenario(
        vs.Datacenter([0], [0], [0], (vs.ProcessorType("GPU"),)),
        work,
        policy=policy,
        options={"consolidate": consolidate},
        affinity=np.full((1, 2), 1 / MS),
        overhead_us=np.full((1, 2), MS),
        applications=applications,
    )
    result = vs.simulate(case, engine="reference")
    return (result.tasks["init_us"] / MS).tolist(), sorted(result.outcome.followers.tolist())


# the GPU is busy until 9; then wait: a large request (due at 81), a small one of the same application (due at 22)
WAITING = [(0, 0, 8), (0, 1, 8), (0, 2, 2), (0, 3, 3)]


@pytest.mark.parametrize("policy", ["edf", "edf_drop", "least_laxity"])
def test_consolidation_keeps_the_order_within_an_application(policy):
    assert run(policy, "yes", WAITING) == ([0, 9, 9, 20], [2])


@pytest.mark.parametrize("policy", ["edf", "least_laxity"])
def test_with_overtaking_the_nearest_deadline_comes_first_and_goes_alone(policy):
    assert run(policy, "overtaking", WAITING) == ([0, 16, 9, 12], [])
    assert run(policy, "no", WAITING) == ([0, 16, 9, 12], [])


def test_the_oldest_request_stands_for_its_application():
    """Application 0 waits since 1 with a request that is due at 81, and has one that is due at 22; application 1 has
    one that is due at 42. So application 1 comes first, though a request of the other one is due before."""
    requests = [*WAITING[:3], (1, 2, 40)]
    begin, together = run("edf", "yes", requests)
    assert begin == [0, 50, 50, 9]
    assert together == [2]
    assert run("edf", "overtaking", requests)[0] == [0, 53, 9, 12]


def test_requests_of_one_deadline_go_by_their_arrival():
    assert run("edf", "yes", [(0, 0, 8), (0, 1, 4), (1, 1, 40)]) == ([0, 9, 14], [])
    assert run("edf", "yes", [(0, 0, 8), (1, 1, 40), (0, 1, 4)]) == ([0, 9, 50], [])
