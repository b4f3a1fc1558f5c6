"""The scheduler component with its own clock, blocking calls, applications that go, and saved states."""

import itertools
import threading

import pytest

import vinesim as vs
from tests.unit.test_live import scheduler


class Steps:
    """A clock that goes on by a microsecond at each reading, and now and then jumps back."""

    def __init__(self):
        self._numbers, self._lock = itertools.count(1), threading.Lock()

    def __call__(self):
        with self._lock:
            n = next(self._numbers)
        return float(n - 50 if n % 7 == 0 else n)


def test_with_a_clock_no_call_needs_a_time_and_the_time_never_goes_back():
    one = scheduler("fcfs", clock=Steps())
    search = one.register("SEARCH", 5e3, 1.0)
    seen = []
    for _ in range(30):
        one.new_request(search)
        grant = one.can_issue()
        seen.append(grant.issued_us)
        one.complete(grant.id)
    assert seen == sorted(seen)
    assert seen[-1] > 60
    without = scheduler("fcfs")
    with pytest.raises(vs.InputError, match="Or give the scheduler a clock"):
        without.new_request(without.register("SEARCH", 5e3, 1.0))


def test_threads_that_share_the_clock_need_no_lock():
    one = scheduler("fcfs", clock=Steps())
    search, errors = one.register("SEARCH", 5e3, 1.0), []

    def work():
        try:
            for _ in range(100):
                one.new_request(search)
                one.complete(one.next_grant().id)
        except Exception as wrong:
            errors.append(wrong)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (one.n_pending, one.n_running) == (0, 0)


def test_next_grant_waits_for_what_other_threads_tell():
    one = scheduler("fcfs", clock=Steps())
    search, found = one.register("SEARCH", 5e3, 1.0, demand=vs.WHOLE_UNIT), []
    assert one.next_grant(timeout_s=0.0) is None
    for _ in range(5):
        one.new_request(search)
    running = [one.next_grant() for _ in range(4)]
    assert one.next_grant(search, timeout_s=0.0) is None  # all units are busy
    waiting = threading.Thread(target=lambda: found.append(one.next_grant(search)))
    waiting.start()
    one.complete(running[2].id)
    waiting.join()
    assert found[0].places == running[2].places
    with pytest.raises(vs.InputError, match="a scheduler with a clock"):
        scheduler("fcfs").next_grant()


def test_an_application_goes_when_nothing_of_it_is_left():
    one = scheduler("fcfs")
    search = one.register("SEARCH", 5e3, 1.0)
    one.new_request(search, 0.0)
    with pytest.raises(vs.InputError, match="1 waiting and 0 running"):
        one.unregister(search)
    grant = one.can_issue(0.0)
    with pytest.raises(vs.InputError, match="0 waiting and 1 running"):
        one.unregister(search)
    one.complete(grant.id, 1.0)
    one.unregister(search)
    with pytest.raises(vs.InputError, match="the number of an application"):
        one.new_request(search, 2.0)
    with pytest.raises(vs.InputError, match="the number of an application"):
        one.unregister(search)
    again = one.register("SEARCH", 5e3, 1.0)  # the name is free
    assert again == 1
    one.new_request(again, 2.0)
    assert one.can_issue(2.0).application == again


@pytest.mark.parametrize("policy", ["symphony", "edf", "rb_ljf_ba"])
def test_a_saved_scheduler_goes_on_as_if_nothing_had_been(policy):
    one = scheduler(policy)
    codes = [one.register("SEARCH", 5e3, 1.0, max_consolidated=3), one.register("VIDEO", 9e3, 1.0)]
    running, grants = [], 0
    for step in range(60):
        now_us = 10.0 * step
        if step % 10 == 5:
            other = scheduler(policy)
            other.restore(one.save())
            one = other
            twin = scheduler(policy)
            twin.restore(one.save())
        one.new_request(codes[step % 2], now_us, float(step % 5))
        if step >= 5:
            twin.new_request(codes[step % 2], now_us, float(step % 5))
        if step % 3 == 2 and running:
            grant = running.pop(0)
            assert one.complete(grant.id, now_us)
            assert step < 5 or twin.complete(grant.id, now_us)
        while (grant := one.can_issue(now_us)) is not None:
            assert step < 5 or twin.can_issue(now_us) == grant
            running.append(grant)
            grants += 1
        assert step < 5 or twin.can_issue(now_us) is None
    assert grants > 10
    assert one.n_pending > 3


def test_what_was_not_saved_here_is_refused():
    one = scheduler("fcfs")
    with pytest.raises(vs.InputError, match="what save returned"):
        one.restore(b"something else")
    with pytest.raises(vs.InputError, match="policy fcfs"):
        one.restore(scheduler("edf").save())
