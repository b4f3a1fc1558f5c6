"""Numbers from the tables of single runs: execution and transfer times, and utilisation over time."""

import numpy as np

from vinesim.result import Result


def execution_us(result: Result) -> dict[str, float]:
    """Return the mean execution time on the CPUs and on the GPUs, us, without transfers."""
    tasks = result.tasks
    took = tasks["finish_us"] - tasks["start_us"]
    return {name: float(np.mean(took[tasks["unit_type"] == code])) for name, code in (("CPU", 0), ("GPU", 2))}


def transfer_us(result: Result) -> np.ndarray:
    """Return the distinct transfer times of the tasks, us, in increasing order; [n]."""
    tasks = result.tasks
    return np.unique(np.round(tasks["start_us"] - tasks["init_us"], 6))


def over_time(result: Result, group: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of the sampling intervals, us [n + 1], and the utilisation of a group's units in each [n]."""
    table = result.utilization
    if table is None:
        raise ValueError("the run was not sampled")
    rows = table["group"] == group
    return np.r_[table["t_start_us"][rows], table["t_end_us"][rows][-1]], table["utilization"][rows]
