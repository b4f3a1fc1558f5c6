"""Figure 14: a scheduler that waits for a task's preferred type, against two that never wait."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.reproduction.claim import Claim, Kind, OtherReading
from vinesim.reproduction.criteria import Above, Below, Between, Each, Equal, Parts, Share, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import scenario

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

STUDY = Path(__file__).with_name("fig14.yaml")
LATENCY = "jobs.latency_us.mean"
CPU, GPU = "utilization.by_type.CPU_INTEL", "utilization.by_type.GPU"
HIGH, FLAT, PREF_GPU, PREF_CPU = "HIGH", "FLAT", "PREF, GPU", "PREF, CPU"
GPUS_KEEP_UP_US = 6.25  # 5 tasks x 25 us / 20 GPUs
CPUS_KEEP_UP_US = 125  # 5 tasks x 500 us / 20 CPUs
CPU_TASK_US = 500.0


def _mean(data: Data, scheduler: str, iat_us: float, column: str = LATENCY) -> float:
    return data.mean("main", column, scheduler=scheduler, **{"arrivals.iat": iat_us})


def _quotients(data: Data, of: str, by: str, from_us: float = 0) -> dict[str, float]:
    """Latency of one scheduler divided by that of another, for inter-arrival times from ``from_us`` up."""
    iats = [iat for iat in data.labels("main", "arrivals.iat") if iat >= from_us]
    return {f"{iat:g} us": _mean(data, of, iat) / _mean(data, by, iat) for iat in iats}


def _down_and_up(data: Data) -> dict[str, float]:
    """As load grows: where FLAT's latency is smallest, and the largest relative rise before and fall after."""
    iats = np.array(sorted(data.labels("main", "arrivals.iat"), reverse=True))
    latency = np.array([_mean(data, FLAT, iat) for iat in iats])
    least, steps = int(latency.argmin()), latency[1:] / latency[:-1] - 1
    return {
        "least at, us": float(iats[least]),
        "least / that at 1000 us": float(latency[least] / latency[0]),
        "all at once / least": float(latency[-1] / latency[least]),
        "largest rise before": float(steps[:least].max(initial=0)),
        "largest fall after": float(np.maximum(-steps[least:], 0).max(initial=0)),
    }


def _pref_cpu(data: Data) -> dict[str, float]:
    """Latency of PREF for CPUs divided by the 500 us of a task, above and below 125 us between jobs."""
    iats = sorted(data.labels("main", "arrivals.iat"), reverse=True)
    at = {iat: _mean(data, PREF_CPU, iat) / CPU_TASK_US for iat in iats}
    queueing = [at[iat] for iat in iats if iat < CPUS_KEEP_UP_US]
    steps = [after / before for before, after in pairwise([1.0, *queueing])]
    return {
        "from 125 us on, largest": max(at[iat] for iat in iats if iat >= CPUS_KEEP_UP_US),
        "below, least": min(queueing),
        "below, least of a step to the next": min(steps),
    }


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
        "FLAT from 6.25 us on, lowest": min(_mean(data, FLAT, iat, CPU) for iat in iats if iat >= GPUS_KEEP_UP_US),
    }


def _overtaking(options: Mapping[str, Any], changes: Changes) -> int:
    """Count the tasks that start before an earlier one, if jobs prefer CPUs and GPUs alternately."""
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
            expected="PREF / HIGH: 1, at every load",
            measure=lambda data: _quotients(data, PREF_GPU, HIGH),
            judge=Each(Within(1, 0.01)),
            partly=Share(0.5, Within(1, 0.01)),
            note="Identical from 6.25 us on, where the GPUs keep up. With less time between jobs the CPUs help HIGH: "
            "by 4 % with all jobs at once, most at 6 us, where the GPUs just do not keep up.",
        ),
        Claim(
            id="F14.2",
            source="section 8.7, Fig. 14(c)",
            statement="CPUs: never used by PREF for GPUs, used by HIGH at very high load only, by FLAT at low load too",
            expected="0; 0; high; clearly above 0",
            measure=_cpu_use,
            judge=Parts(Equal(0), Equal(0), Above(0.9), Above(0.05)),
        ),
        Claim(
            id="F14.3",
            source="section 8.7, Fig. 14(b)",
            statement="Low load: PREF for CPUs has the same latency as FLAT",
            expected="PREF / FLAT: 1, from 200 us between jobs on",
            measure=lambda data: _quotients(data, PREF_CPU, FLAT, 200),
            judge=Each(Within(1, 0.05)),
        ),
        Claim(
            id="F14.4",
            source="section 8.7, Fig. 14(b)",
            statement="PREF for CPUs queues as soon as jobs come faster than the CPUs finish them, every 125 us",
            expected="500 us down to 125, several times that below",
            measure=_pref_cpu,
            judge=Parts(Equal(1), Above(2), Above(1)),
        ),
        Claim(
            id="F14.8",
            source="section 8.7, Fig. 14(b)",
            statement="As the load grows, FLAT's latency first falls, then rises as jobs queue",
            expected="falls to well below that at low load, then rises",
            measure=_down_and_up,
            judge=Parts(Between(1, 100), Below(0.5), Above(2), Below(0.05), Below(0.05)),
        ),
        Claim(
            id="F14.5",
            kind=Kind.GIVEN,
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
            source="section 8.3",
            statement="FLAT and HIGH are work-conserving, PREF is not: use of the CPUs when all jobs come at once",
            expected="1; 1; 0",
            measure=lambda data: {name: _mean(data, name, 0, CPU) for name in (HIGH, FLAT, PREF_GPU)},
            judge=Parts(Above(0.99), Above(0.99), Equal(0)),
            note="section 8.7 calls PREF one of many forms of work-conserving schedulers, a slip",
        ),
    ),
)
