"""Import times of kernels measured on the devices of several machines, from a CSV file.

Columns: kernel, machine, device_type, cores, size_bytes, mean_us, dev_us (standard deviation) and n (samples).
The runtime StarPU records such a history for each kernel and size, with one row per device.
"""

import math
import os
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option, check_workload
from vinesim.formats.importers.measured_table import Jobs, Load, Nodes, Output, Seed, report_on, write_measured
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.source.csv_rows import CsvRows, read_csv_rows
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.workloads.measured import Measured, measured_jobs

COLUMNS = ("kernel", "machine", "device_type", "cores", "size_bytes", "mean_us", "dev_us", "n")
LEAST_US = 1e-6
Sample = tuple[float, float, float]  # mean, standard deviation, number


def import_starpu(
    kernels: Annotated[
        Path,
        Argument("Kernel times: kernel, machine, device_type, cores, size_bytes, mean_us, dev_us, n; plain or gzip."),
    ],
    output: Output,
    machine: Annotated[str | None, Option("Machine to use; default: the first with the most device types.")] = None,
    jobs: Jobs = 1000,
    noise: Annotated[
        bool, Option("Draw true times with the measured variation; schedulers know only the means.")
    ] = False,
    nodes: Nodes = 4,
    load: Load = 0.9,
    seed: Seed = 0,
) -> Imported:
    """Draw kernels from times measured on the devices of a machine, as recorded by the runtime StarPU."""
    check_workload(output)
    measured, report = read_starpu(kernels, machine)
    workload = measured_jobs(measured, jobs, nodes=nodes, load=load, is_noisy=noise, seed=seed)
    return write_measured(output, measured, workload, nodes, report)


IMPORTER = Importer("starpu", import_starpu)


def read_starpu(path: str | os.PathLike[str], machine: str | None = None) -> tuple[Measured, ImportReport]:
    """Return the time of each kernel and size on each device type of one machine, and a report of what was left out.

    ``machine`` defaults to the one with the most device types, the first of several. The time of a device type is the
    mean over its devices, weighted by their samples. Raises :class:`InputError` with every problem.
    """
    found = read_csv_rows(path, COLUMNS)
    dropped: dict[str, list[int]] = {"a kernel on several cores": []}
    lines: dict[str, list[int]] = defaultdict(list)  # by machine
    samples: dict[str, dict[tuple[str, str], list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for line, row in found.rows:
        cores = found.number(line, "cores", row["cores"], least=1, is_whole=True)
        size = found.number(line, "size_bytes", row["size_bytes"], least=0, is_whole=True)
        sample = _sample(found, line, row)
        for name in ("kernel", "machine", "device_type"):
            found.check_name(line, name, row[name])
        if cores == 1 and not math.isnan(size):
            samples[row["machine"]][f"{row['kernel']}/{size:.0f}", row["device_type"]].append(sample)
            lines[row["machine"]].append(line)
        else:
            dropped["a kernel on several cores"].append(line)
    if not samples:
        found.add(found.rows[-1][0], "a kernel on one core or device", "none")
    found.raise_problems()
    chosen = _chosen(path, machine, {name: {d for _, d in of} for name, of in samples.items()})
    own = samples[chosen]
    dropped["another machine"] = [line for name, at in lines.items() if name != chosen for line in at]
    kernels = list(dict.fromkeys(kernel for kernel, _ in own))
    devices = list(dict.fromkeys(device for _, device in own))
    time_us = np.full((len(devices), len(kernels)), np.nan)
    for (kernel, device), values in own.items():
        mean, _, n = np.array(values).T
        time_us[devices.index(device), kernels.index(kernel)] = np.average(mean, weights=n)
    spread = np.array([_spread([s for device in devices for s in own.get((kernel, device), [])]) for kernel in kernels])
    measured = Measured(tuple(map(ProcessorType, devices)), tuple(map(TaskType, kernels)), time_us, spread)
    return measured, report_on(found, measured, dropped, f"machine {chosen}: ")


def _sample(found: CsvRows, line: int, row: dict[str, str]) -> Sample:
    mean = found.number(line, "mean_us", row["mean_us"], least=LEAST_US)
    deviation = found.number(line, "dev_us", row["dev_us"], least=0)
    return mean, deviation, found.number(line, "n", row["n"], least=1, is_whole=True)


def _chosen(path: str | os.PathLike[str], machine: str | None, devices: dict[str, set[str]]) -> str:
    """Return the requested machine, or the first one with the most device types."""
    if machine is None:
        return max(devices, key=lambda name: len(devices[name]))
    if machine not in devices:
        remedy = did_you_mean(machine, devices)
        raise InputError([Problem(f"{path}: machine", "one of " + ", ".join(devices), repr(machine), remedy)])
    return machine


def _spread(samples: list[Sample]) -> float:
    """Return the standard deviation / mean: the root mean square over the samples of all devices."""
    mean, deviation, n = np.array(samples).T
    return math.sqrt(np.average((deviation / mean) ** 2, weights=n))
