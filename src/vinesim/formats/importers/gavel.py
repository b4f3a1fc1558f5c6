"""Import throughputs of training jobs measured on GPU types: a CSV file with gpu, job_type, scale_factor, steps_per_s.

The scheduler Gavel was evaluated with a table of this form: Narayanan et al., OSDI 2020.
"""

import os
from pathlib import Path
from typing import Annotated

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.measured_table import Jobs, Load, Nodes, Output, Seed, report_on, write_measured
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.csv_rows import CsvRows, read_csv_rows
from vinesim.formats.source.quantities import time_us
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.workloads.measured import Measured, measured_jobs

COLUMNS = ("gpu", "job_type", "scale_factor", "steps_per_s")
LEAST_RATE = 1e-9  # steps per second: one step in 30 years; a lower rate is a mistake
SPREAD_OUT = "_unconsolidated"  # suffix of a GPU type whose workers were on several nodes


def import_gavel(
    table: Annotated[Path, Argument("Throughputs: gpu, job_type, scale_factor, steps_per_s; plain or gzip.")],
    output: Output,
    jobs: Jobs = 1000,
    duration: Annotated[str, Option("Median time of a job on its fastest GPU type.")] = "1 h",
    duration_sd: Annotated[float, Option("Standard deviation of the logarithm of that time.")] = 1.0,
    nodes: Nodes = 4,
    load: Load = 0.9,
    seed: Seed = 0,
) -> Imported:
    """Draw training jobs from throughputs measured on several GPU types, as used by the scheduler Gavel."""
    check_workload(output)
    median_us = time_us(duration, "--duration")
    measured, report = read_gavel(table)
    workload = measured_jobs(measured, jobs, nodes=nodes, load=load, median_us=median_us, sd=duration_sd, seed=seed)
    return write_measured(output, measured, workload, nodes, report)


IMPORTER = Importer("gavel", import_gavel)


def read_gavel(path: str | os.PathLike[str]) -> tuple[Measured, ImportReport]:
    """Return the time per step of each job type on each GPU type, and a report; a rate of 0 means it cannot run.

    Only jobs of one worker are kept. Raises :class:`InputError` with every problem.
    """
    found = read_csv_rows(path, COLUMNS)
    dropped: dict[str, list[int]] = {"workers on several nodes": [], "more than one worker": []}
    first_line: dict[tuple[str, str], int] = {}
    steps: dict[tuple[str, str], float] = {}
    for line, row in found.rows:
        workers = found.number(line, "scale_factor", row["scale_factor"], least=1, is_whole=True)
        rate = _rate(found, line, row["steps_per_s"])
        for name in ("gpu", "job_type"):
            found.check_name(line, name, row[name])
        if row["gpu"].endswith(SPREAD_OUT):
            dropped["workers on several nodes"].append(line)
        elif workers != 1:
            dropped["more than one worker"].append(line)
        elif (key := (row["gpu"], row["job_type"])) in steps:
            found.add(line, "each gpu and job_type once", f"the pair of line {first_line[key]} again", "Keep one.")
        else:
            steps[key], first_line[key] = rate, line
    if not found.problems and not any(steps.values()):
        found.add(found.rows[-1][0], "a job of one worker with steps_per_s above 0", "none")
    found.raise_problems()
    jobs = list(dict.fromkeys(job for _, job in steps))
    able = [job for job in jobs if any(rate > 0 for (_, other), rate in steps.items() if other == job)]
    dropped["a job type that no GPU can run"] = [line for (_, job), line in first_line.items() if job not in able]
    gpus = list(dict.fromkeys(gpu for gpu, _ in steps))
    rates = np.array([[steps.get((gpu, job), 0.0) for job in able] for gpu in gpus])
    step_us = np.full(rates.shape, np.nan)
    step_us[rates > 0] = 1e6 / rates[rates > 0]
    measured = Measured(tuple(map(ProcessorType, gpus)), tuple(map(TaskType, able)), step_us)
    return measured, report_on(found, measured, dropped)


def _rate(found: CsvRows, line: int, text: str) -> float:
    rate = found.number(line, "steps_per_s", text, least=0)
    if 0 < rate < LEAST_RATE:
        found.add(line, f"steps_per_s: 0, or {LEAST_RATE:g} or more", text)
    return rate
