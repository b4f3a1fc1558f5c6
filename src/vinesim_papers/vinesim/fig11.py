"""Figure 11: job latency against the inter-arrival time, for a scheduler that knows speeds and one that does not."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Alike, Below, Between, Each, Equal, Parts, Rising, Share, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run
from vinesim_papers.vinesim.direct import execution_us

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig11.yaml")
LATENCY = "jobs.latency_us.mean"
HIGH, FLAT = "HIGH", "FLAT"
ONCE, XY = "FLAT once", "FLAT (x, y)"
N_GPUS, N_TASKS = 20, 2500
GPU_TASK_US, CPU_TASK_US = 25.0, 500.0
GPUS_KEEP_UP_US = 6.25  # 5 tasks x 25 us / 20 GPUs
LIGHT_US = (500, 1000)  # jobs never overlap: the slowest task takes 500 us
OVERLOAD_US = (0, 1, 2, 3, 4)  # below 5.95 us, at which all units together keep up
FALLING_US = (200, 150, 125, 100, 70, 50, 40, 30)  # from below 0.2 ms to the time of a task on a GPU
STEADY_US = (1000, 500, 300, 200)


def _latency(data: Data, scheduler: str, iat_us: float) -> float:
    return data.mean("main", LATENCY, scheduler=scheduler, **{"arrivals.iat": iat_us})


def _flat_over_high(data: Data, iats_us: tuple[float, ...]) -> dict[str, float]:
    return {f"{iat:g} us": _latency(data, FLAT, iat) / _latency(data, HIGH, iat) for iat in iats_us}


def _along(data: Data, scheduler: str, iats_us: tuple[float, ...]) -> dict[str, float]:
    return {f"{iat:g} us": _latency(data, scheduler, iat) for iat in iats_us}


def _fall(data: Data, scheduler: str) -> dict[str, float]:
    """How far the latency falls from the first to the last of these loads, and the largest relative rise in a step."""
    latency = np.array(list(_along(data, scheduler, FALLING_US).values()))
    return {
        "30 us / 200 us": float(latency[-1] / latency[0]),
        "largest rise": float((latency[1:] / latency[:-1]).max()) - 1,
    }


def _around_gpu_time(data: Data, scheduler: str) -> dict[str, float]:
    """Latency where jobs come slightly less and slightly more often than a GPU finishes a task, every 25 us."""
    return {f"{iat} us": _latency(data, scheduler, iat) for iat in (30, 24)}


def _wide(data: Data) -> dict[str, float]:
    """FLAT's latency divided by HIGH's where jobs have more tasks than there are GPUs, at every load."""
    found = {}
    for iat in data.labels("wide", "arrivals.iat"):
        flat, high = (data.mean("wide", LATENCY, policy=name, **{"arrivals.iat": iat}) for name in ("flat", "high"))
        found[f"{iat:g} us"] = flat / high
    return found


def _share_on_gpus(data: Data) -> float:
    """The share of FLAT's tasks that ran on GPUs at 1000 us, from the time that GPUs were busy."""
    at = {"scheduler": FLAT, "arrivals.iat": 1000}
    utilization = data.values("main", "utilization.by_type.GPU", **at)
    busy_us = utilization * N_GPUS * data.values("main", "makespan_us", **at)
    return float(np.mean(busy_us / GPU_TASK_US / N_TASKS))


def _longest_wait(data: Data) -> dict[str, float]:
    """The longest mean wait of a task in any run that the GPUs alone could keep up with."""
    table = data.table("main")
    wait = table["tasks.latency_us.mean"] - table["tasks.response_us.mean"]
    light = table["arrivals.iat"] >= GPUS_KEEP_UP_US
    return {name: float(np.max(wait[light & data.rows("main", scheduler=name)])) for name in (HIGH, FLAT)}


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    def panel(title: str, schedulers: tuple[str, ...]) -> Panel:
        lines = []
        for name in schedulers:
            curve = data.curve("main", LATENCY, along="arrivals.iat", scheduler=name)
            lines.append(Line(name, curve.x, curve.mean, curve.low, curve.high))
        return Panel(title, lines)

    panels = [panel("as in the paper", (HIGH, FLAT)), panel("three readings of FLAT", (HIGH, FLAT, ONCE, XY))]
    x, y = Axis("inter-arrival time, us", "log0"), Axis("mean job latency, us", "log")
    return {"fig11": line_figure(panels, x, y, columns=2)}


ITEM = Item(
    id="fig11",
    title="Job latency against the inter-arrival time: best-available and oblivious scheduling",
    source="section 8.5, Figure 11",
    studies={"main": "fig11.yaml", "wide": "fig11_wide.yaml"},
    runs={"flat": partial(run, STUDY, {"policy": "flat", "arrivals.iat": 1000})},
    draw=_draw,
    claims=(
        Claim(
            id="F11.1",
            kind=Kind.GIVEN,
            source="section 8.5",
            statement="A task takes 20 times as long on a CPU as on a GPU",
            expected="CPU: 500, GPU: 25 us",
            measure=lambda data: execution_us(data.result("flat")),
            judge=Parts(Equal(CPU_TASK_US), Equal(GPU_TASK_US)),
            unit="us",
        ),
        Claim(
            id="F11.2",
            source="section 8.5, Fig. 11",
            statement="Low load: FLAT's latency is 20 times that of HIGH",
            expected="20",
            measure=lambda data: _flat_over_high(data, LIGHT_US),
            judge=Each(Within(20, 0.05)),
            note="Of 5 tasks on units drawn at random one is on a CPU in 97.6 % of the jobs, hence 19.6 and not 20.",
        ),
        Claim(
            id="F11.3",
            source="section 8.5, Fig. 11",
            statement="High load: both schedulers perform alike, at the highest identically",
            expected="FLAT / HIGH: 1 with all jobs at once, about 1 up to 4 us between jobs",
            measure=lambda data: _flat_over_high(data, OVERLOAD_US),
            judge=Parts(Within(1, 0.01), *[Within(1, 0.1)] * 4),
        ),
        Claim(
            id="F11.4",
            source="section 8.5",
            statement="Low load: FLAT runs every second task on a GPU",
            expected="0.5",
            measure=_share_on_gpus,
            judge=Within(0.5, 0.05),
        ),
        Claim(
            id="F11.5",
            source="section 8.5, Fig. 11",
            statement="From 200 to 30 us between jobs FLAT's latency falls while the load grows",
            expected="falls with each step, all in all visibly",
            measure=lambda data: _fall(data, FLAT),
            judge=Parts(Below(0.9), Below(0.01)),
            other_reading=OtherReading("order drawn once a run", lambda data: _fall(data, ONCE)),
        ),
        Claim(
            id="F11.9",
            source="section 8.5, Fig. 11",
            statement="That begins at 200 us: above, FLAT's latency does not hang on the load",
            expected="equal from 1000 to 200 us",
            measure=lambda data: _along(data, FLAT, STEADY_US),
            judge=Alike(0.05),
            unit="us",
            other_reading=OtherReading("order drawn once a run", lambda data: _along(data, ONCE, STEADY_US)),
        ),
        Claim(
            id="F11.6",
            source="section 8.5, Fig. 11",
            statement="FLAT's gain from load ends where jobs come about as often as a GPU ends a task",
            expected="no longer falling, but rising",
            measure=lambda data: _around_gpu_time(data, FLAT),
            judge=Rising(),
            unit="us",
            note="with a fresh random order for each task the latency falls on until all units are busy; if the order "
            "is drawn once a run, a job that comes within 25 us of the last one finds its GPUs taken",
            other_reading=OtherReading("order drawn once a run", lambda data: _around_gpu_time(data, ONCE)),
        ),
        Claim(
            id="F11.7",
            source="section 8.5",
            statement="Jobs of 25 tasks, more than there are GPUs: HIGH does about as well as FLAT",
            expected="FLAT / HIGH: 1, at every load",
            measure=_wide,
            judge=Each(Within(1, 0.1)),
            partly=Share(0.75, Within(1, 0.1)),
            note="At 30 us, where all units together just keep up, FLAT is even better by an eighth.",
        ),
        Claim(
            id="F11.8",
            source="section 8.5",
            statement="As long as the GPUs keep up no task waits, with either scheduler",
            expected="0",
            measure=_longest_wait,
            judge=Parts(Between(-1e-6, 1e-6), Between(-1e-6, 1e-6)),
            unit="us",
        ),
    ),
)
