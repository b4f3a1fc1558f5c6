"""Which part of Symphony makes the difference: consolidation, deferral, or both. The paper does not say."""

from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Below, Between, Each, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.drawing import bars
from vinesim_papers.symphony.measures import FCFS, NODES, SYMPHONY, fewer, times

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

NEITHER, DEFERRAL, BOTH = "Symphony, neither", "Symphony, deferral alone", "Symphony, both"
CONSOLIDATING = "FCFS, consolidating"
SHORT = {NEITHER: "neither", DEFERRAL: "deferral only", BOTH: "Symphony, deferring"}
ON_CONSOLIDATION = (
    "the paper's FCFS and EDF start requests one by one: what is compared there is with consolidation and without"
)


def _times(data: Data, less: str, more: str) -> dict[str, float]:
    return {
        f"{n} nodes": times(data, "clusters", {"nodes": n, "scheduler": less}, {"nodes": n, "scheduler": more})
        for n in NODES
    }


def _points(data: Data, less: str, more: str) -> dict[str, float]:
    """Lower ends of the 95 % confidence intervals of the difference."""
    return {
        f"{n} nodes": fewer(data, "clusters", {"nodes": n, "scheduler": less}, {"nodes": n, "scheduler": more}).low
        for n in NODES
    }


def _most_points(data: Data, less: str, more: str) -> dict[str, float]:
    """Upper ends of the same intervals."""
    return {
        f"{n} nodes": fewer(data, "clusters", {"nodes": n, "scheduler": less}, {"nodes": n, "scheduler": more}).high
        for n in NODES
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    series = (FCFS, NEITHER, DEFERRAL, CONSOLIDATING, SYMPHONY, BOTH)
    groups = [{"nodes": n} for n in NODES]
    return {
        "symphony-ablation": bars(data, "clusters", [f"{n} nodes" for n in NODES], groups, series, "log", labels=SHORT)
    }


ITEM = Item(
    id="symphony-ablation",
    title="Consolidation and deferral, each alone, none and both (40 minutes, 12 times)",
    source="sections I, IV-A and V; not an experiment of the paper",
    studies={"clusters": "clusters.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="SA.1",
            kind=Kind.FINDING,
            source="section I",
            statement="Awareness of load, deadlines and heterogeneity gains nothing on its own here: what FCFS "
            "misses, divided by what Symphony without consolidation misses",
            expected="1",
            measure=lambda data: _times(data, NEITHER, FCFS),
            judge=Each(Within(1, 0.1)),
            note=ON_CONSOLIDATION,
        ),
        Claim(
            id="SA.2",
            kind=Kind.FINDING,
            source="section I",
            statement="FCFS with consolidation misses no more than Symphony: upper limit of the difference with 95 % "
            "confidence",
            expected="as good as none",
            measure=lambda data: _most_points(data, SYMPHONY, CONSOLIDATING),
            judge=Each(Below(0.1)),
            unit="points",
            note=ON_CONSOLIDATION,
        ),
        Claim(
            id="SA.3",
            kind=Kind.FINDING,
            source="section III-A",
            statement="Consolidation makes Symphony miss fewer: lower limit of the difference with 95 % confidence",
            expected="above 0",
            measure=lambda data: _points(data, SYMPHONY, NEITHER),
            judge=Each(Above(0)),
            unit="points",
        ),
        Claim(
            id="SA.4",
            kind=Kind.FINDING,
            source="section I",
            statement="Requests could be deferred (Algorithm 1 never does): without consolidation, this many times"
            " fewer miss",
            expected="2 to 20 times fewer",
            measure=lambda data: _times(data, DEFERRAL, NEITHER),
            judge=Each(Between(2, 20)),
        ),
        Claim(
            id="SA.5",
            kind=Kind.FINDING,
            source="section I",
            statement="Deferral adds to consolidation: lower limit of the difference with 95 % confidence",
            expected="above 0",
            measure=lambda data: _points(data, BOTH, SYMPHONY),
            judge=Each(Above(0)),
            unit="points",
        ),
    ),
)
