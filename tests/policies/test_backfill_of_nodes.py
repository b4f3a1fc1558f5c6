"""Backfilling of tasks that hold several units, and of gangs: against plain lists and by hand."""

from dataclasses import replace

import numpy as np
import pytest

import tests.backfill_plainly as plain
import vinesim as vs
from vinesim.engine.many import fits_blocks
from vinesim.model.workload import ANYWHERE, NODE
from vinesim.policies.registry import resolve

RULES = {"easy_backfill": plain.easy, "conservative_backfill": plain.conservative}
BOTH = pytest.mark.parametrize("name", RULES)


def scenario(policy, jobs, n_nodes, gpus, cores, memory):
    """Nodes of GPUs, a CPU of some cores and a memory; the tasks of a job start together."""
    types = [vs.ProcessorType("GPU"), vs.ProcessorType("CPU", capacity=cores), vs.ProcessorType("MEM", capacity=memory)]
    of_node = [*["GPU"] * gpus, "CPU", "MEM"]
    center = vs.Datacenter.of([(kind, 0, node) for node in range(n_nodes) for kind in of_node], types)
    first = np.concatenate([[0], np.cumsum([job.n_tasks for job in jobs])])

    def column(name, dtype=float):
        return np.repeat(np.array([getattr(job, name) for job in jobs], dtype), np.diff(first))

    n, withdraw = int(first[-1]), np.array([job.withdrawn for job in jobs], float)
    work = vs.Workload(
        np.zeros(len(jobs), int),
        first,
        [float(job.arrival) for job in jobs],
        column("run"),
        *np.zeros((3, n)),
        np.full(n, -1),
        estimate_us=column("estimate"),
        units=column("gpus", int),
        companions={"CPU": column("cores"), "MEM": column("memory")},
        lead_types=np.zeros(n, int),
        lead_sets=(("GPU",),),
        withdraw_us=withdraw if np.isfinite(withdraw).any() else None,
        gang_within=[NODE if job.within_node else ANYWHERE for job in jobs],
        task_types=(vs.TaskType("T"),),
    )
    return vs.Scenario(center, work, policy, affinity=[[1.0], [0.0], [0.0]], network=vs.Network(None, None, None, 0.0))


def places(case, engine="reference"):
    """Of each job, when it starts and the GPUs of each of its tasks."""
    done = vs.simulate(case, engine=engine)
    assert done.exit_reason == "ALL_DONE"
    rows = done.segments if done.segments is not None else done.tasks
    kinds = case.datacenter.unit_type
    n_at_node = np.bincount(case.datacenter.shelf)[0]
    gpus: dict[int, list[int]] = {}
    for task, unit in zip(rows["task"].tolist(), rows["unit"].tolist(), strict=True):
        if kinds[unit] == 0:
            gpus.setdefault(task, []).append(unit)
    first = case.workload.job_first
    return [
        (
            float(done.tasks["init_us"][first[job]]),
            [
                (int(gpus[t][0] // n_at_node), tuple(sorted(int(u % n_at_node) for u in gpus[t])))
                for t in range(*first[job : job + 2])
            ],
        )
        for job in range(case.workload.n_jobs)
    ]


def job(n_tasks, gpus, run, estimate=None, arrival=0, cores=0, memory=0, **more):
    return plain.Job(arrival, n_tasks, gpus, cores, memory, run, run if estimate is None else estimate, **more)


def random_jobs(seed, wrong=(1.0,)):
    """Jobs that the empty nodes can hold, and the nodes: number, GPUs, cores, memory."""
    random = np.random.default_rng(seed)
    nodes = (int(random.integers(1, 5)), int(random.integers(1, 5)), int(random.integers(1, 9)), 8)
    jobs = []
    arrival = np.sort(random.integers(0, random.integers(2, 60), random.integers(2, 31)))
    for at in arrival.tolist():
        gpus = int(random.integers(1, nodes[1] + 1))
        cores, memory = int(random.integers(0, nodes[2] + 1)), int(random.choice([0, 1, 3, 8]))
        one = plain.Job(at, 1, gpus, cores, memory, int(random.integers(1, 20)), 1)
        within_node = bool(random.integers(0, 2))
        room = plain.Cluster(*nodes).free([])[0].takes(one)
        one.n_tasks = int(random.integers(1, room * (1 if within_node else nodes[0]) + 1))
        one.within_node = within_node
        one.estimate = max(1, int(one.run * random.choice(wrong)))
        jobs.append(one)
    return jobs, nodes


def check_against_plain_lists(name, seed, wrong):
    """Returns whether jobs overtake."""
    jobs, nodes = random_jobs(seed, wrong)
    found = places(scenario(name, jobs, *nodes))
    plain.run(jobs, plain.Cluster(*nodes), {**RULES, "fcfs": plain.fcfs}[name])
    assert found == [(one.start, one.places) for one in jobs], seed
    if wrong == (1.0,):
        assert all(one.start <= one.promised for one in jobs if one.promised is not None), seed
    return [one.start for one in jobs] != sorted(one.start for one in jobs)


@pytest.mark.parametrize("name", [*RULES, "fcfs"])
@pytest.mark.parametrize("wrong", [(1.0,), (1.0, 3.0), (0.3, 1.0, 3.0)])
def test_it_schedules_as_plain_lists_do(name, wrong):
    n_moved = sum(check_against_plain_lists(name, seed, wrong) for seed in range(8))
    assert n_moved > 2 or name == "fcfs"


@BOTH
def test_a_job_is_expected_to_end_at_its_limit_at_the_latest(name):
    """As if the job, and its estimate, were as long as the limit."""
    n_other = 0
    for seed in range(16):
        jobs, nodes = random_jobs(seed, (0.3, 1.0, 5.0))
        case = scenario(name, jobs, *nodes)
        limit = np.random.default_rng(seed).integers(1, 30, len(jobs))
        limited = replace(case, workload=replace(case.workload, limit_us=limit.astype(float)))
        for one, most in zip(jobs, limit.tolist(), strict=True):
            one.run, one.estimate = min(one.run, most), min(one.estimate, most)
        plain.run(jobs, plain.Cluster(*nodes), RULES[name])
        found = begins(limited)
        assert found == [one.start for one in jobs], seed
        n_other += found != begins(case)
    assert n_other > 4


@BOTH
def test_jobs_that_are_withdrawn_give_up_what_they_hold_and_have_reserved(name):
    """Half of them, before they start and after; gangs with all their tasks."""
    n_before, n_after = 0, 0
    for seed in range(40):
        jobs, nodes = random_jobs(seed, ((1.0,), (1.0, 3.0), (0.3, 1.0, 3.0))[seed % 3])
        random = np.random.default_rng(1000 + seed)
        for one in jobs:
            one.withdrawn = one.arrival + int(random.integers(0, 40)) if random.integers(0, 2) else np.inf
        plain.run(jobs, plain.Cluster(*nodes), RULES[name])
        found = np.array(begins(scenario(name, jobs, *nodes)))
        assert np.where(np.isnan(found), -1, found).tolist() == [one.start for one in jobs], seed
        n_before += sum(one.start < 0 for one in jobs)
        n_after += sum(one.start >= 0 and one.withdrawn < one.start + one.run for one in jobs)
    assert n_before > 25
    assert n_after > 25


def begins(case):
    """When each job starts."""
    return vs.simulate(case, engine="reference").tasks["init_us"][case.workload.job_first[:-1]].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RULES, "fcfs"])
def test_it_schedules_many_as_plain_lists_do(name):
    for seed in range(100, 250):
        check_against_plain_lists(name, seed, [(1.0,), (1.0, 3.0), (0.3, 1.0, 3.0)][seed % 3])


def starts(name, jobs, *nodes):
    return [start for start, _ in places(scenario(name, jobs, *nodes))]


@BOTH
def test_a_gang_reserves_the_units_of_all_its_tasks(name):
    """Two nodes of 2 GPUs, one is busy until 10: the gang needs both."""
    busy, gang = job(1, 2, 10), job(2, 2, 10)
    assert starts(name, [busy, gang, job(1, 2, 10)], 2, 2, 1, 1) == [0, 10, 0]  # ends by then
    assert starts(name, [busy, gang, job(1, 2, 11)], 2, 2, 1, 1) == [0, 10, 20]  # does not
    assert starts(name, [busy, gang, job(1, 2, 11)], 3, 2, 1, 1) == [0, 0, 10]
    assert starts(name, [busy, job(2, 2, 10, within_node=True), job(1, 2, 11)], 2, 4, 1, 1) == [0, 0, 0]


@BOTH
def test_a_reservation_takes_of_every_resource(name):
    """3 GPUs, 4 cores and 8 of memory; 2 GPUs and 1 core are busy until 10, then 2 GPUs and 3 cores are reserved."""
    jobs = [job(1, 2, 10, cores=1), job(1, 2, 10, cores=3)]
    assert starts(name, [*jobs, job(1, 1, 99, cores=1)], 1, 3, 4, 8) == [0, 10, 0]
    assert starts(name, [*jobs, job(1, 1, 99, cores=2)], 1, 3, 4, 8) == [0, 10, 20]
    assert starts(name, [*jobs, job(1, 1, 10, cores=2)], 1, 3, 4, 8) == [0, 10, 0]
    jobs[1].memory = 7
    assert starts(name, [*jobs, job(1, 1, 99, memory=1)], 1, 3, 4, 8) == [0, 10, 0]
    assert starts(name, [*jobs, job(1, 1, 99, memory=2)], 1, 3, 4, 8) == [0, 10, 20]


def test_easy_delays_the_second_in_line_and_conservative_does_not():
    jobs = [job(1, 6, 10), job(1, 8, 10), job(1, 9, 5), job(1, 2, 25)]
    assert starts("easy_backfill", jobs, 1, 10, 1, 1) == [0, 10, 25, 0]
    assert starts("conservative_backfill", jobs, 1, 10, 1, 1) == [0, 10, 20, 25]


@BOTH
def test_no_job_overtakes_one_that_is_expected_to_take_no_time(name):
    """The second job needs both GPUs from 50 on; the third one would hold one of them until 100."""
    assert starts(name, [job(1, 1, 50), job(1, 2, 7, 0), job(1, 1, 100)], 1, 2, 1, 1) == [0, 50, 57]


@BOTH
def test_what_runs_beyond_its_estimate_counts_as_ending_now(name):
    jobs = [job(1, 2, 20, estimate=5), job(2, 2, 1), job(2, 1, 1, arrival=6, within_node=True)]
    assert starts(name, jobs, 2, 2, 1, 1) == [0, 20, 21]


def test_conservative_moves_up_in_order_when_a_gang_ends_early():
    jobs = [job(2, 2, 4, estimate=10), job(2, 2, 3), job(1, 2, 2), job(2, 1, 1)]
    assert starts("conservative_backfill", jobs, 2, 2, 1, 1) == [0, 4, 7, 7]


def of_own_capacity(name, jobs, capacities):
    """A unit of each capacity; a job takes as much of one as it has ``gpus``."""
    n = len(jobs)
    work = vs.Workload(np.zeros(n, int), np.arange(n + 1), np.zeros(n), [float(job.run) for job in jobs],
                       *np.zeros((3, n)), np.full(n, -1), demand=[float(job.gpus) for job in jobs],
                       task_types=(vs.TaskType("T"),))  # fmt: skip
    n_units, types = len(capacities), (vs.ProcessorType("U", capacity=10.0),)
    center = vs.Datacenter(np.zeros(n_units), np.zeros(n_units), np.arange(n_units), types, capacity=capacities)
    return vs.Scenario(center, work, name, affinity=[[1.0]], network=vs.Network(None, None, None, 0.0))


@BOTH
def test_units_have_capacities_of_their_own(name):
    """Only the second unit can hold the second job, from 10 on; the third may not delay it there."""
    jobs = [job(1, 6, 10), job(1, 8, 10), job(1, 3, 30), job(1, 3, 30)]
    case = of_own_capacity(name, jobs, [4.0, 10.0])
    done = vs.simulate(case, engine="reference").tasks
    assert done["unit"].tolist() == [1, 1, 0, 1]
    assert done["init_us"].tolist() == [0.0, 10.0, 0.0, 20.0]
    assert not fits_blocks(case, resolve(name))  # their loop is that of units of a type
    assert fits_blocks(replace(case, datacenter=replace(case.datacenter, capacity=None)), resolve(name))


@BOTH
def test_what_a_task_of_a_gang_requests_counts_on_the_type_that_it_gets(name):
    """The second task, on STRONG or any but WEAK, asks for more SMs than the unit of the first one, WEAK, has."""

    def begins(sms, lead_set):
        types = tuple(vs.ProcessorType(kind, attributes={"sms": n}) for kind, n in (("WEAK", 4), ("STRONG", 8)))
        types += (vs.ProcessorType("MIDDLE", attributes={"sms": 6}),)
        center = vs.Datacenter.of([(kind.name, 0, i) for i, kind in enumerate(types)], types)
        work = vs.Workload([0], [0, 2], [0.0], [1.0, 1.0], *np.zeros((3, 2)), [-1, -1], task_types=(vs.TaskType("T"),),
                           lead_types=[0, 1], lead_sets=(("WEAK",), lead_set), gang_within=[ANYWHERE],
                           requests={"sms": [0.0, sms]})  # fmt: skip
        case = vs.Scenario(center, work, name, affinity=[[1.0], [3.0], [2.0]])
        return vs.simulate(case, engine="reference").tasks["init_us"].tolist()

    assert begins(8.0, ("STRONG",)) == [0.0, 0.0]
    assert begins(6.0, ("STRONG", "MIDDLE")) == [0.0, 0.0]
    for sms, lead_set in ((9.0, ("STRONG",)), (8.0, ("STRONG", "MIDDLE"))):  # MIDDLE might be the one that is free
        assert np.isnan(begins(sms, lead_set)).all()


@pytest.mark.slow
@BOTH
def test_the_compiled_engine_gives_the_same_places(name):
    for seed in range(60):
        jobs, nodes = random_jobs(seed, [(1.0,), (0.3, 1.0, 3.0)][seed % 2])
        case = scenario(name, jobs, *nodes)
        assert places(case) == places(case, "compiled"), seed
