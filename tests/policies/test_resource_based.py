"""The resource-based policies by hand: what a node is optimal for, what counts as a free pass, when calls follow."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.resource_based_scan import TWINS
from tests.properties.test_resource_based import NO, cluster
from tests.strategies import with_policy

NAMES = pytest.mark.parametrize("name", TWINS)


def run(case):
    """(unit, start) of each job, as the policy and its slow twin say."""
    result = vs.simulate(case, engine="reference")
    twin = vs.simulate(with_policy(case, TWINS[case.policy], case.options), engine="reference")
    for column in ("unit", "init_us", "finish_us"):
        assert result.tasks[column].tobytes() == twin.tasks[column].tobytes()
    return list(zip(result.tasks["unit"].tolist(), result.tasks["init_us"].tolist(), strict=True))


def nodes(kinds, jobs, policy, **options):
    """A node for each entry of ``kinds``, with a device of each of its types; jobs are (arrival, {type: time}, SMs)."""
    case = cluster(4, [7, 7], [(arrival, 1, 1, 0, sms) for arrival, _, sms in jobs], policy, **options)
    names = sorted({kind for node in kinds for kind in node})
    types = tuple(vs.ProcessorType(n, attributes={"cores": 4} if n.startswith("CPU") else {"sms": 7}) for n in names)
    units = [(names.index(kind), at) for at, node in enumerate(kinds) for kind in node]
    times = np.array([[time.get(name, NO) for name in names] for _, time, _ in jobs], float)
    center = vs.Datacenter(
        np.array([u for u, _ in units]), np.zeros(len(units)), np.array([v for _, v in units]), types
    )
    work = replace(case.workload, times_us=times)
    return replace(case, datacenter=center, workload=work, affinity=np.isfinite(times).astype(float).T)


BUSY = (0, {"GPU": 100.0}, 1)
SLOW_ON_CPUS = (1, {"CPU_A": 300.0, "CPU_B": 300.0, "GPU": 99.0}, 1)  # the first accelerator job: 99 us are the limit


@pytest.mark.parametrize("scan", ["tail", "head"])
def test_a_job_moves_to_the_cpu_of_a_node_only_if_that_is_optimal_for_it(scan):
    """Two nodes whose GPUs are busy; a job takes 40 us on the CPU of the first node, on the other one more or less."""

    def moved(other_us, rule):
        job = (1, {"CPU_A": 40.0, "CPU_B": other_us, "GPU": 5.0}, 1)
        jobs = [BUSY, BUSY, SLOW_ON_CPUS, job]
        return run(nodes([("CPU_A", "GPU"), ("CPU_B", "GPU")], jobs, "rb_ljf_ocl", node_rule=rule, scan=scan))[3]

    assert moved(10.0, "fit") == (0, 1.0)
    assert moved(10.0, "fastest") == (2, 1.0)  # units: CPU_A, GPU, CPU_B, GPU
    assert moved(60.0, "fastest") == (0, 1.0)


def test_a_faster_cpu_that_is_busy_does_not_count():
    job = (1, {"CPU_A": 40.0, "CPU_B": 10.0, "GPU": 5.0}, 1)
    jobs = [BUSY, BUSY, (0, {"CPU_B": 100.0}, 1), SLOW_ON_CPUS, job]
    assert run(nodes([("CPU_A", "GPU"), ("CPU_B", "GPU")], jobs, "rb_ljf_ocl", node_rule="fastest"))[4] == (0, 1.0)


@pytest.mark.parametrize("name", ["rb_ljf_ba", "rb_ljf_ocl"])
def test_a_call_that_begins_with_a_job_counts_for_all_nodes_that_get_none(name):
    """Two nodes with a GPU of 7 SMs. At 0 the first one takes the only job, until 5; at 10 one comes that asks 28 SMs,
    a quarter of which fits: after two passes. With ``count_empty`` no the second node has them: that of the call at 0,
    when a job was there as the call began, and that of the call at 10."""
    jobs = [(0, {"GPU": 5.0}, 1), (10, {"GPU": 5.0}, 28)]

    def second(**options):
        return run(nodes([("GPU",), ("GPU",)], jobs, name, **options))[1]

    assert second(count_empty=False) == (1, 10.0)
    assert second(count_empty=True) == (0, 10.0)  # the call at 5, with empty queues, was the first one's first pass


@NAMES
@pytest.mark.parametrize("node_rule", ["fit", "fastest"])
def test_periodic_calls_wake_up_only_where_something_can_change(name, node_rule):
    """Two jobs wait for 10^12 us behind another one, and then for the end of a period of 0.75 us."""
    jobs = [(0, 1e12, NO, 1, 0), (3, 5, NO, 1, 0), (7e11, 5, NO, 1, 0)]
    reported = vs.simulate(cluster(4, [], jobs, name, polling_us=0.75, node_rule=node_rule), engine="reference")
    assert reported.tasks["init_us"].tolist() == [0.0, 1e12 + 0.5, 1e12 + 5.75]
    assert reported.provenance["events"] < 5000


@NAMES
def test_a_period_that_the_clock_cannot_tell_apart_is_no_period(name):
    """From 2^60 on the clock moves by 256 us: calls follow at once, and the run ends."""
    far = 2.0**60
    jobs = [(far, 4096, NO, 1, 0), (far, 4096, NO, 1, 0)]
    found = vs.simulate(cluster(4, [], jobs, name, polling_us=1.0), engine="reference")
    assert np.sort(found.tasks["init_us"]).tolist() == [far, far + 4096]


@pytest.mark.parametrize("name", ["rb_ljf_ba", "rb_ljf_ocl"])
def test_free_passes_begin_again_where_a_job_that_is_withdrawn_filled_the_node(name):
    """A GPU of 7 SMs is busy until its job is withdrawn at 10. The others ask for 56, an eighth of which fits: after
    three passes, the calls at 10 and 50, and one that follows at once, as nothing is to come. Those before do not
    count."""
    jobs = [BUSY, *((at, {"GPU": 5.0}, 56) for at in (1, 2, 3, 4, 50))]
    case = nodes([("GPU",)], jobs, name)
    withdrawn = replace(case, workload=replace(case.workload, withdraw_us=[10.0] + [np.inf] * 5))
    assert [start for _, start in run(case)] == [0.0, 100.0, 105.0, 110.0, 115.0, 120.0]
    assert [start for _, start in run(withdrawn)] == [0.0, 50.0, 55.0, 60.0, 65.0, 70.0]
