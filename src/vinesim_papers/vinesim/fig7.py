"""Figure 7: job latency against the inter-arrival time, for five speeds of GPU and six shares of GPUs."""

from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import About, Below, Each, Share, Some, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

SHARES = (20, 33, 50, 66, 80, 100)  # % of the 40 units that are GPUs
RATIOS = ("1:1", "2:1", "5:1", "10:1", "15:1")
PRINTED = "as printed"
ALONE = 1e7  # inter-arrival time, us, at which each job runs alone
LATENCY, IAT = "jobs.latency_us.mean", "arrivals.iat"
READING = "GPU 15,000,000, as printed"


def _latency(data: Data, ratio: str, gpus: int, iat_us: float) -> float:
    return data.mean("main", LATENCY, ratio=ratio, gpus=gpus, **{IAT: iat_us})


def _curve(data: Data, ratio: str, gpus: int) -> np.ndarray:
    return data.curve("main", LATENCY, along=IAT, ratio=ratio, gpus=gpus).mean


def _speed(data: Data, ratio: str) -> float:
    """How many times as fast as a 1:1 GPU a GPU is, measured by a job alone on GPUs."""
    return _latency(data, "1:1", 100, ALONE) / _latency(data, ratio, 100, ALONE)


def _quotients(data: Data, of: tuple[str, int], by: tuple[str, int]) -> dict[str, float]:
    """Latency with GPUs of one ratio and share divided by that of another, at every load."""
    names = ["alone" if iat == ALONE else f"{iat:g} us" for iat in np.unique(data.values("main", IAT)).tolist()]
    return dict(zip(names, (_curve(data, *of) / _curve(data, *by)).tolist(), strict=True))


def _gain_of_speed(data: Data, ratio: str) -> dict[str, float]:
    """How many times lower the latency is than with GPUs of 1:1, on GPUs alone."""
    return _quotients(data, ("1:1", 100), (ratio, 100))


def _few_against_many(data: Data) -> dict[str, float]:
    """Latency with 20 % GPUs of a ratio divided by that with 100 % of a lower ratio, for every pair and every load."""
    pairs = [(strong, weak) for i, weak in enumerate(RATIOS) for strong in RATIOS[i + 1 :]]
    return {
        f"{strong} against {weak}, {at}": quotient
        for strong, weak in pairs
        for at, quotient in _quotients(data, (strong, 20), (weak, 100)).items()
    }


def _gain_of_share(data: Data) -> dict[str, float]:
    """How many times lower the latency is with 100 % GPUs than with 20 %, for GPUs of every ratio."""
    return {
        f"{ratio} {at}": times for ratio in RATIOS for at, times in _quotients(data, (ratio, 20), (ratio, 100)).items()
    }


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


EQUIVALENT = Within(1, 0.25)
ONLY_UNDER_LOAD = (
    "Alike as long as units are short, where only the sum of the speeds counts. From about 1 ms between jobs on, few "
    "strong GPUs leave tasks to CPUs, on which a job then waits, and take twice as long."
)

ITEM = Item(
    id="fig7",
    title="Job latency for five speeds of GPU and six shares of GPUs",
    source="section 7.4, Figure 7",
    studies={"main": "fig7.yaml"},
    draw=_draw,
    claims=(
        Claim(
            id="F7.1",
            kind=Kind.GIVEN,
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
            note="Only at medium load, where the slow GPUs are overloaded and the fast ones are not: there the factor "
            "grows with the length of the experiment. With all jobs at once, and for a job alone, it is 15.",
            other_reading=OtherReading(READING, lambda data: _gain_of_speed(data, PRINTED)),
        ),
        Claim(
            id="F7.3",
            source="section 7.4, Fig. 7(a) and (f)",
            statement="Five times as many GPUs give about ten times lower latency",
            expected="about 10, for each ratio and load",
            measure=_gain_of_share,
            judge=Each(About(10)),
            partly=Share(0.5, About(10)),
            note="So for GPUs of 5:1 and more, but where only 20 % of them are overloaded; weaker ones gain less, up "
            "to the 1.4 of 1:1.",
        ),
        Claim(
            id="F7.5",
            source="section 7.4, Fig. 7(b) and (f)",
            statement="33 % GPUs of 15:1 are as good as 100 % GPUs of 5:1",
            expected="latency ratio about 1",
            measure=lambda data: _quotients(data, ("15:1", 33), ("5:1", 100)),
            judge=Each(EQUIVALENT),
            partly=Share(0.5, EQUIVALENT),
            note=ONLY_UNDER_LOAD,
            other_reading=OtherReading(READING, lambda data: _quotients(data, (PRINTED, 33), ("5:1", 100))),
        ),
        Claim(
            id="F7.6",
            source="section 7.4, Fig. 7(a) and (d)",
            statement="20 % GPUs of 15:1 are as good as 66 % GPUs of 5:1",
            expected="latency ratio about 1",
            measure=lambda data: _quotients(data, ("15:1", 20), ("5:1", 66)),
            judge=Each(EQUIVALENT),
            partly=Share(0.5, EQUIVALENT),
            note=ONLY_UNDER_LOAD,
            other_reading=OtherReading(READING, lambda data: _quotients(data, (PRINTED, 20), ("5:1", 66))),
        ),
        Claim(
            id="G2",
            source="section 7.3 (first version)",
            statement="Often a few powerful GPUs outperform many less powerful ones",
            expected="latency with 20 % of strong GPUs over that with 100 % of weaker ones often below 1",
            measure=_few_against_many,
            judge=Share(0.25, Below(1)),
            note="Often: in a quarter of all comparisons of two ratios at a load. It takes GPUs that are five times as "
            "strong, and load: where a job runs alone, its slowest task, on a CPU, counts.",
        ),
    ),
)
