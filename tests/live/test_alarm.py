"""Alarms, by a loop whose clock the test moves."""

import math

import pytest

from vinesim.live import alarm
from vinesim.live.alarm import Alarm


class Timer:
    def __init__(self, at_s, call):
        self.at_s, self.call, self.is_cancelled = at_s, call, False

    def when(self):
        return self.at_s

    def cancel(self):
        self.is_cancelled = True


class Loop:
    """What an alarm needs of an event loop."""

    def __init__(self):
        self.now_s, self.timers = 0.0, []

    def time(self):
        return self.now_s

    def call_at(self, at_s, call):
        self.timers.append(Timer(at_s, call))
        return self.timers[-1]

    def go_to(self, now_s):
        """Let the timers ring that are due until then."""
        for timer in sorted(self.timers, key=Timer.when):
            if timer.at_s <= now_s:
                self.timers.remove(timer)
                self.now_s = timer.at_s
                if not timer.is_cancelled:
                    timer.call()
        self.now_s = now_s

    @property
    def waiting(self):
        return [timer.at_s for timer in self.timers if not timer.is_cancelled]


@pytest.fixture
def loop(monkeypatch):
    one = Loop()
    monkeypatch.setattr(alarm.asyncio, "get_running_loop", lambda: one)
    return one


@pytest.fixture
def rung(loop):
    return []


@pytest.fixture
def one(loop, rung):
    return Alarm(lambda: rung.append(loop.now_s))


def test_it_rings_once_at_its_time(loop, rung, one):
    one.set(2.0)
    loop.go_to(1.0)
    assert rung == []
    loop.go_to(5.0)
    assert rung == [2.0]
    assert loop.waiting == []


def test_moved_to_a_later_time_it_starts_no_timer_before_the_first_has_rung(loop, rung, one):
    for due_s in (2.0, 3.0, 4.0):
        one.set(due_s)
    assert loop.waiting == [2.0]
    loop.go_to(3.0)
    assert loop.waiting == [4.0]
    loop.go_to(4.0)
    assert rung == [4.0]


def test_moved_to_an_earlier_time_it_rings_then(loop, rung, one):
    one.set(4.0)
    one.set(2.0)
    loop.go_to(5.0)
    assert rung == [2.0]


@pytest.mark.parametrize("stop", [lambda one: one.set(math.inf), lambda one: one.cancel()])
def test_it_does_not_ring_for_a_time_that_was_taken_back(loop, rung, one, stop):
    one.set(2.0)
    stop(one)
    loop.go_to(5.0)
    assert rung == []
    assert loop.waiting == []
    one.set(6.0)
    loop.go_to(6.0)
    assert rung == [6.0]


def test_what_rings_may_set_it_again(loop, rung):
    one = Alarm(lambda: (rung.append(loop.now_s), one.set(loop.now_s + 1)))
    one.set(1.0)
    for now_s in (1.0, 2.0, 3.0):
        loop.go_to(now_s)
    assert rung == [1.0, 2.0, 3.0]


def test_after_a_cancel_no_timer_is_left(loop, one):
    one.set(2.0)
    one.cancel()
    assert loop.waiting == []
