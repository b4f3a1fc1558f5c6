"""Segments of tasks that hold several units end early, by hand: all that a task held is free, and taken elsewhere."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.urgent import Urgent
from vinesim.model.accounting import Accounting
from vinesim.model.errors import PolicyError
from vinesim.policies import OnlinePolicy, first_free, move, nothing, oldest_pending, preempt, start
from vinesim.state.queries import fastest_free_without

ENGINES = ("reference", "compiled")
NODE = ("CPU", "GPU", "GPU")  # units 0, 1, 2 of the first node, 3, 4, 5 of the second


@dataclass(frozen=True)
class Hops(OnlinePolicy):
    """Starts what it can; when task 1 arrives at 4 us, it moves task 0 to a unit."""

    preempts: ClassVar[bool] = True
    to: int = 5

    @staticmethod
    def decide(model, state, view):
        if view.now_us == 4.0 and state.task_init_us[0] < 4.0:
            return move(0, view.options.to)
        task = oldest_pending(model, state)
        unit = first_free(model, state, task) if task >= 0 else -1
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Hasty(OnlinePolicy):
    """Starts a task where it would have room if task 0 left its unit, which it does at 100 us."""

    preempts: ClassVar[bool] = True
    scratch: ClassVar[dict] = {"others": ("i8", "tasks")}

    @staticmethod
    def decide(model, state, view):
        if view.now_us == 100.0:
            return preempt(0)
        task = oldest_pending(model, state)
        unit = fastest_free_without(model, state, task, view.scratch.others, 1) if task >= 0 else -1
        return start(task, unit) if unit >= 0 else nothing()


def case(policy, arrival, cpu, nodes=1, options=None, outages=(), **columns):
    """Nodes with a CPU of 8 and two GPUs each; each job is 10 us on GPUs, with its amount of the CPU."""
    types = [vs.ProcessorType("CPU", capacity=8.0), vs.ProcessorType("GPU")]
    center = vs.Datacenter.of([(kind, 0, node) for node in range(nodes) for kind in NODE], types)
    n = len(arrival)
    work = vs.Workload(
        [0] * n, np.arange(n + 1), arrival, [10.0] * n, *np.zeros((3, n)), [-1] * n, task_types=(vs.TaskType("T"),),
        lead_types=[0] * n, lead_sets=(("GPU",),), companions={"CPU": cpu}, **columns,
    )  # fmt: skip
    return vs.Scenario(center, work, policy, options=options or {}, affinity=[[1.0], [1.0]], outages=outages)


def rows(result, task):
    """Of each row of a task: unit, begin, end, outcome, amount."""
    table = result.segments
    names = ("unit", "begin_us", "end_us", "outcome", "amount")
    return [tuple(table[name][i].item() for name in names) for i in np.flatnonzero(table["task"] == task)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_move_takes_all_at_the_new_node_and_frees_all_at_the_old_one(engine):
    made = case(Hops, [0.0, 4.0], [5.0, 5.0], nodes=2, options={"to": 5}, units=[2, 2])
    result = vs.simulate(made, engine=engine)
    assert rows(result, 0) == [
        (1, 0.0, 4.0, "moved", 1.0), (0, 0.0, 4.0, "moved", 5.0), (2, 0.0, 4.0, "moved", 1.0),
        (5, 4.0, 10.0, "finished", 1.0), (3, 4.0, 10.0, "finished", 5.0), (4, 4.0, 10.0, "finished", 1.0),
    ]  # fmt: skip
    assert [row[:2] for row in rows(result, 1)] == [(1, 4.0), (0, 4.0), (2, 4.0)]
    assert result.units["allocated_us"].tolist() == [(4 + 10) * 5 / 8, 14.0, 14.0, 6 * 5 / 8, 6.0, 6.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_move_may_use_what_the_task_itself_frees(engine):
    """The CPU of 8 has no room for 5 more while the task is there."""
    result = vs.simulate(case(Hops, [0.0, 4.0], [5.0, 5.0], options={"to": 2}), engine=engine)
    assert rows(result, 0) == [
        (1, 0.0, 4.0, "moved", 1.0), (0, 0.0, 4.0, "moved", 5.0),
        (2, 4.0, 10.0, "finished", 1.0), (0, 4.0, 10.0, "finished", 5.0),
    ]  # fmt: skip
    assert result.tasks["init_us"].tolist() == [4.0, 10.0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("columns", [{"cpu": [5.0, 4.0, 0.0]}, {"cpu": [3.0, 3.0, 0.0], "units": [2, 1, 1]}])
def test_a_move_without_room_for_all_is_refused(engine, columns):
    """Task 1 is on the other node, where a GPU is free, but not the rest."""
    made = case(Hops, [0.0, 0.0, 4.0], nodes=2, options={"to": 5}, **columns)
    with pytest.raises(vs.PolicyError, match="asked for task 0 on unit 5: the unit has no room for it"):
        vs.simulate(made, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_preempted_task_frees_all_and_takes_all_again(engine):
    result = vs.simulate(case(Urgent, [0.0, 4.0], [5.0, 8.0], units=[2, 1], priority=[0.0, 1.0]), engine=engine)
    assert [row[:4] for row in rows(result, 0)] == [
        (1, 0.0, 4.0, "preempted"), (0, 0.0, 4.0, "preempted"), (2, 0.0, 4.0, "preempted"),
        (1, 14.0, 20.0, "finished"), (0, 14.0, 20.0, "finished"), (2, 14.0, 20.0, "finished"),
    ]  # fmt: skip
    assert rows(result, 1) == [(1, 4.0, 14.0, "finished", 1.0), (0, 4.0, 14.0, "finished", 8.0)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("outcome", "columns", "next_us"),
    [
        ("killed", {"limit_us": [4.0, np.inf]}, 4.0),
        ("withdrawn", {"withdraw_us": [4.0, np.inf]}, 4.0),
        ("interrupted", {"outages": (vs.Outage(0, 0, 4.0, 5.0),)}, 15.0),  # the first task begins again at 5
    ],
)
def test_what_a_task_held_is_free_when_it_ends_early(engine, outcome, columns, next_us):
    """The other task needs all of the node."""
    result = vs.simulate(case("high", [0.0, 1.0], [5.0, 8.0], units=[2, 2], **columns), engine=engine)
    assert [row[:4] for row in rows(result, 0)[:3]] == [(unit, 0.0, 4.0, outcome) for unit in (1, 0, 2)]
    assert result.tasks["init_us"][1] == next_us
    assert [row[:2] for row in rows(result, 1)] == [(1, next_us), (0, next_us), (2, next_us)]


@pytest.mark.parametrize("engine", ENGINES)
def test_placed_tasks_hold_all_from_the_beginning(engine):
    made = case("high", [0.0, 0.0], [5.0, 5.0], nodes=2, units=[2, 1], placed=[2, -1])
    result = vs.simulate(made, engine=engine)
    assert [row[:2] for row in rows(result, 0)] == [(2, 0.0), (0, 0.0), (1, 0.0)]
    assert [row[:2] for row in rows(result, 1)] == [(4, 0.0), (3, 0.0)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("columns", [{"cpu": [5.0, 4.0]}, {"cpu": [0.0, 0.0], "units": [2, 1]}])
def test_placed_tasks_without_room_are_an_error_of_the_scenario(engine, columns):
    made = case("high", [0.0, 0.0], nodes=2, placed=[1, 2], **columns)
    with pytest.raises(vs.InputError, match=r"workload.placed\[1\]: expected a unit with room .* found unit 2"):
        vs.simulate(made, engine=engine)


def test_a_task_is_placed_on_a_type_that_it_may_run_on():
    with pytest.raises(vs.InputError, match=r"workload.placed\[0\]: expected -1, or a unit that can run it"):
        case("high", [0.0], [0.0], placed=[0])


def test_energy_of_a_move_counts_once():
    made = case(Hops, [0.0, 4.0], [5.0, 5.0], nodes=2, options={"to": 5}, units=[2, 2])
    made = replace(made, power_w=[[1.0], [1.0]], accounting=Accounting(migration_j=3.0))
    result = vs.simulate(made, engine="reference")
    assert result.units["migration_j"].tolist() == [0.0, 3.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow)])
def test_room_that_a_policy_supposes_is_none_for_its_start(engine):
    with pytest.raises(PolicyError, match="the unit has no room for it"):
        vs.simulate(case(Hasty, [0.0, 4.0], [5.0, 5.0]), engine=engine)
