"""What the placement policies share: which servers a task may use, how long it takes there, whose turn it is."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.test_placement import scenario
from vinesim.model.accounting import Accounting
from vinesim.model.catalog import SERVER_TYPES
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.documents import PolicyCheck, read_scenario
from vinesim.policies.registry import policies

BATCH = [name for name, policy in policies().items() if issubclass(policy, BatchPolicy)]
EVERY = pytest.mark.parametrize("policy", BATCH)
ENGINES = pytest.mark.parametrize("engine", ["compiled", "reference"])
SECOND = 1e6


def servers(*kinds, **columns):
    """Types with the powers of server A but for what is said of each."""
    return tuple(replace(SERVER_TYPES[0], name=f"S{i}", **{**columns, **kind}) for i, kind in enumerate(kinds))


def case(types, tasks, policy, options=None, overhead_s=None, affinity=None, **more):
    """One server of each type; a task is (arrival s, time s, demand) and what it requests."""
    n = len(tasks)
    names = sorted({name for task in tasks for name in (task[3] if len(task) > 3 else {})})
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.array([task[0] for task in tasks]) * SECOND,
        np.array([task[1] for task in tasks]) * SECOND,
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=np.array([task[2] for task in tasks], float),
        requests={name: np.array([task[3].get(name, 0.0) for task in tasks], float) for name in names} or None,
        task_types=(vs.TaskType("TASK"),),
    )
    u = len(types)
    return vs.Scenario(
        vs.Datacenter(np.arange(u), np.zeros(u), np.arange(u), types),
        work,
        policy=policy,
        options=options or {},
        affinity=np.ones((u, 1)) if affinity is None else np.array(affinity, float).reshape(u, 1),
        overhead_us=None if overhead_s is None else np.array(overhead_s, float).reshape(u, 1) * SECOND,
        **{"period_us": 10 * SECOND, **more},
    )


# --- requests ---


@EVERY
def test_a_task_goes_to_servers_that_provide_what_it_requests(policy):
    small, large = {"attributes": {"ram": 2.0}}, {"attributes": {"ram": 8.0}}
    types = servers(small, small, large, capacity=200.0)
    options = {"blocks": 1} if policy == "dcbf" else {}
    tasks = [(0, 5, 10, {"ram": 4.0}), (0, 5, 10, {"ram": 2.0}), (0, 25, 10, {"ram": 8.0}), (10, 5, 10, {"ram": 4.0})]
    for realloc in ("all", "new"):
        reported = vs.simulate(case(types, tasks, policy, {**options, "realloc": realloc}), engine="reference")
        assert reported.exit_reason == "ALL_DONE"
        assert reported.tasks["unit"][[0, 2, 3]].tolist() == [2, 2, 2], realloc
    unasked = vs.simulate(case(types, [task[:3] for task in tasks], policy, options), engine="reference")
    assert unasked.tasks["unit"].min() < 2  # the small ones are not left out for another reason


def test_what_no_server_provides_waits_and_the_reason_names_it():
    types = servers({"attributes": {"ram": 2.0}}, {"attributes": {"ram": 3.0}})
    reported = vs.simulate(case(types, [(0, 5, 10, {"ram": 2.0}), (0, 5, 10, {"ram": 4.0})], "bf"), engine="reference")
    assert reported.exit_reason == "STALLED"
    assert reported.tasks["unit"].tolist() == [0, -1]
    assert "no unit provides the 4 of ram that it requests" in reported.provenance["reason"]


def test_a_resource_that_is_not_of_a_servers_kind_does_not_count():
    types = servers({"attributes": {}}, {"attributes": {"ram": 3.0}})
    reported = vs.simulate(case(types, [(0, 5, 10, {"ram": 4.0})], "bf"), engine="reference")
    assert reported.tasks["unit"].tolist() == [0]


# --- the launch overhead ---


@pytest.mark.parametrize("policy", ["bf", "bfd", "dcbf", "abf"])
def test_costs_count_the_overhead(policy):
    types = servers({"dynamic_power_w": 1.0}, {"dynamic_power_w": 1.1}, capacity=50.0)
    options = {"blocks": 1} if policy == "dcbf" else {}
    task = [(0, 10, 10)]
    plain, slow = (
        vs.simulate(case(types, task, policy, options, overhead_s=s), engine="reference") for s in (None, [20, 0])
    )
    assert (plain.tasks["unit"][0], slow.tasks["unit"][0]) == (0, 1)
    assert slow.tasks["finish_us"][0] == 10 * SECOND


def test_bound_and_optimum_count_overhead_and_requests():
    """Two servers of 200 each, T = 100 s, one task of 10 s and demand 10; the first type is cheap and starts slowly."""
    pytest.importorskip("ortools")
    dear, cheap = {"dynamic_power_w": 3.0}, {"dynamic_power_w": 1.0}
    free = {"idle_power_w": 0.0, "sleep_power_w": 0.0, "capacity": 200.0}

    def reported(overhead_s=None, request=None, policy="rr"):
        types = servers({**dear, "attributes": {"ram": 8.0}}, {**cheap, "attributes": {"ram": 2.0}}, **free)
        task = [(0, 10, 10, {"ram": request})] if request else [(0, 10, 10)]
        accounting = Accounting(optimum=True)
        one = case(types, task, policy, overhead_s=overhead_s, accounting=accounting, period_us=100 * SECOND)
        periods = vs.simulate(one, engine="reference").periods
        return [float(periods[name][0]) for name in ("energy_j", "bound_j", "optimum_j")]

    assert reported() == pytest.approx([3 * 10 * 10, 1 * 10 * 10, 1 * 10 * 10])
    assert reported([0, 7]) == pytest.approx([300, 1 * 10 * 17, 1 * 10 * 17])
    assert reported([5, 70]) == pytest.approx([3 * 10 * 15, 3 * 10 * 15, 3 * 10 * 15])
    assert reported(request=4.0) == pytest.approx([300, 300, 300])


# --- turns ---


def test_round_robin_goes_on_where_it_was_when_running_tasks_stay():
    types = servers({}, {}, {})
    tasks = [(t, 5, 10) for t in (0, 0, 10, 10, 20, 20, 20, 30)]
    stay = vs.simulate(case(types, tasks, "rr", {"realloc": "new"}), engine="reference")
    assert stay.tasks["unit"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    again = vs.simulate(case(types, tasks, "rr"), engine="reference")
    assert again.tasks["unit"].tolist() == [0, 1, 0, 1, 0, 1, 2, 0]


@ENGINES
def test_round_robin_keeps_most_servers_active_when_running_tasks_stay(engine):
    """The thesis' base load: its round robin uses as many servers as there are tasks, and best fit saves 29 %."""
    stay = {"realloc": "new"}
    rr, bf = (vs.simulate(scenario(2500, 250, name, stay, n_batches=20), engine=engine) for name in ("rr", "bf"))
    running = [(rr.tasks["init_us"] <= t) & ~(rr.tasks["finish_us"] <= t) for t in rr.periods["period"] * 10 * SECOND]
    assert (rr.periods["active"] >= [0.9 * min(2500, now.sum()) for now in running]).all()
    rr, bf = (reported.summary["periods"] for reported in (rr, bf))
    assert 1 - bf["energy_j"] / rr["energy_j"] == pytest.approx(0.293, abs=0.002)
    assert bf["slav"] == 0 < rr["slav"]


# --- the cost of the energy that a period takes more ---


def test_marginal_cost_without_a_penalty_looks_at_no_room():
    """A full server and an empty one: with K = 1 what is cheapest counts, with K = 1000 the room."""
    types = servers({"capacity": 10.0, "dynamic_power_w": 1.0}, {"capacity": 100.0, "dynamic_power_w": 1.2})
    tasks = [(0, 10, 10), (0, 40, 10)]  # the second takes longer than the period

    def unit(penalty):
        options = {"cost": "marginal", "penalty": penalty, "realloc": "new"}
        return vs.simulate(case(types, tasks, "bf", options), engine="reference").tasks["unit"][1]

    # 10 x 10 s x 1.0 W on the full server; 10 x 10 s x 1.2 W + (6 - 2) W x 10 s on the empty one: 100 against 160 J
    assert [unit(k) for k in (1.0, 1.5, 1.7, 1000.0)] == [0, 0, 1, 1]


def test_marginal_cost_counts_waking_a_server_that_is_too_small():
    """A task of 30 for a server of 100 that holds 90, or for an empty one of 20: room on neither, K = 1.2."""
    types = servers({"capacity": 20.0, "dynamic_power_w": 1.0}, {"capacity": 100.0, "dynamic_power_w": 1.05})
    options = {"cost": "marginal", "penalty": 1.2, "realloc": "new"}
    reported = vs.simulate(case(types, [(0, 40, 90), (0, 40, 30)], "bf", options), engine="reference")
    # 1.2 x 30 x 10 s x 1.05 W where it runs already; 1.2 x (30 x 10 s x 1.0 W + 4 W x 10 s) on the one that sleeps
    assert reported.tasks["unit"].tolist() == [1, 1]


# --- what they refuse before a run ---


@EVERY
@pytest.mark.parametrize("shared", [{"parallelism": 2.0}, {"rates": (1.0, 0.8)}], ids=["parallelism", "rates"])
def test_running_tasks_of_units_that_share_their_speed_are_not_moved(policy, shared):
    """That is said before the run; where running tasks stay, and on units that run no task, nothing is in the way."""
    types = servers(shared, {}, capacity=200.0)
    one = case(types, [(0, 95, 10), (15, 95, 10)], policy, {"realloc": "all"})
    with pytest.raises(vs.InputError, match=rf"S0: .* policy {policy}, which moves them.*option realloc=new"):
        vs.simulate(one, engine="reference")
    for other in (replace(one, options={"realloc": "new"}), replace(one, affinity=np.array([[0.0], [1.0]]))):
        options = {**other.options, **({"blocks": 1} if policy == "dcbf" else {})}
        assert vs.simulate(replace(other, options=options), engine="reference").exit_reason == "ALL_DONE"


SHARED = """
datacenter: {racks: [{units: {CPU: 3}}]}
processor_types: [{name: CPU, capacity: 2, parallelism: 1}]
workload: {generator: mix, options: {n_jobs: 6, tasks_per_job: 2, operations: 5e6, shares: {INT: 1}}}
affinity: {absolute: {CPU: {INT: 5e4}}}
arrivals: {iat: 7 us}
"""
REFUSED = {
    "rr": ("", "which moves them"),
    "bf": ("", r"a dynamic_power of each type[\s\S]*which moves them"),
    "abf": ("options: {device: cuda, block_size: 2000}", "at most 1024 on a GPU"),
    "optimal": ("", r"share a unit's speed, for the policy optimal[\s\S]*take a whole unit, for the policy optimal"),
    "fgd": ("options: {typical: 13}", "a number of tasks, 0 to 12"),
    "slurm": ("", "jobs of a Slurm site"),
}


@pytest.mark.parametrize(("policy", "more", "words"), [(name, *case) for name, case in REFUSED.items()], ids=REFUSED)
def test_what_a_run_would_refuse_a_file_is_refused_for(tmp_path, policy, more, words):
    file = tmp_path / "scenario.yaml"
    file.write_text(f"{SHARED}policy: {policy}\n{more}\n")
    with pytest.raises(vs.InputError, match=words):
        read_scenario(file, check_policy=PolicyCheck())


def test_the_energy_of_equation_2_on_shared_units_is_refused_with_the_file(tmp_path):
    file, kind = tmp_path / "scenario.yaml", "{name: CPU, capacity: 2, parallelism: 1, dynamic_power: 5}"
    text = SHARED.replace("{name: CPU, capacity: 2, parallelism: 1}", kind)
    file.write_text(f"{text}policy: rr\noptions: {{realloc: new}}\naccounting: {{energy: eq2}}\n")
    with pytest.raises(vs.InputError, match="the remaining time of tasks that share"):
        read_scenario(file, check_policy=PolicyCheck())
