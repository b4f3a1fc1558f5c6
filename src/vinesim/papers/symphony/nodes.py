"""How many nodes each scheduler needs: the smallest cluster on which no more than 3 % of the requests miss."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.formats.study_file import read_study
from vinesim.papers.claim import Claim, Kind
from vinesim.papers.criteria import Between, Each
from vinesim.papers.data import Data
from vinesim.papers.item import Item
from vinesim.papers.single import changed
from vinesim.papers.symphony.drawing import MISSED_LABEL
from vinesim.papers.symphony.measures import CALIBRATED, EDF, FCFS, SYMPHONY
from vinesim.papers.symphony.search import Smallest, smallest
from vinesim.studies.expand import expand, scenario_of

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("day.yaml")
TARGET_PCT = 3.0
FEWEST, MOST = 1, 12
LOWEST_SHOWN_PCT = 0.1
FCFS_BATCHED, DEFERRING = "FCFS, consolidating", "Symphony, deferring"
POLICIES: dict[str, dict[str, Any]] = {
    FCFS: {"policy": "fcfs"},
    EDF: {"policy": "edf"},
    FCFS_BATCHED: {"policy": "fcfs", "options.consolidate": "yes"},
    SYMPHONY: {"policy": "symphony"},
    DEFERRING: {"policy": "symphony", "options.defer": "yes"},
}


def search(changes: Mapping[str, Any]) -> dict[str, Smallest]:
    """The smallest cluster of each policy."""
    return {name: smallest(_missed(setting, changes), FEWEST, MOST, TARGET_PCT) for name, setting in POLICIES.items()}


def _missed(setting: Mapping[str, Any], changes: Mapping[str, Any]) -> Any:
    """A function of nodes and replication: percent of requests that miss, mean of the applications."""
    plain = replace(read_study(STUDY), axes=(), until=None)

    def missed(nodes: int, replication: int) -> float:
        study = changed(plain, {**setting, **changes, "datacenter.racks[0].nodes[0].count": nodes})
        (run,) = expand(replace(study, replications=1, seed=(study.seed or 0) + replication))
        return float(simulate(scenario_of(study, run)).summary["applications"]["mean"]["missed_pct"])

    return missed


def _sizes(data: Data) -> dict[str, float]:
    return {name: np.nan if of.size is None else of.size for name, of in data.result("smallest").items()}


def _against(data: Data, names: tuple[str, ...]) -> dict[str, float]:
    """How many times Symphony's nodes the others need."""
    least = _sizes(data)[SYMPHONY]
    return {_words(data, name): size / least for name, size in _sizes(data).items() if name in names}


def _words(data: Data, name: str) -> str:
    found: dict[str, Smallest] = data.result("smallest")
    unsure = "" if found[name].is_certain and found[SYMPHONY].is_certain else ", by means"
    return f"{name}, {found[name].size} nodes against {found[SYMPHONY].size}{unsure}"


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    lines = []
    for name, of in data.result("smallest").items():
        x = np.array(list(of.tried))
        mean, low, high = (
            np.array([getattr(i, part) for i in of.tried.values()]) for part in ("estimate", "low", "high")
        )
        lines.append(Line(name, x, mean, np.maximum(low, mean / 10), high))
    lines.append(Line(f"{TARGET_PCT:g} %", np.array([FEWEST, MOST]), np.array([TARGET_PCT] * 2)))
    x_axis = Axis("nodes", ticks=range(FEWEST, MOST + 1))
    return {
        "symphony-nodes": line_figure(
            [Panel("", lines)],
            x_axis,
            Axis(MISSED_LABEL, "log", limits=(LOWEST_SHOWN_PCT, None), ticks=(0.1, 0.3, 1, 3, 10)),
        )
    }


ITEM = Item(
    id="symphony-nodes",
    paper="symphony",
    title="The smallest cluster for 3 % of missed requests (by search, 40 minutes, 3 to 6 times each)",
    source="abstract; section V-D",
    runs={"smallest": search},
    draw=_draw,
    claims=(
        Claim(
            id="SN.1",
            source="abstract; section V-D",
            statement="For as few misses as Symphony, 3 %, other schedulers need twice as many nodes",
            expected="2 (7 nodes against 3)",
            measure=lambda data: _against(data, (FCFS, EDF)),
            judge=Each(Between(1.5, 2.5)),
            note=CALIBRATED,
        ),
        Claim(
            id="SN.2",
            kind=Kind.FINDING,
            source="not in the paper, which does not say whether FCFS consolidates",
            statement="So does FCFS that consolidates",
            expected="2",
            measure=lambda data: _against(data, (FCFS_BATCHED,)),
            judge=Each(Between(1.5, 2.5)),
            note="nodes are saved by consolidation, in whichever order requests start",
        ),
    ),
)
