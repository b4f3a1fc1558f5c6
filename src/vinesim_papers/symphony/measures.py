"""The measurements of the claims about Symphony: the percentage of requests that miss their deadline."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.reproduction.data import Data
from vinesim.studies.statistics import Interval, mean_interval

FCFS, EDF, SYMPHONY = "FCFS", "EDF", "Symphony"
SCHEDULERS = (FCFS, EDF, SYMPHONY)
APPLICATIONS = ("SEARCH", "VIDEO", "SQL", "OPTION")
MISSED = "applications.mean.missed_pct"  # the mean of the four applications' percentages
NODES = (3, 5, 7)
LOADS = (0.6, 0.7, 0.8, 0.9)  # in the study of orders, where the units suffice
CALIBRATED = (
    "service times, consolidation limits and bursts are assumptions, chosen so that FCFS and Symphony come near the "
    "means of Table IV at 3 and 7 nodes"
)


def missed(data: Data, study: str, **where: Any) -> float:
    """Return the mean of the four applications' percentages, over the replications."""
    return data.mean(study, MISSED, **where)


def by_scheduler(data: Data, study: str, **where: Any) -> dict[str, float]:
    """Return :func:`missed` for each scheduler."""
    return {name: missed(data, study, scheduler=name, **where) for name in SCHEDULERS}


def by_application(data: Data, study: str, **where: Any) -> dict[str, float]:
    """Return the percentage of each application."""
    return {name: data.mean(study, f"applications.{name}.missed_pct", **where) for name in APPLICATIONS}


def order(found: Mapping[str, float]) -> str:
    """Return the names from largest to smallest."""
    return " > ".join(sorted(found, key=found.__getitem__, reverse=True))


def interval(data: Data, study: str, **where: Any) -> Interval:
    """Return :func:`missed` with its 95 % confidence interval."""
    return mean_interval(data.values(study, MISSED, **where))


def fewer(data: Data, study: str, less: Mapping[str, Any], more: Mapping[str, Any]) -> Interval:
    """By how many points fewer ``less`` misses than ``more``, from the differences within each replication, in which
    both get the same requests."""
    return mean_interval(data.values(study, MISSED, **more) - data.values(study, MISSED, **less))


def times(data: Data, study: str, less: Mapping[str, Any], more: Mapping[str, Any]) -> float:
    """How many times as many requests ``more`` misses as ``less``; infinite if ``less`` misses none."""
    few, many = missed(data, study, **less), missed(data, study, **more)
    return many / few if few > 0 else float(np.where(many > 0, np.inf, np.nan))
