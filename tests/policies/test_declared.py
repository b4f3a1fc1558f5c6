"""What a policy can do is what it declares."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.strategies import all_options
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start
from vinesim.policies.declarations import check_declarations
from vinesim.policies.registry import BUILT_IN, find, resolve


@dataclass(frozen=True)
class Counts(OnlinePolicy):
    """Counts in scratch how often it was asked; the first unit."""

    scratch: ClassVar = {"asked": ("i8", "one")}

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Remembers(Counts):
    """Has room for each task."""

    scratch: ClassVar = {"seen": ("i8", "tasks")}


@dataclass(frozen=True)
class RoomOnly(Remembers):
    """Has the room and declares that nothing in it outlives an interruption."""

    keeps_tasks: ClassVar[bool] = False


@dataclass(frozen=True)
class Declares(Counts):
    """Remembers a task by its number, in an array of another size."""

    keeps_tasks: ClassVar[bool] = True


@dataclass(frozen=True)
class TakesBack(Declares):
    """And takes it back."""

    takes_back: ClassVar[bool] = True


@dataclass(frozen=True)
class Forgets(Declares):
    """And forgets it if its job is withdrawn."""

    takes_withdrawals: ClassVar[bool] = True


def case(policy, running="requeue"):
    work = vs.Workload(
        [0], [0, 2], [0.0], np.full(2, 10.0), *np.zeros((3, 2)), [-1] * 2, task_types=(vs.TaskType("T"),)
    )
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("CPU"),))
    return vs.Scenario(center, work, policy, affinity=[[1.0]], outages=[vs.Outage(0, 0, 4.0, 6.0, running)])


@pytest.mark.parametrize("kind", [Counts, RoomOnly, TakesBack])
def test_outages_interrupt_tasks_of_a_policy_that_keeps_none_or_takes_them_back(kind):
    done = vs.simulate(case(kind()), engine="reference")
    assert done.tasks["restarts"].tolist() == [1, 0]


@pytest.mark.parametrize("kind", [Remembers, Declares])
def test_a_policy_that_keeps_tasks_is_refused_where_outages_interrupt_them(kind):
    with pytest.raises(vs.InputError, match="keeps tasks in its scratch and does not take them back") as refused:
        vs.simulate(case(kind()), engine="reference")
    assert "declares keeps_tasks and takes_back" in str(refused.value)
    assert vs.simulate(case(kind(), "finish"), engine="reference").exit_reason == "ALL_DONE"


def test_each_section_that_interrupts_tasks_is_named_and_those_that_let_them_finish_are_not():
    failures = vs.Failures(vs.Times(5.0), vs.Times(1.0))
    maintenance = vs.Reservation("upgrade", 4.0, 6.0)
    for_users = vs.Reservation("course", 4.0, 6.0, users=("a",))
    plain = case(Remembers(), "finish")
    of_a = replace(plain.workload, user=np.zeros(1), user_names=("a",))
    given = replace(plain, workload=of_a, failures=(failures,), reservations=(maintenance, for_users))
    with pytest.raises(vs.InputError) as refused:
        vs.simulate(given, engine="reference")
    told = [(problem.where, problem.expected.partition(";")[0], problem.found) for problem in refused.value.problems]
    assert told == [
        ("failures", "failures with running: finish", "requeue"),
        ("reservations", "reservations with running: finish", "requeue"),
    ]
    finish = replace(given, failures=(replace(failures, running="finish"),), reservations=(for_users,))
    assert vs.simulate(finish, engine="reference").exit_reason == "ALL_DONE"


def withdrawn(policy):
    """A job of two tasks on two units, and one that waits and is withdrawn at 5."""
    work = vs.Workload([0, 0], [0, 2, 3], [0.0, 0.0], np.full(3, 10.0), *np.zeros((3, 3)), [-1] * 3,
                       withdraw_us=[np.inf, 5.0], task_types=(vs.TaskType("T"),))  # fmt: skip
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("CPU"),))
    return vs.Scenario(center, work, policy, affinity=[[1.0]])


@pytest.mark.parametrize("kind", [Counts, RoomOnly, Forgets])
def test_jobs_are_withdrawn_under_a_policy_that_keeps_no_tasks_or_forgets_them(kind):
    done = vs.simulate(withdrawn(kind()), engine="reference")
    assert done.tasks["init_us"].tolist()[:2] == [0.0, 0.0]
    assert done.tasks["unit"][2] < 0


@pytest.mark.parametrize("kind", [Remembers, Declares, TakesBack])
def test_a_policy_that_keeps_tasks_is_refused_where_jobs_are_withdrawn(kind):
    with pytest.raises(vs.InputError, match="does not forget those of withdrawn jobs") as refused:
        vs.simulate(withdrawn(kind()), engine="reference")
    assert "declares keeps_tasks and takes_withdrawals" in str(refused.value)


def test_jobs_are_withdrawn_under_every_policy_that_decides_while_it_runs():
    online = [kind for kind in map(find, BUILT_IN) if issubclass(kind, OnlinePolicy) and not kind.plans]
    assert [kind.name for kind in online if not kind().can_withdraw] == []


def test_what_is_not_said_follows_from_the_scratch_and_is_inherited():
    assert [kind.keeps_tasks for kind in (Counts, Remembers, RoomOnly, Declares, TakesBack)] == [
        False, True, False, True, True
    ]  # fmt: skip

    class Again(RoomOnly):
        """Says nothing itself."""

    assert not Again.keeps_tasks


def test_built_in_policies_that_take_tasks_back_keep_some():
    online = [kind for kind in map(find, BUILT_IN) if issubclass(kind, OnlinePolicy)]
    assert all(kind.keeps_tasks for kind in online if kind.takes_back)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_policies_are_as_they_declare(name):
    check_declarations(find(name).from_options({}))
    for options in all_options(find(name)):
        try:
            policy = find(name).from_options(options)
        except vs.InputError:  # values that it refuses
            continue
        check_declarations(policy)


def test_task_numbers_name_whole_numbers_of_the_scratch():
    kind = type("Wrong", (Remembers,), {"task_numbers": {"none": "task"}})
    with pytest.raises(vs.InputError, match="task_numbers"):
        check_declarations(kind())
    array = next(name for name, (dtype, _) in Remembers.scratch.items() if dtype.startswith("i"))
    with pytest.raises(vs.InputError, match="tasks below"):
        check_declarations(type("Wrong", (Remembers,), {"task_numbers": {array: "its number"}})())
    check_declarations(type("Right", (Remembers,), {"task_numbers": {array: "task + 1"}})())


@pytest.mark.parametrize(
    ("old", "new"), [("takes_vectors", "supports_multi_unit_tasks"), ("why_single", "unsupported_because")]
)
def test_an_attribute_by_its_old_name_is_refused_with_the_new_one(old, new):
    with pytest.raises(vs.InputError, match=f"expected the attribute {new}, found {old}"):
        check_declarations(type("Old", (Remembers,), {old: ""})())


def test_a_word_of_an_option_by_its_old_name_is_refused_with_the_new_one():
    with pytest.raises(vs.InputError, match=r"found 'told'\. Did you mean given\?"):
        resolve("rb_fifo", {"estimate": "told"})
