"""The columns of a workload's table: their names and units, and which of them a file has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields

from vinesim.formats.source.quantities import SIZES
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource
from vinesim.model.catalog import ProcessorType
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.model.workload import COLUMNS as WORKLOAD_COLUMNS
from vinesim.model.workload import DECLARED, Workload
from vinesim.model.workload_columns import NOT_NEGATIVE, Column, Values


def _row(one: Column) -> tuple[str, str]:
    return one.kind, one.meaning


BY_TABLE = {one.table or name: one for name, one in DECLARED.items() if one.table is not None}
GANG_COLUMNS = {
    name: one.table or name for name, one in DECLARED.items() if one.group == "gang"
}  # VineSim's name -> the file's
# columns of every written table, in the order of the first version; others are written only if the workload has them
ALWAYS = ("job", "job_id", "task_type", "arrival_us", "deadline_us", "application", "operations", "data_bytes",
          "data_rack", "data_shelf", "preferred_type", "demand", "estimate_us", "time_factor", "priority", "user",
          "partition", "limit_us", "withdraw_us", "checkpoint_us", "restart_us")  # fmt: skip
# name: (type, meaning and unit)
_JOB = ("BIGINT", "the job, from 0 in order of arrival; its rows are consecutive; default: one job per row")
COLUMNS = {name: _JOB if name == "job" else _row(BY_TABLE[name]) for name in ALWAYS}
COLUMNS |= {name: _row(one) for name, one in BY_TABLE.items() if "." in name and not one.group}
IF_GIVEN = {name: _row(one) for name, one in BY_TABLE.items() if not one.group and name not in COLUMNS}
# columns that a file may have instead of others; they are never written
ALTERNATIVES = {
    "period": ("BIGINT", "replaces arrival_us: number of the batch, from 0; arrivals: {iat: ...} is the period"),
    "time_us": ("DOUBLE", "measured time, us, on every processor type without a column time_us.TYPE"),
}
# further demands of a task, and jobs whose tasks start together; written only if the workload has them
LEAD, GANG = (
    {name: _row(one) for name, one in sorted(BY_TABLE.items(), key=lambda item: "." in item[0]) if one.group == group}
    for group in ("lead", "gang")
)
# written only if any job waits for others; see workload_after
AFTER = {
    "after": (
        "VARCHAR",
        "the jobs that the job waits for, with spaces or ; between them: values of the column job, or else of job_id, "
        "or else numbers of rows from 0; null: none",
    ),
}
# demands in the words of a job's request; see workload_resources
REQUESTED = {
    "cores": ("DOUBLE", "cores at the node: of a unit whose type is a CPU"),
    "memory": ("DOUBLE", "memory at the node, bytes; text may have a unit, as 16 GiB"),
    "gpus": ("DOUBLE", "GPUs at the node; below 1: a share of one; null or 0: the task runs on its cores"),
    "gpu_share": ("DOUBLE", "what it takes of each of its GPUs, above 0, at most 1; null: all"),
    "gpu_type": ("VARCHAR", "processor types that its GPUs may be of, as A100|H100; null: any GPU"),
}
TOTAL = {
    "total_gpus": (
        "INTEGER",
        "GPUs of the job over any nodes: a gang of a task for each, which share its cores and memory; one row for all",
    ),
}
OF_REQUEST = tuple(REQUESTED)
GENERAL_LEAD = ("units", "types", "demand")
COMPANION = re.compile(r"companion\.(.+)")
ATTRIBUTE = re.compile(r"attribute\.(.+)")
OF_JOB = [name for name, one in BY_TABLE.items() if one.of == "jobs" and name in WORKLOAD_COLUMNS and not one.group]
OPTIONAL = [item.name for item in fields(Workload) if item.default is None and item.name in COLUMNS | IF_GIVEN]
DEFAULTS = {name: one.absent for name, one in BY_TABLE.items() if one.absent}
EMPTY = {name: one.empty for name, one in BY_TABLE.items() if one.empty is not None}
NAMED = {
    name: one.names for name, one in BY_TABLE.items() if one.names
}  # columns of names, and the fields that hold them
UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9}
TIME = re.compile(r"time_(us|ns|ms|s|min|h)\.(.+)")
PERIOD, TIME_ANYWHERE = ALTERNATIVES
# columns in the notations of logs; see workload_forms
POINTS = [name.removesuffix("_us") for name, one in BY_TABLE.items() if one.is_point] + ["start", "end"]  # in time
CALENDAR = ("date", *(f"epoch_{unit}" for unit in UNITS if unit not in ("min", "h")))
CLOCKED = ("time", "limit", "estimate")  # durations
CLOCK = "clock"
MEMORY_UNITS = {unit.lower(): by / over for unit, (by, over) in SIZES.items() if unit.endswith("B") and unit != "B"}
SLURM = "slurm"  # memory in the notation of accounting records
KUBERNETES = "kubernetes"  # cores in the notation of pod requests
PARTS = {"percent": 0.01, "milli": 0.001}  # of a core or a GPU, in which an amount may be
IN_PARTS = ("cores", "gpus", "gpu_share")
WRITTEN = [f"{point}_{form}" for point in POINTS for form in CALENDAR]
WRITTEN += [f"{point}_{unit}" for point in ("start", "end") for unit in UNITS]
WRITTEN += [
    *(f"{span}_{CLOCK}" for span in CLOCKED),
    *(f"memory_{form}" for form in (*MEMORY_UNITS, SLURM)),
    *(f"{stem}_{part}" for stem in IN_PARTS for part in PARTS),
    f"cores_{KUBERNETES}",
]
ALL = COLUMNS | IF_GIVEN | AFTER | LEAD | REQUESTED | GANG | TOTAL | ALTERNATIVES
PLAIN = [name for name in ALL if "." not in name]
NAMES = [*PLAIN, *WRITTEN]
NAMES += [f"{name.removesuffix('_us')}_{unit}" for name in PLAIN if name.endswith("_us") for unit in UNITS]
NULLABLE = (*OPTIONAL, *LEAD, *REQUESTED, *GANG, *TOTAL)
WORDS = {name: list(one.words) for name, one in BY_TABLE.items() if one.words}  # the values that cells may have
LIMITS = {"INTEGER": 2**31, "BIGINT": 2**63}  # whole numbers must be below this
REQUEST = re.compile(r"request\.(.+)")
IGNORE = "ignore"  # a meaning: the column is left out
_MEANINGS = {  # VineSim's name, with a guessed unit, and its names in other logs
    **{re.sub("_us$", "_s", name): one.aliases for name, one in BY_TABLE.items() if one.aliases},
    "start_s": "start started starttime startedat begin begintime starttimestamp",
    "end_s": "end ended endtime endedat finish finished finishtime completed completiontime completion "
    "deletiontime vmdeleted stop stoptime",
    "time_s": "duration runtime walltime elapsed servicetime executiontime exectime processingtime length wallclock "
    "wallclocktime runningtime actualruntime timeused elapsedraw ruwallclock remotewallclocktime lifetime",
    "cores": "cpu cpus ncpus numcpus cpucount ncores numcores processors procs proc slots "
    "vcpu vcpus reqcpus alloccpus requestedcpus cpurequest cpurequests",
    "gpus": "gpu ngpus numgpu numgpus gpucount allocgpus reqgpus requestedgpus gpurequest gpurequests nvidiacomgpu "
    "accelerators",
    "total_gpus": "totalgpus totalgpu gpustotal gputotal",
    "memory": "mem ram memorybytes rammb requestedmemory reqmem memoryrequest memoryrequests memrequest requestedmem",
    "gpu_type": "gpumodel gputype gputypes gpuspec gpuname accelerator",
}
MEANINGS = {word: ours for ours, words in _MEANINGS.items() for word in words.split()}
_WAITING = (
    "dependson dependencies dependency depends dependent waitsfor waitfor waitson parent parents parentid parentids "
    "predecessor predecessors prerequisite prerequisites prereqs requires afterok afterany"
)
HINTS = MEANINGS | dict.fromkeys(_WAITING.split(), "after")  # columns that an importer cannot use unchanged
METADATA = "vinesim.task_types"
ONLY_TYPE = "TASK"


def kind_of(name: str) -> str:
    """Return the SQL type of a column, given VineSim's name."""
    return "VARCHAR" if ATTRIBUTE.fullmatch(name) else ALL.get(name, ("DOUBLE", ""))[0]


def right_of(name: str) -> Values:
    """Return the numbers that a cell of a column may hold, given VineSim's name."""
    one = BY_TABLE.get(name)
    return NOT_NEGATIVE if one is None else one.cell or one.right or NOT_NEGATIVE


def word_of_infinity(name: str) -> str:
    """Return the word for infinity in a column of text, given VineSim's name of the column; "" if there is none."""
    return BY_TABLE[name].infinity if name in BY_TABLE else ""


def is_amount(name: str) -> bool:
    """Whether the cells of a column may be texts with a unit, such as 16 GiB."""
    return name == "memory" or COMPANION.fullmatch(name) is not None


def is_set(name: str) -> bool:
    """Whether the cells of a column are alternatives, such as A100|H100."""
    return name in ("types", "gpu_type")


def may_be_text(name: str) -> bool:
    """Whether a Parquet column may be text although its values are numbers."""
    return bool(word_of_infinity(name)) or is_amount(name)


def matched(
    source: TableSource, processor_types: Sequence[ProcessorType], columns: Mapping[str, str] | None = None
) -> dict[str, tuple[str, float]]:
    """Map VineSim's name of each column to its name in the file and the factor to VineSim's unit.

    ``columns`` holds meanings of columns in the file: one of VineSim's names with its unit, or ``ignore``.
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
        elif column not in PLAIN and not any(kind.fullmatch(column) for kind in (REQUEST, COMPANION, ATTRIBUTE)):
            if len(problems) < MAX_PROBLEMS:
                problems.append(_unknown(path, given, column, types, is_first))
            else:
                n_unlisted += 1  # a search for suggestions takes time
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
    """Whether the column of a Parquet file, which should have numbers, has text or another type."""
    kind = source.texts.get(column)
    return kind is not None and kind_of(ours) != "VARCHAR" and not (may_be_text(ours) and kind == "VARCHAR")


def _unknown(path: str, given: str, column: str, types: Sequence[str], is_first: bool) -> Problem:
    """Return the problem of an unknown column; ``given`` is its name in the file."""
    if given != column:
        return Problem(f"{path}: columns: {given}", "the name of a column of a workload, or ignore", repr(column),
                       did_you_mean(column, NAMES))  # fmt: skip
    if meant := HINTS.get(re.sub("[^a-z]", "", column.lower())):
        unit = ", with the unit it has" if meant.rpartition("_")[2] in UNITS or meant == "memory" else ""
        remedy = f"Does it mean {meant}? Say so in the scenario: columns: {{{column}: {meant}}}{unit}."
        return Problem(f"{path}: {column}", "a column of a workload", repr(column), remedy)
    if column == "time":
        return Problem(f"{path}: time", "its unit in its name", "time", "Call it time_s, time_ms or time_us.")
    known = NAMES + [f"time_{unit}.{name}" for unit in UNITS for name in types]
    if "." in column:
        known += [f"{kind}.{column.partition('.')[2]}" for kind in ("request", "companion", "attribute")]
    expected = "one of " + ", ".join(ALL) if is_first else "a column of a workload"  # the list is shown only once
    remedy = f"{did_you_mean(column, known)} Or leave it out: columns: {{{column}: ignore}}.".strip()
    return Problem(f"{path}: {column}", expected, repr(column), remedy)
