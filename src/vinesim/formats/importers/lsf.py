"""Import the jobs of an LSF cluster from ``lsb.acct`` or from the output of ``bacct -l``.

A job becomes a gang with one task per host; the slots that it had on the host are the task's cores.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Annotated

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.job_rows import Job, Tasks, check_output, keep_jobs, write_jobs
from vinesim.formats.importers.lsf_records import Record, records_of
from vinesim.formats.importers.nodes_table import read_nodes_table
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.formats.importers.slurm_fields import whole
from vinesim.model.errors import InputError, Problem

YEARS = range(1990, 2100)
LEFT_OUT = (
    "on which hosts LSF started a job, and, except for a back-test, when: the simulated policy decides",
    "queues, projects, limits and dependencies: queues and names are columns that the scenario ignores",
)
_MEMORY = re.compile(r"rusage\[[^\]]*\bmem\s*=\s*(\d{1,15}(?:\.\d+)?)\s*([KMGTP]?)")
_GPUS = re.compile(r"rusage\[[^\]]*\bngpus(?:_physical)?\s*=\s*(\d{1,6})")


def import_lsf(
    log: Annotated[Path, Argument("The file lsb.acct, or the output of bacct -l; plain or gzip.")],
    output: Annotated[Path, Option("The jobs, a CSV file; a scenario is written next to it.", short="-o")],
    nodes: Annotated[Path | None, Option("A table of the nodes; default: nodes made for the jobs.")] = None,
    year: Annotated[int, Option("The year of the first job, if the dates of bacct have none.", metavar="YEAR")] = 0,
) -> Imported:
    """Import the jobs of an LSF cluster from lsb.acct, or from what bacct -l prints."""
    check_output(output)
    if year and year not in YEARS:
        raise InputError([Problem("--year", f"a year from {YEARS[0]} to {YEARS[-1]}", str(year))])
    report = ImportReport(str(log), left_out=LEFT_OUT, time_zone="UTC, as times since 1970")
    places = [] if nodes is None else read_nodes_table(nodes, report)
    jobs, n_memory = list[Job](), 0
    for one in records_of(log, year):
        report.n_lines += 1
        if not isinstance(one, Record):
            report.drop(one[1], one[0])
        elif not one.start_s or one.end_s <= one.start_s:
            report.drop("it never started, or ended at once", one.line)
        elif (job := _job(one)) is None:
            report.drop("on no hosts", one.line)
        else:
            jobs.append(job)
            n_memory += _MEMORY.search(one.wanted) is not None
        if isinstance(one, Record) and one.is_local:
            report.time_zone = "UTC is assumed: bacct prints the cluster's local time"
    if n_memory:
        words = f"rusage[mem=] of {n_memory:,} jobs is taken as what they hold at each host, in MB without a unit"
        report.findings.append(Finding("memory", words, True, {"memory": n_memory}))
    return write_jobs(output, keep_jobs(jobs, report), report, f"Jobs of an LSF cluster, from {log.name}.", places)


IMPORTER = Importer("lsf", import_lsf)


def _job(record: Record) -> Job | None:
    """Return a job with a task for each of its hosts; None if it had no hosts."""
    slots: Counter[str] = Counter()
    for text in record.hosts:
        count, star, host = text.partition("*")
        slots[host if star else text] += (whole(count) or 1) if star else 1
    if not slots:
        return None
    memory = _MEMORY.search(record.wanted)
    size = float(memory[1]) * 1024.0 ** (1 + "KMGTP".index(memory[2] or "M")) if memory else 0.0
    gpus = _GPUS.search(record.wanted)
    n_gpus = int(gpus[1]) if gpus else 0
    counts = sorted(Counter(slots.values()).items(), reverse=True)
    return Job(
        line=record.line,
        name=record.name,
        user=record.user,
        queue=record.queue,
        submitted_s=record.submitted_s,
        run_s=record.end_s - record.start_s,
        tasks=tuple(Tasks(n, cores, size, n_gpus) for cores, n in counts),
        number=record.number,
        array=str(record.number) if record.is_of_array else "",
        per_node=1,
        started_s=record.start_s,
    )
