"""The calls of the component: their answers, their errors, leases, and memory that does not grow."""

import threading
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vinesim as vs
from tests.policies.kinds.witness import Witness
from vinesim.live.decisions import Arrive, Complete, Lose, SchedulerDecisions, SetUp, Withdraw, in_order
from vinesim.live.grants import RECENT
from vinesim.live.leases import Leases
from vinesim.live.registration import Cluster
from vinesim.live.scheduler import Scheduler
from vinesim.model.application import Application
from vinesim.policies import (
    ARRIVAL,
    FINISH,
    TIMER,
    OnlinePolicy,
    first_free,
    group,
    oldest_pending,
    start,
    wait_until,
)

TYPES = (vs.ProcessorType("CPU", capacity=4.0, parallelism=1.0), vs.ProcessorType("GPU"))
TASKS = (vs.TaskType("SEARCH"), vs.TaskType("VIDEO"))
CENTER = vs.Datacenter.of([("CPU", 0, 0), ("GPU", 0, 0), ("CPU", 0, 1), ("GPU", 0, 1)], TYPES)
SPEED = np.array([[0.1, 0.5], [1.0, 1.0]])


def scheduler(policy="symphony", options=None, **lease):
    return Scheduler(CENTER, policy, options, affinity=SPEED, task_types=TASKS, **lease)


def test_the_four_calls():
    one = scheduler("fcfs", {"consolidate": "yes"})
    search = one.register("SEARCH", 5e3, 200.0, max_consolidated=2)
    video = one.register("VIDEO", 500e3, 1.0, nodes=[(0, 1)])
    assert one.can_issue(0.0) is None
    requests = [one.new_request(search, 10.0) for _ in range(3)] + [one.new_request(video, 10.0, 40.0)]
    assert requests == [0, 1, 2, 3]
    assert one.n_pending == 4
    first, second, third = (one.can_issue(10.0) for _ in range(3))
    assert one.can_issue(10.0) is None
    assert [g.requests for g in (first, second, third)] == [(0, 1), (2,), (3,)]
    assert [g.places[0].processor_type for g in (first, second, third)] == ["GPU", "GPU", "CPU"]
    assert [g.places[0].unit for g in (first, second, third)] == [1, 3, 2]
    assert (third.application, third.places[0].shelf) == (video, 1)
    assert one.load() == {0: 0.0, 1: 1.0, 2: 1.0, 3: 1.0}
    assert one.complete(first.id, 20.0) is True
    assert one.load()[1] == 0.0
    assert one.n_running == 2


def test_a_request_that_waits_can_be_cancelled():
    one = scheduler("fcfs")
    search = one.register_application(Application("SEARCH", 5e3), demand=vs.WHOLE_UNIT)
    requests = [one.new_request(search, 0.0) for _ in range(6)]
    while one.can_issue(0.0) is not None:
        pass
    assert one.n_pending == 2
    assert not one.cancel(requests[0], 1.0)  # it runs
    assert one.cancel(requests[4], 1.0)
    assert not one.cancel(requests[4], 1.0)
    assert not one.cancel(99, 1.0)
    one.complete(0, 2.0)
    assert one.can_issue(2.0).requests == (requests[5],)
    forgets = scheduler("edf")
    assert forgets.cancel(forgets.new_request(forgets.register("SEARCH", 5e3, 1.0), 0.0), 0.0)
    keeper = scheduler("drf")
    assert not keeper.cancel(keeper.new_request(keeper.register("SEARCH", 5e3, 1.0), 0.0), 0.0)


def test_only_the_winner_is_granted_and_asking_for_another_changes_nothing():
    one = scheduler()
    search, video = one.register("SEARCH", 5e3, 1.0), one.register("VIDEO", 500e3, 1.0)
    one.new_request(video, 0.0, 9.0)
    one.new_request(search, 0.0)
    for _ in range(3):
        assert one.can_issue(1.0, video) is None
    grant = one.can_issue(1.0, search)
    assert grant.application == search
    assert one.can_issue(1.0, search) is None
    assert one.can_issue(1.0, video).application == video


def test_asking_for_another_draws_nothing():
    """A policy that draws units draws the same whether or not it was asked for an application that is not first."""

    def units(n_asked):
        one = scheduler("flat")
        search, video = one.register("SEARCH", 5e3, 1.0), one.register("VIDEO", 500e3, 1.0)
        found = []
        for now_us in range(12):
            one.new_request(search, now_us)
            assert [one.can_issue(now_us, video) for _ in range(n_asked)] == [None] * n_asked
            grant = one.can_issue(now_us)
            found.append(grant.places[0].unit)
            one.complete(grant.id, now_us)
        return found

    assert len(set(units(0))) > 1
    assert units(3) == units(0)


def test_a_unit_that_all_requests_have_left_is_empty_whatever_the_rounding():
    one = scheduler("high")
    first, second = one.register("SEARCH", 5e3, 1.0, demand=0.3), one.register("VIDEO", 5e3, 1.0, demand=0.1)
    grants = []
    for code in (first, second):
        one.new_request(code, 0.0)
        grants.append(one.can_issue(0.0))
    assert grants[0].places == grants[1].places
    for grant in reversed(grants):
        one.complete(grant.id, 1.0)
    assert set(one.load().values()) == {0.0}


def test_what_is_wrong_is_said_at_once():
    one = scheduler()
    search = one.register("SEARCH", 5e3, 1.0)
    one.new_request(search, 100.0)
    with pytest.raises(vs.InputError) as wrong:
        one.new_request(7, 99.0, -1.0)
    assert [p.where for p in wrong.value.problems] == [
        "new_request, now_us",
        "new_request, application",
        "new_request, size",
    ]
    for call in (one.can_issue, one.expire, lambda t: one.complete(0, t), lambda t: one.renew(0, t)):
        for time in (99.0, float("nan"), float("inf")):
            with pytest.raises(vs.InputError, match="not before"):
                call(time)
    with pytest.raises(vs.InputError, match="an application, 0 to 0"):
        one.can_issue(100.0, 3)
    grant = one.can_issue(100.0)
    with pytest.raises(vs.InputError, match="never issued"):
        one.complete(grant.id + 1, 100.0)
    with pytest.raises(vs.InputError, match="not done: 1"):
        one.complete(grant.id, 100.0, unit=0)
    assert one.complete(grant.id, 100.0)
    with pytest.raises(vs.InputError, match="completed before"):
        one.complete(grant.id, 100.0)


def test_a_wrong_registration_leaves_all_as_it_was():
    one = scheduler()
    for name, arguments in (
        ("AUDIO", {}),
        ("SEARCH", {"nodes": [(3, 3)]}),
        ("SEARCH", {"gang_size": 3}),
        ("SEARCH", {"demand": 9.0}),
        ("SEARCH", {"max_consolidated": 0}),
    ):
        with pytest.raises(vs.InputError):
            one.register(name, 5e3, 1.0, **arguments)
    assert one.register("SEARCH", 5e3, 1.0) == 0
    with pytest.raises(vs.InputError, match="each application once"):
        one.register("SEARCH", 5e3, 1.0)
    assert one.register("again", 5e3, 1.0, task_type="SEARCH") == 1


def test_policies_that_need_the_workload_or_periods_are_refused():
    for name in ("optimal", "ff"):
        with pytest.raises(vs.InputError, match="policy"):
            scheduler(name)
    with pytest.raises(vs.InputError, match="do not name application"):
        scheduler("high").register("SEARCH", 5e3, 1.0, gang_size=2)
    with pytest.raises(vs.InputError, match="lease_factor"):
        scheduler(lease_factor=-1.0)


def test_a_late_completion_frees_nobody():
    one = scheduler("fcfs", lease_factor=2.0, lease_floor_us=50.0)
    search = one.register("SEARCH", 5e3, 1.0, nodes=[(0, 0)], demand=vs.WHOLE_UNIT)
    for _ in range(4):
        one.new_request(search, 0.0)
    first, second = one.can_issue(0.0), one.can_issue(0.0)
    assert one.can_issue(0.0) is None
    assert (first.places[0].unit, first.lease_until_us) == (1, 50.0)
    assert (second.places[0].unit, second.lease_until_us) == (0, 80.0)  # twice 10 us, four of which may share the CPU
    assert one.ask_again_us == 50.0
    third = one.can_issue(50.0)
    assert third.places[0].unit == 1
    assert one.complete(first.id, 51.0) is False
    assert one.complete(first.id, 51.0) is False
    assert one.load()[1] == 1.0
    assert one.renew(second.id, 79.0)
    assert [g.id for g in one.expire(90.0)] == [first.id]
    assert one.expire(90.0) == ()
    assert one.complete(second.id, 158.0)
    assert not one.renew(second.id, 158.0)
    assert one.n_lost == 2  # first and third
    assert set(one.load().values()) == {0.0}


def test_requests_that_are_given_up_are_reported():
    one = scheduler("edf_drop")
    search = one.register("SEARCH", 100.0, 1.0)
    late = one.new_request(search, 0.0)
    assert one.can_issue(100.0) is None
    good = one.new_request(search, 100.0)
    assert one.can_issue(100.0).requests == (good,)
    assert one.dropped() == (late,)
    assert one.dropped() == ()
    assert one.n_pending == 0


def test_parts_of_a_request_end_one_by_one_or_all_at_once():
    one = scheduler()
    search = one.register("SEARCH", 5e3, 1.0, gang_size=2)
    for _ in range(2):
        one.new_request(search, 0.0)
    first, second = one.can_issue(0.0), one.can_issue(0.0)
    assert [len({(p.rack, p.shelf) for p in g.places}) for g in (first, second)] == [2, 2]
    assert one.complete(first.id, 5.0, first.places[0].unit)
    assert one.n_running == 2
    with pytest.raises(vs.InputError):
        one.complete(first.id, 5.0, first.places[0].unit)
    assert one.complete(first.id, 9.0)
    assert one.complete(second.id, 9.0)
    assert set(one.load().values()) == {0.0}
    assert one.can_issue(9.0) is None
    assert one._decider.scratch.n_seen.sum() == 4


class Eager(Witness):
    """Sees every event, and does not ask whether there is more to come."""


def test_a_policy_that_does_not_wait_for_the_instant_keeps_its_grants_until_asked():
    one = Scheduler(CENTER, Eager(), affinity=SPEED, task_types=TASKS)
    search, video = one.register("SEARCH", 5e3, 1.0), one.register("VIDEO", 5e3, 1.0)
    one.new_request(search, 0.0)
    one.new_request(video, 0.0)
    assert one.n_running == 1  # the policy was called for the first when the second came
    assert one.can_issue(0.0, video).requests == (1,)
    assert one.can_issue(0.0, video) is None
    assert one.can_issue(0.0, search).requests == (0,)


@pytest.mark.parametrize("how", ["lost", "expired", "of another"])
def test_a_grant_that_ends_before_it_is_given_is_never_given(how):
    one = Scheduler(CENTER, Eager(), affinity=SPEED, task_types=TASKS, lease_factor=0.0, lease_floor_us=100.0)
    search, video = one.register("SEARCH", 5e3, 1.0), one.register("VIDEO", 5e3, 1.0)
    one.new_request(search, 0.0)
    one.new_request(video, 0.0)  # now the policy is called for the first
    assert one.running == [0]
    now_us = 0.0
    if how == "lost":
        assert one.lose(0, 0.0)
    elif how == "expired":
        now_us = 100.0
        assert [grant.id for grant in one.expire(100.0)] == [0, 1]  # the last was given when the instant was over
    else:
        assert one.can_issue(0.0, video).requests == (1,)
        assert one.lose(0, 0.0)
    given = []
    while (grant := one.can_issue(now_us)) is not None:
        given.append(grant.requests)
    assert given == ([(1,)] if how == "lost" else [])
    assert one.n_pending == 0
    assert sum(one.load().values()) == (0.0 if how == "expired" else 1.0)


def test_a_turn_says_which_requests_lost_a_grant_that_was_never_given():
    cluster = Cluster(CENTER, TASKS, SPEED, None, 0)
    one = SchedulerDecisions(cluster, Eager())
    search = one.register(Application("SEARCH", 5e3), "SEARCH", 1.0)
    arrive = Arrive(search, 1.0, 0.0)
    assert one.turn(0.0, [arrive, arrive], may_grant=False).grants == []
    outcome = one.turn(1.0, [Lose(0)])
    assert outcome.withdrawn == (0,)
    assert [grant.requests for grant in outcome.grants] == [(1,)]
    assert one.turn(2.0, [Lose(1)]).withdrawn == ()  # that one was given


@pytest.mark.parametrize("policy", ["fcfs", "easy_backfill", "edf", "high"])
def test_a_closed_unit_gets_nothing_whatever_is_asked_of_it(policy):
    """Neither what takes nothing of it, nor because rounding left its load just below 0."""
    center = vs.Datacenter.of([("GPU", 0, 0)], TYPES)
    one = Scheduler(center, policy, affinity=SPEED, task_types=TASKS)
    nothing, less, more = (one.register(f"{d}", 5e3, 1.0, task_type="SEARCH", demand=d) for d in (0.0, 0.1, 0.4))
    grants = {}
    for part in (nothing, less, more):
        one.new_request(part, 0.0)
        grants[part] = one.can_issue(0.0).id
    one.set_up([0], False, 1.0)
    one.complete(grants[more], 2.0)
    one.complete(grants[less], 2.0)
    assert one.load()[0] < 0.0  # 0.1 + 0.4 less 0.4 and 0.1
    one.new_request(nothing, 3.0)
    assert one.can_issue(3.0) is None
    one.set_up([0], True, 4.0)
    assert one.can_issue(4.0) is not None


class Later(OnlinePolicy):
    """Wants to be called again in 10 us."""

    @staticmethod
    def decide(model, state, view):
        return wait_until(view.now_us + 10.0)


@pytest.mark.parametrize("how", ["cancelled", "cancelled and asked"])
def test_nobody_need_ask_again_when_the_only_request_is_cancelled(how):
    one = Scheduler(CENTER, Later(), affinity=SPEED, task_types=TASKS)
    request = one.new_request(one.register("SEARCH", 5e3, 1.0), 1.0)
    assert one.can_issue(1.0) is None
    assert one.ask_again_us == 11.0
    assert one.cancel(request, 2.0)
    if how == "cancelled and asked":
        assert one.can_issue(2.0) is None
    assert one.ask_again_us == np.inf


@dataclass(frozen=True)
class LaterAtFirst(OnlinePolicy):
    """Starts nothing before 5 us, and everything after that."""

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        return start(task, first_free(model, state, task)) if view.now_us >= 5.0 else wait_until(view.now_us + 10.0)


def test_nobody_need_ask_again_when_all_requests_have_started_before_the_time_of_the_policy():
    one = Scheduler(CENTER, LaterAtFirst(), affinity=SPEED, task_types=TASKS)
    search = one.register("SEARCH", 5e3, 1.0)
    one.new_request(search, 1.0)
    assert one.can_issue(1.0) is None
    assert one.ask_again_us == 11.0
    one.new_request(search, 6.0)
    assert [one.can_issue(6.0) is None for _ in range(2)] == [False, False]
    assert one.ask_again_us > 11.0  # when a lease ends


def test_a_turn_gets_things_in_the_order_of_an_instant():
    reported = [
        Arrive(0, 1.0, 0.0),
        SetUp((1, 2), True),
        Complete(5, 0),
        Lose(4),
        SetUp((2, 3), False),
        Withdraw(9),
        Complete(3, 1),
        Complete(3, 0),
        SetUp((3,), True),
        Arrive(1, 2.0, 0.0),
    ]
    assert in_order(reported) == [
        Withdraw(9),
        SetUp((2,), False),
        Complete(3, 1),
        Complete(3, 0),
        Complete(5, 0),
        Lose(4),
        Arrive(0, 1.0, 0.0),
        Arrive(1, 2.0, 0.0),
        SetUp((1, 3), True),
    ]


@given(st.lists(st.tuples(st.sampled_from("rrrep"), st.integers(0, 3), st.integers(0, 50)), max_size=300))
def test_leases_are_those_of_a_plain_dictionary(steps):
    leases, plain = Leases(), {}
    for what, grant, until_us in steps:
        if what == "r":
            leases.set(grant, until_us)
            plain[grant] = until_us
        elif what == "e" and grant in plain:
            leases.end(grant)
            del plain[grant]
        elif what == "p" and plain:
            first_us = min(plain.values())
            assert plain.pop(leases.pop()) == first_us
        assert leases.next_us() == min(plain.values(), default=np.inf)
        assert len(leases) == len(plain)


def test_a_lease_that_is_renewed_200_times_is_one_entry():
    leases = Leases()
    for n in range(200):
        leases.set(1, float(n))
        leases.set(2, 1000.0)
        assert leases.next_us() == n
    assert len(leases._order) < 150
    assert leases.pop() == 1
    assert leases.next_us() == 1000.0


@dataclass(frozen=True)
class ByEvents(OnlinePolicy):
    """Notes in scratch what it was shown when it was called, by group; and takes the first unit."""

    groups: ClassVar[tuple[str, ...]] = ("application",)
    scratch: ClassVar = {"event": ("i8", "groups"), "by_type": ("i8", "types*groups"), "jobs": ("i8", "jobs")}

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        g = group(model, state, task)
        view.scratch.event[g] = 1 + view.event
        view.scratch.by_type[1 * len(model.group_task_type) + g] += 1
        view.scratch.jobs[model.task_job[task]] += 1
        return start(task, first_free(model, state, task))


@dataclass(frozen=True)
class OfTypes(ByEvents):
    """Does not tell applications apart."""

    groups: ClassVar[tuple[str, ...]] = ()


def test_a_gang_needs_a_policy_that_tells_applications_apart_and_does_not_overcommit():
    for policy in (OfTypes(), type("Pile", (ByEvents,), {"may_overcommit": True})()):
        one = Scheduler(CENTER, policy, affinity=SPEED, task_types=TASKS)
        with pytest.raises(vs.InputError, match="do not name application, or it may overcommit"):
            one.register("SEARCH", 5e3, 1.0, gang_size=2)
        assert one.register("SEARCH", 5e3, 1.0) == 0
    apart = Scheduler(CENTER, ByEvents(), affinity=SPEED, task_types=TASKS)
    assert apart.register("SEARCH", 5e3, 1.0, gang_size=2) == 0


def test_the_policy_is_shown_each_event_of_the_instant():
    center = vs.Datacenter.of([("GPU", 0, 0)], TYPES)
    one = Scheduler(center, ByEvents(), affinity=SPEED, task_types=TASKS)
    code = one.register("SEARCH", 5e3, 1.0)
    one.new_request(code, 0.0)
    grant = one.can_issue(0.0)
    assert one._decider.scratch.event.tolist() == [1 + ARRIVAL]
    one.new_request(code, 1.0)
    assert one.can_issue(1.0) is None
    one.complete(grant.id, 2.0)
    one.new_request(code, 2.0)
    grant = one.can_issue(2.0)
    assert (grant.requests, grant.issued_us) == ((1,), 2.0)
    assert one._decider.scratch.event.tolist() == [1 + FINISH]
    assert one.can_issue(2.0) is None
    one.complete(grant.id, 3.0)
    grant = one.can_issue(4.0)
    assert grant.issued_us == 4.0  # it does not begin before the caller knows of it
    assert one._decider.scratch.event.tolist() == [1 + TIMER]
    assert one._decider.scratch.jobs == {2: 1}  # those that have ended are forgotten


def test_scratch_moves_with_its_group():
    """The group of what requests less comes first."""
    policy = type("ByRequests", (ByEvents,), {"groups": ("application", "requests")})()
    one = Scheduler(CENTER, policy, affinity=SPEED, task_types=TASKS)
    video = one.register("VIDEO", 5e3, 1.0, gang_size=2, requests={"cores": 2.0})
    assert one._decider.groups == [0]
    one._decider.scratch.event[:] = [7]
    one._decider.scratch.by_type[:] = [1, 3]  # the row of a type has the groups
    one.new_request(video, 0.0)
    one.register("SEARCH", 5e3, 1.0)
    assert one._decider.groups == [1, 0]
    assert one._decider.scratch.event.tolist() == [0, 7]
    assert one._decider.scratch.by_type.tolist() == [0, 1, 0, 3]
    assert one._decider.requests.task_group == {0: 1, 1: 1}


def test_a_policy_that_knows_nothing_of_gangs_starts_all_of_one():
    one = Scheduler(CENTER, ByEvents(), affinity=SPEED, task_types=TASKS)
    one.new_request(one.register("SEARCH", 5e3, 1.0, gang_size=2), 0.0)
    grant = one.can_issue(0.0)
    assert len({(place.rack, place.shelf) for place in grant.places}) == 2
    assert len({place.processor_type for place in grant.places}) == 1
    assert one.can_issue(0.0) is None


def test_rules_of_the_contract_hold_here_too():
    one = Scheduler(CENTER, Nowhere(), affinity=SPEED, task_types=TASKS)
    one.new_request(one.register("SEARCH", 5e3, 1.0), 0.0)
    with pytest.raises(vs.PolicyError, match="a unit of the datacenter"):
        one.can_issue(0.0)


class Nowhere(ByEvents):
    """Starts on a unit that does not exist."""

    @staticmethod
    def decide(model, state, view):
        return start(oldest_pending(model, state), 99)


def size_of(value, seen):
    """How many entries all the containers hold that an object of the component refers to."""
    if id(value) in seen or isinstance(value, str | bytes | type | np.generic):
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        return len(value) + sum(size_of(v, seen) for v in value.values())
    if isinstance(value, list | tuple | set | deque):
        return len(value) + sum(size_of(v, seen) for v in value)
    return size_of(vars(value), seen) if hasattr(value, "__dict__") and not callable(value) else 0


@pytest.mark.parametrize("policy", ["symphony_recommended", "edf", "fcfs"])
def test_memory_does_not_grow(policy):
    """8,000 requests, a tenth of the completions lost: hardly more entries than after the first thousand."""
    one = scheduler(policy, {"consolidate": "yes"} if policy != "symphony_recommended" else {}, lease_floor_us=20.0)
    codes = [one.register("SEARCH", 50.0, 1.0, max_consolidated=4), one.register("VIDEO", 90.0, 1.0, gang_size=2)]
    random = np.random.default_rng(5)
    running, sizes, now_us = deque(), [], 0.0
    for n in range(8_000):
        now_us += random.exponential(4.0)
        one.new_request(codes[int(random.integers(0, 4) == 0)], now_us, 1.0)
        while running and running[0][0] <= now_us:
            _, grant = running.popleft()
            if random.integers(0, 10) > 0:
                one.complete(grant, now_us)
        one.expire(now_us)
        while (grant := one.can_issue(now_us)) is not None:
            running.append((now_us + 6.0, grant.id))
        if n % 1000 == 999:
            sizes.append(size_of(vars(one), set()) - len(one._grants.lost_ids))
    assert one.n_lost > 100
    assert len(one._grants.lost_ids) <= RECENT
    assert max(sizes[1:]) < 1.5 * sizes[0] + 500
    assert one._decider.requests.n_jobs == 8_000
    assert len(one._decider.requests.task_job) < 300


def test_threads_may_call():
    one = scheduler("fcfs")
    code = one.register("SEARCH", 5e3, 1.0)
    requests = []

    def tell():
        for _ in range(200):
            requests.append(one.new_request(code, 0.0))
            grant = one.can_issue(0.0)
            if grant is not None:
                one.complete(grant.id, 0.0)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while (grant := one.can_issue(0.0)) is not None:
        one.complete(grant.id, 0.0)
    assert sorted(requests) == list(range(800))
    assert (one.n_pending, one.n_running) == (0, 0)
