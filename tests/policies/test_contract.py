"""The policy contract, proved by one small policy of each kind on both engines, and by policies that break it."""

import linecache
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.kinds.least_loaded_node import LeastLoadedNode
from tests.policies.kinds.on_the_hour import OnTheHour
from tests.policies.kinds.overcommit import Pile, PileInBatches
from tests.policies.kinds.periodic import PeriodicFirstFit
from tests.policies.kinds.repack import Repack
from tests.policies.kinds.round_robin import RoundRobin
from tests.policies.kinds.sharing import LeastLoaded
from tests.policies.kinds.slots import Slots
from vinesim.core.code import fingerprint
from vinesim.core.special import Special
from vinesim.engine.contract import RULES, RULES_OF_BATCHES, decision
from vinesim.policies.contract import BatchPolicy, OnlinePolicy
from vinesim.policies.registry import policies
from vinesim.state.layout import (
    IS_ATTACHED,
    IS_CONSOLIDATED,
    IS_DOWN,
    IS_GANG,
    IS_RESERVED,
    JUST_STARTED,
    NO_ROOM_FOR_THE_REST,
    NOT_RUNNING,
    ON_ENGINE,
    OTHER_ROLE,
    OUTSIDE_PARTITION,
    OVER_CAP,
    OVER_QUOTA,
)
from vinesim.state.queries import drop, nothing, oldest_pending, start, start_consolidated, wait_until

ENGINES = pytest.mark.parametrize("engine", ["compiled", "reference"])


def scenario(
    policy: Any,
    units: list[tuple[str, int, int]] | None = None,
    types: tuple[vs.ProcessorType, ...] = (vs.ProcessorType("CPU"),),
    jobs: list[tuple[float, list[float]]] | None = None,  # (arrival, operations of each task)
    affinity: Any = ((1.0,),),
    kinds: list[int] | None = None,  # task type of each job
    **more: Any,
) -> vs.Scenario:
    """A small scenario in which an operation takes a microsecond."""
    jobs = jobs or [(0.0, [10.0])]
    n_tasks = sum(len(operations) for _, operations in jobs)
    work = {
        name: more.pop(name)
        for name in ("demand", "application", "data_bytes", "data_rack", "data_shelf")
        if name in more
    }
    table = np.array(affinity)
    return vs.Scenario(
        vs.Datacenter.of(units or [("CPU", 0, 0)], types),
        vs.Workload(
            **{
                "job_task_type": kinds or [0] * len(jobs),
                "job_first": np.cumsum([0, *(len(operations) for _, operations in jobs)]),
                "arrival_us": [arrival for arrival, _ in jobs],
                "operations": [value for _, operations in jobs for value in operations],
                "data_bytes": np.zeros(n_tasks),
                "data_rack": np.zeros(n_tasks),
                "data_shelf": np.zeros(n_tasks),
                "preferred_type": np.full(n_tasks, -1),
                "task_types": tuple(vs.TaskType(f"T{t}") for t in range(table.shape[1])),
                **work,
            }
        ),
        policy=policy,
        affinity=table,
        **{"period_us": 5.0, **more},
    )


def finishes(result: vs.Result) -> list[float]:
    return result.tasks["finish_us"].tolist()


# --- slots ---


@ENGINES
def test_slots_run_several_tasks_at_full_speed(engine):
    """A unit of capacity 4: demands of 2, 1 and 1 run at once, the fourth task waits for room."""
    case = scenario(
        Slots, types=(vs.ProcessorType("CPU", capacity=4.0),), jobs=[(0.0, [10, 20, 30, 5])], demand=[2, 1, 1, 2]
    )
    result = vs.simulate(case, engine=engine)
    assert finishes(result) == [10, 20, 30, 15]
    assert result.units["active_us"].tolist() == [30]


@ENGINES
def test_a_demand_is_a_number_a_slot_or_the_whole_unit(engine):
    """On a unit of capacity 4: a slot and the whole; slots alone; nothing along with 4, which takes a full unit no
    more."""

    def ends(demand):
        types = (vs.ProcessorType("CPU", capacity=4.0),)
        case = scenario(Slots, types=types, jobs=[(0.0, [10, 10, 10])], demand=demand)
        return finishes(vs.simulate(case, engine=engine))

    assert ends([1, vs.WHOLE_UNIT, 1]) == [10, 20, 30]
    assert ends([vs.ONE_SLOT, 3, vs.ONE_SLOT]) == [10, 10, 20]
    assert ends(None) == [10, 10, 10]
    assert ends([0, 4, 0]) == [10, 10, 20]
    assert ends([0, 0, 4]) == [10, 10, 10]


@ENGINES
def test_a_unit_that_is_full_but_for_a_rounding_takes_nothing(engine):
    """Ten times 0.1 add up to less than 1."""
    case = scenario(Slots, jobs=[(0.0, [10.0] * 11)], demand=[0.1] * 10 + [0.0])
    assert vs.simulate(case, engine=engine).tasks["init_us"].tolist() == [0] * 10 + [10]


@ENGINES
def test_a_slot_of_a_unit_of_less_capacity_is_all_of_it(engine):
    types = (vs.ProcessorType("CPU", capacity=0.5),)
    result = vs.simulate(scenario(Slots, types=types, jobs=[(0.0, [10, 10])]), engine=engine)
    assert finishes(result) == [10, 20]
    assert not result.outcome.shares_units


# --- processor sharing ---

SHARED = (vs.ProcessorType("CPU", capacity=8.0, parallelism=1.0),)


@ENGINES
def test_two_tasks_that_share_a_unit_take_twice_as_long(engine):
    case = scenario(LeastLoaded, types=SHARED, jobs=[(0.0, [10, 10])], demand=[1, 1])
    assert finishes(vs.simulate(case, engine=engine)) == [20, 20]


@ENGINES
def test_a_task_that_comes_in_mid_service_slows_the_first_down(engine):
    """Alone from 0 to 4, together from 4 to 16 (the first has 6 left, so both get 6), the second alone to 20."""
    case = scenario(LeastLoaded, types=SHARED, jobs=[(0.0, [10]), (4.0, [10])], demand=[1, 1])
    assert finishes(vs.simulate(case, engine=engine)) == [16, 20]


@ENGINES
def test_tasks_of_different_sizes_leave_one_after_the_other(engine):
    """Sizes 1, 2 and 4 from 0 on: 3 x 1, then 2 x 1 more, then 2 alone."""
    case = scenario(LeastLoaded, types=SHARED, jobs=[(0.0, [4, 1, 2])], demand=[1, 1, 1])
    assert finishes(vs.simulate(case, engine=engine)) == pytest.approx([7, 3, 5], rel=1e-12)


@ENGINES
def test_tasks_share_only_beyond_the_parallelism(engine):
    """Two at full speed; with a third, each gets 2/3."""
    types = (vs.ProcessorType("CPU", capacity=8.0, parallelism=2.0),)
    two = scenario(LeastLoaded, types=types, jobs=[(0.0, [10, 10])], demand=[1, 1])
    three = scenario(LeastLoaded, types=types, jobs=[(0.0, [10, 10, 10])], demand=[1, 1, 1])
    assert finishes(vs.simulate(two, engine=engine)) == [10, 10]
    assert finishes(vs.simulate(three, engine=engine)) == pytest.approx([15, 15, 15], rel=1e-12)


@ENGINES
def test_tasks_that_are_due_together_end_together_whatever_the_rounding(engine):
    """The first two have had a little more than their time when the clock of the unit comes to 4.7."""
    case = scenario(
        LeastLoaded, types=SHARED, jobs=[(0.0, [1.4, 1.4]), (0.9, [1.3]), (0.9, [1.0])], demand=[1, 1, 1, 1]
    )
    assert finishes(vs.simulate(case, engine=engine)) == [4.7, 4.7, 5.1, 4.8]


@ENGINES
def test_of_tasks_that_are_due_together_the_first_one_started_leaves_first(engine):
    """At 40 there is room for 1, then for all 4: so the task of 4 begins, and not that of 2, which came later."""
    case = scenario(
        "high",
        types=(vs.ProcessorType("CPU", capacity=4.0, parallelism=1.0),),
        jobs=[(0.0, [10, 10]), (1.0, [1]), (1.0, [1])],
        demand=[1, 3, 4, 2],
        affinity=((1.0, 1.0),),
        kinds=[0, 0, 1],
    )
    assert vs.simulate(case, engine=engine).tasks["init_us"].tolist() == [0, 0, 40, 44]


@ENGINES
def test_the_least_loaded_unit_is_chosen(engine):
    case = scenario(
        LeastLoaded, [("CPU", 0, 0), ("CPU", 0, 1)], types=SHARED, jobs=[(0.0, [10] * 4)], demand=[1, 1, 1, 1]
    )
    result = vs.simulate(case, engine=engine)
    assert result.tasks["unit"].tolist() == [0, 1, 0, 1]
    assert finishes(result) == [20, 20, 20, 20]


@ENGINES
def test_a_unit_that_all_tasks_have_left_is_empty_whatever_the_rounding(engine):
    """0.3 + 0.1 - 0.1 - 0.3 is more than 0; still the first unit is as empty as the second one, and comes first."""
    jobs = [(0.0, [10]), (0.0, [10]), (0.0, [5]), (20.0, [1])]
    case = scenario(LeastLoaded, [("CPU", 0, 0), ("CPU", 0, 1)], jobs=jobs, demand=[0.3, 0.9, 0.1, 1.0])
    assert vs.simulate(case, engine=engine).tasks["unit"].tolist() == [0, 1, 0, 0]


# --- over-commitment ---


@ENGINES
def test_over_commitment_online(engine):
    """Three whole-unit tasks on a unit that does not share its speed: all run at once, at full speed."""
    assert finishes(vs.simulate(scenario(Pile, jobs=[(0.0, [10, 10, 10])]), engine=engine)) == [10, 10, 10]


@ENGINES
def test_over_commitment_in_batches_is_measured(engine):
    """Demands of 0.6 and 0.8 on a server of 1: the second finds 0.4 too much for 10 us, then for 5, when another of
    0.5 for 2 us comes. What arrives at 3 is placed at 10."""
    case = scenario(
        PileInBatches,
        [("CPU", 0, 0), ("CPU", 0, 1)],
        jobs=[(0.0, [15, 15]), (3.0, [2])],
        demand=[0.6, 0.8, 0.5],
        period_us=10.0,
    )
    result = vs.simulate(case, engine=engine)
    assert result.tasks["unit"].tolist() == [0, 0, 0]
    assert finishes(result) == [15, 15, 12]
    assert result.periods["period"].tolist() == [0, 1]
    assert result.periods["active"].tolist() == [1, 1]
    assert result.periods["slav"] == pytest.approx([0.4 * 10e-6, (0.4 * 5 + 0.9 * 2) * 1e-6])


@ENGINES
def test_over_commitment_of_a_shared_unit_slows_it_down(engine):
    types = (vs.ProcessorType("CPU", capacity=2.0, parallelism=1.0),)
    result = vs.simulate(scenario(Pile, types=types, jobs=[(0.0, [10] * 4)], demand=[1] * 4), engine=engine)
    assert finishes(result) == [40, 40, 40, 40]


# --- scratch ---


@ENGINES
def test_scratch_is_remembered_between_decisions_and_zero_before_a_run(engine):
    case = scenario(RoundRobin, [("CPU", 0, shelf) for shelf in range(3)], jobs=[(20.0 * j, [1]) for j in range(5)])
    for _ in range(2):
        assert vs.simulate(case, engine=engine).tasks["unit"].tolist() == [0, 1, 2, 0, 1]


# --- batch ---


@ENGINES
def test_a_batch_policy_places_what_is_pending_once_a_period(engine):
    """Periods at 0, 5, 10 ...: arrivals at 0 and 5 are placed at once, that of 6 at 10, and a full unit makes wait."""
    case = scenario(PeriodicFirstFit, jobs=[(0.0, [3]), (5.0, [2]), (6.0, [7]), (6.0, [1])])
    result = vs.simulate(case, engine=engine)
    assert result.exit_reason is vs.ExitReason.ALL_DONE
    assert result.tasks["init_us"].tolist() == [0, 5, 10, 20]
    assert result.periods["period"].tolist() == [0, 1, 2, 3, 4]


@ENGINES
@pytest.mark.parametrize("last_us", [5.0, 4.0, 6.0])
def test_a_batch_run_ends_as_done_wherever_its_last_finish_falls(engine, last_us):
    result = vs.simulate(scenario(PeriodicFirstFit, jobs=[(0.0, [last_us])]), engine=engine)
    assert result.exit_reason is vs.ExitReason.ALL_DONE
    assert finishes(result) == [last_us]


@ENGINES
def test_a_batch_policy_that_starts_nothing_stalls(engine):
    units = [("CPU", 0, 0), ("GPU", 0, 1)]
    case = scenario(StartsOnTheFirst, units=units, **TWO_TYPES, kinds=[0, 1])
    assert vs.simulate(case, engine=engine).exit_reason is vs.ExitReason.STALLED


@ENGINES
def test_a_batch_run_stalls_in_the_period_of_its_last_arrival(engine):
    """Of two units the policy knows the first, which cannot run the job that arrives at 5."""
    units = [("CPU", 0, 0), ("GPU", 0, 1)]
    jobs = [(0.0, [3.0]), (5.0, [10.0])]
    case = scenario(StartsOnTheFirst, units=units, **{**TWO_TYPES, "jobs": jobs}, kinds=[0, 1])
    result = vs.simulate(case, engine=engine)
    assert result.exit_reason is vs.ExitReason.STALLED
    assert result.periods["period"].tolist() == [0, 1]


class StartsOnTheFirst(PeriodicFirstFit):
    """Knows no unit but the first."""

    def place(self, tasks: Any, servers: Any) -> np.ndarray:
        placed = super().place(tasks, servers)
        return np.where(placed == 0, 0, -1)


TWO_TYPES: dict[str, Any] = {
    "types": (vs.ProcessorType("CPU", capacity=4.0), vs.ProcessorType("GPU")),
    "jobs": [(0.0, [10.0]), (1.0, [10.0])],
    "affinity": ((1.0, 0.0), (0.0, 1.0)),
}


@ENGINES
def test_a_batch_policy_may_wait_for_tasks_that_share_a_unit(engine):
    """The second of two tasks that share has no known finish; the run goes on until it has."""
    types = (vs.ProcessorType("CPU", capacity=2.0, parallelism=1.0),)
    case = scenario(PeriodicFirstFit, types=types, jobs=[(0.0, [10, 10]), (0.0, [1])], demand=[1, 1, 1])
    result = vs.simulate(case, engine=engine)
    assert result.exit_reason is vs.ExitReason.ALL_DONE
    assert finishes(result) == [20, 20, 21]


# --- batch that places running tasks again ---


@ENGINES
def test_running_tasks_are_moved_onto_fewer_servers(engine):
    """0.7 on server 0, 0.6 and 0.35 on server 1; at 5, when the first is done, both others move to server 0."""
    case = scenario(Repack, [("CPU", 0, 0), ("CPU", 0, 1)], jobs=[(0.0, [4, 12]), (0.0, [30])], demand=[0.7, 0.6, 0.35])
    result = vs.simulate(case, engine=engine)
    assert result.exit_reason is vs.ExitReason.ALL_DONE
    assert result.tasks["unit"].tolist() == [0, 0, 0]
    assert finishes(result) == [4, 12, 30]
    assert result.periods["active"].tolist()[:2] == [2, 1]


@ENGINES
def test_running_tasks_may_swap_places(engine):
    """Only the loads after all moves count."""

    @dataclass(frozen=True)
    class Swap(Repack):
        def place(self, tasks, servers):
            return np.arange(len(tasks.task)) if (tasks.unit < 0).any() else 1 - tasks.unit.astype(int)

    case = scenario(Swap, [("CPU", 0, 0), ("CPU", 0, 1)], jobs=[(0.0, [9, 8])])
    result = vs.simulate(case, engine=engine)
    assert result.tasks["unit"].tolist() == [1, 0]
    assert finishes(result) == [9, 8]


# --- consolidation ---


@ENGINES
def test_tasks_of_a_group_start_together(engine):
    """Five tasks, at most 3 at once, on one unit: their operations add up and they end together."""
    result = vs.simulate(scenario(Consolidate, jobs=[(0.0, [1, 2, 3, 4, 5])]), engine=engine)
    assert finishes(result) == [6, 6, 6, 15, 15]
    assert result.tasks["init_us"].tolist() == [0, 0, 0, 6, 6]
    assert result.units["active_us"].tolist() == [15]


@ENGINES
def test_a_batch_pays_its_overhead_once(engine):
    result = vs.simulate(scenario(Consolidate, jobs=[(0.0, [1, 2, 3])], overhead_us=[[7.0]]), engine=engine)
    assert finishes(result) == pytest.approx([13, 13, 13], rel=1e-12)


@ENGINES
def test_a_batch_is_of_one_application(engine):
    """The first starts at once, alone, as jobs arrive one by one."""
    case = scenario(Consolidate, jobs=[(0.0, [1]), (0.0, [2]), (0.0, [4]), (0.0, [8])], application=[0, 1, 0, 1])
    assert finishes(vs.simulate(case, engine=engine)) == [1, 11, 15, 11]


@ENGINES
def test_a_batch_takes_members_across_jobs_and_skips_other_groups(engine):
    """While the unit runs task 0, tasks 1 to 4 queue up: those of application 0 go together, past that of 1."""
    case = scenario(Consolidate, jobs=[(0.0, [10]), (1.0, [1]), (2.0, [2]), (3.0, [4])], application=[0, 0, 1, 0])
    result = vs.simulate(case, engine=engine)
    assert finishes(result) == [10, 15, 17, 15]


# --- nodes ---


@ENGINES
def test_the_node_with_the_least_load_is_chosen(engine):
    """Nodes of 2, 1 and 1 units: the first task to each, then the second unit of node 0."""
    units = [("CPU", 0, 0), ("CPU", 0, 0), ("CPU", 0, 1), ("CPU", 1, 0)]
    case = scenario(LeastLoadedNode, units, jobs=[(0.0, [10] * 4)])
    assert vs.simulate(case, engine=engine).tasks["unit"].tolist() == [0, 2, 3, 1]


# --- timers ---


@ENGINES
def test_a_policy_wakes_itself_up(engine):
    case = scenario(OnTheHour, [("CPU", 0, 0), ("CPU", 0, 1)], jobs=[(3.0, [1]), (10.0, [2]), (11.0, [1]), (39.9, [5])])
    result = vs.simulate(case, engine=engine)
    assert result.tasks["init_us"].tolist() == [10, 10, 20, 40]
    assert result.exit_reason is vs.ExitReason.ALL_DONE


# --- breaches ---


@dataclass(frozen=True)
class Breach(OnlinePolicy):
    """Breaks the rule that its option names."""

    name: ClassVar[str] = "breach"
    rule: int = 1

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        rule = view.options.rule
        if rule == 1:
            return start(task + 100, 0)
        if rule == 2 and task > 0:
            return start(0, 0)
        if rule == 3:
            return start(task, 99)
        if rule == 4:
            return start(task, 1)
        if rule == 6:
            return start_consolidated(task, 3, 0)
        if rule == 7:
            return wait_until(view.now_us)
        if rule == 13:
            return start(task, -5)
        if rule == 14:
            return wait_until(float("nan"))
        if rule == 16:
            return start_consolidated(task, 0, 0)
        if rule == 17:
            return start_consolidated(task + 1, 2, 0)
        return start(task, 0)


@dataclass(frozen=True)
class BatchBreach(BatchPolicy):
    """Places tasks as the script says, running ones too."""

    name: ClassVar[str] = "batch_breach"
    replaces_running: ClassVar[bool] = True
    script: tuple[tuple[int, ...], ...] = ()

    def place(self, tasks, servers):
        wanted = self.script[0] if (tasks.unit < 0).any() else self.script[1]
        return np.array(wanted)


BREACHES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 13: 3, 14: 7, 16: 6, 17: 6}


@ENGINES
@pytest.mark.parametrize(("breach", "rule"), BREACHES.items())
def test_a_breach_names_its_rule(engine, breach, rule):
    case = scenario(
        Breach,
        [("CPU", 0, 0), ("GPU", 0, 1)],
        types=(vs.ProcessorType("CPU"), vs.ProcessorType("GPU")),
        jobs=[(2.0, [10, 10])],
        affinity=((1.0,), (0.0,)),
        options={"rule": breach},
    )
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(case, engine=engine)
    assert RULES[rule] in str(error.value)
    assert re.match(r"policy breach, \S+test_contract.py:\d+ at 2 us", str(error.value))


BATCH_BREACHES = {
    "start elsewhere": (((9, 1),), 3),
    "start where it cannot run": (((2, 1),), 4),
    "start without room": (((0, 0),), 5),
    "move elsewhere": (((0, 1), (9, 1)), 3),
    "move where it cannot run": (((0, 1), (2, 1)), 4),
    "move without room": (((0, 1), (1, 1)), 5),
    "move to a shared unit": (((0, 1), (3, 1)), 8),
    "too few": (((0,),), len(RULES) - 1),
}


@ENGINES
@pytest.mark.parametrize(("script", "rule"), BATCH_BREACHES.values(), ids=BATCH_BREACHES.keys())
def test_a_batch_breach_names_its_rule(engine, script, rule):
    case = scenario(
        BatchBreach(script=script),
        [("CPU", 0, 0), ("CPU", 0, 1), ("GPU", 0, 2), ("PS", 0, 3)],
        types=(
            vs.ProcessorType("CPU"),
            vs.ProcessorType("GPU"),
            vs.ProcessorType("PS", capacity=2.0, parallelism=1.0),
        ),
        jobs=[(0.0, [30, 30])],
        affinity=((1.0,), (0.0,), (1.0,)),
    )
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(case, engine=engine)
    assert RULES_OF_BATCHES.get(rule, RULES[rule]) in str(error.value)
    assert "policy batch_breach" in str(error.value)


@ENGINES
def test_a_node_that_is_down_takes_nothing(engine):
    units, down = [("CPU", 0, 0), ("CPU", 0, 1)], (vs.Outage(0, 0, 1.0, 5.0),)
    case = scenario(Breach, units, jobs=[(2.0, [10])], options={"rule": 0}, outages=down)
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(case, engine=engine)
    assert RULES[IS_DOWN] in str(error.value)


def test_every_rule_is_tried():
    of_ends = {NOT_RUNNING, JUST_STARTED, IS_CONSOLIDATED}  # tests/unit/engine/test_early_ends.py
    of_gangs = {IS_ATTACHED, IS_GANG}  # test_gangs.py there
    of_partitions = {OUTSIDE_PARTITION, OVER_QUOTA}  # tests/unit/engine/test_partitions.py
    of_engines = {ON_ENGINE, OTHER_ROLE}  # test_batching.py and test_disaggregated.py there
    of_reservations = {IS_RESERVED}  # test_reservations.py there
    elsewhere = (
        {IS_DOWN, NO_ROOM_FOR_THE_REST, OVER_CAP} | of_reservations | of_engines | of_ends | of_gangs | of_partitions
    )
    here = {*BREACHES.values(), *(rule for _, rule in BATCH_BREACHES.values())}
    assert here | elsewhere == set(range(1, len(RULES)))


# --- plain Python, and what cannot be compiled ---


@dataclass(frozen=True)
class PlainHigh(OnlinePolicy):
    """HIGH in plain Python, with all that Numba cannot do."""

    name: ClassVar[str] = "plain_high"
    compiled: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        for task in sorted(state.pending):
            own_type = state.task_type_of(task)
            speeds = {
                u: model.affinity[model.unit_type[u], own_type]
                for u in range(len(model.unit_type))
                if not state.running[u]
            }
            able = {unit: speed for unit, speed in speeds.items() if speed > 0}
            if able:
                return start(task, max(able, key=lambda unit: (able[unit], -unit)))
        return nothing()


@dataclass(frozen=True)
class Uncompilable(OnlinePolicy):
    """Says that it can be compiled, and cannot."""

    name: ClassVar[str] = "uncompilable"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return {"task": oldest_pending(model, state), "why": [str(view)]}


@pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
def test_a_plain_python_policy_equals_the_compiled_one():
    from tests.strategies import Limits, seeded_scenario, with_policy

    for seed in range(60):
        case = seeded_scenario(seed, "high", {}, Limits(demands="none", sharing=False))
        compiled, plain = (
            vs.simulate(case, engine="compiled"),
            vs.simulate(with_policy(case, PlainHigh), engine="reference"),
        )
        assert all(compiled.tasks[name].tobytes() == plain.tasks[name].tobytes() for name in compiled.tasks)


def test_a_plain_python_policy_is_refused_by_the_compiled_engine():
    with pytest.raises(vs.InputError, match=r"expected reference or auto, as the policy plain_high is plain Python"):
        vs.simulate(scenario(PlainHigh), engine="compiled")


def test_a_policy_that_cannot_be_compiled_says_what_to_do():
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(scenario(Uncompilable), engine="compiled")
    text = str(error.value)
    assert re.match(rf"policy uncompilable cannot be compiled: {re.escape(__file__)}:\d+: it makes a list", text)
    assert "compiled = False" in text
    assert "--engine reference" in text


WRONG_LINES = {
    "x = float(can_start(model, state, 0, 0))": "there is no float(bool)",
    "x = model.task_job.nothing_of_it": "Unknown attribute 'nothing_of_it' of type",
    "x = first_free(model, state)": "missing a required argument: 'task'; it takes (model, state, task, ",
    "x = max(room(model, state, u) for u in range(3))": "The use of yield in a closure is unsupported.",
    "x = np.argsort(view.scratch.last)": "Numba cannot compile this",
}


@pytest.mark.parametrize("line", WRONG_LINES)
def test_what_cannot_be_compiled_is_reported_with_its_line(line, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\nimport numpy as np\nfrom vinesim.policies import *\n\n"
        '@dataclass(frozen=True)\nclass Mine(OnlinePolicy):\n    scratch = {"last": ("f8", "units")}\n\n'
        f"    @staticmethod\n    def decide(model, state, view):\n        {line}\n        return nothing()\n"
    )
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(scenario(f"{file}:Mine"), engine="compiled")
    where, source, advice = str(error.value).splitlines()
    assert where.startswith(f"policy Mine cannot be compiled: {file}:11: {WRONG_LINES[line]}")
    assert source == f"    {line}"
    assert "--engine reference" in advice


CELL = """@dataclass(frozen=True)
class Cell(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        x = float(can_start(model, state, 0, 0))
        return nothing()
"""


@pytest.mark.parametrize(("is_known", "where"), [(True, "{file}:5: "), (False, "")])
def test_the_line_of_a_notebook_is_reported_too_and_where_no_text_is_known(is_known, where, monkeypatch):
    """A notebook keeps the text of its cells in linecache, for no file."""
    file = "/a/notebook/cell.py"
    if is_known:
        monkeypatch.setitem(linecache.cache, file, (len(CELL), None, CELL.splitlines(keepends=True), file))
    names = {**vars(vs.policies), "dataclass": dataclass, "__name__": "a_notebook"}
    exec(compile(CELL, file, "exec"), names)
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(scenario(names["Cell"]), engine="compiled")
    first = str(error.value).splitlines()[0]
    assert first == f"policy Cell cannot be compiled: {where.format(file=file)}there is no float(bool)"


@dataclass(frozen=True)
class HalfUnit(OnlinePolicy):
    """Takes the half of a number for a unit."""

    name: ClassVar[str] = "half_unit"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start(oldest_pending(model, state), len(model.unit_type) / 2)


def test_both_engines_refuse_a_unit_that_is_no_whole_number():
    with pytest.raises(
        vs.PolicyError, match=r"^policy HalfUnit.decide, \S+:\d+: .* by whole numbers, found 0\.5\n    return start"
    ):
        vs.simulate(scenario(HalfUnit), engine="reference")
    with pytest.raises(
        vs.PolicyError,
        match=r"^policy half_unit cannot be compiled: \S+:\d+: a task, a unit or a score is no whole number",
    ):
        vs.simulate(scenario(HalfUnit), engine="compiled")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (start(0, "CPU"), "must name tasks and units by whole numbers, found 'CPU'"),
        (start(None, 0), "must name tasks and units by whole numbers, found None"),
        (start_consolidated(0, 1.0, 0), "must name tasks and units by whole numbers, found 1.0"),
        (start(0, True), "must name tasks and units by whole numbers, found True"),
        (drop([0]), "must name tasks and units by whole numbers, found [0]"),
        (wait_until("soon"), "must wait until a time in us, a number, found 'soon'"),
        (wait_until(None), "must wait until a time in us, a number, found None"),
        (0, "must return start(...), wait_until(...) or nothing(), returned 0"),
    ],
)
def test_an_action_of_other_things_than_numbers_is_refused(action, words):
    with pytest.raises(vs.PolicyError, match=f"{re.escape(words)}(\n|$)"):
        decision(lambda *_: action, None, None, None)
    right = start(np.int64(0), np.int32(1))
    assert decision(lambda *_: right, None, None, None) is right


@pytest.mark.parametrize("end", [SystemExit(0), GeneratorExit()])
def test_a_policy_that_ends_the_program_is_an_error_of_the_policy(end):
    def leaves(*_):
        raise end

    with pytest.raises(vs.PolicyError, match=rf"leaves, \S+:\d+: {type(end).__name__}"):
        decision(leaves, None, None, None)


# --- an edited policy runs its new code ---

POLICY = '''
from dataclasses import dataclass
from typing import Any, ClassVar
{imports}
from vinesim.policies.contract import OnlinePolicy
from vinesim.state.queries import oldest_pending, nothing, start, can_start

LAST = {last}

def helper(n):
    return {helper}

@dataclass(frozen=True)
class Mine(OnlinePolicy):
    """Starts each task on one unit."""
    name: ClassVar[str] = "mine"

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        unit = {unit}
        if task >= 0 and can_start(model, state, task, unit):
            return start(task, unit)
        return nothing()
'''

EDITS = [  # each changes one thing of the first version; the unit that the task then runs on
    ({"unit": "1"}, 1),
    ({"unit": "2"}, 2),
    ({"unit": "LAST", "last": "3"}, 3),
    ({"unit": "LAST", "last": "0"}, 0),
    ({"unit": "helper(2)", "imports": "from numba import njit", "helper": "n"}, 2),
]


@pytest.fixture(autouse=True)
def _byte_code(monkeypatch):
    """As on a user's machine: Python keeps the byte code of what it imports."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def write(path: Path, last: str = "3", helper: str = "n + 1", unit: str = "0", imports: str = "") -> None:
    """Write a version of the policy; its time stamp never changes, as if two edits fell into one tick of the clock."""
    path.write_text(POLICY.format(last=last, helper=helper, unit=unit, imports=imports))
    os.utime(path, (1_700_000_000, 1_700_000_000))


def case_of(path: Path) -> vs.Scenario:
    return scenario(f"{path}:Mine", [("CPU", 0, shelf) for shelf in range(4)])


def test_an_edited_policy_runs_its_new_code_in_the_same_process(tmp_path):
    path = tmp_path / "mine.py"
    write(path)
    assert vs.simulate(case_of(path), engine="compiled").tasks["unit"].tolist() == [0]
    for change, unit in EDITS[:4]:
        write(path, **change)
        assert vs.simulate(case_of(path), engine="compiled").tasks["unit"].tolist() == [unit]
        assert vs.simulate(case_of(path), engine="reference").tasks["unit"].tolist() == [unit]


def test_an_edited_policy_runs_its_new_code_in_a_new_process(tmp_path):
    path = tmp_path / "mine.py"
    script = (
        "import sys; from pathlib import Path; from tests.policies.test_contract import case_of; import vinesim as vs;"
        "print(vs.simulate(case_of(Path(sys.argv[1])), engine='compiled').tasks['unit'].tolist())"
    )
    source = Path(vs.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parents[2]}"}
    for change, unit in [
        ({"unit": "0"}, 0),
        ({"unit": "1"}, 1),
        ({"unit": "LAST"}, 3),
        ({"unit": "LAST", "last": "2"}, 2),
    ]:
        write(path, **change)
        printed = subprocess.run(
            [sys.executable, "-c", script, str(path)], env=environment, capture_output=True, text=True, check=True
        )
        assert printed.stdout.strip() == str([unit])


def test_a_policy_file_leaves_nothing_next_to_it(tmp_path):
    path = tmp_path / "mine.py"
    write(path)
    vs.simulate(case_of(path), engine="reference")
    assert [item.name for item in tmp_path.iterdir()] == ["mine.py"]


def test_a_helper_with_other_code_is_another_policy(tmp_path):
    """The key of the compile cache holds all that a policy calls, however deep, and the values of its constants."""
    from vinesim.policies.registry import resolve

    keys = []
    text = POLICY.replace("def helper", "def deeper(n):\n    return n {deep}\n\ndef helper")
    for deep in ("+ 0", "+ 1"):
        path = tmp_path / "mine.py"
        path.write_text(text.format(imports="", last="3", helper="deeper(n)", unit="helper(0)", deep=deep))
        keys.append(fingerprint(resolve(f"{path}:Mine").decide))
    assert keys[0] != keys[1]


def test_the_same_policy_has_the_same_key_again(tmp_path):
    from vinesim.policies.registry import resolve

    path = tmp_path / "mine.py"
    write(path)
    names = {fingerprint(resolve(f"{path}:Mine").decide) for _ in range(2)}
    assert len(names) == 1
    assert fingerprint(policies()["high"].decide) not in names


def compiled_with(decide):
    """A policy's function as a kernel of a loop."""
    return Special(frozenset(), {"decide": decide}).part(decide)


constants = ModuleType("constants")
constants.MORE = 0


def least(number, most=9e9):
    return min(number, most)


def more(number):
    return least(number + constants.MORE)


@dataclass(frozen=True)
class Later(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return wait_until(more(view.now_us) + 1.0)


@dataclass(frozen=True)
class MuchLater(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return wait_until(more(view.now_us) + 9.0)


def test_a_helper_of_several_policies_is_one_kernel_until_it_changes(monkeypatch):
    def kernel_of_the_helper(policy):
        return compiled_with(policy.decide).py_func.__globals__["more"]

    first = kernel_of_the_helper(Later)
    assert kernel_of_the_helper(MuchLater) is first
    monkeypatch.setattr(constants, "MORE", 1)
    second = kernel_of_the_helper(MuchLater)
    assert second is not first
    assert second.py_func.__globals__["least"] is first.py_func.__globals__["least"]
    monkeypatch.setattr(least, "__defaults__", (0.0,))  # of a helper's helper
    assert kernel_of_the_helper(MuchLater) is not second
    monkeypatch.undo()
    assert kernel_of_the_helper(Later) is first
