"""RBSS: the policies do what their slow twins do, and what their rules imply."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.gangs import with_gangs
from tests.policies.kinds.resource_based_scan import TWINS
from tests.strategies import Limits, SeededDice, all_options, seeded_scenario, with_policy
from vinesim.model.workload import NO_GANG
from vinesim.policies.registry import policies

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
NAMES = pytest.mark.parametrize("name", TWINS)
ALONE = Limits(demands="none", sharing=False, horizons=False)
N_SCENARIOS = 20


def tables(scenario):
    """The result's columns, as bytes."""
    result = vs.simulate(scenario, engine="reference")
    return result.exit_reason, {name: column.tobytes() for name, column in result.tasks.items()}


@NAMES
def test_the_heaps_choose_as_a_plain_scan_does(name):
    choices = all_options(policies()[name])
    for seed in range(N_SCENARIOS):
        options = choices[seed * 7919 % len(choices)]
        case = seeded_scenario(seed, name, options)
        assert tables(case) == tables(with_policy(case, TWINS[name], options)), (seed, options)


def with_work(case, **columns):
    return replace(case, workload=replace(case.workload, **columns))


def crowded(seed, name, options=None, requests=True):
    """Deep queues on CPUs and accelerators that differ: the first type is a CPU, the others have SMs."""
    case = seeded_scenario(seed, name, options, Limits(units=8, jobs=25, demands="none", sharing=False, horizons=False))
    random = np.random.default_rng(seed)
    types = tuple(
        replace(p, attributes={"cores": 4.0} if i == 0 else {"sms": float(random.integers(1, 16))})
        for i, p in enumerate(case.datacenter.processor_types)
    )
    work, n, center = case.workload, case.workload.n_tasks, case.datacenter
    work = replace(
        work,
        arrival_us=np.sort(random.integers(0, 8, work.n_jobs)) * 1.0,
        times_us=random.integers(1, 12, (n, len(types))) * [2.0, *[1.0] * (len(types) - 1)],
        requests={"cores": random.integers(1, 6, n), "sms": random.integers(1, 21, n)} if requests else None,
    )
    return replace(
        case,
        datacenter=replace(center, processor_types=types, unit_type=np.arange(center.n_units) % len(types)),
        workload=work,
        affinity=np.where(random.random(case.affinity.shape) < 0.9, 1.0, 0.5),
    )


@NAMES
def test_the_heaps_choose_as_a_plain_scan_does_with_deep_queues(name):
    choices = all_options(policies()[name])
    for seed in range(N_SCENARIOS):
        options = choices[seed * 7919 % len(choices)]
        case = crowded(seed, name, options)
        assert tables(case) == tables(with_policy(case, TWINS[name], options)), (seed, options)


@NAMES
def test_the_heaps_choose_gangs_as_a_plain_scan_does(name):
    """Tasks of gangs take whole units here, as the plain scan finds their places by counting free ones."""
    choices, n_gangs = all_options(policies()[name]), 0
    for seed in range(N_SCENARIOS // 2):
        options = choices[seed * 7919 % len(choices)]
        case = crowded(seed, name, options)
        types = tuple(replace(p, capacity=1.0, parallelism=None) for p in case.datacenter.processor_types)
        case = replace(case, datacenter=replace(case.datacenter, processor_types=types))
        case = with_gangs(case, SeededDice(seed))
        n_gangs += 0 if case.workload.gang_within is None else int((case.workload.gang_within != NO_GANG).sum())
        assert tables(case) == tables(with_policy(case, TWINS[name], options)), (seed, options)
    assert n_gangs > N_SCENARIOS / 2


@NAMES
@pytest.mark.parametrize("fastest", [0, 1])
def test_a_task_that_is_too_large_for_its_fastest_kind_is_for_the_other(name, fastest):
    case = cluster(4, [7], [(0, 3, 3, 0, 0), (1, 3, 3, 0, 0)], name)
    sizes = [1.0 if i == fastest else 4.0 for i in range(2)]
    types = tuple(replace(p, capacity=size) for p, size in zip(case.datacenter.processor_types, sizes, strict=True))
    times = np.where(np.arange(2) == fastest, 1.0, 3.0) * np.ones((2, 1))
    case = replace(case, datacenter=replace(case.datacenter, processor_types=types))
    found = vs.simulate(with_work(case, times_us=times, demand=[2.0, 1.0]), engine="reference")
    assert found.tasks["unit"].tolist() == [1 - fastest, fastest]


def test_without_aging_and_with_requests_that_fit_avoidance_is_longest_first():
    n_differing = 0
    for seed in range(N_SCENARIOS):
        case = seeded_scenario(seed, "rb_ljf", {}, ALONE)
        at_once = with_work(case, arrival_us=np.zeros(case.workload.n_jobs), requests=None)
        longest = tables(at_once)
        assert tables(with_policy(at_once, "rb_ljf_ba")) == longest, seed
        n_differing += tables(with_policy(at_once, "rb_fifo")) != longest
    assert n_differing > 5  # the order matters in these scenarios


def test_without_cpu_versions_nothing_moves_to_a_cpu():
    n_moved = 0
    for seed in range(N_SCENARIOS):
        case = crowded(seed, "rb_ljf_ocl")
        types = case.datacenter.processor_types
        deployed = np.unique(case.datacenter.unit_type)
        accelerators = [p for p in deployed if not types[p].is_cpu]
        n_moved += tables(case) != tables(with_policy(case, "rb_ljf_ba"))
        if not accelerators:
            continue
        speeds = case.affinity.copy()
        speeds[[p for p in range(len(types)) if types[p].is_cpu]] = 0.0
        own = replace(case, affinity=speeds)
        assert tables(own) == tables(with_policy(own, "rb_ljf_ba")), seed
    assert n_moved > 5


@NAMES
def test_no_device_runs_two_jobs_and_none_starts_before_it_is_submitted(name):
    for seed in range(N_SCENARIOS):
        done = vs.simulate(seeded_scenario(seed, name, {}, Limits(slowdown=False, horizons=False)), engine="reference")
        tasks = done.tasks
        started = tasks["unit"] >= 0
        assert (tasks["init_us"][started] >= tasks["arrival_us"][started]).all()
        order = np.lexsort((tasks["finish_us"], tasks["init_us"], tasks["unit"]))
        order = order[tasks["unit"][order] >= 0]
        same = tasks["unit"][order][1:] == tasks["unit"][order][:-1]
        assert (tasks["init_us"][order][1:][same] >= tasks["finish_us"][order][:-1][same]).all()


def cluster(cores, sms, jobs, policy, **options):
    """One node with a CPU of ``cores`` cores and GPUs of ``sms`` SMs; jobs are (arrival, cpu time, gpu time, cores,
    SMs), no time meaning that it cannot run there."""
    cpu = [vs.ProcessorType("HOST", attributes={"cores": cores})]
    gpus = [vs.ProcessorType(f"GPU{i}", attributes={"sms": n}) for i, n in enumerate(sms)]
    center = vs.Datacenter(np.arange(1 + len(sms)), np.zeros(1 + len(sms)), np.zeros(1 + len(sms)), (*cpu, *gpus))
    n = len(jobs)
    times = np.array([[job[1], *[job[2]] * len(sms)] for job in jobs], np.float64)
    work = vs.Workload(
        job_task_type=np.arange(n),
        job_first=np.arange(n + 1),
        arrival_us=np.array([job[0] for job in jobs]),
        operations=np.ones(n),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        times_us=times,
        requests={"cores": [job[3] for job in jobs], "sms": [job[4] for job in jobs]},
        task_types=tuple(vs.TaskType(f"J{i}") for i in range(n)),
    )
    affinity = np.isfinite(times).astype(float).T
    return vs.Scenario(center, work, policy=policy, options=options, affinity=affinity)


def starts(case):
    """(unit, start) of each job, the same on both engines."""
    found = [vs.simulate(case, engine=engine).tasks for engine in ("compiled", "reference")]
    assert all(np.array_equal(found[0][name], found[1][name], equal_nan=True) for name in found[0])
    return list(zip(found[0]["unit"].tolist(), found[0]["init_us"].tolist(), strict=True))


NO = np.nan


def test_the_queues_have_their_orders():
    jobs = [(0, 4, NO, 1, 0), (1, 2, NO, 1, 0), (2, 9, NO, 1, 0), (3, 3, NO, 1, 0)]
    order = {name: np.argsort([at for _, at in starts(cluster(4, [], jobs, name))]).tolist() for name in TWINS}
    assert order["rb_fifo"] == [0, 1, 2, 3]
    assert order["rb_sjf"] == [0, 1, 3, 2]
    assert order["rb_ljf"] == [0, 2, 3, 1]
    assert order["rb_ljf_ba"] == [0, 2, 1, 3] or order["rb_ljf_ba"] == [0, 2, 3, 1]


def test_the_accelerator_with_more_multiprocessors_is_tried_first():
    jobs = [(0, NO, 5, 0, 7), (0, NO, 4, 0, 7)]
    assert starts(cluster(4, [7, 15], jobs, "rb_ljf")) == [(2, 0.0), (1, 0.0)]
    assert starts(cluster(4, [15, 7], jobs, "rb_ljf")) == [(1, 0.0), (2, 0.0)]


def test_requests_are_halved_with_every_call_that_gives_a_node_nothing():
    far = [(0, 1, NO, 0, 0), (10, NO, 5, 0, 28)]  # calls at 0, 1 and 10: passes 1, 2, 3 when the job comes
    assert starts(cluster(4, [7], far, "rb_ljf_ba"))[1] == (1, 10.0)
    strict = vs.simulate(cluster(4, [7], far, "rb_ljf"))
    assert strict.exit_reason == "STALLED"
    busy = [(0, NO, 10, 0, 1), (5, NO, 5, 0, 28)]  # the only free device from 10 on: passes begin again
    assert starts(cluster(4, [7], busy, "rb_ljf_ba"))[1][1] == 10.0


def test_a_job_moves_to_the_cpu_only_if_it_is_quick_enough_there():
    slow = [(0, NO, 10, 0, 1), (1, 20, 8, 1, 1), (2, 20, 8, 1, 1)]
    assert [unit for unit, _ in starts(cluster(4, [7], slow, "rb_ljf_ocl"))] == [1, 1, 1]
    quick = [(0, NO, 10, 0, 1), (1, 13, 12, 1, 1), (1, 9, 8, 1, 1), (1, 8, 7, 1, 1)]  # 12 us is the limit
    tail = starts(cluster(4, [7], quick, "rb_ljf_ocl", scan="tail"))
    head = starts(cluster(4, [7], quick, "rb_ljf_ocl", scan="head"))
    assert [job for job, start in enumerate(tail) if start == (0, 1.0)] == [3]
    assert [job for job, start in enumerate(head) if start == (0, 1.0)] == [2]


def test_periodic_calls_start_jobs_at_the_ends_of_periods():
    jobs = [(0, 4, NO, 1, 0), (1, 2, NO, 1, 0)]
    assert starts(cluster(4, [], jobs, "rb_fifo", polling_us=3.0)) == [(0, 0.0), (0, 6.0)]


def test_learned_estimates_come_from_the_jobs_that_ended():
    case = cluster(4, [], [(0, 4, NO, 1, 0), (5, 9, NO, 1, 0), (6, 4, NO, 1, 0), (7, 3, NO, 1, 0)], "rb_sjf")
    work = replace(case.workload, job_task_type=[0, 1, 0, 1], task_types=case.workload.task_types[:2])
    reported = replace(
        case,
        workload=replace(work, estimate_us=np.array([1.0, 1.0, 9.0, 5.0])),
        affinity=case.affinity[:, :2],
    )
    assert starts(reported)[2:] == [(0, 17.0), (0, 14.0)]
    assert starts(replace(reported, options={"estimate": "learned"}))[2:] == [(0, 14.0), (0, 18.0)]
