"""A day of requests on five nodes: load and missed requests over time, one run per scheduler."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.reproduction.single import run
from vinesim_papers.symphony.measures import APPLICATIONS

STUDY = Path(__file__).with_name("day.yaml")
WINDOWS = 24
SHORTENED = 9  # the 24 hours, and their spikes, are this many times shorter here
POLICY = {"FCFS": "fcfs", "EDF": "edf", "Symphony": "symphony"}


@dataclass(frozen=True)
class Day:
    """Requests and missed requests of each application in each window, both [applications, WINDOWS]."""

    requests: np.ndarray
    missed: np.ndarray

    @property
    def missed_pct(self) -> np.ndarray:
        """Percent of a window's requests that missed, [applications, WINDOWS]; NaN without requests."""
        with np.errstate(invalid="ignore"):
            return 100.0 * self.missed / self.requests

    def highest(self) -> tuple[float, str]:
        """The highest percentage in a window, and its application."""
        percent = np.nan_to_num(self.missed_pct)
        return float(percent.max()), APPLICATIONS[int(percent.max(axis=1).argmax())]


def day(scheduler: str, changes: Mapping[str, Any]) -> Day:
    """Simulate the day of a scheduler; requests count in the window of their arrival."""
    options = {"workload.options.duration_us": "160 min", "workload.options.spikes": 8}
    setting = {**options, "datacenter.racks[0].nodes[0].count": 5, "policy": POLICY[scheduler]}
    jobs = run(STUDY, setting, changes).jobs
    length = 160 * 60e6 / WINDOWS
    window = np.minimum((jobs["arrival_us"] // length).astype(int), WINDOWS - 1)
    code = jobs["application"].astype(int) * WINDOWS + window
    late = ~(jobs["finish_us"] <= jobs["deadline_us"])
    shape = (len(APPLICATIONS), WINDOWS)
    count = np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)
    return Day(count, np.bincount(code[late], minlength=shape[0] * shape[1]).reshape(shape))
