"""The compiled decision component grants what the plain one grants, whatever happens, in whatever order."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.places_ahead import with_ahead
from tests.rates import TABLES
from tests.requests_scenarios import request_scenario
from tests.strategies import SeededDice
from vinesim.live.compiled import CompiledDecisions
from vinesim.live.decisions import Arrive, Complete, Lose, SchedulerDecisions, SetUp, Withdraw
from vinesim.live.engine import why_plain
from vinesim.live.registration import Cluster
from vinesim.model.workload import ONE_SLOT
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import policies, resolve
from vinesim.state.queries import fastest_free, next_pending, nothing, oldest_pending, start

RESOURCE_BASED = ("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl")
SLOW = ("symphony", "symphony_recommended", "fcfs", "edf_drop", "least_laxity", "deadline_consolidation")
OF_QUEUES = ("easy_backfill", "conservative_backfill", "drf", "delay", "earliest_completion")
TASKS = ("high", "flat", "pref", "closer_to_data", "earliest_finish")
OPTIONS = {"edf": [{"consolidate": word} for word in ("no", "yes", "overtaking")], "fcfs": [{}, {"consolidate": True}]}
OF_ALL = [{}, {"node_rule": "fastest", "sharing": True}, {"kind": "acc", "estimate": "learned"}, {"polling_us": 3.0}]
OPTIONS |= dict.fromkeys(RESOURCE_BASED, OF_ALL)
OPTIONS["delay"] = [{"wait_us": wait_us, "wait_for": of} for wait_us in (0.0, 5.0) for of in ("type", "node", "rack")]
for relaxing in ("rb_ljf_ba", "rb_ljf_ocl"):
    OPTIONS[relaxing] = [*OF_ALL, {"two_phase": True, "sharing": True}, {"count_empty": False}]
REQUESTS: list[dict[str, float]] = [{}, {"cores": 3.0}, {"sms": 60.0}, {"cores": 1.0, "sms": 30.0}]
FAR_US = 9e14  # the leases of the plain component end beyond it
FIRST_WINDOW = 8  # so short that it is renewed all the time


def both(
    seed: int, name: str, has_curves: bool = False, own: OnlinePolicy | None = None, has_ahead: bool = False
) -> tuple[SchedulerDecisions, CompiledDecisions, Any]:
    """The two components of one random cluster, and its scenario; with a policy of the test's ``own`` in place of the
    one of that name."""
    choices = OPTIONS.get(name, [{}])
    options = choices[seed % len(choices)]
    gangs = "application" in policies()[name].groups and not has_ahead
    scenario = request_scenario(seed, name, options, gangs=gangs)
    if has_ahead:
        scenario = with_ahead(scenario, seed)
    if has_curves:
        scenario = with_curves(scenario, seed)
    if own is not None:
        scenario = replace(scenario, policy=own, options={})
    return *components(scenario), scenario


def with_curves(scenario: Any, seed: int) -> Any:
    """The scenario where requests of each application slow down in their own way on a CPU."""
    cpu, *others = scenario.datacenter.processor_types
    tables, dice = [table[: int(cpu.capacity)] for table in TABLES], SeededDice(seed)
    rates = {one.name: dice.pick(tables) for one in scenario.workload.task_types}
    types = (replace(cpu, parallelism=None, rates=rates), *others)
    return replace(scenario, datacenter=replace(scenario.datacenter, processor_types=types))


def components(scenario: Any) -> tuple[SchedulerDecisions, CompiledDecisions]:
    """The two for a scenario, without applications."""
    policy, tasks = resolve(scenario.policy, scenario.options), scenario.workload.task_types
    attributes = ({"cores": 4.0}, {"sms": 80.0}, {"sms": 40.0})
    center = scenario.datacenter
    types = [replace(one, attributes=has) for one, has in zip(center.processor_types, attributes, strict=True)]
    center = replace(center, processor_types=types)
    cluster = Cluster(center, tasks, scenario.affinity, scenario.overhead_us, scenario.seed)
    return SchedulerDecisions(cluster, policy), CompiledDecisions(cluster, policy, FIRST_WINDOW)


class Sequence:
    """Random operations: each is possible when it is done."""

    def __init__(self, seed: int, scenario: Any):
        self._random, self._scenario = np.random.default_rng([seed, 15]), scenario
        self.now_us, self._n_requests = 0.0, 0
        self._running: dict[int, list[int]] = {}  # grant -> units
        self._closed: set[int] = set()  # units

    def one(self, n_applications: int) -> Any:
        """The next operation."""
        random = self._random
        kind = int(random.integers(0, 12))
        if kind < 6:
            self._n_requests += 1
            late_us = float(random.integers(0, 3))
            return Arrive(int(random.integers(0, n_applications)), float(random.integers(0, 8)), self.now_us - late_us)
        if kind < 9 and self._running:
            grant = list(self._running)[random.integers(0, len(self._running))]
            units = self._running[grant]
            unit = units.pop(random.integers(0, len(units)))
            if not units:
                del self._running[grant]
            return Complete(grant, unit)
        if kind == 9 and self._running:
            grant = list(self._running)[random.integers(0, len(self._running))]
            del self._running[grant]
            return Lose(grant)
        if kind == 10:
            return Withdraw(int(random.integers(0, self._n_requests + 2)))
        units = random.integers(0, self._scenario.datacenter.n_units, 2)
        return SetUp(tuple(units.tolist()), bool(random.integers(0, 3)))

    def turn(self, n_applications: int) -> tuple[list[Any], bool]:
        """The operations of a turn, and whether it may grant; sometimes at the same instant as the turn before."""
        self.now_us += float(self._random.integers(0, 4)) if self._random.integers(0, 3) else 0.0
        operations = [self.one(n_applications) for _ in range(self._random.integers(0, 5))]
        return operations, bool(self._random.integers(0, 6))

    def closed(self, operations: list[Any]) -> set[int]:
        """The units that are closed after these operations."""
        for one in operations:
            if isinstance(one, SetUp):
                self._closed = self._closed - set(one.units) if one.is_up else self._closed | set(one.units)
        return self._closed

    def granted(self, grants: Any) -> None:
        """Note what runs."""
        self._running |= {grant.id: [place.unit for place in grant.places] for grant in grants}


def compare(
    name: str,
    n_scenarios: int,
    restarts: bool = False,
    has_curves: bool = False,
    own: OnlinePolicy | None = None,
    has_ahead: bool = False,
) -> int:
    """Demand the same answers of both; applications register one after another. If it ``restarts``, the compiled one
    goes on in others again and again, from what it has saved. Returns the number of grants."""
    n_grants = 0
    for seed in range(n_scenarios):
        plain, fast, scenario = both(seed, name, has_curves, own, has_ahead)
        sequence, applications = Sequence(seed, scenario), list(scenario.applications)
        n_registered = 0
        for step in range(100):
            if step == 0 or (n_registered < len(applications) and sequence._random.integers(0, 15) == 0):
                one = applications[n_registered]
                wanted = REQUESTS[sequence._random.integers(0, len(REQUESTS))]
                whole = n_registered == 0 or seed % 3 == 0 or has_ahead  # else not all of the others
                demand = vs.WHOLE_UNIT if whole else float(sequence._random.choice([ONE_SLOT, 1.0, 0.0]))
                registered = [each.register(one, one.name, demand, wanted) for each in (plain, fast)]
                assert registered[0] == registered[1]
                n_registered += 1
            operations, may_grant = sequence.turn(n_registered)
            n_held = fast._n_given  # grants of turns that were not to grant anything may be held back
            ours = plain.turn(sequence.now_us, operations, may_grant)
            theirs = fast.turn(sequence.now_us, operations, may_grant)
            where = (name, seed, step, operations)
            assert (ours.numbers, ours.dropped, ours.withdrawn) == (theirs.numbers, theirs.dropped, theirs.withdrawn), (
                where
            )
            assert list(map(essence, ours.grants)) == list(map(essence, theirs.grants)), where
            assert (ours.ask_again_us if ours.ask_again_us < FAR_US else math.inf) == theirs.ask_again_us, where
            closed = sequence.closed(operations)
            fresh = [grant for grant in theirs.grants if grant.id >= n_held]
            assert not closed & {place.unit for grant in fresh for place in grant.places}, where
            sequence.granted(theirs.grants)
            n_grants += len(theirs.grants)
            if restarts and step % 20 == 10:
                fast = restarted(fast, scenario)
        assert len(fast._turn.signatures) == 1  # nothing was compiled for a longer window or another application
    return n_grants


def restarted(one: Any, scenario: Any) -> Any:
    """Another component of the same kind that goes on where this one is."""
    made = components(scenario)[isinstance(one, CompiledDecisions)]
    made.restore(one.save())
    return made


def essence(grant: Any) -> tuple[Any, ...]:
    """A grant without its lease: the compiled component leaves leases to the manager."""
    return grant.id, grant.application, grant.requests, grant.places, grant.issued_us


def test_it_grants_the_same_through_many_short_windows():
    assert compare("edf", 15) > 800


def test_it_goes_on_from_what_it_has_saved():
    assert compare("edf", 5, restarts=True) > 200


@pytest.mark.slow
@pytest.mark.parametrize("name", ["edf", "symphony", "delay"])
def test_so_does_it_where_units_take_requests_ahead(name):
    assert compare(name, 20, restarts=True, has_ahead=True) > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", ["symphony", "least_laxity"])
def test_so_do_policies_that_learn_or_draw(name):
    assert compare(name, 20, restarts=True) > 800


@pytest.mark.slow
def test_so_does_one_that_expects_each_task_type_to_slow_down_in_its_own_way():
    assert compare("deadline_consolidation", 20, has_curves=True) > 800


def test_what_another_has_saved_is_refused():
    plain, fast, _ = both(0, "edf")
    with pytest.raises(vs.InputError, match="saved by compiled"):
        fast.restore(plain.save())
    with pytest.raises(vs.InputError, match="what save returned"):
        fast.restore(b"something else")
    with pytest.raises(vs.InputError, match="policy edf"):
        plain.restore(both(0, "edf")[1].save())


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW + TASKS + RESOURCE_BASED + OF_QUEUES)
def test_so_do_the_other_policies(name):
    assert compare(name, 40) > 1500


class Remembering(OnlinePolicy):
    """A user's policy: it starts nothing on the unit where it has started a task last."""

    scratch: ClassVar = {"last": ("i8", "one")}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        task = oldest_pending(model, state)
        unit = fastest_free(model, state, task)
        if unit < 0 or view.scratch.last[0] == task + 1:
            return nothing()
        view.scratch.last[0] = task + 1
        return start(task, unit)


class Hasty(OnlinePolicy):
    """A user's policy that does not wait for the rest of an instant: the newest task first, and no unit twice in a row;
    it notes what it is shown, which decides too."""

    groups: ClassVar[tuple[str, ...]] = ("application",)
    scratch: ClassVar = {"last": ("i8", "one"), "seen": ("i8", "one")}
    task_numbers: ClassVar = {}

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        view.scratch.seen[0] = (3 * view.scratch.seen[0] + view.event + 1) % 7
        task, newest = oldest_pending(model, state), -1
        while task >= 0:
            newest, task = task, next_pending(model, state, task)
        unit = -1 if newest < 0 else fastest_free(model, state, newest)
        if unit < 0 or view.scratch.last[0] == unit + 1 + view.scratch.seen[0]:
            return nothing()
        view.scratch.last[0] = unit + 1 + view.scratch.seen[0]
        return start(newest, unit)


@pytest.mark.slow
@pytest.mark.parametrize("sees", [False, True])
def test_so_do_policies_of_users_that_start_something_at_each_event(sees):
    own = type("Hasty", (Hasty,), {"sees_every_event": sees})()
    assert compare("fcfs", 20, restarts=True, own=own) > 500


class Plain(OnlinePolicy):
    """A policy that cannot be compiled."""

    compiled: ClassVar[bool] = False

    @staticmethod
    def decide(model: Any, state: Any, view: Any) -> Any:
        return nothing()


def test_which_policies_run_as_plain_code_and_why():
    assert "task_numbers" in why_plain(Remembering())
    declared = type("Declared", (Remembering,), {"task_numbers": {"last": "task + 1"}})
    assert why_plain(declared()) == ""
    assert "compiled = False" in why_plain(Plain())
    by_task = type("ByTask", (Remembering,), {"scratch": {"last": ("f8", "groups*tasks")}})
    assert "last" in why_plain(by_task())
    live = {name for name, policy in policies().items() if issubclass(policy, OnlinePolicy) and not policy.plans}
    assert not {name for name in live if not policies()[name].preempts and why_plain(resolve(name))}
