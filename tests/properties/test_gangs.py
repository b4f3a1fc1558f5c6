"""Gangs: both engines say the same, and the tasks of a gang begin together, where that was demanded, or not at all."""

import os

import numpy as np
import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from tests.policies.kinds.urgent import Urgent
from tests.properties.equivalence import Refused, run, unlike, without_plans
from vinesim.model.workload import NO_GANG, NODE, RACK
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "60"))
POLICIES = {
    "flat": ("flat", {}),
    "flat in its own order": ("flat", {"order": "once"}),
    "high": ("high", {}),
    "pref": ("pref", {}),
    "fcfs": ("fcfs", {}),
    "edf": ("edf", {}),
    "closer_to_data": ("closer_to_data", {}),
    "delay": ("delay", {}),
    "earliest_finish": ("earliest_finish", {}),
    "deadline_consolidation": ("deadline_consolidation", {}),
    "easy_backfill": ("easy_backfill", {}),
    "conservative_backfill": ("conservative_backfill", {}),
    "urgent": (Urgent, {}),
    "priority": ("priority", {}),
    "srtf": ("srtf", {}),
    "las": ("las", {"quantum_us": 20.0, "levels": 3}),
    "drf": ("drf", {}),
    "kueue": ("kueue", {"within_cluster_queue": "lower_or_newer_equal_priority", "reclaim_within_cohort": "any"}),
    "rb_fifo": ("rb_fifo", {"sharing": True}),
    "rb_ljf_ba": ("rb_ljf_ba", {"sharing": True, "two_phase": True}),
    "rb_ljf_ocl": ("rb_ljf_ocl", {"sharing": True}),
}


@pytest.mark.parametrize("within", [NODE, RACK])
@pytest.mark.parametrize("fastest", ["CPU", "GPU"])
def test_no_policy_waits_for_a_type_that_can_never_hold_a_gang(fastest, within):
    """Each rack has one unit of the fastest type and two of the other: room for a gang of two on the latter only."""
    types, is_cpu = (vs.ProcessorType("CPU"), vs.ProcessorType("GPU")), fastest == "CPU"
    work = vs.Workload(
        job_task_type=np.zeros(2),
        job_first=np.array([0, 2, 3]),
        arrival_us=np.array([0.0, 1.0]),
        operations=np.full(3, 4.0),
        data_bytes=np.zeros(3),
        data_rack=np.zeros(3),
        data_shelf=np.zeros(3),
        preferred_type=np.full(3, -1),
        task_types=(vs.TaskType("INT"),),
        gang_within=np.array([within, NO_GANG]),
    )
    center = vs.Datacenter(np.array([0, 1, 1] * 2) == is_cpu, np.array([0, 0, 0, 1, 1, 1]), np.zeros(6), types)
    affinity, n_ran = np.array([[4.0], [1.0]] if is_cpu else [[1.0], [4.0]]), 0
    for name, policy in without_plans().items():
        for options in ({}, {"kind": "acc"})[: 2 if name.startswith("rb_") and is_cpu else 1]:
            found = run(vs.Scenario(center, work, policy=policy, options=options, affinity=affinity), "reference")
            if not isinstance(found, Refused):
                assert found.exit_reason == "ALL_DONE", (name, options)
                n_ran += 1
    assert n_ran > 20


def test_the_engines_agree_where_tasks_of_gangs_hold_several_units_and_end_early():
    """One of the eight kinds of loops that a policy is compiled into; the next test has them all."""
    n_gangs = 0
    for seed in range(4 * N_SCENARIOS):
        case = gang_scenario(seed, "fcfs", early=True)
        work = case.workload
        if work.has_vectors and work.gang_within is not None and (case.outages or case.failures or work.may_end_early):
            compiled = run(case, "compiled")
            assert unlike(compiled, run(case, "reference")) == [], seed
            n_gangs += 0 if isinstance(compiled, Refused) else count(case, compiled)
    assert n_gangs > N_SCENARIOS / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_the_engines_agree_and_gangs_begin_together(name):
    policy, options = POLICIES[name]
    n_gangs = n_lost = 0
    for seed in range(N_SCENARIOS):
        case = gang_scenario(seed, policy, options, early=seed % 2 == 1)
        compiled = run(case, "compiled")
        assert unlike(compiled, run(case, "reference")) == [], seed
        if not isinstance(compiled, Refused):
            assert list(wrong(case, compiled)) == [], seed
            n_gangs += count(case, compiled)
            early = compiled.outcome.early
            n_lost += 0 if early is None else len(early.task)
    assert n_gangs > N_SCENARIOS / 2
    assert n_lost > 0 or resolve(policy, options).keeps_tasks


def segments(done):
    """(task, node, when it was given to the unit) of every segment, by task."""
    tasks, table, units = done.tasks, done.segments, done.units
    if table is None:
        rows = zip(tasks["task"], tasks["unit"], tasks["init_us"], strict=True)
    else:
        rows = zip(table["task"], table["unit"], table["begin_us"], strict=True)
    found = {}  # what a task holds besides its unit is at the same node
    for task, unit, begin in rows:
        if unit >= 0:
            found[int(task), float(begin)] = (int(units["rack"][unit]), int(units["shelf"][unit]))
    return [(task, node, begin) for (task, begin), node in sorted(found.items())]


def count(case, done):
    work = case.workload
    if work.gang_within is None:
        return 0
    sizes, unit = np.diff(work.job_first), done.tasks["unit"]
    started = np.asarray(unit)[work.job_first[:-1]] >= 0
    return int(((work.gang_within != NO_GANG) & (sizes > 1) & started).sum())


def wrong(case, done):
    """What contradicts that gangs begin together, where they should."""
    work = case.workload
    job_of = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first))
    begun: dict[tuple[int, float], list[tuple[int, tuple[int, int]]]] = {}
    for task, node, init in segments(done):
        begun.setdefault((int(job_of[task]), init), []).append((task, node))
    known: set[int] = set()
    for (job, init), members in sorted(begun.items(), key=lambda item: item[0][1]):
        size = int(work.job_first[job + 1] - work.job_first[job])
        if work.gang_within is None or work.gang_within[job] == NO_GANG or size == 1:
            continue
        tasks = [task for task, _ in members]
        nodes = [node for _, node in members]
        if len(set(tasks)) != len(tasks):
            yield f"job {job} began a task twice at {init}"
        if job not in known and len(tasks) != size:
            yield f"job {job} began {len(tasks)} of {size} tasks at {init}"
        known.add(job)
        within = work.gang_within[job]
        if within == NODE and len(set(nodes)) > 1:
            yield f"job {job} is on several nodes"
        if within == RACK and len({r for r, _ in nodes}) > 1:
            yield f"job {job} is in several racks"
        limit = 0 if work.tasks_per_node is None else int(work.tasks_per_node[job])
        if limit and max(nodes.count(node) for node in nodes) > limit:
            yield f"job {job} has more than {limit} tasks at a node"
        if work.gang_nodes is not None and work.gang_nodes[job]:
            number = [(task - int(work.job_first[job])) // limit for task in tasks]
            if len(set(zip(number, nodes, strict=True))) != len(set(number)) or len(set(nodes)) != len(set(number)):
                yield f"job {job} does not have each {limit} of its tasks at a node"
