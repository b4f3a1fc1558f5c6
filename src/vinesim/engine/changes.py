"""The list of changes of nodes and jobs during a run: outages, random failures, withdrawals. core/changes.py goes
through it. Random failures have no end: some are drawn whenever the list runs short."""

import heapq
import math
from collections import defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vinesim.model.outage import Outage
from vinesim.model.reservation import Reservation
from vinesim.model.result import FAILED, INTERRUPTED
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.state.arrays import CHANGE, GOES_DOWN, MORE, UP, WITHDRAWS

FAILS, IS_REPAIRED = GOES_DOWN, UP
STEPS_AT_ONCE = 256  # of random failures that are drawn
Row = tuple[float, int, int, int, int, int, bool]  # of CHANGE


class FailureClock:
    """The random failures of one run, drawn one after another."""

    def __init__(self, scenario: Scenario):
        self._processes = []  # of each entry: its times, its random stream
        self._ahead: list[tuple[float, int, int, tuple[int, int]]] = []  # (time, what, entry, node)
        self.n_down = 0
        self.had: list[Outage] = []  # failures so far; those that are not over are up at infinity
        self._open: dict[tuple[int, tuple[int, int]], int] = {}  # (entry, node) -> its failure in ``had``
        for i, failures in enumerate(scenario.failures):
            random, nodes = stream(scenario.seed, f"failures.{i}"), failures.nodes(scenario.datacenter)
            self._processes.append((failures, random))
            for node, time in zip(nodes, failures.until.draw(random, len(nodes)).tolist(), strict=True):
                heapq.heappush(self._ahead, (time, FAILS, i, node))

    @property
    def next_us(self) -> float:
        """Return when the next node fails or is repaired."""
        return self._ahead[0][0] if self._ahead else math.inf

    def at(self, time_us: float) -> tuple[list[int], list[int]]:
        """Return the failures that end and those that begin at a time, by their numbers in ``had``."""
        ended, begun, now = [], [], []
        while self._ahead and self._ahead[0][0] == time_us:
            now.append(heapq.heappop(self._ahead))
        for _, what, i, node in now:  # a repair that takes no time comes next
            failures, random = self._processes[i]
            times = failures.repair if what == FAILS else failures.until
            following = time_us + float(times.draw(random, 1)[0])
            heapq.heappush(self._ahead, (following, IS_REPAIRED if what == FAILS else FAILS, i, node))
            if what == FAILS:
                begun.append(len(self.had))
                self._open[i, node] = len(self.had)
                self.had.append(Outage(*node, time_us, math.inf, failures.running))
            else:
                ended.append(self._open.pop((i, node)))
                self.had[ended[-1]] = replace(self.had[ended[-1]], up_us=time_us)
        self.n_down += len(begun) - len(ended)
        return ended, begun


class Step(NamedTuple):
    """What happens at an instant: nodes come up, then nodes go down, then jobs are withdrawn."""

    up: list[Outage]
    down: list[tuple[Outage, int]]  # and why
    cut: list[Reservation]  # those that begin, and interrupt tasks
    over: list[Reservation]
    withdrawn: list[int]
    ended: list[int]  # failures of these, by their numbers
    begun: list[int]


class ChangeClock:
    """The changes of nodes and jobs in one run, instant by instant."""

    def __init__(self, scenario: Scenario):
        self.failures = FailureClock(scenario)
        listed: dict[float, Step] = defaultdict(lambda: Step([], [], [], [], [], [], []))
        for outage in scenario.outages:
            listed[outage.down_us].down.append((outage, INTERRUPTED))
            listed[outage.up_us].up.append(outage)
        for one in scenario.reservations:
            if one.interrupts:
                listed[one.start_us].cut.append(one)
            listed[one.end_us].over.append(one)
        if scenario.workload.withdraw_us is not None:
            for job in np.flatnonzero(scenario.workload.withdraw_us < math.inf).tolist():
                listed[float(scenario.workload.withdraw_us[job])].withdrawn.append(job)
        listed.pop(math.inf, None)  # never
        self._listed, self._times = listed, sorted(listed, reverse=True)  # the next one is the last

    @property
    def n_listed(self) -> int:
        """Return how many of the instants known ahead are left."""
        return len(self._times)

    @property
    def next_us(self) -> float:
        """Return when something happens next; infinite if nothing does."""
        return min(self._times[-1] if self._times else math.inf, self.failures.next_us)

    @property
    def only_fails(self) -> bool:
        """Whether nodes can only fail from now on, which starts nothing."""
        return not self._times and self.failures.n_down == 0

    def step(self) -> Step:
        """Return what happens next."""
        at_us, had = self.next_us, self.failures.had
        ended, begun = self.failures.at(at_us)
        if self._times and self._times[-1] == at_us:
            self._times.pop()
        step = self._listed.pop(at_us, Step([], [], [], [], [], [], []))
        up, down = step.up + [had[i] for i in ended], [(had[i], FAILED) for i in begun] + step.down
        return step._replace(up=up, down=down, ended=ended, begun=begun)


class Changes:
    """The list for one run, as far as it is known."""

    def __init__(self, scenario: Scenario, model: Any):
        self._clock = ChangeClock(scenario)
        places = zip(model.node_rack.tolist(), model.node_shelf.tolist(), strict=True)
        self._node = {place: node for node, place in enumerate(places)}
        self._n_down = np.zeros(len(self._node), np.int64)  # outages and failures of each node
        self._places = model.node_rack, model.node_shelf
        self._rows: list[Row] = []
        self._n_steps = 0
        self._began: list[int] = []  # of each failure: its row
        self._ended: dict[int, int] = {}  # of those that are over: the row of that

    def listed(self) -> np.ndarray:
        """Return the list with some more steps, the last row MORE if there are further ones."""
        clock, more = self._clock, list[Row]()
        for _ in range(clock.n_listed + STEPS_AT_ONCE):
            if clock.next_us == math.inf:
                break
            self._add_step()
        if clock.next_us < math.inf:
            more = [(clock.next_us, self._n_steps, MORE, 0, 0, 0, clock.only_fails)]
        return np.array(self._rows + more, CHANGE)

    def failures_before(self, row: int) -> tuple[Outage, ...]:
        """Return the failures in the rows before a given one; failures that are not over by then are up at infinity."""
        had = [one for one, began in zip(self._clock.failures.had, self._began, strict=True) if began < row]
        is_over = [self._ended.get(i, row) < row for i in range(len(had))]
        return tuple(one if over else replace(one, up_us=math.inf) for one, over in zip(had, is_over, strict=True))

    def _add_step(self) -> None:
        at_us, only_fails, step = self._clock.next_us, self._clock.only_fails, self._clock.step()
        self._ended |= dict.fromkeys(step.ended, len(self._rows))
        self._began += [len(self._rows)] * len(step.begun)
        rows = [(UP, self._node[one.rack, one.shelf], 0, -1) for one in step.up]
        ends = [(one, why if one.running == "requeue" else 0) for one, why in step.down]
        rows += [(GOES_DOWN, self._node[one.rack, one.shelf], why, 1) for one, why in ends]
        cut_nodes = [int(node) for one in step.cut for node in np.flatnonzero(one.has(*self._places))]
        rows += [(GOES_DOWN, node, INTERRUPTED, 0) for node in cut_nodes]  # it stays up, but tasks leave it
        rows += [(UP, 0, 0, 0)] * bool(step.over)  # others may start where reservations are over
        for what, node, why, more_down in rows:
            self._n_down[node] += more_down
            self._rows.append((at_us, self._n_steps, what, node, why, int(self._n_down[node]), only_fails))
        self._rows += [(at_us, self._n_steps, WITHDRAWS, job, 0, 0, only_fails) for job in step.withdrawn]
        self._n_steps += 1
