"""Measured times of kernels on the devices of machines, as a CSV file.

Its columns: kernel, machine, device_type, cores, size_bytes, mean_us, dev_us (standard deviation) and n (samples).
These are the histories that the runtime StarPU keeps of each kernel and size, one row a device.
"""

import math
import os
from collections import defaultdict

import numpy as np

from vinesim.formats.csv_rows import CsvRows, read_csv_rows
from vinesim.formats.measured_table import MeasuredReport
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.workloads.measured import Measured

COLUMNS = ("kernel", "machine", "device_type", "cores", "size_bytes", "mean_us", "dev_us", "n")
LEAST_US = 1e-6
Sample = tuple[float, float, float]  # mean, standard deviation, number


def read_starpu(path: str | os.PathLike[str], machine: str | None = None) -> tuple[Measured, MeasuredReport]:
    """The time of each kernel and size on each device type of a machine, and what was left out.

    ``machine`` is by default the file's first with the most device types. A device type's time is the mean over its
    devices, weighted by their samples. Raises :class:`InputError` with every problem.
    """
    found = read_csv_rows(path, COLUMNS)
    report = MeasuredReport(str(path), len(found.rows))
    samples: dict[str, dict[tuple[str, str], list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for line, row in found.rows:
        cores = found.number(line, "cores", row["cores"], least=1, is_whole=True)
        size = found.number(line, "size_bytes", row["size_bytes"], least=0, is_whole=True)
        sample = _sample(found, line, row)
        for name in ("kernel", "machine", "device_type"):
            found.check_name(line, name, row[name])
        if cores == 1 and not math.isnan(size):
            samples[row["machine"]][f"{row['kernel']}/{size:.0f}", row["device_type"]].append(sample)
        else:
            report.leave_out("kernels on several cores")
    if not samples:
        found.add(found.rows[-1][0], "a kernel on one core or device", "none")
    found.raise_problems()
    own = samples[_chosen(path, machine, {name: {d for _, d in of} for name, of in samples.items()}, report)]
    report.leave_out("other machines", sum(map(len, _all(samples))) - sum(map(len, own.values())))
    kernels = list(dict.fromkeys(kernel for kernel, _ in own))
    devices = list(dict.fromkeys(device for _, device in own))
    time_us = np.full((len(devices), len(kernels)), np.nan)
    for (kernel, device), values in own.items():
        mean, _, n = np.array(values).T
        time_us[devices.index(device), kernels.index(kernel)] = np.average(mean, weights=n)
    spread = np.array([_spread([s for device in devices for s in own.get((kernel, device), [])]) for kernel in kernels])
    return Measured(tuple(map(ProcessorType, devices)), tuple(map(TaskType, kernels)), time_us, spread), report


def _sample(found: CsvRows, line: int, row: dict[str, str]) -> Sample:
    mean = found.number(line, "mean_us", row["mean_us"], least=LEAST_US)
    deviation = found.number(line, "dev_us", row["dev_us"], least=0)
    return mean, deviation, found.number(line, "n", row["n"], least=1, is_whole=True)


def _chosen(
    path: str | os.PathLike[str], machine: str | None, devices: dict[str, set[str]], report: MeasuredReport
) -> str:
    """The machine, and a word on it in the report."""
    if machine is None:
        machine = max(devices, key=lambda name: len(devices[name]))
    elif machine not in devices:
        raise InputError([Problem(f"{path}: machine", "one of " + ", ".join(devices), repr(machine))])
    report.about = f"machine {machine}"
    return machine


def _all(samples: dict[str, dict[tuple[str, str], list[Sample]]]) -> list[list[Sample]]:
    return [values for of_machine in samples.values() for values in of_machine.values()]


def _spread(samples: list[Sample]) -> float:
    """Standard deviation as a share of the mean: the root of the mean square over the samples of all devices."""
    mean, deviation, n = np.array(samples).T
    return math.sqrt(np.average((deviation / mean) ** 2, weights=n))
