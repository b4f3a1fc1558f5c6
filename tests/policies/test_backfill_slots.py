"""EASY backfilling on nodes by slots: judged by trying everything, and against the published EASY."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.backfill_exhaustively import Job, counting_conservative, counting_easy, judge, places
from tests.interpreted import simulate
from vinesim.model.workload import ANYWHERE, NO_PARTITION, NODE, RACK

KINDS = ("one core", "equal", "racks", "cores", "memory")
IN_RACK = 2  # nodes


def scenario(policy, jobs, sizes):
    """A node has a unit with its cores and, if there is a second resource, a unit with its memory."""
    n_nodes, has_memory, in_racks = len(sizes), len(sizes[0]) > 1, any(within(job) == RACK for job in jobs)
    names = ("CPU", "MEM") if has_memory else ("CPU",)
    kinds = tuple(vs.ProcessorType(name, capacity=float(size)) for name, size in zip(names, sizes[0], strict=True))
    unit_type = np.tile(np.arange(len(kinds)), n_nodes)
    node = np.repeat(np.arange(n_nodes), len(kinds))
    capacity = [float(size[r]) for size in sizes for r in range(len(kinds))]
    subsets = sorted({job.nodes for job in jobs if len(job.nodes) < n_nodes})
    partitions = tuple(vs.Partition(f"P{i}", [(0, at) for at in nodes]) for i, nodes in enumerate(subsets))
    center = vs.Datacenter(
        unit_type, node // IN_RACK if in_racks else np.zeros(len(node), int), node, kinds, capacity=capacity
    )
    n = np.array([job.n_tasks for job in jobs])
    first = np.concatenate([[0], np.cumsum(n)])

    def column(values):
        return np.repeat(np.array(values, float), n)

    more = {}
    if subsets:
        of = [subsets.index(job.nodes) if job.nodes in subsets else NO_PARTITION for job in jobs]
        more = {"partition": np.array(of), "partition_names": tuple(one.name for one in partitions)}
    if has_memory:
        more |= {"companions": {"MEM": column([job.takes[1] for job in jobs])}, "lead_types": np.zeros(first[-1], int),
                "lead_sets": (("CPU",),)}  # fmt: skip
    work = vs.Workload(
        np.zeros(len(jobs), int),
        first,
        [float(job.arrival) for job in jobs],
        column([job.run for job in jobs]),
        *np.zeros((3, first[-1])),
        np.full(first[-1], -1),
        demand=column([job.takes[0] for job in jobs]),
        estimate_us=column([job.estimate for job in jobs]),
        gang_within=[within(job) for job in jobs],
        task_types=(vs.TaskType("T"),),
        **more,
    )
    affinity = [[1.0]] + [[0.0]] * (len(kinds) - 1)
    network = vs.Network(None, None, None, 0.0)
    return vs.Scenario(center, work, policy, affinity=affinity, network=network, partitions=partitions)


def within(job):
    """Within what its tasks start together."""
    return ANYWHERE if not job.scopes else NODE if len(job.scopes[0]) == 1 else RACK


def run(policy, jobs, sizes, engine="reference"):
    """Let the jobs know when and where they start."""
    case = scenario(policy, jobs, sizes)
    done = vs.simulate(case, engine=engine)
    assert done.exit_reason == "ALL_DONE"
    node = case.datacenter.shelf[done.tasks["unit"]]
    for job, begin, end in zip(jobs, case.workload.job_first[:-1], case.workload.job_first[1:], strict=True):
        job.start = int(done.tasks["init_us"][begin])
        at, n = np.unique(node[begin:end], return_counts=True)
        job.place = dict(zip(at.tolist(), n.tolist(), strict=True))
    return [job.start for job in jobs]


def random_case(seed, kind):
    random = np.random.default_rng(seed)
    n_nodes = int(random.integers(2, 7 if kind == "one core" else 5))
    equal = int(random.integers(2, 5))
    sizes = [({"one core": 1, "equal": equal}.get(kind, int(cores)),) for cores in random.integers(1, 5, n_nodes)]
    if kind == "memory":
        sizes = [(cores, int(random.integers(1, 7))) for (cores,) in sizes]
    every = tuple(range(n_nodes))
    parts = [every, tuple(node for node in every if random.random() < 0.7) or every]
    jobs, now = [], 0
    for _ in range(int(random.integers(5, 10))):
        now += int(random.integers(0, 3))
        run = int(random.integers(1, 7))
        estimate = run + int(random.integers(0, 5)) * int(random.integers(0, 2))
        nodes = parts[int(random.integers(0, 2))] if kind == "memory" else every
        while True:
            takes = (1,) if kind == "one core" else (int(random.integers(1, 4)),)
            takes = (*takes, int(random.integers(0, 4))) if kind == "memory" else takes
            job = Job(now, run, estimate, int(random.integers(1, 6)), takes, nodes)
            if size := {"equal": 1, "racks": IN_RACK}.get(kind, 0) * int(random.integers(0, 3) > 0):
                job.scopes = tuple(every[at : at + size] for at in range(0, n_nodes, size))
            if next(places(job, sizes), None) is not None:
                break
        jobs.append(job)
    return jobs, sizes


@pytest.mark.parametrize("kind", KINDS)
def test_no_start_delays_the_first_job_and_no_other_could_start(kind):
    n_backfilled = n_missed = 0
    for seed in range(30):
        jobs, sizes = random_case(seed, kind)
        run("easy_backfill", jobs, sizes)
        found = judge(jobs, sizes)
        assert (found.n_delayed, found.n_idle) == (0, 0), seed
        n_backfilled, n_missed = n_backfilled + found.n_backfilled, n_missed + found.n_missed
    assert n_backfilled > 10
    assert n_missed == 0  # here; a gang that goes node by node may miss a place in rare cases


def test_racks_without_nodes_change_nothing():
    """There may be more racks than nodes."""
    for seed in range(10):
        case = scenario("easy_backfill", *random_case(seed, "racks"))
        rack = 9 * case.datacenter.rack + 8
        apart = replace(case, datacenter=replace(case.datacenter, rack=rack, n_racks=int(rack.max()) + 1))
        one, other = (vs.simulate(each, engine="reference").tasks for each in (case, apart))
        assert one["init_us"].tolist() == other["init_us"].tolist(), seed
        assert one["unit"].tolist() == other["unit"].tolist(), seed


COUNTED = {"easy_backfill": counting_easy, "conservative_backfill": counting_conservative}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("wrong", [(1.0,), (1.0, 3.0), (0.3, 1.0, 3.0)])
def test_on_nodes_of_one_core_gangs_start_as_processors_are_counted(name, wrong):
    n_moved = 0
    for seed in range(40):
        jobs, sizes = random_case(1000 + seed, "one core")
        factors = np.random.default_rng(seed).choice(wrong, len(jobs))
        for job, factor in zip(jobs, factors.tolist(), strict=True):
            job.estimate = max(1, int(job.run * factor))
        found = run(name, jobs, sizes)
        assert found == COUNTED[name](jobs, len(sizes)), seed
        n_moved += found != sorted(found)
    assert n_moved > 5


def test_any_of_the_equal_nodes_will_do_for_the_first_job():
    """A job of one node ends at 1, one of two at 5. The third waits for two nodes until 5; the fourth may have the node
    that is free, because the other two will be."""
    every = (0, 1, 2)
    rows = [(0, 1, 1), (0, 5, 2), (1, 4, 2), (2, 5, 1)]
    jobs = [Job(at, run, run, n, (1,), every) for at, run, n in rows]
    assert run("easy_backfill", jobs, [(1,)] * 3) == [0, 0, 5, 2]


def test_a_later_job_takes_the_node_that_the_first_one_cannot_use():
    """The first job that waits needs 4 cores of a node, so the later one goes to the node of 2."""
    every = (0, 1)
    jobs = [Job(0, 10, 10, 1, (3,), every), Job(0, 5, 5, 1, (4,), every), Job(0, 20, 20, 1, (1,), every)]
    assert run("easy_backfill", jobs, [(4,), (2,)]) == [0, 10, 0]
    assert jobs[2].place == {1: 1}


def uneven(*gangs):
    """When gangs of tasks that differ start on three nodes of 4 cores: of each, its run time and the cores of its
    tasks."""
    n = np.array([len(cores) for _, cores in gangs])
    first = np.concatenate([[0], np.cumsum(n)])
    work = vs.Workload(
        np.zeros(len(gangs), int),
        first,
        np.zeros(len(gangs)),
        np.repeat([float(run) for run, _ in gangs], n),
        *np.zeros((3, first[-1])),
        np.full(first[-1], -1),
        demand=[float(one) for _, cores in gangs for one in cores],
        gang_within=[ANYWHERE] * len(gangs),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0] * 3, [0] * 3, [0, 1, 2], (vs.ProcessorType("CPU", capacity=4.0),))
    case = vs.Scenario(center, work, "easy_backfill", affinity=[[1.0]], network=vs.Network(None, None, None, 0.0))
    return vs.simulate(case, engine="reference").tasks["init_us"][first[:-1]].tolist()


def test_a_first_gang_of_tasks_that_differ_is_placed_again():
    """It waits for nodes with 4 and 3 free cores until 10, when all three are free."""
    busy, first = (10, [4, 4]), (5, [4, 3])
    assert uneven(busy, first, (20, [4])) == [0, 10, 0]
    assert uneven(busy, first, (20, [1]), (20, [1])) == [0, 10, 0, 0]
    assert uneven((10, [4]), (10, [4]), first, (20, [2, 4])) == [0, 0, 10, 15]


def of_conservative(estimates):
    """When four jobs of two equal nodes start."""
    run_us = [[3, 3], [10, 4], [5, 5], [6]]
    n = np.array([len(of_job) for of_job in run_us])
    first = np.concatenate([[0], np.cumsum(n)])
    work = vs.Workload(
        np.zeros(len(n), int),
        first,
        np.zeros(len(n)),
        np.concatenate(run_us).astype(float),
        *np.zeros((3, first[-1])),
        np.full(first[-1], -1),
        estimate_us=np.concatenate(estimates).astype(float),
        gang_within=[ANYWHERE] * len(n),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("CPU"),))
    case = vs.Scenario(
        center, work, "conservative_backfill", affinity=[[1.0]], network=vs.Network(None, None, None, 0.0)
    )
    return vs.simulate(case, engine="reference").tasks["init_us"][first[:-1]].tolist()


def test_a_slot_is_free_again_when_its_task_of_a_gang_ends():
    """On two nodes, the second gang moves up from 5 to 3. One of its tasks takes 4, so that the last job has that slot
    at 7, before the third gang, which needs both. If that job begins at 9, nothing can move up; nothing runs then,
    so all are planned again."""
    assert of_conservative(estimates=[[5, 5], [10, 10], [5, 5], [6]]) == [0, 3, 13, 7]
    assert of_conservative(estimates=[[3, 3], [10, 4], [5, 5], [6]]) == [0, 3, 13, 7]
    assert of_conservative(estimates=[[5, 5], [10, 4], [5, 5], [6]]) == [0, 3, 13, 7]


@pytest.mark.parametrize("among", [NODE, ANYWHERE])
@pytest.mark.parametrize("first_us", [0, 1])
def test_a_gang_whose_tasks_end_at_different_times_starts_next_to_what_follows_its_first_end(among, first_us):
    """On one node of three units, the job of one task reserves the unit that the gang frees first."""
    first = np.array([0, 3, 6, 7])
    work = vs.Workload(
        np.zeros(3, int),
        first,
        [0.0, 1.0, 2.0],
        np.array([10.0, 10.0, 10.0, 8.0, 1.0, 8.0, 1.0]),
        *np.zeros((3, 7)),
        np.full(7, -1),
        estimate_us=np.array([10.0, 10.0, 10.0, 8.0, first_us, 8.0, 1.0]),
        gang_within=[NODE, among, NODE],
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0] * 3, [0] * 3, [0] * 3, (vs.ProcessorType("CPU"),))
    network = vs.Network(None, None, None, 0.0)
    case = vs.Scenario(center, work, "conservative_backfill", affinity=[[1.0]], network=network)
    found = [simulate(case, engine) for engine in ("reference", "interpreted")]
    assert found[0].tasks["init_us"].tolist() == found[1].tasks["init_us"].tolist() == [0.0] * 3 + [10.0] * 3 + [11.0]


@pytest.mark.parametrize("name", COUNTED)
def test_outages_and_withdrawals_do_not_stop_it(name):
    for seed in range(20):
        jobs, sizes = random_case(3000 + seed, "one core")
        random = np.random.default_rng(seed)
        down = float(random.integers(1, 9))
        outage = vs.Outage(0, int(random.integers(0, len(sizes))), down, down + float(random.integers(1, 6)))
        for job in jobs:
            job.estimate = max(1, int(job.run * random.choice((0.3, 1.0, 3.0))))
        leaves = [job.arrival + int(random.integers(0, 30)) if random.random() < 0.3 else np.inf for job in jobs]
        case = scenario(name, jobs, sizes)
        work = replace(case.workload, withdraw_us=np.array(leaves, float))
        done = vs.simulate(replace(case, workload=work, outages=(outage,)), engine="reference")
        assert done.exit_reason == "ALL_DONE", seed


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COUNTED)
def test_the_compiled_engine_gives_the_same_places(name, kind):
    for seed in range(40):
        jobs, sizes = random_case(seed, kind)
        found = run(name, jobs, sizes), [job.place for job in jobs]
        assert found == (run(name, jobs, sizes, "compiled"), [job.place for job in jobs]), seed
