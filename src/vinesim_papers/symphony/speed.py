"""How long Symphony takes on this machine, by nodes and applications: the event loop with its decisions.

Only ratios within one run are reported: a point over 3 nodes with 4 applications, each the minimum of several times.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.model.scenario import Scenario
from vinesim.model.workload import Workload
from vinesim.reproduction.single import scenario

STUDY = Path(__file__).with_name("speed.yaml")
NODES, APPLICATIONS = (3, 7, 12, 16), (4, 9, 14, 18)  # the ranges of Figure 5
DIAGONAL = (3, 5, 7, 9, 12, 14, 16)  # nodes of Figure 6, with one application more
BASE = (3, 4)
REPEATS = 10
CALIBRATED_NODES = 5
NODE_SECONDS = 1500.0  # simulated nodes x time of a run: about 60,000 requests each
PRINTED = 1.22  # 16 nodes with 18 applications
Grid = dict[tuple[int, int], float]


def growth(_changes: Mapping[str, Any]) -> Grid:
    """Return the time per request relative to ``BASE``, by (nodes, applications), at equal load per node; cached."""
    return _measured()


@cache
def _measured() -> Grid:
    places = {(n, a) for n in NODES for a in APPLICATIONS} | {(n, n + 1) for n in DIAGONAL}
    made = {place: _made(*place) for place in sorted(places)}
    simulate(made[BASE])  # compile
    least = dict.fromkeys(made, inf)
    for _ in range(REPEATS):
        for place, one in made.items():
            took = 1e9 * float(simulate(one).provenance["wall_s"]) / one.workload.n_jobs
            least[place] = min(least[place], took)
    return {place: took / least[BASE] for place, took in least.items()}


def _made(n_nodes: int, n_applications: int) -> Scenario:
    """Return the paper's four applications, replicated; the last copy may be incomplete."""
    options = {
        "copies": -(-n_applications // 4),
        "scale": n_nodes / CALIBRATED_NODES / (n_applications / 4),
        "duration_us": 1e6 * NODE_SECONDS / n_nodes,
    }
    settings = {f"workload.options.{name}": value for name, value in options.items()}
    full = scenario(STUDY, {**settings, "policy": "symphony", "datacenter.racks[0].nodes[0].count": n_nodes})
    return replace(
        full, applications=full.applications[:n_applications], workload=_of_first(full.workload, n_applications)
    )


def _of_first(work: Workload, n_applications: int) -> Workload:
    """Return the requests of the first applications; each is one task."""
    assert work.application is not None
    kept = work.application < n_applications
    columns = {field.name: getattr(work, field.name) for field in fields(work) if field.name != "job_first"}
    mine: Any = {n: column[kept] for n, column in columns.items() if isinstance(column, np.ndarray)}
    names = work.application_names[:n_applications]
    return replace(work, **mine, job_first=np.arange(kept.sum() + 1), application_names=names)
