"""Figure 5: job latency against the inter-arrival time, for three task types and six shares of GPUs."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import About, Above, Below, Between, Each, Equal, Parts, Share, Some, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig5.yaml")
INT, BAD, GOOD = "INT", "FP_BAD", "FP_GOOD"
SHARES = (0, 20, 33, 66, 80, 100)  # % of the 40 units that are GPUs
AT_ONCE, ALONE = 0, 1e7  # inter-arrival times, us: all jobs at once, each job alone
HIGH_LOAD = (0, 1, 3, 10)  # us: at most a third of the 31 us with which GPUs alone would just keep up
LOW_LOAD = (1000, 3000, 10_000, ALONE)  # us
LATENCY, TYPE, IAT = "jobs.latency_us.mean", "workload.options.task_type", "arrivals.iat"


def _latency(data: Data, task_type: str, gpus: int, iat_us: float) -> float:
    return data.mean("main", LATENCY, gpus=gpus, **{TYPE: task_type, IAT: iat_us})


def _curve(data: Data, task_type: str, gpus: int) -> np.ndarray:
    return data.curve("main", LATENCY, along=IAT, gpus=gpus, **{TYPE: task_type}).mean


def _gain(data: Data, task_type: str, gpus: int, iat_us: float) -> float:
    """How many times lower the latency is with this share of GPUs than without."""
    return _latency(data, task_type, 0, iat_us) / _latency(data, task_type, gpus, iat_us)


def _iats(data: Data) -> list[float]:
    """All inter-arrival times, us."""
    return [float(iat) for iat in sorted(data.labels("main", IAT))]


def _at(iat_us: float) -> str:
    return "alone" if iat_us == ALONE else f"{iat_us:g} us"


def _slower_than_int(data: Data) -> dict[str, float]:
    """Latency of FP jobs divided by that of INT jobs, without GPUs, at both ends and at its minimum."""
    ratios = _curve(data, BAD, 0) / _curve(data, INT, 0)
    return {"all at once": float(ratios[0]), "alone": float(ratios[-1]), "least of all": float(ratios.min())}


def _gains(data: Data, gpus: int, iats_us: Iterable[float]) -> dict[str, float]:
    """:func:`_gain` of the task types that suit GPUs."""
    return {f"{t} {_at(iat)}": _gain(data, t, gpus, iat) for iat in iats_us for t in (INT, GOOD)}


def _losses(data: Data, gpus: int) -> dict[str, float]:
    """How many times higher the latency of FP-BAD jobs is with this share of GPUs than without, at every load."""
    return {_at(iat): 1 / _gain(data, BAD, gpus, iat) for iat in _iats(data)}


def _gains_of_gpus_alone(data: Data) -> dict[str, float]:
    """How many times lower the latency is on GPUs alone at high load, the smallest and largest over the loads."""
    found: dict[str, float] = {}
    for task_type in (INT, GOOD, BAD):
        gains = [_gain(data, task_type, 100, iat) for iat in HIGH_LOAD]
        found |= {f"{task_type}, least": min(gains), f"{task_type}, most": max(gains)}
    return found


def _effect_of_load(data: Data) -> dict[str, float]:
    """How many times more high load slows INT jobs than FP-BAD jobs, against each low load, for every share of GPUs."""

    def slowed(task_type: str, gpus: int, low_us: float) -> float:
        return _latency(data, task_type, gpus, AT_ONCE) / _latency(data, task_type, gpus, low_us)

    return {
        f"{gpus} %, {_at(low)}": slowed(INT, gpus, low) / slowed(BAD, gpus, low) for gpus in SHARES for low in LOW_LOAD
    }


def _share_of_gain(data: Data) -> dict[str, float]:
    """What share of the gain of GPUs alone the first 20 % of GPUs give, %."""
    found = {}
    for task_type in (INT, GOOD):
        for iat in _iats(data):
            none, few, only = (_latency(data, task_type, gpus, iat) for gpus in (0, 20, 100))
            found[f"{task_type} {_at(iat)}"] = 100 * (none - few) / (none - only)
    return found


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
            expected="FP latency 1/0.6 = 1.667 times INT latency, more where only FP jobs queue",
            measure=_slower_than_int,
            judge=Parts(Within(1 / 0.6, 0.01), Within(1 / 0.6, 0.01), Within(1 / 0.6, 0.01)),
        ),
        Claim(
            id="F5.3",
            source="section 7.2, Fig. 5(b)",
            statement="20 % GPUs make INT and FP-GOOD jobs about ten times faster at low load",
            expected="about 10",
            measure=lambda data: _gains(data, 20, LOW_LOAD),
            judge=Each(About(10)),
            partly=Some(About(10)),
            note="Tenfold at inter-arrival times of about 1 ms, where a deployment of CPUs alone is overloaded; more "
            "at shorter ones. A job that runs alone gains about twofold: its slowest task is on a CPU.",
        ),
        Claim(
            id="F5.4",
            source="section 7.2, Fig. 5(b)",
            statement="20 % GPUs make FP-BAD jobs only a little slower",
            expected="a little above 1",
            measure=lambda data: _losses(data, 20),
            judge=Each(Between(1.01, 2)),
        ),
        Claim(
            id="F5.5",
            source="section 7.2, Fig. 5(a) to (f)",
            statement="High load: GPUs alone are about ten times as fast as CPUs alone, but not for FP-BAD jobs",
            expected="about 10",
            measure=_gains_of_gpus_alone,
            judge=Parts(*[About(10)] * 4, Below(1), Below(1)),
            note="High load are inter-arrival times of 0 to 10 us, at which even GPUs alone have three times more to "
            "do than they can.",
        ),
        Claim(
            id="F5.6",
            source="section 7.2, Fig. 5(a) and (f)",
            statement="Low load: GPUs alone are about 1000 times as fast as CPUs alone for INT and FP-GOOD jobs",
            expected="about 1000",
            measure=lambda data: _gains(data, 100, (iat for iat in _iats(data) if iat > max(HIGH_LOAD))),
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
            measure=lambda data: _losses(data, 100),
            judge=Each(About(10)),
            partly=Some(About(10)),
            note="Five times at both ends, the ratio of the affinities; much more in between, where GPUs alone are "
            "overloaded and CPUs alone are not.",
        ),
        Claim(
            id="F5.8",
            source="section 7.2, Fig. 5(a) to (f)",
            statement="High load slows FP-BAD jobs less than INT jobs",
            expected="INT / FP-BAD above 1, for every share of GPUs and low load",
            measure=_effect_of_load,
            judge=Each(Above(1)),
            partly=Share(0.5, Above(1)),
            note="Against 1 ms between jobs it does, as FP-BAD jobs still queue there: that load is not low for them. "
            "Against jobs that run alone, load slows them as much, and with CPUs and GPUs mixed more.",
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
        Claim(
            id="G1",
            source="section 7.3 (first version)",
            statement="Even a few GPUs improve performance significantly: of what GPUs alone save, 20 % of them save",
            expected="more than half, at every load",
            measure=_share_of_gain,
            judge=Each(Above(50)),
            unit="%",
        ),
    ),
)
