"""Figure 5: job latency against the inter-arrival time, for three task types and six shares of GPUs."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.model.result import Table
from vinesim.papers.claim import Claim, Kind
from vinesim.papers.criteria import About, Above, Below, Between, Each, Equal, Parts, Some, Within
from vinesim.papers.data import Data
from vinesim.papers.item import Changes, Item
from vinesim.papers.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig5.yaml")
INT, BAD, GOOD = "INT", "FP_BAD", "FP_GOOD"
SHARES = (0, 20, 33, 66, 80, 100)  # % of the 40 units that are GPUs
AT_ONCE, ALONE = 0, 1e7  # inter-arrival times, us: all jobs at once, each job alone
LATENCY, TYPE, IAT = "jobs.latency_us.mean", "workload.options.task_type", "arrivals.iat"


def _latency(data: Data, task_type: str, gpus: int, iat_us: float) -> float:
    return data.mean("main", LATENCY, gpus=gpus, **{TYPE: task_type, IAT: iat_us})


def _curve(data: Data, task_type: str, gpus: int) -> np.ndarray:
    return data.curve("main", LATENCY, along=IAT, gpus=gpus, **{TYPE: task_type}).mean


def _gain(data: Data, task_type: str, gpus: int, iat_us: float) -> float:
    """How many times lower the latency is with this share of GPUs than without."""
    return _latency(data, task_type, 0, iat_us) / _latency(data, task_type, gpus, iat_us)


def _slower_than_int(data: Data) -> dict[str, float]:
    ratios = _curve(data, BAD, 0) / _curve(data, INT, 0)
    return {"all at once": ratios[0], "alone": ratios[-1], "least between": ratios.min()}


def _gain_at_20(data: Data) -> dict[str, float]:
    places = {"alone": ALONE, "IAT 1 ms": 1000, "0.3 ms": 300}
    return {f"{t} {at}": _gain(data, t, 20, iat) for at, iat in places.items() for t in (INT, GOOD)}


def _loss_at_20(data: Data) -> dict[str, float]:
    places = {"all at once": AT_ONCE, "IAT 1 ms": 1000, "alone": ALONE}
    return {at: 1 / _gain(data, BAD, 20, iat) for at, iat in places.items()}


def _peak_gain(data: Data, task_type: str) -> float:
    return float((_curve(data, task_type, 0) / _curve(data, task_type, 100)).max())


def _loss_at_100(data: Data) -> dict[str, float]:
    places = {"all at once": AT_ONCE, "IAT 0.3 ms": 300, "1 ms": 1000, "10 ms": 10_000, "alone": ALONE}
    return {at: 1 / _gain(data, BAD, 100, iat) for at, iat in places.items()}


def _effect_of_load(data: Data) -> dict[str, float]:
    """Latency with all jobs at once over that at IAT 1 ms, on GPUs alone."""
    return {t: _latency(data, t, 100, AT_ONCE) / _latency(data, t, 100, 1000) for t in (BAD, INT)}


def _jobs(changes: Changes) -> Table:
    return run(STUDY, changes).jobs


def _sizes(data: Data) -> dict[str, float]:
    tasks = data.result("jobs")["tasks"]
    return {"tasks per job": float(tasks.mean()), "jobs of up to 20 tasks, %": float(100 * (tasks <= 20).mean())}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    panels = []
    for letter, gpus in zip("abcdef", SHARES, strict=True):
        lines = []
        for task_type in (INT, BAD, GOOD):
            curve = data.curve("main", LATENCY, along=IAT, gpus=gpus, **{TYPE: task_type})
            plotted = slice(0, -1)
            lines.append(Line(task_type, *(part[plotted] for part in (curve.x, curve.mean, curve.low, curve.high))))
        panels.append(Panel(f"({letter}) {gpus} % GPUs", lines))
    return {"fig5": line_figure(panels, Axis("inter-arrival time, us", "log0"), Axis("mean job latency, us", "log"))}


ITEM = Item(
    id="fig5",
    paper="vinesim",
    title="Job latency for three task types and six shares of GPUs",
    source="section 7.2, Figure 5",
    studies={"main": STUDY.name},
    runs={"jobs": _jobs},
    draw=_draw,
    claims=(
        Claim(
            id="F5.1",
            source="section 7.2, Fig. 5(a)",
            statement="Without GPUs the FP-BAD and FP-GOOD jobs have the same latency",
            expected="0 % apart at every inter-arrival time",
            measure=lambda data: float(100 * np.abs(_curve(data, BAD, 0) / _curve(data, GOOD, 0) - 1).max()),
            judge=Equal(0),
            unit="%",
        ),
        Claim(
            id="F5.2",
            source="section 7.2, Fig. 5(a)",
            statement="Without GPUs an FP task runs at 0.6 of the speed of an INT task, and job latency shows it",
            expected="FP latency 1/0.6 = 1.667 times INT latency",
            measure=_slower_than_int,
            judge=Parts(Within(1 / 0.6, 0.01), Within(1 / 0.6, 0.01), Above(1)),
        ),
        Claim(
            id="F5.3",
            source="section 7.2, Fig. 5(b)",
            statement="20 % GPUs make INT and FP-GOOD jobs about ten times faster at low load",
            expected="about 10",
            measure=_gain_at_20,
            judge=Each(About(10)),
            partly=Some(About(10)),
            note="Tenfold at inter-arrival times of about 0.3 to 1 ms, where a deployment of CPUs alone is overloaded. "
            "A job that runs alone gains about twofold: its slowest task is on a CPU.",
        ),
        Claim(
            id="F5.4",
            source="section 7.2, Fig. 5(b)",
            statement="20 % GPUs make FP-BAD jobs only a little slower",
            expected="a little above 1",
            measure=_loss_at_20,
            judge=Each(Between(1.01, 2)),
        ),
        Claim(
            id="F5.5",
            source="section 7.2, Fig. 5(a) to (f)",
            statement="High load: GPUs alone are about ten times as fast as CPUs alone, but not for FP-BAD jobs",
            expected="about 10",
            measure=lambda data: {t: _gain(data, t, 100, AT_ONCE) for t in (INT, GOOD, BAD)},
            judge=Parts(About(10), About(10), Below(1)),
        ),
        Claim(
            id="F5.6",
            source="section 7.2, Fig. 5(a) and (f)",
            statement="Low load: GPUs alone are about 1000 times as fast as CPUs alone for INT and FP-GOOD jobs",
            expected="about 1000",
            measure=lambda data: (
                {f"{t} alone": _gain(data, t, 100, ALONE) for t in (INT, GOOD)}
                | {f"{t} at most": _peak_gain(data, t) for t in (INT, GOOD)}
            ),
            judge=Each(About(1000)),
            partly=Some(About(1000)),
            note="Only at inter-arrival times of about 0.1 to 0.6 ms, where CPUs alone are overloaded and GPUs alone "
            "are not. A job that runs alone gains 12-fold (INT) and 20-fold (FP-GOOD), the ratio of the affinities.",
        ),
        Claim(
            id="F5.7",
            source="section 7.2, Fig. 5(a) and (f)",
            statement="FP-BAD jobs are about ten times slower on GPUs alone than on CPUs alone",
            expected="about 10",
            measure=_loss_at_100,
            judge=Each(About(10)),
            partly=Some(About(10)),
            note="Five times at both ends, the ratio of the affinities; much more in between, where GPUs alone are "
            "overloaded and CPUs alone are not.",
        ),
        Claim(
            id="F5.8",
            source="section 7.2, Fig. 5(f)",
            statement="The latency of FP-BAD jobs on GPUs depends far less on the load than that of INT jobs",
            expected="FP-BAD far below INT",
            measure=_effect_of_load,
            judge=Parts(Below(3), Above(30)),
        ),
        Claim(
            id="F5.9",
            kind=Kind.GIVEN,
            source="section 7.2",
            statement="Jobs have 50 tasks on average; 90 % of them have at most 20",
            expected="50; 90 %",
            measure=_sizes,
            judge=Parts(Equal(50), Within(90, 0.01)),
            note="The report gives no more of the distribution; the sizes are drawn as the generator `sized` says.",
        ),
    ),
)
