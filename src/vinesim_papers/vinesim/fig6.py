"""Figure 6: job latency on GPUs alone, towards zero load."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Below, Equal, Parts, Rising, Within
from vinesim.reproduction.data import Curve, Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig6.yaml")
INT, BAD, GOOD = "INT", "FP_BAD", "FP_GOOD"
LATENCY, TYPE, IAT = "jobs.latency_us.mean", "workload.options.task_type", "arrivals.iat"
TASK_US = 30e6 / 1.2e6  # an INT task on a GPU
STEADY = 0.01  # a latency this close to that at the longest inter-arrival time no longer depends on the load


def _curve(data: Data, task_type: str) -> Curve:
    return data.curve("main", LATENCY, along=IAT, **{TYPE: task_type})


def _against_int(data: Data) -> dict[str, float]:
    latency = {task_type: _curve(data, task_type).mean for task_type in (INT, BAD, GOOD)}
    apart = np.abs(latency[GOOD] / latency[INT] - 1)
    return {
        "FP-BAD / INT alone": float(latency[BAD][-1] / latency[INT][-1]),
        "INT and FP-GOOD apart, %": float(100 * apart.max()),
    }


def _steady_from_ms(data: Data, task_type: str) -> float:
    """The inter-arrival time from which the latency stays that of a job alone, ms."""
    curve = _curve(data, task_type)
    unsteady = np.flatnonzero(np.abs(curve.mean / curve.mean[-1] - 1) > STEADY)
    return float(curve.x[unsteady[-1] + 1]) / 1000


def _job_of_50(changes: Changes) -> float:
    """Latency of a single job of 50 tasks on the 40 units, us."""
    one_job = {"workload": {"generator": "identical", "options": {"n_jobs": 1, "tasks_per_job": 50, "task_type": INT}}}
    return float(run(STUDY, changes, one_job).summary["jobs"]["latency_us"]["mean"])


def _two_rounds(data: Data) -> dict[str, float]:
    return {
        "a job of 50 tasks": data.result("job of 50") / TASK_US,
        "mean of the workload alone": float(_curve(data, INT).mean[-1]) / TASK_US,
    }


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    lines = []
    for task_type in (INT, BAD, GOOD):
        curve = _curve(data, task_type)
        lines.append(Line(task_type, curve.x, curve.mean, curve.low, curve.high))
    x, y = Axis("inter-arrival time, us", "log"), Axis("mean job latency, us", "log")
    return {"fig6": line_figure([Panel("40 GPUs", lines)], x, y)}


ITEM = Item(
    id="fig6",
    title="Job latency on GPUs alone, towards zero load",
    source="section 7.2, Figure 6",
    studies={"main": STUDY.name},
    runs={"job of 50": _job_of_50},
    draw=_draw,
    claims=(
        Claim(
            id="F6.1",
            source="section 7.2, Fig. 6",
            statement="Near zero load FP-BAD jobs take 100 times as long as INT and FP-GOOD jobs, which take the same",
            expected="100; 0 % apart",
            measure=_against_int,
            judge=Parts(Within(100, 0.01), Below(0.01)),
        ),
        Claim(
            id="F6.2",
            source="section 7.2, Fig. 6",
            statement="INT and FP-GOOD latency is steady from a shorter inter-arrival time on than that of FP-BAD",
            expected="INT and FP-GOOD before FP-BAD",
            measure=lambda data: {t: _steady_from_ms(data, t) for t in (INT, BAD)},
            judge=Rising(),
            unit="ms",
        ),
        Claim(
            id="F6.3",
            source="section 7.2, Fig. 6",
            statement="A job of 50 tasks, the mean, takes two task times on 40 units even when it runs alone",
            expected="2 task times",
            measure=_two_rounds,
            judge=Parts(Equal(2), Within(2, 0.15)),
        ),
    ),
)
