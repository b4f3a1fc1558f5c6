"""The radix heap against Python's ``heapq``: same order, first in first out among equals, whatever is cancelled."""

import heapq
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels import with_kernels
from vinesim.core import calendar
from vinesim.core.features import Features
from vinesim.core.state import slot_dtype
from vinesim.state.arrays import BUCKET, RUN

PUSH, POP, CANCEL = range(3)
NOTHING = -2


class Queue(NamedTuple):
    """The part of the state that the calendar works on."""

    run: np.ndarray
    slot: np.ndarray
    bucket: np.ndarray
    used: np.ndarray


def new_queue(n: int, features: Features) -> Queue:
    run, bucket = np.zeros(1, RUN), np.zeros(8 * 256, BUCKET)
    run["chained"] = run["newest"] = -1
    bucket["head"] = bucket["tail"] = -1
    return Queue(run, np.zeros(n, slot_dtype(features)), bucket, np.zeros(8 * 4, np.uint64))


@partial(with_kernels, features=frozenset())
def play(model, queue, kinds, slots, times_us, next_us, taken):
    """Do what the script says; note the earliest time before each step and the slot that each POP takes."""
    for step in range(len(kinds)):
        next_us[step] = calendar.next_us(queue)
        if kinds[step] == PUSH:
            calendar.push(queue, slots[step], times_us[step])
        elif kinds[step] == CANCEL:
            calendar.cancel(queue, slots[step])
        else:
            taken[step] = calendar.pop(model, queue)


@partial(with_kernels, features=frozenset(("CHAINS",)))
def play_chained(model, queue, kinds, slots, times_us, next_us, taken):
    """The same where nothing is cancelled."""
    for step in range(len(kinds)):
        next_us[step] = calendar.next_us(queue)
        if kinds[step] == PUSH:
            calendar.push(queue, slots[step], times_us[step])
        else:
            taken[step] = calendar.pop(model, queue)


class Script:
    """Steps, and what ``heapq`` makes of them."""

    def __init__(self):
        self.steps: list[tuple[int, int, float]] = []
        self.next_us: list[float] = []
        self.taken: list[int] = []
        self.heap: list[tuple[float, int, int]] = []
        self.waiting: dict[int, tuple[float, int, int]] = {}
        self.sequence = 0
        self.now = 0.0

    def _step(self, kind: int, task: int, time_us: float) -> None:
        while self.heap and self.waiting.get(self.heap[0][2]) != self.heap[0]:
            heapq.heappop(self.heap)
        self.next_us.append(self.heap[0][0] if self.heap else np.inf)
        self.steps.append((kind, task, time_us))
        self.taken.append(NOTHING)

    def push(self, task: int, time_us: float) -> None:
        self._step(PUSH, task, time_us)
        self.sequence += 1
        self.waiting[task] = (time_us, self.sequence, task)
        heapq.heappush(self.heap, self.waiting[task])

    def cancel(self, task: int) -> None:
        self._step(CANCEL, task, 0.0)
        del self.waiting[task]

    def pop(self) -> None:
        self._step(POP, -1, 0.0)
        time_us, _, task = heapq.heappop(self.heap)
        del self.waiting[task]
        self.taken[-1] = task
        self.now = time_us

    def check(self, n: int) -> None:
        kinds, tasks, times_us = (np.array(column) for column in zip(*self.steps, strict=True))
        next_us, taken = np.zeros(len(kinds)), np.full(len(kinds), NOTHING)
        cancels = CANCEL in kinds
        queue = new_queue(n, frozenset() if cancels else frozenset(("CHAINS",)))
        steps = kinds.astype(np.int64), tasks.astype(np.int64), times_us.astype(float)
        (play if cancels else play_chained)(0, queue, *steps, next_us, taken)
        assert next_us.tolist() == self.next_us
        assert taken.tolist() == self.taken


GAPS = {
    "equal": (0.0,),
    "integers": (0.0, 1.0, 2.0, 3.0),
    "far apart": (0.0, 1e-300, 1e-9, 1.0, 1e6, 1e15, 1e300),
    "near": (0.0, 2.0**-40, 2.0**-20, 1.0),
    "infinite": (0.0, 1.0, np.inf),
}


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS.keys())
@pytest.mark.parametrize("seed", range(4))
def test_long_random_scripts(gaps, seed):
    random = np.random.default_rng(seed)
    n = 400
    script = Script()
    for _ in range(3000):
        choice = random.random()
        if len(script.waiting) < n and choice < 0.5:
            task = int(random.integers(n))
            if task not in script.waiting:
                script.push(
                    task, script.now + float(random.choice(gaps)) * float(random.choice([1.0, random.random()]))
                )
        elif script.waiting and choice < 0.65:
            script.cancel(list(script.waiting)[int(random.integers(len(script.waiting)))])
        elif script.waiting and np.isfinite(min(script.waiting.values())[0]):
            script.pop()
    assert script.taken.count(NOTHING) < len(script.taken) - 250 or gaps == GAPS["infinite"]
    script.check(n)


@pytest.mark.parametrize("seed", range(4))
def test_tasks_of_a_job_that_finish_together(seed):
    """Where nothing is ever cancelled, tasks that are queued one after the other for the same time go together."""
    random = np.random.default_rng(seed)
    script = Script()
    task = 0
    while task < 900:
        if random.random() < 0.6 and script.waiting:
            script.pop()
        else:
            time_us = script.now + float(random.integers(0, 4))
            for _ in range(random.integers(1, 6)):
                script.push(task, time_us)
                task += int(random.choice([1, 1, 1, 2]))
                if script.waiting and random.random() < 0.1:
                    script.pop()
                    time_us = max(time_us, script.now)
    while script.waiting:
        script.pop()
    script.check(task + 1)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_drawn_scripts(data):
    n = 12
    script = Script()
    after = st.one_of(st.sampled_from([0.0, 1.0, 5e-324, 256.0]), st.floats(0, 1e9), st.floats(0, allow_infinity=False))
    for _ in range(data.draw(st.integers(1, 40))):
        absent = [task for task in range(n) if task not in script.waiting]
        kinds = [PUSH] * bool(absent) + [POP, CANCEL] * bool(script.waiting)
        kind = data.draw(st.sampled_from(kinds))
        if kind == PUSH:
            task = data.draw(st.sampled_from(absent))
            script.push(task, min(script.now + data.draw(after), 1.7e308))
        elif kind == CANCEL:
            script.cancel(data.draw(st.sampled_from(sorted(script.waiting))))
        else:
            script.pop()
    script.check(n)


def test_equal_times_leave_in_the_order_in_which_they_came():
    script = Script()
    for task in (5, 3, 9, 1):
        script.push(task, 7.0)
    script.cancel(3)
    script.push(3, 7.0)
    for _ in range(4):
        script.pop()
    assert script.taken[-4:] == [5, 9, 1, 3]
    script.check(10)
