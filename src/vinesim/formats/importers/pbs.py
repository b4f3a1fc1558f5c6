"""Import the jobs of PBS Professional, OpenPBS or Torque from their accounting files, ``server_priv/accounting``.

A record is ``date time;type;job;key=value key=value ...``. Values with spaces are in quotation marks, and indented
lines continue a record. Records of type E say how a job ran. Each chunk of ``exec_vnode`` becomes a task with what it
held there; without ``exec_vnode``, the tasks come from ``Resource_List.select`` or from Torque's ``nodes=2:ppn=6``.
Sources: Altair PBS Professional Administrator's Guide, "Accounting Log"; Adaptive Computing, Torque Administrator
Guide, "Accounting records".
"""

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.job_rows import Job, Tasks, check_output, keep_jobs, write_jobs
from vinesim.formats.importers.nodes_table import read_nodes_table
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.formats.importers.slurm_fields import whole
from vinesim.formats.source.files import lines_of
from vinesim.model.errors import InputError, Problem

LEFT_OUT = (
    "on which nodes PBS started a job, and, except for a back-test, when: the simulated policy decides",
    "queues, groups, projects and dependencies: queues and names are columns that the scenario ignores",
)
_RECORD = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d);([A-Za-z]+);([^;]*);(.*)", re.DOTALL)
_PAIR = re.compile(r"""([\w.]+)=("(?:[^"\\]|\\.)*"|'[^']*'|\((?:[^()]*)\)(?:\+\([^()]*\))*|\S*)""")
_SIZE = re.compile(r"(\d{1,18})([kmgtp]?)([bw]?)", re.IGNORECASE)
_CLOCK = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2})(?:\.\d+)?")
_KEYS = {"Q": "qtime", "S": "start", "E": "end"}  # what the date of a record means for its job
WORD_BYTES = 8


class _Chunk(NamedTuple):
    """What a job held at one node."""

    cores: int
    memory_bytes: float
    gpus: int


UNREAD = _Chunk(-1, math.inf, -1)  # a chunk with an unreadable amount


def import_pbs(
    log: Annotated[Path, Argument("Accounting records of PBS or Torque: one file, or several joined; plain or gzip.")],
    output: Annotated[Path, Option("The jobs, a CSV file; a scenario is written next to it.", short="-o")],
    nodes: Annotated[Path | None, Option("A table of the nodes; default: nodes made for the jobs.")] = None,
) -> Imported:
    """Import the jobs of a PBS or Torque cluster from its accounting records."""
    check_output(output)
    report = ImportReport(str(log), left_out=LEFT_OUT, time_zone="UTC, as times since 1970")
    places = [] if nodes is None else read_nodes_table(nodes, report)
    ended = dict[int, str]()
    jobs = keep_jobs(_jobs(log, report, ended), report)
    report.count_lines("record", ended)
    return write_jobs(output, jobs, report, f"Jobs of a PBS cluster, from {log.name}.", places)


IMPORTER = Importer("pbs", import_pbs)


def _jobs(log: Path, report: ImportReport, ended: dict[int, str]) -> list[Job]:
    """Return the jobs of the records E, the last one of each job; ``ended`` gets their lines.

    Raises :class:`InputError`.
    """
    found: dict[str, Job] = {}
    dates: dict[str, dict[str, str]] = {}  # the dates of a job's records, by keys of the same meaning
    is_any = False
    for number, text in _lines(log):
        record = _RECORD.fullmatch(text)
        report.n_lines += record is not None or is_any
        if record is None:
            if is_any:
                report.drop("no record: date;type;job;text", number)
                continue
            expected = "a record of PBS accounting, such as 05/01/2024 08:00:00;E;17.server;user=ann ..."
            raise InputError([Problem(f"{log}:{number}", expected, repr(text[:60]))])
        is_any = True
        kind, name = record[2], record[3]
        if kind == "E":
            ended[number] = kind
        else:
            report.count("record", kind, False)
        if kind in _KEYS:
            dates.setdefault(name, {})[_KEYS[kind]] = _second(record[1])
        if kind != "E":
            continue
        row = _pairs(record[4])
        if not row.keys() & {"ctime", "qtime", "etime", "start"} and name in dates:
            row |= dates[name]
            report.time_zone = "UTC is assumed: the dates of the records are the server's local time"
        if name in found:
            report.drop("an earlier run of a job that ran again", found[name].line)
        job = _job(number, name, row, report)
        if job is not None:
            found[name] = job
    n_none = sum(not job.tasks[0].memory_bytes for job in found.values())
    if found and 0 < n_none < len(found):
        report.findings.append(Finding("memory", f"{n_none:,} jobs asked for no memory: they hold none", True))
    return list(found.values())


def _lines(log: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-empty lines with their numbers; an indented line continues the one before it."""
    held: tuple[int, str] | None = None
    for number, line in enumerate(lines_of(log), 1):
        text = line.decode("utf-8", "replace").rstrip()
        if held and text[:1] in (" ", "\t"):
            held = held[0], f"{held[1]} {text.strip()}"
        elif text:
            if held:
                yield held
            held = number, text
    if held:
        yield held


def _pairs(text: str) -> dict[str, str]:
    """Parse ``key=value`` pairs."""
    return {
        key: value[1:-1].replace('\\"', '"') if value[:1] in ('"', "'") else value for key, value in _PAIR.findall(text)
    }


def _job(line: int, name: str, row: dict[str, str], report: ImportReport) -> Job | None:
    """Return the job of a record E; None, with the reason in the report, if it is not one."""
    start, end = whole(row.get("start", "")), whole(row.get("end", ""))
    submitted = max((t for key in ("qtime", "etime", "ctime") if (t := whole(row.get(key, "")))), default=None)
    if submitted is None:
        report.drop("no ctime, qtime or etime", line)
        return None
    if start in (0, None) and row.get("start", "0") in ("", "0"):
        report.drop("it never started", line)
        return None
    run = float(end - start) if start and end else _seconds(row.get("resources_used.walltime", ""))
    if run is None or not start:
        report.drop("no start or end that can be read", line)
        return None
    chunks = _chunks(row)
    if not chunks or UNREAD in chunks:
        report.drop("what it held cannot be read", line)
        return None
    counts = Counter(chunks)
    tasks = tuple(Tasks(n, chunk.cores, chunk.memory_bytes, chunk.gpus) for chunk, n in sorted(counts.items())[::-1])
    scattered = "scatter" in row.get("Resource_List.place", "")
    limit = _seconds(row.get("Resource_List.walltime", ""))
    number = whole(re.split(r"[.\[]", name)[0])
    return Job(
        line=line,
        name=row.get("jobname", ""),
        user=row.get("user", ""),
        queue=row.get("queue", ""),
        submitted_s=float(submitted),
        run_s=run,
        tasks=tasks,
        number=number,
        array=str(number) if "[" in name else "",
        limit_s=limit or math.inf,
        per_node=1 if scattered else 0,
        started_s=float(start),
    )


def _chunks(row: dict[str, str]) -> list[_Chunk]:
    """Return what the job held at each node; empty if that cannot be read."""
    if vnodes := row.get("exec_vnode", ""):
        chunks = [_chunk(text) for text in re.findall(r"\(([^()]*)\)", vnodes)]
    elif select := row.get("Resource_List.select", ""):
        chunks = _selected(select)
    else:
        chunks = _of_torque(row)
    each = _bytes(row.get("Resource_List.pmem", ""))
    if each and not any(chunk.memory_bytes for chunk in chunks):
        chunks = [chunk._replace(memory_bytes=each * chunk.cores) for chunk in chunks]
    memory = _bytes(row.get("Resource_List.mem", ""))
    if chunks and memory and not any(chunk.memory_bytes for chunk in chunks):
        chunks = [chunk._replace(memory_bytes=memory / len(chunks)) for chunk in chunks]
    return [chunk for chunk in chunks if chunk.cores or chunk.gpus]


def _chunk(text: str) -> _Chunk:
    """Return the total of a text such as node1:ncpus=4:mem=8gb+node1b:ncpus=2."""
    held = dict[str, float]()
    for name, value in re.findall(r"\b(ncpus|mem|ngpus)=([^:+)]*)", text):
        size = _bytes(value) if name == "mem" else whole(value)
        if size is None:
            return UNREAD
        held[name] = held.get(name, 0.0) + size
    return _Chunk(int(held.get("ncpus", 0)), held.get("mem", 0.0), int(held.get("ngpus", 0)))


def _selected(select: str) -> list[_Chunk]:
    """Return the chunks of a text such as 2:ncpus=4:mem=8gb+1:ncpus=1; a chunk without ncpus has one."""
    chunks = list[_Chunk]()
    for text in select.split("+"):
        first = text.split(":")[0]
        n = whole(first)
        chunk = _chunk(text)
        chunk = chunk._replace(cores=chunk.cores or (0 if chunk.gpus else 1))
        if n is None or n <= 10**6:
            chunks += [chunk] * (1 if n is None else n)
    return chunks


def _of_torque(row: dict[str, str]) -> list[_Chunk]:
    """Return the chunks of Torque's exec_host=n1/0+n1/1+n2/0-3, or of nodes=2:ppn=6:gpus=1, or ncpus=4."""
    nodes = row.get("Resource_List.nodes", "")
    gpus = re.search(r"gpus=(\d{1,9})", nodes)
    n_gpus = int(gpus[1]) if gpus else 0
    cores: Counter[str] = Counter()
    for item in filter(None, row.get("exec_host", "").split("+")):
        host, _, slots = item.partition("/")
        for part in slots.split(","):
            first, _, last = part.partition("-")
            times = re.fullmatch(r"\d+\*(\d{1,9})", part)
            low, high = whole(first), whole(last)
            cores[host] += int(times[1]) if times else (high - low + 1 if low is not None and high is not None else 1)
    if cores:
        return [_Chunk(n, 0.0, n_gpus) for n in cores.values()]
    if chunks := [chunk for text in nodes.split("+") for chunk in _of_nodes(text)]:
        return chunks
    n = whole(row.get("Resource_List.ncpus", ""))
    return [_Chunk(n, 0.0, n_gpus)] if n else []


def _of_nodes(text: str) -> list[_Chunk]:
    """Return the chunks of a part of Torque's nodes, such as 2:ppn=6:gpus=1, or the name of a node with :ppn=2."""
    cores, gpus = re.search(r"ppn=(\d{1,9})", text), re.search(r"gpus=(\d{1,9})", text)
    first = text.split(":")[0]
    n = (whole(first) if first.isdigit() else 1) if first else 0
    return [_Chunk(int(cores[1]) if cores else 1, 0.0, int(gpus[1]) if gpus else 0)] * (n if n and n <= 10**6 else 0)


def _bytes(text: str) -> float | None:
    """Parse a size such as 8gb, in bytes: units are powers of 1024, w is a word of 8 bytes."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = 1024.0 ** (" kmgtp".index(match[2].lower()) if match[2] else 0)
    return float(match[1]) * unit * (WORD_BYTES if match[3].lower() == "w" else 1)


def _second(date: str) -> str:
    """Convert a date such as 05/01/2024 08:00:00 to s since 1970, as text; empty if it is not a date."""
    try:
        found = datetime.datetime.strptime(date, "%m/%d/%Y %H:%M:%S").replace(tzinfo=datetime.UTC)
    except ValueError:
        return ""
    return str(int(found.timestamp()))


def _seconds(text: str) -> float | None:
    """Parse a duration such as 26:03:00, or a number, in s; None if it is neither."""
    if (plain := whole(text)) is not None:
        return float(plain)
    clock = _CLOCK.fullmatch(text)
    return None if clock is None else float(int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + int(clock[3]))
