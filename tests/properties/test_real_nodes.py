"""Tasks that hold several units: both engines give the same tables, and the tables say what the scenario demands."""

import os
from functools import cache

import numpy as np
import pytest

import vinesim as vs
from tests.invariants import violations
from tests.policies.kinds.overcommit import Pile
from tests.properties.equivalence import differences, mostly_slow, run
from tests.real_nodes import is_possible, real_scenario, wrong
from tests.strategies import with_policy
from vinesim.model.workload import ANYWHERE, NO_GANG, RACK
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.registry import policies

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "20"))
OF_SITES = "slurm"  # it takes imported sites only: tests/policies/slurm
TAKE_SEVERAL = [name for name, policy in policies().items() if policy.supports_multi_unit_tasks and name != OF_SITES]
REFUSE = [name for name, policy in policies().items() if not policy.supports_multi_unit_tasks]


def has_outages(name, seed):
    return seed % 4 == 3 and can_requeue(name)


def can_requeue(name):
    policy = policies()[name]()
    return policy.can_requeue and not getattr(policy, "plans", False)


@pytest.mark.parametrize("name", mostly_slow(TAKE_SEVERAL, {"high", "priority"}))
def test_both_engines_give_the_same_tables(name):
    for seed in range(N_SCENARIOS):
        case = real_scenario(seed, name, has_outages=has_outages(name, seed))
        assert differences(case) == [], seed


@pytest.mark.parametrize("order", ["once", "xy"])
def test_the_same_in_any_order_of_the_units(order):
    for seed in range(N_SCENARIOS):
        case = vs.Scenario(**{**vars_of(real_scenario(seed)), "policy": "flat", "options": {"order": order}})
        assert differences(case, "interpreted") == []


@cache
def of_seed(seed, has_outages):
    """The scenario of a seed, to be run under each of the policies."""
    return real_scenario(seed, has_outages=has_outages)


@pytest.mark.parametrize("name", TAKE_SEVERAL)
def test_tasks_hold_what_they_demand_and_no_unit_is_over_its_capacity(name):
    n_several = n_lost = 0
    for seed in range(2 * N_SCENARIOS):
        case = with_policy(of_seed(seed, has_outages(name, seed)), name)
        done = vs.simulate(case, engine="reference")
        assert list(wrong(case, done)) == [], seed
        if done.outcome.held is not None:
            n_several += len(done.outcome.held.row)
            n_lost += 0 if done.outcome.early_held is None else len(done.outcome.early_held.row)
    assert n_several > N_SCENARIOS
    assert n_lost > 0 or not can_requeue(name)


def vars_of(case):
    return {name: getattr(case, name) for name in case.__dataclass_fields__}


@pytest.mark.parametrize("name", ["high", "fcfs"])
def test_all_that_must_hold_of_every_result_holds(name):
    for seed in range(N_SCENARIOS):
        case = real_scenario(seed, name, has_outages=has_outages(name, seed))
        done = vs.simulate(case, engine="reference")
        assert violations(case, done, policies()[name]()) == [], seed


def with_companions(seed, policy, has_gangs, has_outages):
    """Tasks with up to three companions, on nodes most of which have one unit of each; some have two, or none. A
    quarter of the tasks run on the cores that are companions of the others."""
    random = np.random.default_rng(seed)
    types = [vs.ProcessorType("GPU"), *(vs.ProcessorType(name, capacity=4.0) for name in ("CPU", "MEM", "DISK"))]
    names = ["GPU", "CPU", "MEM", "DISK"][: 2 + seed % 3]
    n_units = [[random.integers(1, 4), *random.choice([1, 1, 1, 1, 2, 0], len(names) - 1)] for _ in range(5)]
    n_units[0] = [3] + [1] * (len(names) - 1)
    units = [
        (p, v // 3, v % 3) for v, row in enumerate(n_units) for p, n in zip(names, row, strict=True) for _ in range(n)
    ]
    n, of_job = 40, 2 if has_gangs else 1
    n_jobs, most = n // of_job, 1.3 if has_gangs else 4.0
    runs_on_cores = random.random(n) < 0.25
    companions = {name: random.choice([0.0, 0.1, 1.3, most], n, p=[0.3, 0.3, 0.3, 0.1]) for name in names[1:]}
    companions["CPU"][runs_on_cores] = 0.0
    work = vs.Workload(
        [0] * n_jobs, np.arange(0, n + 1, of_job), np.cumsum(random.exponential(of_job, n_jobs)),
        random.exponential(5.0, n), *np.zeros((3, n)), [-1] * n, task_types=(vs.TaskType("T"),),
        priority=random.integers(0, 3, n_jobs).astype(float),
        units=np.where(~runs_on_cores & (random.random(n) < 0.2), 1 if has_gangs else 3, 1), demand=[1.0] * n,
        lead_types=runs_on_cores.astype(int), lead_sets=(("GPU",), ("CPU",)), companions=companions,
        gang_within=random.choice([NO_GANG, RACK, ANYWHERE], n_jobs) if has_gangs else None,
    )  # fmt: skip
    outages = [vs.Outage(0, 0, 8.0, 12.0), vs.Outage(0, 1, 10.0, 30.0)] if has_outages else []
    center, affinity = vs.Datacenter.of(units, types), [[1.0], [0.5], [0.0], [0.0]]
    return vs.Scenario(center, work, policy, affinity=affinity, seed=seed, outages=outages)


@pytest.mark.parametrize(
    ("name", "has_gangs", "has_outages", "engine"),
    [
        ("high", False, False, "compiled"),
        ("easy_backfill", False, False, "interpreted"),
        ("priority", False, True, "compiled"),
        ("srtf", True, True, "interpreted"),
    ],
)
def test_both_engines_agree_on_companions_of_which_nodes_have_one_several_or_none(name, has_gangs, has_outages, engine):
    n_held = n_lost = 0
    for seed in range(N_SCENARIOS):
        case = with_companions(seed, name, has_gangs, has_outages)
        assert differences(case, engine) == [], seed
        done = run(case, engine).outcome
        n_held += len(done.held.row)
        n_lost += 0 if done.early_held is None else len(done.early_held.row)
    assert n_held > 30 * N_SCENARIOS
    assert (n_lost > 0) == has_outages


def test_what_no_node_can_hold_is_refused_before_the_run():
    n_refused = 0
    for seed in range(100):
        case = real_scenario(seed)
        work = case.workload
        if work.units is None or case.datacenter.n_units < 2:
            continue
        harder = vs.Scenario(**{**vars_of(case), "workload": vs.Workload(**{**vars_of(work), "units": work.units + 1})})
        impossible = [t for t in range(work.n_tasks) if not is_possible(harder, t)]
        if not impossible:
            vs.simulate(harder, engine="reference")
            continue
        n_refused += 1
        with pytest.raises(vs.InputError) as wrong_input:
            vs.simulate(harder, engine="reference")
        assert str(impossible[0]) in str(wrong_input.value)
    assert n_refused > 10


def plain(policy, **columns):
    """One node with a CPU of 8, two GPUs and memory of 64; three tasks."""
    types = [vs.ProcessorType("CPU", capacity=8.0), vs.ProcessorType("GPU"), vs.ProcessorType("MEM", capacity=64.0)]
    center = vs.Datacenter.of([("CPU", 0, 0), ("GPU", 0, 0), ("GPU", 0, 0), ("MEM", 0, 0)], types)
    work = vs.Workload([0] * 3, [0, 1, 2, 3], [0.0, 1.0, 2.0], [10.0] * 3, *np.zeros((3, 3)), [-1] * 3,
                       task_types=(vs.TaskType("T"),), **columns)  # fmt: skip
    return vs.Scenario(center, work, policy, affinity=[[1.0], [1.0], [0.0]])


def test_a_companion_that_is_full_makes_a_task_wait_though_its_lead_is_free():
    case = plain("high", companions={"CPU": [5.0, 3.0, 1.0]}, lead_types=[0, 0, 0], lead_sets=(("GPU",),))
    done = vs.simulate(case)
    assert done.tasks["init_us"].tolist() == [0.0, 1.0, 10.0]
    case = plain("high", companions={"CPU": [5.0, 4.0, 1.0]}, lead_types=[0, 0, 0], lead_sets=(("GPU",),))
    assert vs.simulate(case).tasks["init_us"].tolist() == [0.0, 10.0, 2.0]


def test_what_is_held_counts_for_every_number_of_a_unit():
    case = plain("high", units=[2, 1, 1], companions={"CPU": [4.0, 0, 0], "MEM": [16.0, 0, 0]},
                 lead_types=[0, 1, 1], lead_sets=(("GPU",), ("CPU",)), demand=[vs.WHOLE_UNIT, 1.0, 2.0])  # fmt: skip
    done = vs.simulate(case)
    assert done.units["allocated_us"].tolist() == [10 * 4 / 8 + 10 * 1 / 8 + 10 * 2 / 8, 10.0, 10.0, 10 * 16 / 64]
    assert done.units["active_us"].tolist() == [12.0, 10.0, 10.0, 10.0]
    first = done.segments["task"] == 0
    assert done.segments["unit"][first].tolist() == [1, 0, 2, 3]
    assert done.segments["amount"][first].tolist() == [1.0, 4.0, 1.0, 16.0]


def test_over_commitment_is_of_the_named_unit_alone():
    case = plain(Pile(), companions={"CPU": [5.0, 5.0, 1.0]}, lead_types=[0, 0, 0], lead_sets=(("GPU",),))
    with pytest.raises(vs.PolicyError, match="its other units and its companions fit"):
        vs.simulate(case, engine="reference")
    case = plain(Pile(), companions={"CPU": [5.0, 2.0, 1.0]}, lead_types=[0, 0, 0], lead_sets=(("GPU",),))
    assert vs.simulate(case, engine="reference").tasks["unit"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", REFUSE)
def test_a_policy_that_looks_at_single_units_refuses(name):
    why = policies()[name].unsupported_because
    assert why.startswith("it")
    with pytest.raises(vs.InputError, match=f"tasks that hold one unit each.*{why[1:]}"):
        vs.simulate(plain(name, units=[2, 1, 1]), engine="reference")


@pytest.mark.parametrize("name", [name for name in REFUSE if not issubclass(policies()[name], BatchPolicy)])
def test_such_a_policy_refuses_capacities_of_single_units(name):
    case = plain(name)
    center = vs.Datacenter(**{**vars_of(case.datacenter), "capacity": [9.0, 1.0, 1.0, 64.0]})
    with pytest.raises(vs.InputError, match="units with the capacity of their type"):
        vs.simulate(vs.Scenario(**{**vars_of(case), "datacenter": center}), engine="reference")


REFUSED = [
    ({"units": [3, 1, 1]}, r"task\[0\]: expected a node that has all it holds, found none with 3 of any type"),
    ({"companions": {"MEM": [1.0, 99.0, 1.0]}}, r"companions.MEM\[1\]: expected no more than a unit has, found 99"),
    ({"companions": {"TPU": [1.0, 1.0, 1.0]}}, r"companions.TPU: expected a processor type"),
    ({"units": [2, 1, 1], "demand": [1.5, 1, 1], "lead_types": [0, -1, -1], "lead_sets": (("GPU",),)}, r"2 of GPU"),
    ({"lead_types": [0, -1, -1], "lead_sets": (("MEM",),)}, r"none with 1 of MEM"),
]


@pytest.mark.parametrize(("columns", "message"), REFUSED)
def test_demands_that_nothing_can_meet_are_refused(columns, message):
    with pytest.raises(vs.InputError, match=message):
        vs.simulate(plain("high", **columns))


def test_many_runs_are_those_of_one():
    case = plain("high", units=[2, 1, 1], lead_types=[0, -1, -1], lead_sets=(("GPU",),))
    many = vs.simulate_many(case, seeds=[0, 1], record=("makespan_us",))
    assert many["makespan_us"].tolist() == [vs.simulate(case).summary["makespan_us"]] * 2
