"""``vinesim policies --check``: what is wrong with a policy, in seconds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import resolve
from vinesim.state.layout import PENDING
from vinesim.state.queries import first_free, next_pending, nothing, oldest_pending, start, task_type, user
from vinesim.studies.policy_check import check, scenario_of
from vinesim.studies.policy_features import BASE, FEATURES, alone, together

CALLS: list[int] = []


class Plain(OnlinePolicy):
    """The oldest task gets the first free unit."""

    compiled = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Keeping(Plain):
    """Keeps its promises."""

    starts_in_order = True
    work_conserving = True


class Idle(Plain):
    """Starts one task at a time."""

    work_conserving = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        is_free = all(first_free(model, state, task) == 0 for _ in (0,)) and max(state.unit_load) == 0
        return start(task, 0) if is_free else nothing()


class Reversed(Plain):
    """Starts the newest task."""

    starts_in_order = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = state.pending[-1]
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


class Never(Plain):
    """Starts nothing."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return nothing()


class Remembers(Plain):
    """Does something else in each run, as it keeps what it did before in a global."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        CALLS.append(0)
        free = [u for u in range(len(model.unit_type)) if state.unit_load[u] == 0]
        return start(oldest_pending(model, state), free[len(CALLS) % 7 % len(free)]) if free else nothing()


class Full(Plain):
    """Starts everything on the first unit."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return start(oldest_pending(model, state), 0)


@pytest.mark.parametrize("policy", [Plain(), Keeping()])
def test_a_right_policy_has_no_faults(policy):
    found = check(policy)
    assert found.faults == ()
    assert "the same tables in two runs with one seed" in found.done
    assert "the same tables on both engines" not in found.done  # it is plain Python
    assert ("tasks start in order of arrival" in found.done) == policy.starts_in_order


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Idle(), "a unit is idle while task"),
        (Reversed(), "it declares starts_in_order"),
        (Never(), "120 of 120 tasks never start"),
        (Remembers(), "two runs with one seed differ"),
        (Full(), "test_policy_check.py:"),
    ],
)
def test_each_fault_is_named(policy, words):
    found = check(policy)
    assert any(words in fault for fault in found.faults)


class InOrderOfNumbers(Plain):
    """Says that it takes jobs that wait for others, but starts tasks in the order of their numbers only."""

    scratch: ClassVar[Any] = {"n_started": ("i8", "one"), "kept": ("i8", "tasks")}
    takes_dependencies = True

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = int(view.scratch.n_started[0])
        unit = first_free(model, state, task) if state.task_unit[task] == PENDING else -1
        if unit < 0:
            return nothing()
        view.scratch.n_started[0] += 1
        return start(task, unit)


class Privileged(Plain):
    """Starts nothing for the user with number 2."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        while task >= 0 and user(model, state, task) == 2:
            task = next_pending(model, state, task)
        unit = first_free(model, state, task) if task >= 0 else -1
        return start(task, unit) if unit >= 0 else nothing()


class OwnWay(Plain):
    """Finds out in its own way which units are free, also those that are down."""

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        speeds = model.affinity[model.unit_type, task_type(model, state, task)]
        free = [u for u in range(len(speeds)) if state.unit_load[u] == 0 and speeds[u] > 0]
        return start(task, free[0]) if free else nothing()


class Keeps(Plain):
    """Keeps tasks."""

    scratch: ClassVar[Any] = {"kept": ("i8", "tasks")}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (InOrderOfNumbers(), "jobs that wait for others: "),
        (Privileged(), "users: "),
        (OwnWay(), "outages that interrupt tasks: "),
    ],
)
def test_a_policy_is_tried_with_what_its_scenarios_may_have(policy, words):
    found = check(policy)
    assert [fault.startswith(words) for fault in found.faults] == [True], found


def test_what_a_policy_reads_is_compiled_too():
    base = scenario_of(BASE, Privileged())
    assert [names for names, _ in together(base, Privileged(), FEATURES)] == [["users"]]
    assert [names for names, _ in together(base, Plain(), FEATURES)] == []
    names = [name for some, _ in together(base, InOrderOfNumbers(), FEATURES) for name in some]
    assert names == ["jobs that wait for others"]


def test_what_a_policy_does_not_take_is_said():
    found = check(Plain())
    assert (found.left_out, set(found.features)) == ((), set(FEATURES))
    taken = dict(alone(scenario_of(BASE, Keeps()), Keeps()))
    assert "gangs" not in taken
    assert "outages that let tasks end" in taken


def test_compiled_policies_run_on_both_engines():
    found = check(resolve("high", {}))
    assert found.faults == ()
    assert "the same tables on both engines" in found.done


def test_the_command_ends_with_2_on_faults(tmp_path, monkeypatch, capsys):
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    own = """
from vinesim.policies import OnlinePolicy, nothing, oldest_pending, start

class Full(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        return start(oldest_pending(model, state), 0)
"""
    (tmp_path / "p.py").write_text(own)
    monkeypatch.chdir(tmp_path)
    for words, code, said in (
        (("p.py:Full",), 2, "p.py:7"),
        ((), 2, ""),
        (("fcfs",), 0, "fcfs has no faults in 3 scenarios"),
    ):
        monkeypatch.setattr("sys.argv", ["vinesim", "policies", "--check", *words])
        assert report_errors(app) == code
        assert said in capsys.readouterr().out
