"""Segments that end early, by hand: what is kept and lost, what each option does, and what policies may not do."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.urgent import Urgent
from vinesim.policies import OnlinePolicy, first_free, move, nothing, oldest_pending, preempt, start
from vinesim.policies.identity import content_id

ENGINES = ("reference", "compiled")
ONE = (vs.ProcessorType("P"),)


def case(arrival, size, policy=Urgent, units=1, types=ONE, affinity=((1.0,),), outages=(), preemption="resume", **work):
    n = len(arrival)
    table = vs.Workload(
        np.zeros(n), np.arange(n + 1), arrival, size, *np.zeros((3, n)), np.full(n, -1),
        task_types=(vs.TaskType("T"),), **work,
    )  # fmt: skip
    kinds = np.arange(units) % len(types)
    center = vs.Datacenter(kinds, np.zeros(units), np.arange(units), types)
    return vs.Scenario(center, table, policy, affinity=affinity, outages=outages, preemption=preemption)


def ends(scenario, engine="reference"):
    return vs.simulate(scenario, engine=engine).tasks["finish_us"].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_preempted_task_resumes_with_what_is_left(engine):
    """10 us from 0 on; at 4 an urgent task of 3 comes: it ends at 7, the other at 13."""
    result = vs.simulate(case([0.0, 4.0], [10.0, 3.0], priority=[0.0, 1.0]), engine=engine)
    assert result.tasks["finish_us"].tolist() == [13.0, 7.0]
    rows = result.segments
    assert rows["task"].tolist() == [0, 0, 1]
    assert rows["outcome"].tolist() == ["preempted", "finished", "finished"]
    assert rows["end_us"].tolist() == [4.0, 13.0, 7.0]
    assert result.outcome.early.left.tolist() == [0.6]
    assert result.units["active_us"].tolist() == [13.0]
    assert result.summary["early_ends"]["preempted"] == 1


@pytest.mark.parametrize(
    ("preemption", "more", "end"),
    [
        ("resume", {}, 13.0),
        ("restart", {}, 17.0),
        ("checkpoint", {}, 17.0),
        ("checkpoint", {"checkpoint_us": [3.0, 3.0]}, 14.0),
        ("resume", {"restart_us": [0.5, 0.5]}, 13.5),
    ],
)
def test_what_is_kept(preemption, more, end):
    found = ends(case([0.0, 4.0], [10.0, 3.0], preemption=preemption, priority=[0.0, 1.0], **more))
    assert found == pytest.approx([end, 7.0])


def test_an_outage_loses_the_work_since_the_last_checkpoint():
    down = (vs.Outage(0, 0, 7.0, 8.0),)
    assert ends(case([0.0], [10.0], "high", outages=down)) == [18.0]
    assert ends(case([0.0], [10.0], "high", outages=down, checkpoint_us=[3.0])) == pytest.approx([12.0])
    assert ends(case([0.0], [10.0], "high", outages=down, checkpoint_us=[3.5])) == pytest.approx([11.0])  # just saved
    assert ends(case([0.0], [10.0], "high", outages=down, checkpoint_us=[3.0], restart_us=[1.0])) == pytest.approx([13])


def test_what_is_left_is_a_share_of_the_work_on_another_type():
    """At 4 a slow unit has done 0.4 of 10 us; the fast one does the other 0.6 in 3 us."""
    types = (vs.ProcessorType("SLOW"), vs.ProcessorType("FAST"))
    down = (vs.Outage(0, 0, 4.0, 99.0), vs.Outage(0, 1, 0.0, 4.0))
    scenario = case([0.0], [10.0], "high", 2, types, ((1.0,), (2.0,)), down, checkpoint_us=[1.0])
    assert ends(scenario) == pytest.approx([7.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_limit_kills(engine):
    result = vs.simulate(case([0.0, 0.0], [10.0, 3.0], "high", limit_us=[5.0, 4.0]), engine=engine)
    assert np.isnan(result.tasks["finish_us"][0])
    assert result.tasks["init_us"].tolist() == [0.0, 5.0]
    assert result.tasks["finish_us"][1] == 8.0
    assert result.segments["outcome"].tolist() == ["killed", "finished"]
    assert result.segments["end_us"].tolist() == [5.0, 8.0]
    assert result.exit_reason == "ALL_DONE"
    assert result.summary["jobs"]["finished"] == 1
    assert result.summary["early_ends"]["killed"] == 1
    assert result.outcome.early.left.tolist() == [0.5]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_task_that_is_done_at_the_very_time_of_its_limit_is_not_killed(engine):
    """On its own unit, and on one that two tasks share: each takes 8 there."""
    types = (vs.ProcessorType("P", capacity=2.0, parallelism=1.0),)
    for one in (
        case([0.0], [5.0], "high", limit_us=[5.0]),
        case([0.0, 0.0], [4.0, 4.0], "high", 1, types, limit_us=[8.0] * 2),
    ):
        result = vs.simulate(one, engine=engine)
        assert np.isfinite(result.tasks["finish_us"]).all()


def test_a_limit_kills_on_a_unit_that_shares_its_speed():
    """Two tasks of 10 at half speed; one is killed at 6, then the other has 7 left at full speed."""
    types = (vs.ProcessorType("P", capacity=2.0, parallelism=1.0),)
    result = vs.simulate(case([0.0, 0.0], [10.0, 10.0], "high", 1, types, limit_us=[6.0, 50.0]), engine="reference")
    assert result.tasks["finish_us"][1] == 13.0
    assert result.segments["end_us"].tolist() == [6.0, 13.0]


def test_jobs_are_withdrawn():
    """The first is withdrawn as it runs, the second as it waits."""
    withdraw = [4.0, 3.0, np.inf]
    result = vs.simulate(case([0.0, 0.0, 0.0], [10.0, 10.0, 2.0], "high", withdraw_us=withdraw), engine="reference")
    assert result.tasks["unit"].tolist() == [0, -1, 0]
    assert result.tasks["finish_us"][2] == 6.0
    assert result.segments["outcome"].tolist() == ["withdrawn", "finished"]
    assert result.exit_reason == "ALL_DONE"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ends_when_its_last_task_is_over(engine):
    """The first is killed at 5, the second ends at 8 or is withdrawn at 7; what comes later is no part of the run."""
    times, limits = [10.0, 3.0], [5.0, np.inf]
    later = {
        "withdrawal": case([0.0, 0.0], times, "high", limit_us=limits, withdraw_us=[900.0, 900.0]),
        "outage": case([0.0, 0.0], times, "high", limit_us=limits, outages=(vs.Outage(0, 0, 900.0, 999.0),)),
        "period": case([0.0, 0.0], times, "ff", limit_us=limits),
    }
    later["failure"] = replace(later["outage"], outages=(), failures=(vs.Failures(vs.Times(9e9), vs.Times(1.0)),))
    later["period"] = replace(later["period"], period_us=500.0)
    ends_us = {name: vs.simulate(one, engine=engine).summary["makespan_us"] for name, one in later.items()}
    assert ends_us == {"withdrawal": 8.0, "outage": 8.0, "failure": 8.0, "period": 5.0}
    last = case([0.0, 0.0], times, "high", limit_us=limits, withdraw_us=[900.0, 7.0])
    assert vs.simulate(last, engine=engine).summary["makespan_us"] == 7.0


@pytest.mark.parametrize("engine", ENGINES)
def test_tasks_run_from_the_beginning(engine):
    result = vs.simulate(case([0.0, 0.0], [10.0, 3.0], "high", 2, placed=[1, -1]), engine=engine)
    assert result.tasks["unit"].tolist() == [1, 0]
    assert result.tasks["finish_us"].tolist() == [10.0, 3.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_ends_when_only_tasks_without_end_are_left(engine):
    result = vs.simulate(case([0.0, 1.0], [np.inf, 3.0], "high", 2), engine=engine)
    assert result.exit_reason == "ENDLESS"
    assert result.tasks["finish_us"][1] == 4.0
    assert result.segments is None
    assert result.units["active_us"].tolist() == [4.0, 3.0]
    killed = vs.simulate(case([0.0], [np.inf], "high", limit_us=[9.0]), engine=engine)
    assert (killed.exit_reason, killed.segments["end_us"].tolist()) == ("ALL_DONE", [9.0])


def test_failures_follow_the_seed_and_are_reported():
    failures = (vs.Failures(vs.Times(5.0, "weibull", 0.7), vs.Times(1.0)),)
    one = replace(case([0.0], [20.0], "high", checkpoint_us=[1.0]), failures=failures)
    result = vs.simulate(one, engine="reference")
    assert set(result.segments["outcome"]) == {"failed", "finished"}
    assert result.provenance["failures"] == len(result.outcome.failures) > 0
    assert result.tasks["restarts"].tolist() == [result.segments.n_rows - 1]
    other = vs.simulate(replace(one, seed=1), engine="reference")
    assert other.outcome.failures != result.outcome.failures
    assert content_id(one) != content_id(replace(one, failures=()))


def test_a_policy_learns_what_was_interrupted_where_nodes_are_repaired_at_once():
    """Both happen before it is called; a policy with its own queue must get the task back."""
    failures = (vs.Failures(vs.Times(6.0, "constant"), vs.Times(0.0, "constant")),)
    scenario = replace(case([0.0], [10.0], "srtf", checkpoint_us=[1.0]), failures=failures)
    assert ends(scenario) == pytest.approx([10.0])


def test_a_move_takes_what_is_left_along():
    @dataclass(frozen=True)
    class Leaves(OnlinePolicy):
        """Moves task 0 to the last unit when another one arrives."""

        preempts: ClassVar[bool] = True

        @staticmethod
        def decide(model, state, view):
            if state.task_unit[0] == 0 and view.now_us == 4.0:
                return move(0, 2)
            task = oldest_pending(model, state)
            unit = first_free(model, state, task) if task >= 0 else -1
            return start(task, unit) if unit >= 0 else nothing()

    result = vs.simulate(case([0.0, 4.0], [10.0, 3.0], Leaves, 3, restart_us=[1.0, 1.0]), engine="reference")
    assert result.segments["outcome"].tolist() == ["moved", "finished", "finished"]
    assert result.segments["unit"].tolist() == [0, 2, 0]
    assert result.tasks["finish_us"].tolist() == [11.0, 7.0]


@dataclass(frozen=True)
class Wrong(OnlinePolicy):
    """Preempts a task that does not run."""

    preempts: ClassVar[bool] = True

    @staticmethod
    def decide(model, state, view):
        return preempt(oldest_pending(model, state))


@dataclass(frozen=True)
class TooSoon(OnlinePolicy):
    """Preempts what it has just started."""

    preempts: ClassVar[bool] = True

    @staticmethod
    def decide(model, state, view):
        return start(0, 0) if state.task_unit[0] < 0 else preempt(0)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_running_tasks_are_preempted(engine):
    with pytest.raises(vs.PolicyError, match="only a running task"):
        vs.simulate(case([0.0, 0.0], [10.0, 3.0], Wrong), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_preempted_as_it_starts(engine):
    with pytest.raises(vs.PolicyError, match="at the event at which it started it"):
        vs.simulate(case([0.0, 0.0], [10.0, 3.0], TooSoon), engine=engine)


def test_a_policy_declares_that_it_preempts():
    @dataclass(frozen=True)
    class Silent(Wrong):
        preempts: ClassVar[bool] = False

    with pytest.raises(vs.InputError, match="preempts = True, as it calls preempt or move"):
        vs.simulate(case([0.0], [1.0], Silent), engine="reference")


def test_wrong_columns_are_all_reported():
    wrong = {
        "limit_us": [0.0, 1.0], "withdraw_us": [5.0, 1.0], "priority": [np.inf, 0.0], "user": [0, 1],
        "checkpoint_us": [-1.0, 1.0], "restart_us": [np.inf, 0.0], "placed": [-1, 0],
    }  # fmt: skip
    with pytest.raises(vs.InputError) as error:
        case([0.0, 3.0], [1.0, 1.0], **wrong, user_names=("ada",))
    text = str(error.value)
    for where in (
        "limit_us[0]",
        "withdraw_us[1]",
        "priority[0]",
        "user[1]",
        "checkpoint_us[0]",
        "restart_us[0]",
        "placed[1]",
    ):
        assert where in text


def test_ids_of_scenarios_without_early_ends_do_not_change():
    plain = case([0.0], [1.0], "high")
    assert content_id(plain) == content_id(replace(plain, failures=(), preemption="resume"))
    assert content_id(plain) != content_id(replace(plain, preemption="restart"))
