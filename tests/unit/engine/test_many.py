"""Many runs in one call: what the caller gives and gets, and the messages."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pytest

import vinesim as vs
from tests.unit.engine import test_simulate
from vinesim.engine import blocks
from vinesim.engine.many import simulate_many
from vinesim.policies import OnlinePolicy, drop, fastest_free, nothing, oldest_pending, random_free, start

TIMES = np.arange(10) * np.array([[1.0], [10.0], [100.0], [60.0]])


@dataclass(frozen=True)
class Odd(OnlinePolicy):
    """What the tests below need, by an option, so that it is compiled once. Its own array must be new in each run.
    Nothing is said of it being random."""

    scratch: ClassVar = {"asked": ("i8", "one")}

    after_650_us: Literal["stays_right", "asks_for_no_unit", "looks_at_no_number"] = "stays_right"
    most: int = 1000  # questions that it answers
    at_random: bool = False

    @staticmethod
    def decide(model, state, view):
        what, is_late = view.options.after_650_us, view.now_us > 650.0
        view.scratch.asked[9 if is_late and what.looks_at_no_number else 0] += 1
        task = oldest_pending(model, state)
        unit = random_free(model, state, task) if view.options.at_random else fastest_free(model, state, task)
        unit = 99 if is_late and what.asks_for_no_unit else unit
        return start(task, unit) if unit >= 0 and view.scratch.asked[0] < view.options.most else nothing()


def scenario(policy="pref", **changes):
    """Nothing is preferred. Other tests compile this policy for many runs, too."""
    return test_simulate.scenario(policy=policy, **changes)


def test_without_arrivals_and_seeds_it_is_one_run():
    runs = simulate_many(scenario(), engine="compiled")
    summary = vs.simulate(scenario()).summary
    assert runs.n_rows == 1
    assert runs["jobs.latency_us.p90"][0] == summary["jobs"]["latency_us"]["p90"]
    assert runs["tasks.by_type.GPU"][0] == 20
    assert runs["exit_reason"].tolist() == ["ALL_DONE"]
    assert np.isnan(runs["energy_j"][0])


def test_a_column_has_a_value_for_each_run_in_order(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    runs = simulate_many(scenario(), arrival_us=TIMES, workers=3, engine="compiled")
    assert runs["makespan_us"].tolist() == [500.0, 500.0, 950.0, 590.0]


def test_only_what_is_named_is_there():
    runs = simulate_many(
        scenario(), arrival_us=TIMES, record=("jobs.latency_us.mean", "makespan_us"), engine="compiled"
    )
    assert set(runs) == {"jobs.latency_us.mean", "makespan_us", "exit_reason"}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (["makespan_us", "jobs.latency.mean"], r"record\[1\]: .* 'jobs.latency.mean'. Did you mean jobs.latency_us?"),
        (["tasks.by"], r"record\[0\]: .* 'tasks.by'"),  # half of tasks.by_type
        ("makespan_us", r"record: expected a list of names, found 'makespan_us'. Write \['makespan_us'\]."),
    ],
)
def test_numbers_that_no_run_has_are_reported(record, words):
    with pytest.raises(vs.InputError, match=words):
        simulate_many(scenario(), arrival_us=TIMES, record=record)


def test_seeds_decide_what_a_random_policy_draws():
    center = vs.Datacenter.of([("GPU", 0, 0), ("CPU_INTEL", 0, 1)] * 3)
    case = vs.Scenario(center, scenario().workload, policy=Odd(at_random=True))
    runs = simulate_many(case, seeds=[1, 3, 1, 3], engine="compiled")["jobs.latency_us.mean"].tolist()
    assert runs[:2] == runs[2:]
    assert len(set(runs)) == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_leaves_nothing_to_the_next(workers):
    """Runs that stall, are cut off, and finish, one after the other in one state."""
    case = scenario(policy=Odd(most=15), horizon_us=600.0)
    finished = simulate_many(case, seeds=np.zeros(9), workers=workers, engine="compiled")["tasks.finished"]
    assert finished.tolist() == [vs.simulate(case).summary["tasks"]["finished"]] * 9
    assert 0 < finished[0] < 20


@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_rule_names_the_policy(workers):
    with pytest.raises(vs.PolicyError, match=r"Odd, .*test_many.py:\d+ at 700 us asked for task 14 on unit 99"):
        simulate_many(
            scenario(policy=Odd("asks_for_no_unit")), arrival_us=TIMES[[0, 2, 0]], workers=workers, engine="compiled"
        )


def test_an_error_inside_a_policy_is_its_own():
    with pytest.raises(vs.PolicyError, match=r"Odd.decide, .*IndexError"):
        simulate_many(scenario(policy=Odd("looks_at_no_number")), arrival_us=TIMES[[0, 2, 0]], engine="compiled")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arrival_us": np.zeros(10)}, "rows of 10 times"),
        ({"arrival_us": np.zeros((2, 9))}, "rows of 10 times"),
        ({"arrival_us": -TIMES}, r"arrival_us\[0\]"),
        ({"arrival_us": TIMES * np.nan}, "finite times"),
        ({"seeds": []}, "at least one run"),
        ({"seeds": [1, -1]}, r"seeds\[1\]"),
        ({"seeds": [1, 2], "arrival_us": TIMES}, "one for each of the 4 arrivals"),
        ({"percentiles": "some"}, "percentiles"),
        ({"warm_up": "long"}, "warm_up"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(vs.InputError, match=message):
        simulate_many(scenario(), **given, engine="compiled")


@dataclass(frozen=True)
class Choosy(OnlinePolicy):
    """Drops every third job."""

    may_drop: ClassVar[bool] = True

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        if task >= 0 and model.task_job[task] % 3 == 0:
            return drop(task)
        unit = fastest_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


def test_dropped_tasks_are_counted_and_do_not_finish():
    """As in one run."""
    names = ["jobs.refused", "jobs.finished", "tasks.wait_us.mean", "makespan_us"]
    runs = simulate_many(scenario(Choosy()), arrival_us=TIMES, record=names, engine="compiled")
    assert set(runs["jobs.refused"].tolist()) == {4.0}
    for k, times in enumerate(TIMES):
        work = replace(scenario().workload, arrival_us=times)
        one = vs.simulate(scenario(Choosy(), workload=work)).summary
        assert runs["jobs.refused"][k] == one["jobs"]["refused"]
        assert runs["jobs.finished"][k] == one["jobs"]["finished"]
        assert runs["tasks.wait_us.mean"][k] == one["tasks"]["wait_us"]["mean"]
        assert runs["makespan_us"][k] == one["makespan_us"]
