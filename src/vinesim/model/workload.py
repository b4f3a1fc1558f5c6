"""The workload: jobs, their tasks, and when they arrive, as columns.

Source: VineSim report, sections 4.3 and 5.2.1.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from vinesim.model.arrays import as_column, first_wrong
from vinesim.model.catalog import TASK_TYPES, TaskType
from vinesim.model.dependencies import wrong_after
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.tokens import wrong_prefixes, wrong_tokens
from vinesim.model.workload_columns import (
    ABOVE_0_OR_ANY,
    ABOVE_0_OR_NONE,
    ANY_NUMBER,
    COUNT,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INFINITE,
    TIME,
    Column,
    Values,
    column,
)

WHOLE_UNIT = math.inf  # as a task's demand: all the capacity of the unit that runs it
ONE_SLOT = math.nan  # as a task's demand if none is given: 1, or all of a smaller unit
NO_PREFERENCE = -1
ANY_LEAD = -1  # as a task's lead types: any that can run it
NOT_PLACED = -1
NO_PARTITION = -1  # as a job's partition: it may run on all nodes
NO_GANG, NODE, RACK, ANYWHERE = range(4)  # within what the tasks of a job start together
WITHDRAWN = "0 or more, or infinite for never, and not before its arrival"


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs in the order of arrival, and their tasks in the order of the jobs.

    J jobs, N tasks. Columns of jobs are [J], of tasks [N]. Optional columns are None if they are not given.

    A task runs on its *lead*: ``units`` units of one type at one node. It takes its ``demand`` of each of them. It may
    also hold *companions*: amounts of other types at the same node, each from one unit of that type.
    """

    # fmt: off
    # a job's tasks are of one type: an index into task_types
    job_task_type: np.ndarray = field(metadata=column(np.int16, "jobs",
        "name of the job's task type; default: the scenario's only one, or TASK, or by types with times",
        table="task_type", is_name=True, aliases="type class kind jobtype jobclass"))
    job_first: np.ndarray = field(metadata=column(np.int64, "jobs + 1", "first task of each job, and N at the end",
        table=None))
    arrival_us: np.ndarray = field(metadata=column(np.float64, "jobs", "when the job arrives, us", right=NOT_NEGATIVE,
        is_point=True,
        aliases="submit submittime submitted submission submissiontime arrived arrivaltime timestamp ts created "
        "createdat creationtime creationtimestamp enqueued enqueuetime queuedat queuedtimestamp "
        "timequeued qdate vmcreated"))
    operations: np.ndarray = field(metadata=column(np.float64, "tasks",
        "number of operations of the task, its size; never (infinity): it never ends; default 1",
        right=NOT_NEGATIVE_OR_INFINITE, absent="1", infinity="never", aliases="size work flops instructions"))
    data_bytes: np.ndarray = field(metadata=column(np.float64, "tasks", "bytes to transfer to the unit; default 0",
        right=NOT_NEGATIVE, absent="0"))
    data_rack: np.ndarray = field(metadata=column(np.int32, "tasks", "where the data is; default rack 0", absent="0"))
    data_shelf: np.ndarray = field(metadata=column(np.int32, "tasks", "where the data is; default shelf 0", absent="0"))
    # an index into the datacenter's processor types, or NO_PREFERENCE
    preferred_type: np.ndarray = field(metadata=column(np.int16, "tasks",
        "name of the processor type; null or UNSPECIFIED: any", is_name=True, absent="NULL"))
    # of a unit's capacity, or WHOLE_UNIT, or ONE_SLOT
    demand: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "what it takes of its unit's capacity; whole (infinity): all of it; null or absent: one slot",
        right=Values("0 or more, infinite for the whole unit, or NaN for one slot", may_be_infinite=True,
        may_be_nan=True), infinity="whole", always_counts=True))
    deadline_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "jobs",
        "when it should be done, us; all null: no deadlines", right=NOT_NEGATIVE_OR_INFINITE, is_point=True,
        aliases="due duedate duetime", always_counts=True))
    application: np.ndarray | None = field(default=None, metadata=column(np.int32, "jobs",
        "name of the application the job belongs to; all null: no applications", right=Values("0 or more"),
        is_name=True, names="application_names", aliases="app appname model", always_counts=True))
    job_id: np.ndarray | None = field(default=None, metadata=column(np.int64, "jobs",
        "the job's number in its source; null where it has none", right=ANY_NUMBER, aliases="id jobid jobnumber jid",
        always_counts=True))
    # [N, P], replaces operations
    times_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "",
        "measured time on a processor type, us; null where it cannot run the task", table="time_us.TYPE",
        always_counts=True))
    time_factor: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "factor on the task's run time, unknown to every scheduler", right=NOT_NEGATIVE, always_counts=True))
    estimate_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "the scheduler's estimate of the task's run time, us", right=NOT_NEGATIVE,
        aliases="estimate estimatedtime predictedtime requestedruntime", always_counts=True))
    requests: Mapping[str, np.ndarray] | None = field(default=None, metadata=column(np.float64, "tasks",
        "minimum of a resource that the unit's type must provide, such as request.cores", right=NOT_NEGATIVE,
        table="request.NAME", always_counts=True))
    task_types: tuple[TaskType, ...] = TASK_TYPES
    application_names: tuple[str, ...] = ()  # by code; applications beyond its end are named by their number
    units: np.ndarray | None = field(default=None, metadata=column(np.int32, "tasks",
        "units of one type at one node that the task runs on; it takes its demand of each; default 1",
        right=Values("1 or more units", least=1), group="lead"))
    companions: Mapping[str, np.ndarray] | None = field(default=None, metadata=column(np.float64, "tasks",
        "what the task also holds of one unit of that type at the same node; text may have a unit, as 16 GiB",
        right=NOT_NEGATIVE, table="companion.TYPE", group="lead"))
    # an index into lead_sets, or ANY_LEAD
    lead_types: np.ndarray | None = field(default=None, metadata=column(np.int32, "tasks",
        "processor types of these units, as A|B; null: any that can run the task", table="types", is_name=True,
        group="lead"))
    lead_sets: tuple[tuple[str, ...], ...] = field(default=(), metadata=IF_GIVEN)  # processor types of a lead
    priority: np.ndarray | None = field(default=None, metadata=column(np.float64, "jobs",
        "the job's priority, higher is more urgent, may be below 0; empty: 0", right=ANY_NUMBER, empty=0.0,
        aliases="prio qos"))
    user: np.ndarray | None = field(default=None, metadata=column(np.int32, "jobs",
        "name of the job's user; null: a user without a name; all null: no users", is_name=True, names="user_names",
        aliases="userid username uid usr owner"))
    user_names: tuple[str, ...] = field(default=(), metadata=IF_GIVEN)
    # an index into the names, or NO_PARTITION
    partition: np.ndarray | None = field(default=None, metadata=column(np.int32, "jobs",
        "name of the job's partition, whose nodes it may use; null: none, so any node", is_name=True,
        names="partition_names"))
    partition_names: tuple[str, ...] = field(default=(), metadata=IF_GIVEN)
    limit_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "jobs",
        "its tasks are killed after this time on a unit, us; empty: never", right=ABOVE_0_OR_NONE, empty=math.inf,
        aliases="timelimit walltimelimit requestedtime timelimits"))
    withdraw_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "jobs",
        "when the job is withdrawn, us; empty: never", right=Values(WITHDRAWN, may_be_infinite=True), empty=math.inf,
        is_point=True))
    # a gang: the tasks of the job start at one instant or not at all; NO_GANG, NODE, RACK or ANYWHERE
    gang_within: np.ndarray | None = field(default=None, metadata=column(np.int8, "jobs",
        "within what all tasks of the job start together: node, rack or anywhere; null: one by one", table="gang",
        is_name=True, words=("node", "rack", "anywhere"), group="gang"))
    gang_spread: np.ndarray | None = field(default=None, metadata=column(np.bool_, "jobs",
        "how they are placed: packed on few nodes, the default, or spread over many", table="spread", is_name=True,
        words=("packed", "spread"), group="gang"))
    tasks_per_node: np.ndarray | None = field(default=None, metadata=column(np.int32, "jobs",
        "the most of them at one node; null or 0: any number; with nodes: the number on each",
        right=Values("1 or more, or 0 for any"), group="gang"))
    # 0: any number of nodes
    gang_nodes: np.ndarray | None = field(default=None, metadata=column(np.int32, "jobs",
        "exact number of nodes of the job, a gang with tasks_per_node tasks (1 if null) on each; one row for all",
        table="nodes", cell=COUNT, aliases="nnodes numnodes nodecount", group="gang"))
    checkpoint_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "work of the task between its checkpoints, us; empty: it has none", right=ABOVE_0_OR_NONE, empty=math.inf))
    restart_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "what resuming the task takes, us; empty: 0", right=TIME, empty=0.0))
    placed: np.ndarray | None = field(default=None, metadata=column(np.int32, "tasks",
        "unit that runs it at 0, or NOT_PLACED", table=None))
    # requests to a language model: see model/tokens.py
    input_tokens: np.ndarray | None = field(default=None, metadata=column(np.int64, "tasks",
        "tokens of the request's prompt, for units with batching", right=COUNT,
        aliases="inputtoks prompttokens prompttoks numprompttokens nprompttokens contexttokens inputlength inputlen "
        "promptlength promptlen requesttokens"))
    output_tokens: np.ndarray | None = field(default=None, metadata=column(np.int64, "tasks",
        "tokens that it generates", right=COUNT,
        aliases="outputtoks generatedtokens generatedtoks completiontokens decodetokens responsetokens "
        "generationtokens outputlength outputlen"))
    first_token_within_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "the longest from its arrival to its first token, us; empty: any", right=ABOVE_0_OR_ANY, empty=math.inf))
    token_within_us: np.ndarray | None = field(default=None, metadata=column(np.float64, "tasks",
        "the longest time per token after the first, us; empty: any", right=ABOVE_0_OR_ANY, empty=math.inf))
    prefix: np.ndarray | None = field(default=None, metadata=column(np.int64, "tasks",
        "number of the prefix that it shares with others: a system prompt, a conversation; empty: none",
        right=Values("0 or more, or -1 for none", least=-1), empty=-1))
    prefix_tokens: np.ndarray | None = field(default=None, metadata=column(np.int64, "tasks",
        "how many of its first tokens, of prompt and answer, are those of the prefix; empty: 0",
        right=Values("0 or more"), empty=0))
    # the jobs that each job waits for: see model/dependencies.py
    after_first: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [J + 1] int64: where its own begin
    after: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # int32: numbers of jobs; None: none waits
    # codes of the words of the name, -1: none
    attributes: Mapping[str, np.ndarray] | None = field(default=None, metadata=column(np.int32, "jobs",
        "what a policy may know of the job besides all this, such as attribute.account", table="attribute.NAME",
        is_name=True))
    attribute_words: Mapping[str, tuple[str, ...]] | None = field(default=None, metadata=IF_GIVEN)
    # fmt: on

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        n_jobs, n_tasks = np.size(self.job_task_type), np.size(self.operations)
        lengths = {"jobs": n_jobs, "jobs + 1": n_jobs + 1, "tasks": n_tasks}
        for name, one in COLUMNS.items():
            value = getattr(self, name)
            if value is not None:
                array = as_column(("workload", name), value, one.dtype, lengths[one.of], problems)
                object.__setattr__(self, name, array)
        for name, one in FAMILIES.items():
            values = getattr(self, name)
            if values is not None:
                where, length = ("workload", name), lengths[one.of]
                arrays = {
                    key: as_column((*where, key), values[key], one.dtype, length, problems) for key in sorted(values)
                }
                object.__setattr__(self, name, arrays)
        self._as_tables(problems)
        self._check_after(problems)
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
        """Convert fields that are not one-dimensional columns to their types."""
        n_tasks = np.size(self.operations)
        if self.times_us is not None:
            times = np.ascontiguousarray(self.times_us, np.float64)
            if times.ndim != 2 or len(times) != n_tasks:
                problems.append(
                    Problem(
                        ("workload", "times_us"), f"{n_tasks} rows, one column per processor type", f"{times.shape}"
                    )
                )
            object.__setattr__(self, "times_us", times)
        object.__setattr__(self, "lead_sets", tuple(tuple(names) for names in self.lead_sets) or ())

    def _check_after(self, problems: list[Problem]) -> None:
        """Convert the columns about the jobs that jobs wait for to their types, and find what is wrong with them."""
        if self.after is None or not len(self.after):
            object.__setattr__(self, "after", None)
            object.__setattr__(self, "after_first", None)
            return
        if self.after_first is None:
            problems.append(
                Problem(("workload", "after_first"), "where the jobs that each job waits for begin", "none")
            )
            return
        n_wrong = len(problems)
        for name, dtype, length in (
            ("after_first", np.int64, len(self.job_task_type) + 1),
            ("after", np.int32, np.size(self.after)),
        ):
            column = as_column(("workload", name), getattr(self, name), dtype, length, problems)
            object.__setattr__(self, name, column)
        if len(problems) == n_wrong:
            problems += wrong_after(self.after_first, self.after)

    def __repr__(self) -> str:
        return f"Workload({self.n_jobs:,} jobs, {self.n_tasks:,} tasks, in {self.arrival_us[-1:].sum():,.0f} us)"

    @property
    def n_jobs(self) -> int:
        """J, the number of jobs."""
        return len(self.job_task_type)

    @property
    def n_tasks(self) -> int:
        """N, the number of tasks."""
        return len(self.operations)

    @cached_property
    def has_data(self) -> bool:
        """Whether any task has data to transfer, or a place where it is."""
        return bool(self.data_bytes.any() or self.data_rack.any() or self.data_shelf.any())

    @property
    def has_vectors(self) -> bool:
        """Whether a task holds more than a part of one unit, or asks for certain processor types or nodes."""
        columns = (self.units, self.companions, self.lead_types, self.partition)
        return any(column is not None for column in columns)

    def words_of(self, attribute: str) -> list[str]:
        """Return an attribute of each job as text, "" for none."""
        if attribute not in (self.attributes or {}) or self.attribute_words is None or self.attributes is None:
            return [""] * self.n_jobs
        words = (*self.attribute_words[attribute], "")  # -1 is none
        return [words[code] for code in self.attributes[attribute].tolist()]

    def jobs_by_number(self) -> dict[str, list[int]]:
        """Return the jobs with each number: the number of a job, an array, or a heterogeneous job, counted from 0 if
        the workload has no numbers."""
        numbers = map(str, range(self.n_jobs) if self.job_id is None else self.job_id.tolist())
        found: dict[str, list[int]] = {}
        for j, own in enumerate(zip(numbers, self.words_of("array"), self.words_of("component"), strict=True)):
            for number in dict.fromkeys(filter(None, own)):
                found.setdefault(number, []).append(j)
        return found

    @cached_property
    def may_end_early(self) -> bool:
        """Whether a task may leave its unit before it is done, runs from the beginning, or never ends."""
        limits = (self.limit_us, self.withdraw_us, self.placed)
        return any(column is not None for column in limits) or bool(np.isinf(self.operations).any())

    @property
    def longest_us(self) -> np.ndarray:
        """[J] float64: the longest that tasks of each job can run, given its limit and its withdrawal, us."""
        limit_us = np.full(self.n_jobs, math.inf) if self.limit_us is None else self.limit_us
        if self.withdraw_us is None:
            return limit_us
        return np.minimum(limit_us, self.withdraw_us - self.arrival_us)

    @property
    def stays(self) -> np.ndarray:
        """[J] bool: which jobs are not withdrawn, because withdrawn ones hardly run; all jobs if every job is
        withdrawn."""
        if self.withdraw_us is None or np.isfinite(self.withdraw_us).all():
            return np.ones(self.n_jobs, bool)
        return np.isinf(self.withdraw_us)

    def _wrong_ends(self) -> list[Problem]:
        """Find wrong values of the columns that say when jobs and tasks end early, begin or resume."""
        problems = []
        checks = {
            "user": (f"a user, 0 to {len(self.user_names) - 1}", lambda v: (v >= 0) & (v < len(self.user_names))),
            "partition": (
                f"{NO_PARTITION} for none, or a partition, 0 to {len(self.partition_names) - 1}",
                lambda v: (v >= NO_PARTITION) & (v < len(self.partition_names)),
            ),
            "withdraw_us": (WITHDRAWN, lambda values: values >= self.arrival_us),
        }
        for name, (expected, is_right) in checks.items():
            values = getattr(self, name)
            for i in () if values is None else np.flatnonzero(~is_right(values))[:5]:
                problems.append(Problem(("workload", name, i), expected, f"{values[i]:g}"))
        if self.placed is not None:
            arrival_us = np.repeat(self.arrival_us, np.diff(self.job_first))
            for i in np.flatnonzero((self.placed != NOT_PLACED) & (arrival_us > 0))[:5]:
                expected = "only tasks whose jobs arrive at 0"
                problems.append(Problem(("workload", "placed", i), expected, f"an arrival at {arrival_us[i]:g} us"))
            waits = np.zeros(self.n_jobs, bool) if self.after_first is None else np.diff(self.after_first) > 0
            for i in np.flatnonzero((self.placed != NOT_PLACED) & np.repeat(waits, np.diff(self.job_first)))[:5]:
                expected = "only tasks whose jobs wait for no others"
                problems.append(Problem(("workload", "placed", i), expected, f"unit {self.placed[i]}"))
        if self.times_us is not None or (self.time_factor is not None and not (self.time_factor > 0).all()):
            for i in np.flatnonzero(np.isinf(self.operations))[:5]:
                expected = "a finite number, as there are measured times or time factors of 0"
                problems.append(Problem(("workload", "operations", i), expected, "inf"))
        return problems

    def _limited(self) -> Iterator[tuple[Steps, np.ndarray, Values]]:
        """The path of each array whose values have limits, the array and the limits."""
        for name, one in DECLARED.items():
            given = getattr(self, name)
            if one.right is not None and given is not None:
                arrays = (
                    {(name, key): values for key, values in given.items()} if name in FAMILIES else {(name,): given}
                )
                yield from ((path, values, one.right) for path, values in arrays.items())

    def _check(self) -> None:
        if not self.n_jobs or not self.n_tasks:
            raise InputError([Problem(("workload",), "at least one job with a task", "none")])
        problems = []
        wrong = np.diff(self.job_first, prepend=self.job_first[0] - 1) < 1
        wrong[0], wrong[-1] = self.job_first[0] != 0, wrong[-1] or self.job_first[-1] != self.n_tasks
        if wrong.any():
            expected = f"increasing numbers from 0 to {self.n_tasks}, the number of tasks"
            problems.append(Problem(("workload", "job_first"), expected, first_wrong(self.job_first, wrong)))
        for path, values, right in self._limited():
            problems += [Problem(("workload", *path, i), right.expected, f"{values[i]}") for i in right.wrong(values)]
        if not wrong.any():
            known = {problem.path for problem in problems}
            problems += [problem for problem in self._wrong_ends() if problem.path not in known]
        problems += self._wrong_leads() + self._wrong_gangs()
        problems += wrong_tokens(
            self.input_tokens, self.output_tokens, self.first_token_within_us, self.token_within_us
        )
        problems += wrong_prefixes(self.input_tokens, self.output_tokens, self.prefix, self.prefix_tokens)
        for j in (np.flatnonzero(np.diff(self.arrival_us) < 0) + 1)[:5]:
            problems.append(
                Problem(
                    ("workload", "arrival_us", int(j)),
                    f"no less than the job before it ({self.arrival_us[j - 1]:g})",
                    f"{self.arrival_us[j]:g}",
                    "Sort the jobs by arrival.",
                )
            )
        n_types = len(self.task_types)
        for j in np.flatnonzero((self.job_task_type < 0) | (self.job_task_type >= n_types))[:5]:
            problems.append(
                Problem(("workload", "job_task_type", j), f"0 to {n_types - 1}", str(self.job_task_type[j]))
            )
        if problems:
            raise InputError(problems)

    def _wrong_gangs(self) -> list[Problem]:
        """Find wrong values of the columns about gangs."""
        problems = []
        within = np.zeros(self.n_jobs, np.int8) if self.gang_within is None else self.gang_within
        expected = f"{NO_GANG} for none, {NODE} for a node, {RACK} for a rack or {ANYWHERE} for anywhere"
        for j in np.flatnonzero((within < NO_GANG) | (within > ANYWHERE))[:5]:
            problems.append(Problem(("workload", "gang_within", j), expected, str(within[j])))
        spread = np.zeros(self.n_jobs, bool) if self.gang_spread is None else self.gang_spread
        per_node = np.zeros(self.n_jobs, np.int32) if self.tasks_per_node is None else self.tasks_per_node
        remedy = "Say within what its tasks start together: gang_within."
        for j in np.flatnonzero(spread & (within == NO_GANG))[:5]:
            problems.append(Problem(("workload", "gang_spread", j), "a gang, as it is spread", "none", remedy))
        for j in np.flatnonzero((per_node > 0) & (within == NO_GANG))[:5]:
            problems.append(
                Problem(("workload", "tasks_per_node", j), "0, as the job is no gang", str(per_node[j]), remedy)
            )
        nodes = np.zeros(self.n_jobs, np.int64) if self.gang_nodes is None else self.gang_nodes.astype(np.int64)
        counts = np.diff(self.job_first)
        for j in np.flatnonzero((nodes != 0) & (nodes * per_node != counts))[:5]:
            expected = f"a number so that nodes x tasks_per_node is {counts[j]}, the tasks of the job"
            problems.append(Problem(("workload", "gang_nodes", j), expected, f"{nodes[j]} x {per_node[j]}"))
        for j in np.flatnonzero((nodes > 1) & (within == NODE))[:5]:
            expected = "1, as the tasks are to be within one node"
            problems.append(Problem(("workload", "gang_nodes", j), expected, str(nodes[j])))
        if self.placed is not None and not problems:
            in_gang = np.repeat((within != NO_GANG) & (np.diff(self.job_first) > 1), np.diff(self.job_first))
            for t in np.flatnonzero((self.placed != NOT_PLACED) & in_gang)[:5]:
                problems.append(Problem(("workload", "placed", t), "no task of a gang", f"unit {self.placed[t]}"))
        return problems

    def _wrong_leads(self) -> list[Problem]:
        problems = []
        for i, names in enumerate(self.lead_sets):
            if not names:
                problems.append(Problem(("workload", "lead_sets", i), "at least one processor type", "none"))
        if self.lead_types is not None:
            n = len(self.lead_sets)
            for t in np.flatnonzero((self.lead_types < ANY_LEAD) | (self.lead_types >= n))[:5]:
                expected = f"{ANY_LEAD} for any type, or one of the {n} lead_sets by its position"
                problems.append(Problem(("workload", "lead_types", t), expected, str(self.lead_types[t])))
        return problems


DECLARED: dict[str, Column] = {
    item.name: item.metadata["column"] for item in fields(Workload) if "column" in item.metadata
}
# a mapping of arrays for each; a name in a table has that of the array behind the dot
FAMILIES = {name: one for name, one in DECLARED.items() if "." in (one.table or "") and one.of}
# the columns that are one array each, in the order of their checks
COLUMNS = {name: one for name, one in DECLARED.items() if one.of and name not in FAMILIES}
