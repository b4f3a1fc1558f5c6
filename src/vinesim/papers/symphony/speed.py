"""How long Symphony takes on this machine, by nodes and applications: the event loop with its decisions."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vinesim.engine.simulate import simulate
from vinesim.papers.single import scenario

STUDY = Path(__file__).with_name("speed.yaml")
NODES, APPLICATIONS = (3, 7, 11, 15, 19), (4, 8, 12, 16, 20)  # the diagonal: m nodes, m + 1 applications
REPEATS = 3
CALIBRATED_NODES = 5
NODE_SECONDS = 1500.0  # simulated nodes x time of a run: about 100,000 events each
Grid = dict[tuple[int, int], float]


def event_ns(_changes: Mapping[str, Any]) -> Grid:
    """ns an event, the least of some runs, by (nodes, applications), at the same load a node; once a process."""
    return _measured()


@cache
def _measured() -> Grid:
    simulate(_made(3, 4))  # compile
    return {(n, a): _event_ns(n, a) for n in NODES for a in APPLICATIONS}


def _made(n_nodes: int, n_applications: int) -> Any:
    copies = n_applications // 4
    options = {
        "copies": copies,
        "scale": n_nodes / CALIBRATED_NODES / copies,
        "duration_us": 1e6 * NODE_SECONDS / n_nodes,
    }
    settings = {f"workload.options.{name}": value for name, value in options.items()}
    return scenario(STUDY, {**settings, "policy": "symphony", "datacenter.racks[0].nodes[0].count": n_nodes})


def _event_ns(n_nodes: int, n_applications: int) -> float:
    made = _made(n_nodes, n_applications)
    found = []
    for _ in range(REPEATS):
        provenance = simulate(made).provenance
        found.append(1e9 * provenance["wall_s"] / provenance["events"])
    return float(min(found))


def normalized(found: Grid) -> Grid:
    """Over that of 3 nodes and 4 applications."""
    return {place: ns / found[3, 4] for place, ns in found.items()}
