"""The workload: jobs, their tasks, and when they arrive, as columns.

Source: VineSim report, sections 4.3 and 5.2.1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from vinesim.model.arrays import as_column
from vinesim.model.catalog import TASK_TYPES, TaskType
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import InputError, Problem

WHOLE_UNIT = math.inf  # as a task's demand: all the capacity of the unit that runs it
ONE_SLOT = math.nan  # as a task's demand if none is given: 1, or all of a smaller unit
NO_PREFERENCE = -1
ANY_LEAD = -1  # as a task's lead types: any that can run it
NOT_PLACED = -1
NO_PARTITION = -1  # as a job's partition: it may run on all nodes
NO_GANG, NODE, RACK, ANYWHERE = range(4)  # within what the tasks of a job start together

# the columns that are one array each, in the order of their checks: type and length
COLUMNS = {
    "job_task_type": (np.int16, "jobs"),
    "job_first": (np.int64, "jobs + 1"),
    "arrival_us": (np.float64, "jobs"),
    "operations": (np.float64, "tasks"),
    "data_bytes": (np.float64, "tasks"),
    "data_rack": (np.int32, "tasks"),
    "data_shelf": (np.int32, "tasks"),
    "preferred_type": (np.int16, "tasks"),
    "demand": (np.float64, "tasks"),
    "deadline_us": (np.float64, "jobs"),
    "application": (np.int32, "jobs"),
    "job_id": (np.int64, "jobs"),
    "time_factor": (np.float64, "tasks"),
    "estimate_us": (np.float64, "tasks"),
    "units": (np.int32, "tasks"),
    "lead_types": (np.int32, "tasks"),
    "priority": (np.float64, "jobs"),
    "user": (np.int32, "jobs"),
    "partition": (np.int32, "jobs"),
    "limit_us": (np.float64, "jobs"),
    "withdraw_us": (np.float64, "jobs"),
    "gang_within": (np.int8, "jobs"),
    "gang_spread": (np.bool_, "jobs"),
    "tasks_per_node": (np.int32, "jobs"),
    "gang_nodes": (np.int32, "jobs"),
    "checkpoint_us": (np.float64, "tasks"),
    "restart_us": (np.float64, "tasks"),
    "placed": (np.int32, "tasks"),
}


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs in the order of arrival, each with its tasks together.

    J jobs, N tasks. Optional columns are None if they are not given.

    A task runs on its *lead*: ``units`` units of one type at one node, of each of which it takes its ``demand``. Beside
    it the task holds its *companions*: amounts of other types at the same node, each from one unit of that type.
    """

    job_task_type: np.ndarray  # [J] int16: index into task_types; a job's tasks are of one type
    job_first: np.ndarray  # [J + 1] int64: first task of each job, and N at the end
    arrival_us: np.ndarray  # [J] float64: not decreasing
    operations: np.ndarray  # [N] float64: number of operations
    data_bytes: np.ndarray  # [N] float64: bytes to transfer to the unit
    data_rack: np.ndarray  # [N] int32: where the data is
    data_shelf: np.ndarray  # [N] int32
    preferred_type: np.ndarray  # [N] int16: index into the datacenter's processor types, or NO_PREFERENCE
    demand: np.ndarray | None = None  # [N] float64: of a unit's capacity, or WHOLE_UNIT; None: ONE_SLOT for each
    deadline_us: np.ndarray | None = None  # [J] float64: absolute
    application: np.ndarray | None = None  # [J] int32
    job_id: np.ndarray | None = None  # [J] int64: the trace's own number of the job
    times_us: np.ndarray | None = None  # [N, P] float64: measured time on each processor type, replaces operations
    time_factor: np.ndarray | None = None  # [N] float64: factor on the time, unknown to every scheduler
    estimate_us: np.ndarray | None = None  # [N] float64: the scheduler's estimate of the run time
    requests: Mapping[str, np.ndarray] | None = None  # resource -> [N] float64: minimum that the unit's type provides
    task_types: tuple[TaskType, ...] = TASK_TYPES
    application_names: tuple[str, ...] = ()  # by code; applications beyond its end are named by their number
    units: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] int32: units of the lead; None: 1 each
    # processor type -> [N] float64: amount that the task holds of one unit of that type at its node; 0: none
    companions: Mapping[str, np.ndarray] | None = field(default=None, metadata=IF_GIVEN)
    lead_types: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] int32: of lead_sets, or ANY_LEAD
    lead_sets: tuple[tuple[str, ...], ...] = field(default=(), metadata=IF_GIVEN)  # processor types of a lead
    priority: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] float64: higher is more urgent
    user: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] int32: index into user_names
    user_names: tuple[str, ...] = field(default=(), metadata=IF_GIVEN)
    partition: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] int32: of the names, or NO_PARTITION
    partition_names: tuple[str, ...] = field(default=(), metadata=IF_GIVEN)
    limit_us: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] float64: a task is killed after so long
    withdraw_us: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] float64: when the job is withdrawn
    # a gang: the tasks of the job start at one instant or not at all
    gang_within: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] int8: NO_GANG, NODE, RACK, ANYWHERE
    gang_spread: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] bool: over the nodes; else packed
    tasks_per_node: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J] int32: the most at one; 0: any
    # [J] int32: the gang has exactly that many nodes, with tasks_per_node tasks on each; 0: any number of nodes
    gang_nodes: np.ndarray | None = field(default=None, metadata=IF_GIVEN)
    checkpoint_us: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] float64: work between checkpoints
    restart_us: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] float64: what resuming takes
    placed: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] int32: unit that runs it at 0, NOT_PLACED

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        n_jobs, n_tasks = np.size(self.job_task_type), np.size(self.operations)
        lengths = {"jobs": n_jobs, "jobs + 1": n_jobs + 1, "tasks": n_tasks}
        for name, (dtype, of) in COLUMNS.items():
            value, length = getattr(self, name), lengths[of]
            if value is not None:
                object.__setattr__(self, name, as_column(f"workload.{name}", value, dtype, length, problems))
        self._as_tables(problems)
        if self.demand is not None and np.isnan(self.demand).all():
            object.__setattr__(self, "demand", None)
        if problems:
            raise InputError(problems)
        self._check()
        self._drop_trivial()

    def _drop_trivial(self) -> None:
        """Take columns that ask for nothing new as not given: one unit each, no companion, any lead type."""
        if self.units is not None and (self.units == 1).all():
            object.__setattr__(self, "units", None)
        if self.companions is not None:
            asked = {name: amount for name, amount in self.companions.items() if amount.any()}
            object.__setattr__(self, "companions", asked or None)
        if self.gang_within is None or (self.gang_within == NO_GANG).all():
            for name in ("gang_within", "gang_spread", "tasks_per_node", "gang_nodes"):
                object.__setattr__(self, name, None)
        if self.gang_spread is not None and not self.gang_spread.any():
            object.__setattr__(self, "gang_spread", None)
        for name in ("tasks_per_node", "gang_nodes"):
            numbers = getattr(self, name)
            if numbers is not None and not numbers.any():
                object.__setattr__(self, name, None)
        if self.lead_types is None or (self.lead_types == ANY_LEAD).all():
            object.__setattr__(self, "lead_types", None)
            object.__setattr__(self, "lead_sets", ())
        if self.partition is None or (self.partition == NO_PARTITION).all():
            object.__setattr__(self, "partition", None)
            object.__setattr__(self, "partition_names", ())

    def _as_tables(self, problems: list[Problem]) -> None:
        """Convert the columns with more than one dimension to their types."""
        n_tasks = np.size(self.operations)
        if self.times_us is not None:
            times = np.ascontiguousarray(self.times_us, np.float64)
            if times.ndim != 2 or len(times) != n_tasks:
                problems.append(
                    Problem("workload.times_us", f"{n_tasks} rows, one column per processor type", f"{times.shape}")
                )
            object.__setattr__(self, "times_us", times)
        if self.requests is not None:
            requests = {
                name: as_column(f"workload.requests.{name}", values, np.float64, n_tasks, problems)
                for name, values in sorted(self.requests.items())
            }
            object.__setattr__(self, "requests", requests)
        if self.companions is not None:
            companions = {
                name: as_column(f"workload.companions.{name}", values, np.float64, n_tasks, problems)
                for name, values in sorted(self.companions.items())
            }
            object.__setattr__(self, "companions", companions)
        object.__setattr__(self, "lead_sets", tuple(tuple(names) for names in self.lead_sets) or ())

    @property
    def n_jobs(self) -> int:
        """J, the number of jobs."""
        return len(self.job_task_type)

    @property
    def n_tasks(self) -> int:
        """N, the number of tasks."""
        return len(self.operations)

    @property
    def has_vectors(self) -> bool:
        """Whether a task holds more than a part of one unit, or asks for certain processor types or nodes."""
        columns = (self.units, self.companions, self.lead_types, self.partition)
        return any(column is not None for column in columns)

    @property
    def may_end_early(self) -> bool:
        """Whether a task may leave its unit before it is done, runs from the beginning, or never ends."""
        limits = (self.limit_us, self.withdraw_us, self.placed)
        return any(column is not None for column in limits) or bool(np.isinf(self.operations).any())

    @property
    def longest_us(self) -> np.ndarray:
        """[J] float64: the longest that tasks of each job can run, by its limit and its withdrawal, us."""
        limit_us = np.full(self.n_jobs, math.inf) if self.limit_us is None else self.limit_us
        if self.withdraw_us is None:
            return limit_us
        return np.minimum(limit_us, self.withdraw_us - self.arrival_us)

    def _wrong_ends(self) -> list[Problem]:
        """Find wrong values of the columns that say when jobs and tasks end early, begin or resume."""
        never, problems = "0 or more, or infinite for never", []
        checks = {
            "priority": ("a finite number", lambda values: np.isfinite(values)),
            "user": (f"a user, 0 to {len(self.user_names) - 1}", lambda v: (v >= 0) & (v < len(self.user_names))),
            "partition": (
                f"{NO_PARTITION} for none, or a partition, 0 to {len(self.partition_names) - 1}",
                lambda v: (v >= NO_PARTITION) & (v < len(self.partition_names)),
            ),
            "limit_us": ("a time above 0, or infinite for none", lambda values: values > 0),
            "withdraw_us": (f"{never}, and not before its arrival", lambda values: values >= self.arrival_us),
            "checkpoint_us": ("a time above 0, or infinite for none", lambda values: values > 0),
            "restart_us": ("a finite time, 0 or more", lambda values: np.isfinite(values) & (values >= 0)),
        }
        for name, (expected, is_right) in checks.items():
            values = getattr(self, name)
            for i in () if values is None else np.flatnonzero(~is_right(values))[:5]:
                problems.append(Problem(f"workload.{name}[{i}]", expected, f"{values[i]:g}"))
        if self.placed is not None:
            arrival_us = np.repeat(self.arrival_us, np.diff(self.job_first))
            for i in np.flatnonzero((self.placed != NOT_PLACED) & (arrival_us > 0))[:5]:
                expected = "only tasks whose jobs arrive at 0"
                problems.append(Problem(f"workload.placed[{i}]", expected, f"an arrival at {arrival_us[i]:g} us"))
        if self.times_us is not None or (self.time_factor is not None and not (self.time_factor > 0).all()):
            for i in np.flatnonzero(np.isinf(self.operations))[:5]:
                expected = "a finite number, as there are measured times or time factors of 0"
                problems.append(Problem(f"workload.operations[{i}]", expected, "inf"))
        return problems

    def _check(self) -> None:
        if not self.n_jobs or not self.n_tasks:
            raise InputError([Problem("workload", "at least one job with a task", "none")])
        problems = []
        counts = np.diff(self.job_first)
        if self.job_first[0] != 0 or self.job_first[-1] != self.n_tasks or (counts < 1).any():
            problems.append(Problem("workload.job_first", "increasing numbers from 0 to the number of tasks", "gaps"))
        numbers = ("operations", "data_bytes", "arrival_us", "deadline_us", "time_factor", "estimate_us")
        columns = {name: getattr(self, name) for name in numbers}
        columns |= {f"requests.{name}": values for name, values in (self.requests or {}).items()}
        columns |= {f"companions.{name}": values for name, values in (self.companions or {}).items()}
        for name, value in columns.items():
            if value is None:
                continue
            bad = np.flatnonzero(~(np.isfinite(value) & (value >= 0)))[:5]
            if name == "operations":  # infinite: it never ends
                bad = np.flatnonzero(np.isnan(value) | (value < 0))[:5]
            if name == "deadline_us":
                bad = np.flatnonzero(np.isnan(value) | (value < 0))[:5]
            problems += [Problem(f"workload.{name}[{i}]", "a finite number, 0 or more", f"{value[i]}") for i in bad]
        if not problems:
            problems += self._wrong_ends()
        if self.demand is not None:
            expected = "0 or more, infinite for the whole unit, or NaN for one slot"
            for t in np.flatnonzero(self.demand < 0)[:5]:
                problems.append(Problem(f"workload.demand[{t}]", expected, f"{self.demand[t]:g}"))
        problems += self._wrong_leads() + self._wrong_gangs()
        for j in (np.flatnonzero(np.diff(self.arrival_us) < 0) + 1)[:5]:
            problems.append(
                Problem(
                    f"workload.arrival_us[{j}]",
                    f"no less than the job before it ({self.arrival_us[j - 1]:g})",
                    f"{self.arrival_us[j]:g}",
                    "Sort the jobs by arrival.",
                )
            )
        if self.application is not None:
            for j in np.flatnonzero(self.application < 0)[:5]:
                problems.append(Problem(f"workload.application[{j}]", "0 or more", str(self.application[j])))
        n_types = len(self.task_types)
        for j in np.flatnonzero((self.job_task_type < 0) | (self.job_task_type >= n_types))[:5]:
            problems.append(Problem(f"workload.job_task_type[{j}]", f"0 to {n_types - 1}", str(self.job_task_type[j])))
        if problems:
            raise InputError(problems)

    def _wrong_gangs(self) -> list[Problem]:
        """Find wrong values of the columns about gangs."""
        problems = []
        within = np.zeros(self.n_jobs, np.int8) if self.gang_within is None else self.gang_within
        expected = f"{NO_GANG} for none, {NODE} for a node, {RACK} for a rack or {ANYWHERE} for anywhere"
        for j in np.flatnonzero((within < NO_GANG) | (within > ANYWHERE))[:5]:
            problems.append(Problem(f"workload.gang_within[{j}]", expected, str(within[j])))
        spread = np.zeros(self.n_jobs, bool) if self.gang_spread is None else self.gang_spread
        per_node = np.zeros(self.n_jobs, np.int32) if self.tasks_per_node is None else self.tasks_per_node
        remedy = "Say within what its tasks start together: gang_within."
        for j in np.flatnonzero(spread & (within == NO_GANG))[:5]:
            problems.append(Problem(f"workload.gang_spread[{j}]", "a gang, as it is spread", "none", remedy))
        for j in np.flatnonzero(per_node < 0)[:5]:
            problems.append(Problem(f"workload.tasks_per_node[{j}]", "1 or more, or 0 for any", str(per_node[j])))
        for j in np.flatnonzero((per_node > 0) & (within == NO_GANG))[:5]:
            problems.append(
                Problem(f"workload.tasks_per_node[{j}]", "0, as the job is no gang", str(per_node[j]), remedy)
            )
        nodes = np.zeros(self.n_jobs, np.int64) if self.gang_nodes is None else self.gang_nodes.astype(np.int64)
        counts = np.diff(self.job_first)
        for j in np.flatnonzero((nodes != 0) & (nodes * per_node != counts))[:5]:
            expected = f"a number so that nodes x tasks_per_node is {counts[j]}, the tasks of the job"
            problems.append(Problem(f"workload.gang_nodes[{j}]", expected, f"{nodes[j]} x {per_node[j]}"))
        for j in np.flatnonzero((nodes > 1) & (within == NODE))[:5]:
            expected = "1, as the tasks are to be within one node"
            problems.append(Problem(f"workload.gang_nodes[{j}]", expected, str(nodes[j])))
        if self.placed is not None and not problems:
            in_gang = np.repeat((within != NO_GANG) & (np.diff(self.job_first) > 1), np.diff(self.job_first))
            for t in np.flatnonzero((self.placed != NOT_PLACED) & in_gang)[:5]:
                problems.append(Problem(f"workload.placed[{t}]", "no task of a gang", f"unit {self.placed[t]}"))
        return problems

    def _wrong_leads(self) -> list[Problem]:
        problems = []
        if self.units is not None:
            for t in np.flatnonzero(self.units < 1)[:5]:
                problems.append(Problem(f"workload.units[{t}]", "1 or more units", str(self.units[t])))
        for i, names in enumerate(self.lead_sets):
            if not names:
                problems.append(Problem(f"workload.lead_sets[{i}]", "at least one processor type", "none"))
        if self.lead_types is not None:
            n = len(self.lead_sets)
            for t in np.flatnonzero((self.lead_types < ANY_LEAD) | (self.lead_types >= n))[:5]:
                expected = f"{ANY_LEAD} for any type, or one of the {n} lead_sets by its position"
                problems.append(Problem(f"workload.lead_types[{t}]", expected, str(self.lead_types[t])))
        return problems
