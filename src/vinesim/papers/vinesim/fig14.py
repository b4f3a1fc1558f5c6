"""Figure 14: a scheduler that waits for a task's preferred type, against two that never wait."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.papers.claim import Claim, OtherReading
from vinesim.papers.criteria import Above, Alike, Between, Equal, Parts, Within
from vinesim.papers.data import Data
from vinesim.papers.item import Changes, Item
from vinesim.papers.single import scenario

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig14.yaml")
LATENCY = "jobs.latency_us.mean"
CPU, GPU = "utilization.by_type.CPU_INTEL", "utilization.by_type.GPU"
HIGH, FLAT, PREF_GPU, PREF_CPU = "HIGH", "FLAT", "PREF, GPU", "PREF, CPU"
GPUS_KEEP_UP_US = 6.25  # 5 tasks x 25 us / 20 GPUs


def _mean(data: Data, scheduler: str, iat_us: float, column: str = LATENCY) -> float:
    return data.mean("main", column, scheduler=scheduler, **{"arrivals.iat": iat_us})


def _to_high(data: Data) -> dict[str, float]:
    """Latency of PREF for GPUs over that of HIGH."""
    times = {iat: _mean(data, PREF_GPU, iat) / _mean(data, HIGH, iat) for iat in data.labels("main", "arrivals.iat")}
    light = [ratio for iat, ratio in times.items() if iat >= GPUS_KEEP_UP_US]
    between = [ratio for iat, ratio in times.items() if 0 < iat < GPUS_KEEP_UP_US]
    farthest = max(light, key=lambda ratio: abs(ratio - 1))
    return {"from 6.25 us on, farthest from 1": farthest, "at 0": times[0], "between, largest": max(between)}


def _cpu_use(data: Data) -> dict[str, float]:
    """Utilisation of the CPUs under the three schedulers."""
    iats = data.labels("main", "arrivals.iat")
    pref = max(_mean(data, PREF_GPU, iat, CPU) for iat in iats)
    light = max(_mean(data, HIGH, iat, CPU) for iat in iats if iat >= GPUS_KEEP_UP_US)
    heavy = min(_mean(data, HIGH, iat, CPU) for iat in iats if iat < GPUS_KEEP_UP_US)
    return {
        "PREF, highest": pref,
        "HIGH from 6.25 us on, highest": light,
        "HIGH below, lowest": heavy,
        "FLAT at 100 us": _mean(data, FLAT, 100, CPU),
    }


def _overtaking(options: Mapping[str, Any], changes: Changes) -> int:
    """How many tasks start before an earlier one, where jobs prefer CPUs and GPUs in turn."""
    from vinesim.engine.simulate import simulate

    given = scenario(STUDY, {"policy": "pref", "arrivals.iat": 50}, options, changes)
    work = given.workload
    in_turn = np.where(np.arange(work.n_jobs) % 2 == 0, 0, 2)  # CPU_INTEL, GPU
    preferred = np.repeat(in_turn, np.diff(work.job_first))
    begun = simulate(replace(given, workload=replace(work, preferred_type=preferred))).tasks["init_us"]
    return int(np.sum(begun < np.maximum.accumulate(begun)))


def _draw(data: Data) -> dict[str, "Figure"]:
    from vinesim.plots.lines import Axis, Line, Panel, line_figure

    def panel(title: str, column: str, pref: str, scale: float = 1) -> Panel:
        lines = []
        for name in (HIGH, FLAT, pref):
            curve = data.curve("main", column, along="arrivals.iat", scheduler=name)
            lines.append(Line(name, curve.x, scale * curve.mean, scale * curve.low, scale * curve.high))
        return Panel(title, lines)

    x = Axis("inter-arrival time, us", "log0")
    latency = [
        panel("(a) preferred: GPU", LATENCY, PREF_GPU),
        panel("(b) preferred: CPU", LATENCY, PREF_CPU),
    ]
    use = [
        panel("(c) CPUs (preferred: GPU)", CPU, PREF_GPU, 100),
        panel("(d) GPUs (preferred: GPU)", GPU, PREF_GPU, 100),
    ]
    return {
        "fig14_ab": line_figure(latency, x, Axis("mean job latency, us", "log"), columns=2),
        "fig14_cd": line_figure(use, x, Axis("utilisation, %", limits=(-3, 103)), columns=2),
    }


ITEM = Item(
    id="fig14",
    paper="vinesim",
    title="Preferred-only scheduling against best-available and oblivious scheduling",
    source="section 8.7, Figure 14",
    studies={"main": "fig14.yaml"},
    runs={
        "two preferences": partial(_overtaking, {}),
        "two preferences, in order": partial(_overtaking, {"options.in_order": "yes"}),
    },
    draw=_draw,
    claims=(
        Claim(
            id="F14.1",
            source="section 8.7, Fig. 14(a)",
            statement="PREF for GPUs has the same latency as HIGH",
            expected="PREF / HIGH: 1 under light load, about 1 when all jobs come at once",
            measure=_to_high,
            judge=Parts(Equal(1), Within(1, 0.05), Between(1, 2)),
        ),
        Claim(
            id="F14.2",
            source="section 8.7, Fig. 14(c)",
            statement="CPUs: never used by PREF for GPUs, used by HIGH at very high load only, by FLAT at low load too",
            expected="0; 0; high; clearly above 0",
            measure=_cpu_use,
            judge=Parts(Equal(0), Equal(0), Above(0.9), Above(0.2)),
        ),
        Claim(
            id="F14.3",
            source="section 8.7, Fig. 14(b)",
            statement="Low load: PREF for CPUs has the same latency as FLAT",
            expected="PREF = FLAT",
            measure=lambda data: {name: _mean(data, name, 1000) for name in (PREF_CPU, FLAT)},
            judge=Alike(0.05),
            unit="us",
        ),
        Claim(
            id="F14.4",
            source="section 8.7, Fig. 14(b)",
            statement="PREF for CPUs queues as soon as jobs come faster than the CPUs finish them, every 125 us",
            expected="500 us down to 125, several times that below",
            measure=lambda data: {f"{iat} us": _mean(data, PREF_CPU, iat) for iat in (150, 125, 115, 0)},
            judge=Parts(Equal(500), Equal(500), Above(2000), Above(2000)),
            unit="us",
        ),
        Claim(
            id="F14.5",
            source="section 8.7",
            statement="25 CPUs do the work of one GPU",
            expected="25",
            measure=lambda data: _mean(data, PREF_CPU, 1000) / _mean(data, PREF_GPU, 1000),
            judge=Within(25, 0.05),
            note="it is 20, as elsewhere in the paper: a task takes 500 us on a CPU and 25 us on a GPU",
        ),
        Claim(
            id="F14.6",
            source="section 8.3",
            statement="PREF starts tasks in order, where jobs prefer CPUs and GPUs in turn",
            expected="0 tasks overtake an earlier one",
            measure=lambda data: data.result("two preferences"),
            judge=Equal(0),
            unit="tasks",
            note="the paper also says that PREF skips a task whose type is busy and tries the next; both cannot be, "
            "and the default is to skip",
            other_reading=OtherReading("option in_order", lambda data: data.result("two preferences, in order")),
        ),
        Claim(
            id="F14.7",
            source="section 8.7",
            statement="Preferred-only is a work-conserving scheduler: CPUs do not idle while tasks wait",
            expected="CPU utilisation about 1 when all jobs come at once",
            measure=lambda data: _mean(data, PREF_GPU, 0, CPU),
            judge=Above(0.9),
            note="a slip: it is the paper's example of a scheduler that is not work-conserving",
        ),
    ),
)
