"""What happens between the events of the loop: nodes go down and come up, jobs are withdrawn."""

import heapq
import math
from collections import defaultdict

import numpy as np

from vinesim.engine.contract import BrokenContract
from vinesim.engine.run import Run
from vinesim.model.errors import InputError, Problem
from vinesim.model.outage import Outage, units_of
from vinesim.model.result import FAILED, INTERRUPTED
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.model.workload import NO_GANG, NOT_PLACED
from vinesim.policies.contract import OnlinePolicy, Policy, title_of
from vinesim.state.layout import Model

UP, DOWN = 0, 1  # the order of what happens at the same time


class FailureClock:
    """The random failures of one run, drawn one after another."""

    def __init__(self, scenario: Scenario):
        self._processes = []  # of each entry: its times, its random stream
        self._ahead: list[tuple[float, int, int, tuple[int, int]]] = []  # (time, UP or DOWN, entry, node)
        self.n_down = 0
        self.had: list[Outage] = []  # failures so far; those that are not over are up at infinity
        self._open: dict[tuple[int, tuple[int, int]], int] = {}  # (entry, node) -> its failure in ``had``
        for i, failures in enumerate(scenario.failures):
            random, nodes = stream(scenario.seed, f"failures.{i}"), failures.nodes(scenario.datacenter)
            self._processes.append((failures, random))
            for node, time in zip(nodes, failures.until.draw(random, len(nodes)).tolist(), strict=True):
                heapq.heappush(self._ahead, (time, DOWN, i, node))

    @property
    def next_us(self) -> float:
        """Return when the next node fails or is repaired."""
        return self._ahead[0][0] if self._ahead else math.inf

    def at(self, time_us: float) -> tuple[list[Outage], list[Outage]]:
        """Return the failures that end and those that begin at a time."""
        ended, begun, now = [], [], []
        while self._ahead and self._ahead[0][0] == time_us:
            now.append(heapq.heappop(self._ahead))
        for _, what, i, node in now:  # a repair that takes no time comes next
            failures, random = self._processes[i]
            times = failures.repair if what == DOWN else failures.until
            following = time_us + float(times.draw(random, 1)[0])
            heapq.heappush(self._ahead, (following, UP if what == DOWN else DOWN, i, node))
            if what == DOWN:
                self.n_down += 1
                self._open[i, node] = len(self.had)
                begun.append(Outage(*node, time_us, math.inf, failures.running))
                self.had.append(begun[-1])
            else:
                self.n_down -= 1
                row = self._open.pop((i, node))
                over = self.had[row]
                self.had[row] = Outage(*node, over.down_us, time_us, over.running)
                ended.append(over)
        return ended, begun


class OutageClock:
    """The pauses of one run: when the next one is, and what is done in it."""

    def __init__(self, run: Run, model: Model, scenario: Scenario):
        self.run, self.failures = run, FailureClock(scenario)
        self._job_gang, self._task_job = model.job_gang, model.task_job
        self._rack, self._shelf = model.node_rack[model.unit_node], model.node_shelf[model.unit_node]
        self._n_down = np.zeros(len(model.unit_node), np.int32)  # outages and failures of each unit's node
        self._ends: dict[float, list[Outage]] = defaultdict(list)
        self._begins: dict[float, list[Outage]] = defaultdict(list)
        self._withdrawn: dict[float, list[int]] = defaultdict(list)
        for outage in scenario.outages:
            self._begins[outage.down_us].append(outage)
            if outage.up_us < math.inf:
                self._ends[outage.up_us].append(outage)
        withdraw_us = scenario.workload.withdraw_us
        if withdraw_us is not None:
            for job in np.flatnonzero(withdraw_us < math.inf).tolist():
                self._withdrawn[float(withdraw_us[job])].append(job)
        self._times = sorted({*self._begins, *self._ends, *self._withdrawn})
        self._n_done = 0
        self._last_us, self._last = -math.inf, np.empty(0, np.int64)  # when tasks were interrupted last, and which

    @property
    def next_us(self) -> float:
        """Return when something happens next; infinite if nothing does."""
        listed = self._times[self._n_done] if self._n_done < len(self._times) else math.inf
        return min(listed, self.failures.next_us)

    @property
    def only_fails(self) -> bool:
        """Whether nodes can only fail from now on, which starts nothing."""
        return self._n_done == len(self._times) and self.failures.n_down == 0

    def tick(self) -> None:
        """Bring nodes up, then take nodes down, then withdraw jobs; then the policy must be asked."""
        time_us = self.next_us
        self.run.set_clock(time_us)
        ended, begun = self.failures.at(time_us)
        is_listed = self._n_done < len(self._times) and self._times[self._n_done] == time_us
        withdrawn = []
        if is_listed:
            ended, withdrawn = self._ends[time_us] + ended, self._withdrawn[time_us]
            self._n_done += 1
        listed = self._begins[time_us] if is_listed else []
        for outage in ended:
            self._count(outage, -1)
        for outage in (*listed, *begun):
            self._count(outage, 1)
        why = np.zeros(len(self._n_down), np.int64)
        for outages, reason in ((begun, FAILED), (listed, INTERRUPTED)):
            for outage in outages:
                if outage.running == "requeue":
                    why[units_of(outage, self._rack, self._shelf)] = reason
        if ended or begun or listed:
            self._interrupt(why, time_us)
        if withdrawn:
            self.run.withdraw(np.array(withdrawn, np.int64))
        self.run.ask(bool(ended or begun or listed))

    def _count(self, outage: Outage, change: int) -> None:
        """Note that an outage of a node begins or ends; the node is down while it has any."""
        units = units_of(outage, self._rack, self._shelf)
        self._n_down[units] += change
        if change > 0:
            self.run.close(units)
        else:
            self.run.open(units[self._n_down[units] == 0])

    def _interrupt(self, why: np.ndarray, time_us: float) -> None:
        """Make what runs on the units with a reason pending again."""
        columns = self.run.columns()
        unit = columns["task_unit"]
        tasks = np.flatnonzero((unit >= 0) & (why[np.maximum(unit, 0)] > 0) & (columns["task_finish_us"] > time_us))
        reason = why[unit[tasks]]
        if len(self._job_gang):
            tasks, reason = self._with_gangs(tasks, reason, columns, time_us)
        if self._last_us == time_us:  # a node that is repaired at once: the policy is asked about both together
            before = np.setdiff1d(self._last, tasks)
            order = np.argsort(np.concatenate([before, tasks]))
            tasks = np.concatenate([before, tasks])[order]
            reason = np.concatenate([np.zeros(len(before), np.int64), reason])[order]
        self._last_us, self._last = time_us, tasks
        self.run.interrupt(tasks, reason)

    def _with_gangs(
        self, tasks: np.ndarray, why: np.ndarray, columns: dict[str, np.ndarray], time_us: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return interrupted tasks and the running tasks of their gangs, and why."""
        of_job = np.zeros(len(self._job_gang), np.int64)
        np.maximum.at(of_job, self._task_job[tasks], why)
        reason = np.where(self._job_gang != NO_GANG, of_job, 0)[self._task_job]
        reason[(columns["task_unit"] < 0) | ~(columns["task_finish_us"] > time_us)] = 0
        reason[tasks] = np.maximum(reason[tasks], why)
        found = np.flatnonzero(reason)
        return found, reason[found]


def has_pauses(scenario: Scenario) -> bool:
    """Whether something happens between the events of the loop."""
    return bool(scenario.outages or scenario.failures or scenario.workload.withdraw_us is not None)


def begin_placed(run: Run, model: Model, scenario: Scenario) -> None:
    """Start the tasks that run from the beginning; the policy is asked about the others of their instant next."""
    placed = scenario.workload.placed
    if placed is None or (placed == NOT_PLACED).all():
        return
    number = np.empty(len(model.unit_order), np.int64)
    number[model.unit_order] = np.arange(len(number))
    tasks = np.flatnonzero(placed != NOT_PLACED)
    try:
        run.begin_placed(tasks, number[placed[tasks]], int(model.task_job[tasks[-1]]) + 1)
    except BrokenContract as broken:
        expected = "a unit with room for the task and for all that it holds beside it"
        found = f"unit {placed[broken.task]}"
        raise InputError([Problem(f"workload.placed[{broken.task}]", expected, found)]) from None
    run.ask(False)


def check_policy(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that does not support what happens in the scenario between its events."""
    name, work = title_of(policy), scenario.workload
    known = (
        ("outages", "outages", bool(scenario.outages)),
        ("failures", "failures", bool(scenario.failures)),
        ("workload.withdraw", "jobs that are withdrawn", work.withdraw_us is not None),
        ("workload.placed", "tasks that run from the beginning", work.placed is not None),
    )
    has_limits = work.limit_us is not None
    problems = []
    for what, words in ((what, words) for what, words, is_there in known if is_there):
        if not isinstance(policy, OnlinePolicy):
            problems.append(Problem(what, f"an online policy; {name} is a batch policy", words))
        elif policy.plans:
            problems.append(Problem(what, f"none; {name} plans before the run", words))
        elif what == "workload.withdraw" and not policy.can_withdraw:
            expected = f"none; {name} keeps tasks in its scratch and does not forget those of withdrawn jobs"
            remedy = "Choose another policy. A policy of one's own declares keeps_tasks and takes_withdrawals."
            problems.append(Problem(what, expected, words, remedy))
        elif what == "workload.placed" and policy.keeps_tasks:
            expected = f"none; {name} keeps tasks in its scratch and must see each of them arrive and end"
            problems.append(Problem(what, expected, words, "Choose another policy, such as high or priority."))
    if has_limits and isinstance(policy, OnlinePolicy) and policy.plans:
        problems.append(Problem("workload.limit", f"none; {name} plans before the run", "limits"))
    if problems:
        raise InputError(problems)
    requeues = "requeue" in {*(o.running for o in scenario.outages), *(f.running for f in scenario.failures)}
    if requeues and isinstance(policy, OnlinePolicy) and not policy.can_requeue:
        where_ = "outages" if scenario.outages else "failures"
        expected = f"{where_} with running: finish; {name} keeps tasks in its scratch and does not take them back"
        remedy = "Or choose another policy. A policy of one's own declares keeps_tasks and takes_back."
        raise InputError([Problem(where_, expected, "requeue", remedy)])
