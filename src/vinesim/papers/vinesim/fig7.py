"""Figure 7: job latency against the inter-arrival time, for five speeds of GPU and six shares of GPUs."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.papers.claim import Claim, OtherReading
from vinesim.papers.criteria import About, Each, Parts, Some, Within
from vinesim.papers.data import Data
from vinesim.papers.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SHARES = (20, 33, 50, 66, 80, 100)  # % of the 40 units that are GPUs
RATIOS = ("1:1", "2:1", "5:1", "10:1", "15:1")
PRINTED = "as printed"
AT_ONCE, ALONE = 0, 1e7  # inter-arrival times, us: all jobs at once, each job alone
LATENCY, IAT = "jobs.latency_us.mean", "arrivals.iat"
READING = "GPU 15,000,000, as printed"


def _latency(data: Data, ratio: str, gpus: int, iat_us: float) -> float:
    return data.mean("main", LATENCY, ratio=ratio, gpus=gpus, **{IAT: iat_us})


def _curve(data: Data, ratio: str, gpus: int) -> np.ndarray:
    return data.curve("main", LATENCY, along=IAT, ratio=ratio, gpus=gpus).mean


def _speed(data: Data, ratio: str) -> float:
    """How many times as fast as a 1:1 GPU a GPU is, from a job alone on GPUs."""
    return _latency(data, "1:1", 100, ALONE) / _latency(data, ratio, 100, ALONE)


def _gain_of_speed(data: Data, ratio: str) -> dict[str, float]:
    """How many times lower the latency is than with GPUs of 1:1, on GPUs alone."""
    gain = _curve(data, "1:1", 100) / _curve(data, ratio, 100)
    return {"all at once": float(gain[0]), "alone": float(gain[-1]), "at most": float(gain.max())}


def _gain_of_share(data: Data) -> dict[str, float]:
    """How many times lower the latency is with 100 % GPUs than with 20 %, at low load."""
    return {
        f"{ratio} {at}": _latency(data, ratio, 20, iat) / _latency(data, ratio, 100, iat)
        for ratio in ("10:1", "15:1")
        for at, iat in {"IAT 1 ms": 1000, "alone": ALONE}.items()
    }


def _few_against_many(data: Data, few: tuple[str, int], many: tuple[str, int]) -> dict[str, float]:
    """Latency with few strong GPUs over that with many weaker ones."""
    places = {"all at once": AT_ONCE, "IAT 0.1 ms": 100, "alone": ALONE}
    return {at: _latency(data, *few, iat) / _latency(data, *many, iat) for at, iat in places.items()}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    panels = []
    for letter, gpus in zip("abcdef", SHARES, strict=True):
        lines = []
        for ratio in RATIOS:
            curve = data.curve("main", LATENCY, along=IAT, ratio=ratio, gpus=gpus)
            plotted = slice(0, -1)
            parts = (part[plotted] for part in (curve.x, curve.mean, curve.low, curve.high))
            lines.append(Line(f"GPU : CPU = {ratio}", *parts))
        panels.append(Panel(f"({letter}) {gpus} % GPUs", lines))
    return {"fig7": line_figure(panels, Axis("inter-arrival time, us", "log0"), Axis("mean job latency, us", "log"))}


EQUIVALENT = Parts(Within(1, 0.15), Within(1, 0.15), About(1))  # alike under load, one order of magnitude alone

ITEM = Item(
    id="fig7",
    paper="vinesim",
    title="Job latency for five speeds of GPU and six shares of GPUs",
    source="section 7.4, Figure 7",
    studies={"main": "fig7.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="F7.1",
            source="section 7.4",
            statement="A GPU of 15,000,000 operations per us is 15 times as fast as a CPU of 100,000",
            expected="15",
            measure=lambda data: _speed(data, PRINTED),
            judge=Within(15, 0.01),
            note="A zero too many: it is 150 times. 1,500,000 gives 15, and only with it do F7.5 and F7.6 hold.",
            other_reading=OtherReading("GPU 1,500,000", lambda data: _speed(data, "15:1")),
        ),
        Claim(
            id="F7.2",
            source="section 7.4, Fig. 7(f)",
            statement="On GPUs alone, GPUs 15 times as fast give about 1000 times lower latency",
            expected="about 1000",
            measure=lambda data: _gain_of_speed(data, "15:1"),
            judge=Each(About(1000)),
            partly=Some(About(1000)),
            note="Only at medium load, where the slow GPUs are overloaded and the fast ones are not. With all jobs at "
            "once, and for a job alone, the gain is 15.",
            other_reading=OtherReading(READING, lambda data: _gain_of_speed(data, PRINTED)),
        ),
        Claim(
            id="F7.3",
            source="section 7.4, Fig. 7(a) and (f)",
            statement="Low load: five times as many GPUs give about ten times lower latency",
            expected="about 10",
            measure=_gain_of_share,
            judge=Each(About(10)),
        ),
        Claim(
            id="F7.5",
            source="section 7.4, Fig. 7(b) and (f)",
            statement="33 % GPUs of 15:1 are as good as 100 % GPUs of 5:1",
            expected="latency ratio about 1",
            measure=lambda data: _few_against_many(data, ("15:1", 33), ("5:1", 100)),
            judge=EQUIVALENT,
            other_reading=OtherReading(READING, lambda data: _few_against_many(data, (PRINTED, 33), ("5:1", 100))),
        ),
        Claim(
            id="F7.6",
            source="section 7.4, Fig. 7(a) and (d)",
            statement="20 % GPUs of 15:1 are as good as 66 % GPUs of 5:1",
            expected="latency ratio about 1",
            measure=lambda data: _few_against_many(data, ("15:1", 20), ("5:1", 66)),
            judge=EQUIVALENT,
            other_reading=OtherReading(READING, lambda data: _few_against_many(data, (PRINTED, 20), ("5:1", 66))),
        ),
    ),
)
