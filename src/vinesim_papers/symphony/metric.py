"""Symphony's priority metric compared with other orders: most relaxed first, random, by arrival, by deadline."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.policies.symphony.policy import Symphony
from vinesim.policies.symphony.urgency import urgency
from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Above, Below, Between, Each
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim.state.scratch import plain_options
from vinesim.studies.statistics import Interval
from vinesim_papers.symphony.drawing import MISSED_LABEL
from vinesim_papers.symphony.measures import APPLICATIONS, EDF, FCFS, LOADS, MISSED, NODES, SYMPHONY, fewer, missed

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

URGENT, RELAXED, RANDOM = "most urgent", "most relaxed", "random"
LINEAR, EXPONENTIAL, NO_LOAD = "linear urgency", "exponential urgency", "urgency without load"
OVERLOAD = 1.1
SPIKE = 1.5  # the highest of the paper's spikes, times the normal load
STUDY = Path(__file__).with_name("day.yaml")
WEIGHTS = LITERAL, FIXED = ("literal", "fixed")  # of the load in the urgency
UNTESTED = (
    "so Table IV does not test the priority metric: while CPUs have room nothing waits, and what waits for a moment is "
    "consolidated; what it shows is consolidation, and how the times were chosen"
)
CONTROLS = (
    "all units are alike and nothing is consolidated, so schedulers differ in the order alone: two tight and two "
    "relaxed applications, of each kind one with much load and one with little, all with the same requests"
)
OF_CLUSTERS = {RELAXED: "Symphony, most relaxed first", RANDOM: "Symphony, random order"}


def raised(weight: str, changes: Mapping[str, Any]) -> dict[str, float]:
    """Return, for each application, the percent of its decisions at which its urgency would be higher in a spike, that
    is with SPIKE times as many pending; 3 nodes, ``weight`` as in the option ``load``."""
    setting = {"policy": "symphony", "options.load": weight, "datacenter.racks[0].nodes[0].count": 3}
    jobs = run(STUDY, setting, changes).jobs
    options = plain_options(Symphony(load=weight).values_of_options())  # type: ignore[arg-type]
    slack = jobs["deadline_us"] - jobs["finish_us"]  # at the start, with the true time instead of the estimate
    share = {}
    for code, name in enumerate(APPLICATIONS):
        mine = slack[jobs["application"] == code].tolist()
        higher = [_urgency(s, SPIKE, options) > _urgency(s, 1.0, options) for s in mine]
        share[name] = 100.0 * float(np.mean(higher))
    return share


def _urgency(slack: float, load: float, options: Any) -> float:
    return urgency(slack, load, options.urgency, options.power, options.load, options.slack_unit_us)


def _points(data: Data, other: str, load: float) -> Interval:
    """How many points more another order misses than the most urgent first: 95 % confidence, paired by seeds."""
    return fewer(data, "orders", {"first": URGENT, "load": load}, {"first": other, "load": load})


def _more(data: Data, others: tuple[str, ...]) -> dict[str, float]:
    """Lower ends of these intervals."""
    return {f"{other}, {load:g}": _points(data, other, load).low for other in others for load in LOADS}


def _at_most(data: Data, other: str) -> dict[str, float]:
    """Upper ends, by load."""
    return {f"{load:g}": _points(data, other, load).high for load in LOADS}


def _ends(data: Data, other: str, load: float) -> dict[str, float]:
    """Both ends."""
    found = _points(data, other, load)
    return {f"{other}, from": found.low, f"{other}, to": found.high}


def _times(data: Data, other: str) -> dict[str, float]:
    """How many times as many requests another order misses, by load."""
    return {
        f"{load:g}": missed(data, "orders", first=other, load=load) / missed(data, "orders", first=URGENT, load=load)
        for load in LOADS
    }


def _in_table4(data: Data) -> dict[str, float]:
    """Both ends of the interval of the additional points that other orders miss in the set-up of Table IV."""
    found: dict[str, float] = {}
    for other, scheduler in OF_CLUSTERS.items():
        for n in NODES:
            points = fewer(data, "clusters", {"nodes": n, "scheduler": SYMPHONY}, {"nodes": n, "scheduler": scheduler})
            found |= {f"{other}, {n} nodes, from": points.low, f"{other}, {n} nodes, to": points.high}
    return found


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    def lines(names: tuple[str, ...]) -> list[Line]:
        drawn = []
        for name in names:
            curve = data.curve("orders", MISSED, along="load", first=name)
            drawn.append(Line(name, curve.x, curve.mean, np.maximum(curve.low, curve.mean / 10), curve.high))
        return drawn

    panels = [
        Panel("orders", lines((URGENT, RELAXED, RANDOM, FCFS, EDF))),
        Panel("forms of the urgency", lines((URGENT, LINEAR, EXPONENTIAL, NO_LOAD))),
    ]
    x = Axis("load, share of what the units can do", ticks=(*LOADS, OVERLOAD))
    return {"symphony-metric": line_figure(panels, x, Axis(MISSED_LABEL, "log"), columns=2)}


ITEM = Item(
    id="symphony-metric",
    title="Whether the priority metric matters: other orders as controls (10 minutes, 10 times)",
    source="section IV-A4; not an experiment of the paper",
    studies={"orders": "orders.yaml", "clusters": "clusters.yaml"},
    runs={weight: partial(raised, weight) for weight in WEIGHTS},
    draw=_draw,
    claims=(
        Claim(
            id="SM.1",
            kind=Kind.FINDING,
            source="section V-D, Table IV",
            statement="In the set-up of Table IV the order does not matter: with the most relaxed application first, "
            "or a random one, no more miss: differences in points (95 % confidence intervals)",
            expected="as good as none",
            measure=_in_table4,
            judge=Each(Between(-0.1, 0.1)),
            unit="points",
            note=UNTESTED,
        ),
        Claim(
            id="SM.2",
            kind=Kind.FINDING,
            source="section IV-A4",
            statement="Where requests wait and the units suffice, it does: most relaxed first, random and FCFS miss "
            "more: lower limit of the difference with 95 % confidence",
            expected="above 0 at loads of 0.6 to 0.9",
            measure=lambda data: _more(data, (RELAXED, RANDOM, FCFS)),
            judge=Each(Above(0)),
            unit="points",
            note=CONTROLS,
        ),
        Claim(
            id="SM.3",
            kind=Kind.FINDING,
            source="section IV-A4",
            statement="With the most relaxed application first many more miss: ratio",
            expected="5 to 15",
            measure=lambda data: _times(data, RELAXED),
            judge=Each(Between(5, 15)),
        ),
        Claim(
            id="SM.4",
            kind=Kind.FINDING,
            source="section IV-A4",
            statement="EDF misses even fewer: upper limit of the difference from Symphony with 95 % confidence",
            expected="below 0 at loads of 0.6 to 0.9",
            measure=lambda data: _at_most(data, EDF),
            judge=Each(Below(0)),
            unit="points",
            note="a request's slack is the time to its deadline less its own time, which all have here alike; what is "
            "left of the metric is the load, and that misleads it",
        ),
        Claim(
            id="SM.5",
            kind=Kind.FINDING,
            source="section IV-A4, equation 4",
            statement="The load in the urgency is the cause: ratio of what misses without it to what misses with it",
            expected="0.7 to 0.9",
            measure=lambda data: _times(data, NO_LOAD),
            judge=Each(Between(0.7, 0.9)),
            note="with slack left U x L falls as the load rises; what comes late is the application of few requests, "
            "whose L of one pending request is large",
        ),
        Claim(
            id="SM.6",
            kind=Kind.FINDING,
            source="section V-B",
            statement="Linear urgency misses more than cubic where requests wait, as Table III says, though not four "
            "to nine times as many",
            expected="1.3 to 2 times",
            measure=lambda data: _times(data, LINEAR),
            judge=Each(Between(1.3, 2)),
            note="-s^p L orders as -s L^(1/p): the higher the power, the less the load counts, so the less it misleads",
        ),
        Claim(
            id="SM.7",
            kind=Kind.FINDING,
            source="section IV-A4",
            statement="Under overload it is the other way round: most relaxed first and random miss fewer "
            "than most urgent first: differences in points (95 % confidence intervals)",
            expected="below 0 at a load of 1.1",
            measure=lambda data: _ends(data, RELAXED, OVERLOAD) | _ends(data, RANDOM, OVERLOAD),
            judge=Each(Below(0)),
            unit="points",
            note="as with EDF, what comes first then is what is late already, so that nearly all come late",
        ),
        Claim(
            id="SM.8",
            source="section IV-A4",
            statement="If an application experiences a load spike, its urgency sharply increases: percent of the "
            f"requests started at which it would be higher with {SPIKE:g} times as many pending",
            expected="all",
            measure=lambda data: data.result(LITERAL),
            judge=Each(Above(99)),
            unit="%",
            note="false while slack is positive, by equations 2 to 4: U is negative then, and a larger load makes it "
            "more so. It holds only for requests that are late already",
            other_reading=OtherReading(
                "U / L while slack is positive, the option load: fixed", lambda data: data.result(FIXED)
            ),
        ),
    ),
)
