"""Figure 12: utilisation against the inter-arrival time, with the runs of Figure 11."""

from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Below, Each
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.vinesim.fig11 import FLAT, GPUS_KEEP_UP_US, HIGH

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

GROUPS = {
    "all units": "utilization.overall",
    "CPUs": "utilization.by_type.CPU_INTEL",
    "GPUs": "utilization.by_type.GPU",
}


def _ratio(data: Data, group: str) -> dict[str, float]:
    """FLAT's utilisation divided by HIGH's, at every load but the highest."""
    found = {}
    for iat in (iat for iat in data.labels("main", "arrivals.iat") if iat >= GPUS_KEEP_UP_US):
        flat, high = (
            data.mean("main", GROUPS[group], scheduler=name, **{"arrivals.iat": iat}) for name in (FLAT, HIGH)
        )
        found[f"{iat:g} us"] = flat / high
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    panels = []
    for title, column in GROUPS.items():
        lines = []
        for name in (HIGH, FLAT):
            curve = data.curve("main", column, along="arrivals.iat", scheduler=name)
            lines.append(Line(name, curve.x, 100 * curve.mean, 100 * curve.low, 100 * curve.high))
        panels.append(Panel(title, lines))
    x, y = Axis("inter-arrival time, us", "log0"), Axis("utilisation, %", limits=(-3, 103))
    return {"fig12": line_figure(panels, x, y, columns=3)}


ITEM = Item(
    id="fig12",
    title="Utilisation against the inter-arrival time: best-available and oblivious scheduling",
    source="section 8.5, Figure 12",
    studies={"main": "fig11.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="F12.1",
            source="section 8.5, Fig. 12",
            statement="FLAT's utilisation is well below that of HIGH except where all jobs come at once",
            expected="FLAT / HIGH well below 1, from 6.25 us on",
            measure=lambda data: _ratio(data, "all units"),
            judge=Each(Below(0.9)),
            note="the words are swapped: FLAT keeps slow CPUs busy, so it uses more, and the paper's conclusion, that "
            "the better scheduler saves cost, needs just that; only its GPUs are used less",
        ),
    ),
)
