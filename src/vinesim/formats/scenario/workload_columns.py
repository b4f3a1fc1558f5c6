"""The columns of a workload's table: their names, the units they may have, and which of them a file has."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields

from vinesim.formats.source.quantities import SIZES
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.workload import COLUMNS as WORKLOAD_COLUMNS
from vinesim.model.workload import Workload

# name: (type, meaning and unit)
COLUMNS = {
    "job": ("BIGINT", "the job, from 0 in order of arrival; its rows are consecutive; default: one job per row"),
    "job_id": ("BIGINT", "the job's number in its source; null where it has none"),
    "task_type": ("VARCHAR", "name of the job's task type; default: TASK for all, or one per set of types with times"),
    "arrival_us": ("DOUBLE", "when the job arrives, us"),
    "deadline_us": ("DOUBLE", "when it should be done, us; all null: no deadlines"),
    "application": ("VARCHAR", "name of the application the job belongs to; all null: no applications"),
    "operations": ("DOUBLE", "number of operations of the task, its size; never (infinity): it never ends; default 1"),
    "data_bytes": ("DOUBLE", "bytes to transfer to the unit; default 0"),
    "data_rack": ("INTEGER", "where the data is; default rack 0"),
    "data_shelf": ("INTEGER", "where the data is; default shelf 0"),
    "preferred_type": ("VARCHAR", "name of the processor type; null or UNSPECIFIED: any"),
    "demand": ("DOUBLE", "what it takes of its unit's capacity; whole (infinity): all of it; null or absent: one slot"),
    "estimate_us": ("DOUBLE", "the scheduler's estimate of the task's run time, us"),
    "time_factor": ("DOUBLE", "factor on the task's run time, unknown to every scheduler"),
    "priority": ("DOUBLE", "the job's priority, higher is more urgent, may be below 0; empty: 0"),
    "user": ("VARCHAR", "name of the job's user; null: a user without a name; all null: no users"),
    "partition": ("VARCHAR", "name of the job's partition, whose nodes it may use; null: none, so any node"),
    "limit_us": ("DOUBLE", "its tasks are killed after so long on a unit, us; empty: never"),
    "withdraw_us": ("DOUBLE", "when the job is withdrawn, us; empty: never"),
    "checkpoint_us": ("DOUBLE", "work of the task between its checkpoints, us; empty: it has none"),
    "restart_us": ("DOUBLE", "what resuming the task takes, us; empty: 0"),
    "time_us.TYPE": ("DOUBLE", "measured time on a processor type, us; null where it cannot run the task"),
    "request.NAME": ("DOUBLE", "minimum of a resource that the unit's type must provide, such as request.cores"),
}
# columns that a file may have in place of others, and that are never written
ALTERNATIVES = {
    "period": ("BIGINT", "replaces arrival_us: number of the batch, from 0; arrivals: {iat: ...} is the period"),
    "time_us": ("DOUBLE", "measured time, us, on every processor type without a column time_us.TYPE"),
}
# the columns about what a task demands of a node, beside demand; written only where the workload has them
LEAD = {
    "units": ("INTEGER", "units of one type at one node that the task runs on; it takes its demand of each; default 1"),
    "types": ("VARCHAR", "processor types of these units, as A|B; null: any that can run the task"),
    "companion.TYPE": (
        "DOUBLE",
        "what the task also holds of one unit of that type at the same node; text may have a unit, as 16 GiB",
    ),
}
# the columns about jobs whose tasks start together; written only where the workload has them
GANG = {
    "gang": ("VARCHAR", "within what all tasks of the job start together: node, rack or anywhere; null: one by one"),
    "spread": ("VARCHAR", "how they are placed: packed on few nodes, the default, or spread over many"),
    "tasks_per_node": (
        "INTEGER",
        "the most of them at one node; null or 0: any number; with nodes: the number on each",
    ),
}
# the same in the words of a job's request; see workload_resources
REQUESTED = {
    "cores": ("DOUBLE", "cores at the node: of a unit whose type is a CPU"),
    "memory": ("DOUBLE", "memory at the node, bytes; text may have a unit, as 16 GiB"),
    "gpus": ("DOUBLE", "GPUs at the node; below 1: a share of one; null or 0: the task runs on its cores"),
    "gpu_share": ("DOUBLE", "what it takes of each of its GPUs, above 0, at most 1; null: all"),
    "gpu_type": ("VARCHAR", "processor types that its GPUs may be of, as A100|H100; null: any GPU"),
}
NODES = {
    "nodes": (
        "INTEGER",
        "exact number of nodes of the job, a gang with tasks_per_node tasks (1 if null) on each; one row for all",
    ),
}
OF_REQUEST = tuple(REQUESTED)
GENERAL_LEAD = ("units", "types", "demand")
COMPANION = re.compile(r"companion\.(.+)")
OF_JOB = tuple(name for name, (_, of) in WORKLOAD_COLUMNS.items() if of == "jobs" and name in COLUMNS)
OPTIONAL = tuple(item.name for item in fields(Workload) if item.default is None and item.name in COLUMNS)
DEFAULTS = {"operations": "1", "data_bytes": "0", "data_rack": "0", "data_shelf": "0", "preferred_type": "NULL"}
EMPTY = dict.fromkeys(("limit_us", "withdraw_us", "checkpoint_us"), math.inf) | {"priority": 0.0, "restart_us": 0.0}
UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}
TIME = re.compile(r"time_(us|ns|ms|s|min|h)\.(.+)")
PERIOD, TIME_ANYWHERE = ALTERNATIVES
# the same as logs write it: see workload_forms
POINTS = ("arrival", "deadline", "withdraw", "start", "end")  # points in time
CALENDAR = ("date", *(f"epoch_{unit}" for unit in UNITS if unit not in ("min", "h")))
CLOCKED = ("time", "limit", "estimate")  # durations
CLOCK = "clock"
MEMORY_UNITS = {unit.lower(): by / over for unit, (by, over) in SIZES.items() if unit.endswith("B") and unit != "B"}
SLURM = "slurm"  # memory as in its accounts
KUBERNETES = "kubernetes"  # cores as in the requests of its pods
WRITTEN = [f"{point}_{form}" for point in POINTS for form in CALENDAR]
WRITTEN += [f"{point}_{unit}" for point in ("start", "end") for unit in UNITS]
WRITTEN += [
    *(f"{span}_{CLOCK}" for span in CLOCKED),
    *(f"memory_{form}" for form in (*MEMORY_UNITS, SLURM)),
    "cores_milli",
    f"cores_{KUBERNETES}",
]
ALL = COLUMNS | LEAD | REQUESTED | GANG | NODES | ALTERNATIVES
PLAIN = [name for name in ALL if "." not in name]
NAMES = [*PLAIN, *WRITTEN]
NAMES += [f"{name.removesuffix('_us')}_{unit}" for name in PLAIN if name.endswith("_us") for unit in UNITS]
NULLABLE = (*OPTIONAL, *LEAD, *REQUESTED, *GANG, *NODES)
WORDS = {"gang": ["node", "rack", "anywhere"], "spread": ["packed", "spread"]}  # that their cells may hold
LIMITS = {"INTEGER": 2**31, "BIGINT": 2**63}  # whole numbers must be smaller
REQUEST = re.compile(r"request\.(.+)")
IGNORE = "ignore"  # in place of a column's name: it is left out
_MEANINGS = {  # our name, with a unit that is a guess, and what other logs call it
    "arrival_s": "submit submittime submitted submissiontime arrivaltime timestamp created createdat creationtime",
    "start_s": "start started starttime startedat begin begintime starttimestamp",
    "end_s": "end ended endtime endedat finish finished finishtime completed completiontime deletiontime stop stoptime",
    "time_s": "duration runtime walltime elapsed servicetime executiontime exectime processingtime length",
    "limit_s": "timelimit walltimelimit requestedtime timelimits",
    "estimate_s": "estimate estimatedtime predictedtime requestedruntime",
    "deadline_s": "due duedate duetime",
    "cores": "cpu cpus ncpus numcpus cpucount ncores numcores processors procs reqcpus "
    "alloccpus requestedcpus cpurequest cpurequests",
    "gpus": "gpu ngpus numgpu numgpus gpucount allocgpus reqgpus requestedgpus gpurequest gpurequests nvidiacomgpu",
    "memory": "mem ram memorybytes rammb requestedmemory reqmem memoryrequest memoryrequests memrequest requestedmem",
    "gpu_type": "gpumodel gputypes gpuspec gpuname accelerator",
    "nodes": "nnodes numnodes nodecount",
    "user": "userid username uid owner",
    "priority": "prio qos",
    "job_id": "id jobid jobnumber",
    "task_type": "type class kind jobtype jobclass",
    "application": "app appname model",
    "operations": "size work flops instructions",
}
MEANINGS = {word: ours for ours, words in _MEANINGS.items() for word in words.split()}
METADATA = "vinesim.task_types"
NEVER = "never"  # the operations of a task that never ends, in text; infinity in a column of numbers
WHOLE = "whole"  # the demand for a whole unit, in text; infinity in a column of numbers
ONLY_TYPE = "TASK"


def kind_of(name: str) -> str:
    """Return the SQL type of a column, by our name."""
    return ALL.get(name, ("DOUBLE", ""))[0]


def is_amount(name: str) -> bool:
    """Whether the cells of a column may be texts with a unit, such as 16 GiB."""
    return name == "memory" or COMPANION.fullmatch(name) is not None


def is_set(name: str) -> bool:
    """Whether the cells of a column are alternatives, such as A100|H100."""
    return name in ("types", "gpu_type")


def may_be_text(name: str) -> bool:
    """Whether a Parquet column may be text although its values are numbers."""
    return name in ("demand", "operations") or is_amount(name)


def matched(
    source: TableSource, processor_types: Sequence[ProcessorType], columns: Mapping[str, str] | None = None
) -> dict[str, tuple[str, float]]:
    """Map our name of each column in the file to its name there and the factor to our unit.

    ``columns`` says what columns of the file are: one of our names with its unit, or ``ignore``.
    """
    columns = columns or {}
    match: dict[str, tuple[str, float]] = {}
    problems = [
        Problem(
            f"{source.path}: columns: {name}", "a column of the file", repr(name), did_you_mean(name, source.columns)
        )
        for name in columns
        if name not in source.columns
    ]
    path, types, is_first, n_unlisted = source.path, [p.name for p in processor_types], True, 0
    for given in source.columns:
        column = columns.get(given, given)
        if column == IGNORE:
            continue
        stem, _, unit = column.rpartition("_")
        time = TIME.fullmatch(column)
        ours, scale = column, 1.0
        if time:
            ours, scale = f"{TIME_ANYWHERE}.{time[2]}", UNITS[time[1]]
            if time[2] not in types:
                remedy = did_you_mean(time[2], types) or "Define the type first."
                problems.append(Problem(f"{path}: {column}", "a processor type: " + ", ".join(types), time[2], remedy))
        elif unit in UNITS and f"{stem}_us" in PLAIN:
            ours, scale = f"{stem}_us", UNITS[unit]
        elif column not in PLAIN and not REQUEST.fullmatch(column) and not COMPANION.fullmatch(column):
            if len(problems) < MAX_PROBLEMS:
                problems.append(_unknown(path, given, column, types, is_first))
            else:
                n_unlisted += 1  # looking for what was meant takes time
            is_first = False
            continue
        if ours in match:
            problems.append(Problem(f"{path}: {given}", f"{ours} once", "a second time", "Keep one."))
        elif _is_text(source, given, ours):
            problems.append(Problem(f"{path}: {given}", "numbers", f"a column of {source.texts[given]}"))
        match[ours] = given, scale
    present = ", ".join(source.columns)[:80]
    if PERIOD in match and "arrival_us" in match:
        problems.append(Problem(path, "one column for when a job arrives", "period and arrival", "Keep one."))
    elif PERIOD not in match and "arrival_us" not in match:
        remedy = "Name the column of arrival times so, with the unit at its end, or say columns: {NAME: arrival_s}."
        problems.append(Problem(path, "a column arrival_us (or _ms, _s), or period", present, remedy))
    if problems:
        raise InputError(problems, len(problems) + n_unlisted)
    return match


def _is_text(source: TableSource, column: str, ours: str) -> bool:
    """Whether the column of a Parquet file is text, or of another type, where there should be numbers."""
    kind = source.texts.get(column)
    return kind is not None and kind_of(ours) != "VARCHAR" and not (may_be_text(ours) and kind == "VARCHAR")


def _unknown(path: str, given: str, column: str, types: Sequence[str], is_first: bool) -> Problem:
    """Return the problem of a column that a workload does not have; ``given`` is its name in the file."""
    if given != column:
        return Problem(f"{path}: columns: {given}", "the name of a column of a workload, or ignore", repr(column),
                       did_you_mean(column, NAMES))  # fmt: skip
    if meant := MEANINGS.get(re.sub("[^a-z]", "", column.lower())):
        remedy = f"Does it mean {meant}? Say so in the scenario: columns: {{{column}: {meant}}}, with the unit it has."
        return Problem(f"{path}: {column}", "a column of a workload", repr(column), remedy)
    if column == "time":
        return Problem(f"{path}: time", "its unit in its name", "time", "Call it time_s, time_ms or time_us.")
    known = NAMES + [f"time_{unit}.{name}" for unit in UNITS for name in types]
    if "." in column:
        known += [f"{kind}.{column.partition('.')[2]}" for kind in ("request", "companion")]
    expected = "one of " + ", ".join(ALL) if is_first else "a column of a workload"  # the list once is enough
    remedy = f"{did_you_mean(column, known)} Or leave it out: columns: {{{column}: ignore}}.".strip()
    return Problem(f"{path}: {column}", expected, repr(column), remedy)
