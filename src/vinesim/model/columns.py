"""The tables of a result and their columns, each declared once, for making, checks, files and reference pages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Column:
    """A column: its name, NumPy dtype, unit, whether a value can be missing (NaN or -1), its meaning, and whether the
    table has it only in some runs, as the meaning says."""

    name: str
    dtype: str
    unit: str
    nullable: bool
    meaning: str
    is_optional: bool = False


@dataclass(frozen=True)
class ResultTable:
    """A table: what its rows are, and its columns in the order in which files have them."""

    name: str
    rows: str
    key: str  # the columns that tell a row from the others, as SQL has them
    columns: tuple[Column, ...]
    is_required: bool = False  # every result has it
    has_others: bool = False  # it also has columns of texts whose names the workload gives, as ``rows`` says

    @property
    def always(self) -> tuple[str, ...]:
        """The names of the columns that are never left out."""
        return tuple(column.name for column in self.columns if not column.is_optional)

    def of(self, values: Mapping[str, np.ndarray | None]) -> dict[str, np.ndarray]:
        """Return the table's columns with these values, in the declared types; None leaves an optional column out.

        Raises KeyError for a name that is declared nowhere, unless the table has others, and for a column that is never
        left out; TypeError for values that the type cannot hold.
        """
        others = values.keys() - {column.name for column in self.columns}
        if others and not self.has_others:
            raise KeyError(*others)
        found = {}
        for column in self.columns:
            value = values.get(column.name) if column.is_optional else values[column.name]
            if value is not None:
                is_text = column.dtype == "str"
                found[column.name] = value if is_text else value.astype(column.dtype, casting="same_kind", copy=False)
        return found | {name: value for name, value in values.items() if name in others and value is not None}


def _optional(*columns: Column) -> tuple[Column, ...]:
    return tuple(replace(column, is_optional=True) for column in columns)


# fmt: off
TASKS = ResultTable("tasks", key="task", is_required=True, rows="One row a task, in trace order.", columns=(
    Column("task", "int64", "", False, "Number of the task, from 0 in trace order"),
    Column("job", "int32", "", False, "Number of its job, from 0 in trace order"),
    Column("task_type", "int16", "code", False, "Task type"),
    Column("unit", "int32", "", True, "Unit that ran it; units are numbered in (rack, shelf) order; -1: never started"),
    Column("unit_type", "int16", "code", True, "Processor type of the unit; -1: never started"),
    Column("rack", "int32", "", True, "Rack of the unit; -1: never started"),
    Column("shelf", "int32", "", True, "Shelf of the unit; -1: never started"),
    Column("arrival_us", "float64", "us", False, "When its job arrived"),
    Column("generation_us", "float64", "us", True, "When the first task of its job was first given to a unit"),
    Column("init_us", "float64", "us", True, "When it was given to its unit"),
    Column("start_us", "float64", "us", True, "When its data was there and it began to execute"),
    Column("finish_us", "float64", "us", True, "When it finished; missing: it did not"),
    *_optional(
        Column("amount", "float64", "capacity", True,
            "What it held of its unit's capacity; 0 for a follower, whose leader holds the demand of all; only if a "
            "unit can hold several tasks, otherwise each task holds all of it"),
        Column("granted_us", "float64", "us", True,
            "When the policy gave it to a unit; only if units take tasks ahead"),
        Column("dropped_us", "float64", "us", True,
            "When the policy dropped it; missing: it did not; only if it may drop"),
        Column("restarts", "int32", "", False, "How often an outage interrupted it; only with outages or failures"),
        Column("lost_us", "float64", "us", False, "Time that it held units in the interrupted runs"),
        Column("input_tokens", "int64", "", False, "Tokens of its prompt; this and the rest only with serving engines"),
        Column("output_tokens", "int64", "", False, "Tokens that it generates"),
        Column("first_token_within_us", "float64", "us", False,
            "The longest to its first token; only if tasks have it"),
        Column("token_within_us", "float64", "us", False,
            "The longest per token after the first; only if tasks have it"),
        Column("prefix", "int64", "", True,
            "Number of the prefix that it shares with other requests; only if tasks have it"),
        Column("prefix_tokens", "int64", "", False, "How many of its first tokens are of it; only if tasks have it"),
        Column("scheduled_us", "float64", "us", True, "When its engine first computed something for it"),
        Column("first_token_us", "float64", "us", True, "When its first output token was there"),
        Column("n_preemptions", "int64", "", False,
            "How often the engine put it back in its queue, as memory was full"),
        Column("found_tokens", "int64", "", False,
            "Tokens of its prompt that were in memory when its engine began with it"),
    ),
))
JOBS = ResultTable("jobs", key="job", is_required=True, rows="One row a job, in trace order.", columns=(
    Column("job", "int32", "", False, "Number of the job, from 0 in trace order"),
    Column("task_type", "int16", "code", False, "Type of its tasks"),
    Column("tasks", "int64", "", False, "Number of its tasks"),
    Column("arrival_us", "float64", "us", False, "When it arrived"),
    Column("start_us", "float64", "us", True, "When its first task was first given to a unit"),
    Column("finish_us", "float64", "us", True, "When its last task finished; missing: some tasks did not"),
    Column("latency_us", "float64", "us", True, "finish_us - arrival_us"),
    *_optional(
        Column("job_id", "int64", "", False, "Its number in its source; only if these do not simply count from 0"),
        Column("eligible_us", "float64", "us", True, "When it had arrived and all jobs were over that it waited for"),
        Column("deadline_us", "float64", "us", True, "When it should be done; only if jobs have deadlines"),
        Column("withdraw_us", "float64", "us", True,
            "When it was to be withdrawn; missing: never; only if any job was"),
        Column("refused", "bool", "", False, "Whether the policy dropped it before it started; only if it may drop"),
        Column("application", "int32", "code", False, "Its application; only if jobs have one"),
    ),
))
UNITS = ResultTable("units", key="unit", is_required=True, rows="One row a unit, in (rack, shelf) order.", columns=(
    Column("unit", "int32", "", False, "Number of the unit, from 0 in (rack, shelf) order"),
    Column("unit_type", "int16", "code", False, "Processor type"),
    Column("rack", "int32", "", False, "Rack"),
    Column("shelf", "int32", "", False, "Shelf"),
    Column("capacity", "float64", "capacity", False, "What its tasks share; of a serving engine, its max_sequences"),
    Column("active_us", "float64", "us", False, "Time during which it ran or received a task"),
    Column("allocated_us", "float64", "us", False, "Sum over its tasks: share of its capacity x time on it"),
    Column("utilization", "float64", "1", False, "allocated_us / makespan; above 1 if it was over-committed"),
    Column("active", "float64", "1", False, "active_us / makespan"),
    Column("energy_j", "float64", "J", True, "Energy it used; missing if powers of types that run tasks are"),
    Column("price", "float64", "currency", True, "Purchase cost; missing without a price, 0 if its type runs nothing"),
    *_optional(
        Column("node", "str", "", False, "Name of its node; only if nodes have names"),
        Column("rack_name", "str", "", False, "Name of its rack; only if racks have names"),
        Column("active_j", "float64", "J", False, "Energy while tasks executed; only if the energy is known"),
        Column("idle_j", "float64", "J", False, "Energy while it was awake and no task executed"),
        Column("sleep_j", "float64", "J", False, "Energy while it slept"),
        Column("wake_up_j", "float64", "J", False, "Energy of its wake-ups"),
        Column("migration_j", "float64", "J", False, "Energy of running tasks that were moved away from it"),
        Column("memory_tokens", "float64", "tokens", True,
            "What fits into the memory of a serving engine; else missing"),
        Column("memory_peak", "float64", "tokens", True, "The most that the memory of a serving engine held"),
        Column("memory_us", "float64", "tokens us", True, "Integral over time of what it held"),
    ),
))
SEGMENTS = ResultTable("segments", key="task, segment", rows=
    "One row a time that a task held a unit, task by task; only if a task was interrupted or moved, or held several"
    " units.", columns=(
    Column("task", "int64", "", False, "Number of the task"),
    Column("segment", "int32", "", False, "Which of the task's segments, from 0 in the order of time"),
    *_optional(
        Column("part", "int32", "", False,
            "Which of the units of the segment, from 0, the one that the policy named; a segment has a row for each;"
            " only if tasks held several"),
    ),
    Column("unit", "int32", "", False, "Unit that it was on"),
    Column("begin_us", "float64", "us", False, "When it was given to the unit"),
    Column("start_us", "float64", "us", True, "When it began to execute there; missing: it did not"),
    Column("end_us", "float64", "us", True, "When it left the unit; missing: it was there when the run ended"),
    Column("outcome", "str", "", False,
        "Why the segment ended: finished, preempted, moved, killed (by its limit), interrupted (by an outage), "
        "failed (by a random failure), withdrawn, prefilled (it continues on an engine that decodes) or unfinished "
        "(the run ended)"),
    Column("amount", "float64", "capacity", False, "What it held of the unit's capacity, as in tasks"),
))
UTILIZATION = ResultTable("utilization", key="group, t_start_us", rows=
    "One row an interval and group; only with sampling.", columns=(
    Column("t_start_us", "float64", "us", False, "Start of the interval"),
    Column("t_end_us", "float64", "us", False, "End of the interval; the last one may be shorter"),
    Column("group", "str", "", False, '"all", the units of types that run tasks, or the name of a processor type'),
    Column("utilization", "float64", "1", False, "Share of the capacity of the group's units that was allocated"),
    Column("active", "float64", "1", False, "Mean over the group's units: the share of the interval they were active"),
))
PERIODS = ResultTable("periods", key="period", rows="One row a period; only with a batch policy.", columns=(
    Column("period", "int64", "", False, "Number of the period, from 0; for several identical periods, the first"),
    Column("n_periods", "int64", "", False, "Periods in the row: 1, except in runs of more than a million periods"),
    Column("active", "int64", "", False, "Units with a task right after the placement, in each of these periods"),
    Column("placed", "int64", "", False, "Tasks that the policy started at the beginning of the period"),
    Column("moved", "int64", "", False, "Running tasks that it moved; segments says from which unit to which"),
    Column("energy_j", "float64", "J", True, "Energy of all of them; missing without dynamic powers"),
    Column("slav", "float64", "demand s", False, "Demand beyond capacity x time, as read by the scenario's accounting"),
    Column("bound_j", "float64", "J", True, "No placement within capacity takes less energy; missing without powers"),
    *_optional(
        Column("optimum_j", "float64", "J", False,
            "Proven least energy of any placement within capacity; if requested"),
    ),
))
APPLICATIONS = ResultTable("applications", key="application", rows=
    "One row an application; only if jobs have applications and deadlines.", columns=(
    Column("application", "int32", "code", False, "Number of the application"),
    Column("name", "str", "", False, "Its name"),
    Column("requests", "int64", "", False, "Number of its requests, the jobs with its name"),
    Column("missed", "int64", "", False, "Requests that missed their deadline, including dropped ones"),
    Column("missed_pct", "float64", "%", False, "missed / requests"),
    Column("missed_pct_minutes", "float64", "%", False, "Mean of missed_pct over the minutes with requests"),
    Column("missed_pct_worst_minute", "float64", "%", False, "Maximum of missed_pct over these minutes"),
    Column("dropped", "int64", "", False, "Requests that never started"),
    Column("goodput_per_s", "float64", "1/s", False, "Requests on time per second of the makespan"),
    Column("p50_us", "float64", "us", True, "Latency from arrival to finish: median; missing if none finished"),
    Column("p90_us", "float64", "us", True, "90th percentile"),
    Column("p99_us", "float64", "us", True, "99th percentile"),
    Column("p99_9_us", "float64", "us", True, "99.9th percentile"),
    Column("consolidated_mean", "float64", "", False, "Tasks that started as one, on average"),
    Column("on_fastest", "float64", "1", False, "Share of its tasks that ran on their fastest processor type"),
))
LABELS = ResultTable("labels", key="job", has_others=True, rows=
    "One row a job: whose it is; only where a workload says so. Each other attribute of jobs is a column of texts with "
    "its own name.", columns=(
    Column("job", "int32", "", False, "Number of the job"),
    *_optional(
        Column("partition", "str", "", True, "Its partition; only if jobs have partitions"),
        Column("user", "str", "", True, "Its user; only if jobs have users"),
        Column("application", "str", "", True, "Name of its application; only if jobs have applications"),
        Column("account", "str", "", True, "Its account; only if jobs have the attribute, as those of Slurm do"),
        Column("qos", "str", "", True, "Its quality of service; only if jobs have the attribute"),
    ),
))
# fmt: on
OF_RUNS = (TASKS, JOBS, UNITS, SEGMENTS, UTILIZATION, PERIODS, APPLICATIONS)  # what happened
TABLES = (*OF_RUNS, LABELS)
