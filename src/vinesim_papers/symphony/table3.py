"""Table III: urgency that grows linearly, cubically or exponentially as slack falls, under spikes, on seven nodes."""

from typing import TYPE_CHECKING

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import About, Above, Between, Each, Equal, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim_papers.symphony.drawing import bars
from vinesim_papers.symphony.measures import LOADS, missed

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

CUBIC, LINEAR, EXPONENTIAL = "polynomial", "linear", "exponential"
PRINTED = {  # (width in minutes, height): % with the cubic urgency, with the linear one
    (5, 1.25): (0.02, 0.19),
    (5, 1.5): (0.05, 0.32),
    (5, 2.0): (0.8, 3.31),
    (15, 1.25): (0.02, 0.16),
    (15, 1.5): (0.04, 0.29),
    (15, 2.0): (0.81, 3.16),
}
POWER = (
    "of applications with slack s and load L, s^p L orders as s L^(1/p), so p only tempers the weight of the load; "
    "here, on 7 nodes, hardly a request waits, so every order gives the same. Where requests wait linear is worse, but "
    "less so"
)
WAITING = "where requests wait, by load"
NUMBERS = (
    "rates equal for spikes of 5 and of 15 minutes can only be of the minutes within spikes; ours are of all minutes"
)


def _cell(data: Data, urgency: str, width: int, height: float) -> float:
    return missed(data, "table3", urgency=urgency, width_min=width, height=height)


def _cells(data: Data, urgency: str) -> dict[str, float]:
    return {f"{w} min, {h:g}": _cell(data, urgency, w, h) for w, h in PRINTED}


def _against_cubic(data: Data, urgency: str) -> dict[str, float]:
    cubic, other = _cells(data, CUBIC), _cells(data, urgency)
    return {cell: other[cell] / cubic[cell] for cell in cubic}


def _waiting(data: Data, urgency: str) -> dict[str, float]:
    """The same for the workload of symphony-metric, below capacity."""
    return {
        f"load {load:g}": missed(data, "orders", first=urgency, load=load)
        / missed(data, "orders", first="most urgent", load=load)
        for load in LOADS
    }


def _differences(data: Data, load: str) -> dict[str, float]:
    """By how many points the urgency functions differ from the cubic one, in the run where they differ most."""
    column = "applications.mean.missed_pct"
    cubic = data.values("powers", column, load=load, urgency="cubic")
    others = (LINEAR, "power 7", EXPONENTIAL)
    return {name: float(abs(data.values("powers", column, load=load, urgency=name) - cubic).max()) for name in others}


def _draw(data: Data) -> dict[str, "Figure"]:
    groups = [{"width_min": w, "height": h} for w, h in PRINTED]
    labels = [f"{w} min\n{h:g} x" for w, h in PRINTED]
    return {"symphony-table3": bars(data, "table3", labels, groups, (CUBIC, LINEAR, EXPONENTIAL), column="urgency")}


ITEM = Item(
    id="symphony-table3",
    title="Urgency functions under spikes, 7 nodes (40 minutes, widths a ninth, 3 times)",
    source="section V-B, Table III",
    studies={"table3": "table3.yaml", "during": "during.yaml", "powers": "powers.yaml", "orders": "orders.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="ST3.1",
            source="section V-B, Table III",
            statement="The linear urgency misses 4 to 9 times as many as the cubic one, by width and height of spikes",
            expected=", ".join(f"{linear / cubic:.2g}" for cubic, linear in PRINTED.values()),
            measure=lambda data: _against_cubic(data, LINEAR),
            judge=Each(Between(2, 20)),
            note=POWER,
            other_reading=OtherReading(WAITING, lambda data: _waiting(data, "linear urgency")),
        ),
        Claim(
            id="ST3.2",
            source="section V-B",
            statement="The exponential urgency misses about as many as the cubic one, by width and height of spikes, "
            "and where requests wait by load",
            expected="1",
            measure=lambda data: _against_cubic(data, EXPONENTIAL) | _waiting(data, "exponential urgency"),
            judge=Each(Within(1, 0.25)),
            partly=Each(Between(0.5, 2)),
            note="with the spikes of Table III every order gives the same; where requests wait the exponential urgency "
            "misses up to a quarter fewer, as the load counts less in it",
        ),
        Claim(
            id="ST3.3",
            source="section V-B, Table III",
            statement="Cubic urgency: missed, by width and height of spikes",
            expected=", ".join(f"{cubic:g}" for cubic, _ in PRINTED.values()) + " %",
            measure=lambda data: _cells(data, CUBIC),
            judge=Parts(*(Within(cubic, 0.5) for cubic, _ in PRINTED.values())),
            unit="%",
            note=f"{NUMBERS}; and the floor on 7 nodes is higher here",
            other_reading=OtherReading(
                "while all applications have a spike",
                lambda data: {
                    cell: missed(data, "during", scheduler="Symphony", height=h)
                    for cell, (_, h) in zip((f"{w} min, {h:g}" for w, h in PRINTED), PRINTED, strict=True)
                },
            ),
        ),
        Claim(
            id="ST3.4",
            source="section V-B, Table III",
            statement="Cubic urgency: spikes of height 2 miss about 40 times as many as those of height 1.25",
            expected="40 with 5 minutes, 40.5 with 15",
            measure=lambda data: {
                f"{w} min": _cell(data, CUBIC, w, 2.0) / _cell(data, CUBIC, w, 1.25) for w in (5, 15)
            },
            judge=Each(About(40)),
            partly=Each(Above(2)),
            note=NUMBERS,
        ),
        Claim(
            id="ST3.5",
            kind=Kind.FINDING,
            source="follows from equations 2 to 4",
            statement="Without loads in it linear, cubic, seventh power and exponential urgency miss the same, with "
            "loads not: points of difference to cubic, the most of any run",
            expected="0",
            measure=lambda data: _differences(data, "without load"),
            judge=Each(Equal(0)),
            unit="points",
            other_reading=OtherReading("with loads", lambda data: _differences(data, "with load")),
        ),
    ),
)
