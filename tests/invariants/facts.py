"""Facts about each task and unit, from a result's tables and the scenario."""

import itertools
import math
from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np

import vinesim as vs
from tests.demands import demands_of, taken
from tests.properties.held_plainly import Folder, Hold
from tests.rates import at_full_speed, rates_of
from vinesim.model.application import requests_on_nodes
from vinesim.model.workload import NO_GANG
from vinesim.policies.contract import BatchPolicy

ENDS_RUN = ("interrupted", "failed", "preempted", "prefilled")  # outcomes after which a task is pending again


class Facts:
    """Units are in (rack, shelf) order, as in the tables."""

    def __init__(self, scenario: vs.Scenario, folder: Folder, policy: Any):
        self.scenario, self.folder, self.policy = scenario, folder, policy
        center, work = scenario.datacenter, scenario.workload
        self.work = work
        self.order = np.lexsort((center.shelf, center.rack))
        self.unit_type = center.unit_type[self.order].tolist()
        batching = [center.processor_types[kind].batching for kind in self.unit_type]
        sizes = zip(batching, center.unit_capacity[self.order].tolist(), strict=True)
        self.sizes = [size if one is None else float(one.max_sequences) for one, size in sizes]
        self.place = list(zip(center.rack[self.order].tolist(), center.shelf[self.order].tolist(), strict=True))
        self.types = center.processor_types
        self.job = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first)).tolist()
        self.kind = work.job_task_type[self.job].tolist()
        self.arrival = work.arrival_us[self.job].tolist()
        self.demand = demands_of(work).tolist()
        self.reason = folder.summary["exit_reason"]
        self.makespan = folder.makespan
        self.is_batch = isinstance(policy, BatchPolicy)

    @property
    def outages(self) -> tuple[vs.Outage, ...]:
        """The listed outages and the random failures."""
        return (*self.scenario.outages, *self.folder.failures)

    @property
    def keeps_progress(self) -> bool:
        """Whether tasks may resume where they stopped, are killed or withdrawn, or never end."""
        work = self.work
        reported = (work.checkpoint_us, work.restart_us, work.withdraw_us, work.limit_us)
        preempts = getattr(self.policy, "preempts", False)
        return preempts or any(column is not None for column in reported) or bool(np.isinf(work.operations).any())

    @cached_property
    def due(self) -> list[float]:
        """When each job has arrived and all its dependencies are over, by the times of their tasks.

        Infinite if that never happens, for example because the job is withdrawn before.
        """
        work, found = self.work, self.work.arrival_us.tolist()
        for job in range(work.n_jobs) if work.after is not None else ():
            waits_for = work.after[work.after_first[job] : work.after_first[job + 1]]
            time = max([found[job], *map(self.over, waits_for)])
            late_us = math.inf if work.withdraw_us is None else work.withdraw_us[job]
            is_gone = time == late_us and self.is_missing(self.folder.jobs[job]["eligible_us"])  # either may be first
            found[job] = math.inf if time > late_us or is_gone else time
        return found

    @cached_property
    def eligible(self) -> list[float]:
        """As ``due``; NaN if the run ended before."""
        return [time if time <= self.makespan else math.nan for time in self.due]

    def over(self, job: int) -> float:
        """When the last task of a job was done, killed, dropped or withdrawn; infinite: never."""
        late_us = math.inf if self.work.withdraw_us is None else float(self.work.withdraw_us[job])
        ends = []
        for row in self.folder.tasks[self.work.job_first[job] : self.work.job_first[job + 1]]:
            last = self.holds_of.get(row["task"], [None])[-1]
            end = last.end if last is not None and last.outcome in ("finished", "killed", "withdrawn") else math.inf
            dropped = row.get("dropped_us", math.nan)
            ends.append(min(end, late_us, math.inf if self.is_missing(dropped) else dropped))
        return max(ends)

    @property
    def n_units(self) -> int:
        return len(self.unit_type)

    def capacity(self, unit: int) -> float:
        return self.sizes[unit]

    def parallelism(self, unit: int) -> float:
        """The load up to which all its tasks run at full speed."""
        limit, size = at_full_speed(self.types[self.unit_type[unit]]), self.capacity(unit)
        return size if limit is None else min(limit, size)

    def share_of_speed(self, task: int, unit: int, load: float) -> float:
        """Return the speed of a task on the unit, relative to that of a task alone."""
        kind = self.types[self.unit_type[unit]]
        if load <= self.parallelism(unit):
            return 1.0
        if kind.rates is None:
            return self.parallelism(unit) / load
        rates = rates_of(kind, self.work.task_types[self.kind[task]].name)
        if rates is None:
            return 1.0
        together = [n * rate for n, rate in enumerate(rates, 1)]
        return float(np.interp(load, range(1, len(rates) + 1), together)) / load

    def shares_speed(self, unit: int) -> bool:
        return self.parallelism(unit) < self.capacity(unit)

    def takes(self, task: int, unit: int) -> float:
        companion = (self.work.companions or {}).get(self.types[self.unit_type[unit]].name)
        if companion is not None and companion[task] > 0:
            return float(companion[task])
        return taken(self.demand[task], self.capacity(unit))

    def is_engine(self, unit: int) -> bool:
        """Whether it is a serving engine, which takes any number of requests and serves those that fit together."""
        return self.types[self.unit_type[unit]].batching is not None

    def draws_power(self, unit: int) -> bool:
        """Whether the power of the unit changes while a task holds it."""
        code = self.unit_type[unit]
        table = self.scenario.power_w
        return self.runs(code) or self.types[code].has_own_power or (table is not None and bool(table[code].any()))

    def runs(self, code: int) -> bool:
        """Whether a processor type runs any tasks."""
        return bool(self.scenario.affinity[code].any())

    def speed(self, task: int, unit: int) -> float:
        return float(self.scenario.affinity[self.unit_type[unit], self.kind[task]])

    def application(self, task: int) -> int:
        return -1 if self.work.application is None else int(self.work.application[self.job[task]])

    def is_of_gang(self, task: int) -> bool:
        """Whether the tasks of its job start together."""
        within = self.work.gang_within
        return self.is_on_nodes(task) or (within is not None and within[self.job[task]] != NO_GANG)

    def member(self, task: int) -> int:
        """Return the index of a task in its job."""
        return task - int(self.work.job_first[self.job[task]])

    def is_on_nodes(self, task: int) -> bool:
        """Whether the task belongs to a request on several nodes, which the policy starts together."""
        return self._is_on_nodes[self.job[task]]

    @cached_property
    def _is_on_nodes(self) -> list[bool]:
        found = requests_on_nodes(self.work, self.scenario.applications, self.groups)
        return [False] * self.work.n_jobs if found is None else found.tolist()

    # --- times alone, from the scenario ---

    def transfer(self, task: int, unit: int) -> float:
        size = float(self.work.data_bytes[task])
        if size <= 0:
            return 0.0
        rack, shelf = self.place[unit]
        same_rack, same_shelf = rack == self.work.data_rack[task], shelf == self.work.data_shelf[task]
        tier = 0 if same_rack and same_shelf else 1 if same_rack else 2
        network = self.scenario.network
        return float(network.tier_latency_us[tier]) + size / float(network.tier_bandwidth[tier])

    def overhead(self, task: int, unit: int) -> float:
        table = self.scenario.overhead_us
        return 0.0 if table is None else float(table[self.unit_type[unit], self.kind[task]])

    def joined(self, n: int, task: int, unit: int) -> float | None:
        """Return the table's time for ``n`` consolidated tasks; None if there is no table for them."""
        if self.scenario.consolidated_us is None:
            return None
        row = self.scenario.consolidated_us[self.unit_type[unit], self.kind[task]]
        known = row[~np.isnan(row)].tolist()
        if not known:
            return None
        whole, rest = divmod(n, len(known))
        return float(whole * known[-1] + (known[rest - 1] if rest else 0.0))

    def computing(self, task: int, unit: int) -> float:
        if (known := self.joined(1, task, unit)) is not None:
            return known
        if self.work.times_us is not None:
            return float(self.work.times_us[task, self.unit_type[unit]])
        speed = self.speed(task, unit)
        return float(self.work.operations[task]) / speed if speed > 0 else math.inf

    def factor(self, task: int) -> float:
        return 1.0 if self.work.time_factor is None else float(self.work.time_factor[task])

    # --- who was where ---

    @cached_property
    def holds_of(self) -> dict[int, list[Hold]]:
        """The holds of each task on the units that it ran on, in order of time."""
        found: dict[int, list[Hold]] = defaultdict(list)
        for hold in sorted(self.folder.holds, key=lambda h: (h.begin, h.end)):
            if hold.part == 0:
                found[hold.task].append(hold)
        return found

    def given(self, task: int) -> float:
        """Return the last start of a task; NaN if it never started."""
        row, run = self.folder.tasks[task], self.last_run(task)
        time = row["granted_us"] if "granted_us" in row else run[0].begin if run else None
        return math.nan if time is None else float(time)

    def last_run(self, task: int) -> list[Hold]:
        """Return the holds of a task from its last start on; several if a batch policy moved it."""
        mine = self.holds_of.get(task, [])
        ends = ENDS_RUN if self.is_batch else (*ENDS_RUN, "moved")
        return mine[max((i + 1 for i, h in enumerate(mine) if h.outcome in ends), default=0) :]

    @cached_property
    def holds_on(self) -> dict[int, list[Hold]]:
        found: dict[int, list[Hold]] = defaultdict(list)
        for hold in self.folder.holds:
            found[hold.unit].append(hold)
        return found

    @cached_property
    def consolidated(self) -> list[tuple[list[int], bool]]:
        """Tasks that were consolidated, the leader first; and whether that is sure: a task that takes nothing
        looks like a follower. Of the last start of each task."""
        has_amounts = "amount" in self.folder.tables["tasks"]
        starts: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for task in sorted(self.holds_of):
            run = self.last_run(task)
            if run:
                urgency = 0.0 if self.work.priority is None else float(self.work.priority[self.job[task]])
                urgency = urgency if "priority" in self.groups else 0.0
                key = (run[0].unit, run[0].begin, self.kind[task], self.application(task), urgency, self.rights(task))
                starts[(*key, self.member(task) if self.is_on_nodes(task) else 0)].append(task)
        found: list[tuple[list[int], bool]] = []
        for (unit, *_), tasks in starts.items():
            amounts = [self.last_run(task)[0].amount if has_amounts else 1.0 for task in tasks]
            needs = [self.takes(task, unit) if has_amounts else 1.0 for task in tasks]
            is_sure = min(needs) > 0 or not self.consolidates
            for task, amount, need in zip(tasks, amounts, needs, strict=True):
                if amount > 0 or need == 0 or not self.consolidates:
                    found.append(([task], is_sure))
                else:
                    found[-1][0].append(task)
        return found

    def rights(self, task: int) -> tuple[int, ...]:
        """The partition of its job, and which reservations admit the job: tasks that differ in these are not joined."""
        job, work = self.job[task], self.work
        name = "" if work.user is None else work.user_names[work.user[job]]
        admits = (int(name in one.users) for one in self.scenario.reservations)
        return int(self.scenario.job_partition[job]), *admits

    @property
    def groups(self) -> tuple[str, ...]:
        return getattr(self.policy, "groups", ())

    @property
    def consolidates(self) -> bool:
        """Whether the policy may start several tasks as one."""
        most = getattr(self.policy, "most", 1)  # of the policies of the tests
        return "application" in self.groups or self.policy.name == "test_consolidate" or most > 1

    @cached_property
    def moments(self) -> list[float]:
        """Every time up to the run's end at which something happened."""
        times = {*self.arrival, *(t for h in self.folder.holds for t in (h.begin, h.end))}
        times |= {t for outage in self.outages for t in (outage.down_us, outage.up_us)}
        return sorted(t for t in times if math.isfinite(t) and t <= self.makespan)

    def load(self, unit: int, time: float) -> float:
        """Return the amount held of the unit right after a time."""
        return sum(h.amount for h in self.holds_on[unit] if h.begin <= time < h.end)

    def service(self, task: int, unit: int, begin: float, end: float) -> float:
        """Return the time at full speed, us, that a task got on the unit during an interval."""
        if not self.shares_speed(unit):
            return end - begin
        others = [h for h in self.holds_on[unit] if h.begin < end and h.end > begin]
        cuts = sorted({begin, end, *(t for h in others for t in (h.begin, h.end) if begin < t < end)})
        done = 0.0
        for low, high in itertools.pairwise(cuts):
            load = sum(h.amount for h in others if h.begin <= low and h.end >= high)
            done += (high - low) * self.share_of_speed(task, unit, load)
        return done

    def is_down(self, unit: int, time: float) -> bool:
        return any(
            (outage.rack, outage.shelf) == self.place[unit] and outage.down_us <= time < outage.up_us
            for outage in self.outages
        )

    def is_missing(self, value: Any) -> bool:
        return value is None or value != value

    def same(self, found: float | None, expected: float | None, size: float = 0.0, slack: float = 1e-9) -> bool:
        """Whether two numbers are equal except for rounding, relative to numbers of this size; both may be missing."""
        if found is None or expected is None or found != found or expected != expected:
            return (found is None or found != found) and (expected is None or expected != expected)
        return found == expected or abs(found - expected) <= slack * max(abs(found), abs(expected), size)
