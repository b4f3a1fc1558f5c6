"""Why Figure 18(f) lies so far below Figure 18(c), which the paper leaves open: rates, a cascade, and a control.

``docs/explanation/data_placement.md`` explains it in words.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Above, Below, Falling, Parts, Within
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import run, scenario
from vinesim.result import Result
from vinesim_papers.vinesim.direct import over_time, transfer_us

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

LATENCY, MAKESPAN, ALL = "jobs.latency_us.mean", "makespan_us", "utilization.overall"
EVERYWHERE, CPU_RACK = "on all nodes", "in the CPU rack"  # Figure 17(a) and (b)
PLACEMENTS = {EVERYWHERE: None, CPU_RACK: 0}  # the rack of the data
HIGH, FLAT, CLOSER, BOUND = "HIGH", "FLAT", "CLOSER_TO_DATA", "rack-bound"
WORK_CONSERVING = (HIGH, FLAT, CLOSER)
STUDY, CLIFF = (Path(__file__).with_name(name) for name in ("fig18_why.yaml", "fig18_cliff.yaml"))
TASKS_PER_JOB = 5
DATA_RACK, AT_ONCE = "workload.options.data_rack", {"policy": "high", "arrivals.iat": 0}
BURST, BURST_IAT_US, SAMPLING_US = 20, 400, 5000
RACK_BOUND = {"policy": "delay", "options.wait_for": "rack", "options.wait_us": float("inf")}


def _times(n_at_once: int) -> dict[str, Any]:
    """Return 500 arrivals, the first ``n_at_once`` at 0."""
    return {"times": [0.0] * n_at_once + [BURST_IAT_US * (k + 1.0) for k in range(500 - n_at_once)]}


BURSTS: dict[str, dict[str, Any]] = {  # in two equal racks
    f"{CLOSER}, no burst": {"policy": "closer_to_data", "arrivals": _times(1)},
    f"{CLOSER}, burst": {"policy": "closer_to_data", "arrivals": _times(BURST)},
    f"{BOUND}, burst": {**RACK_BOUND, "arrivals": _times(BURST)},
}


def service_us(given: Scenario, data_rack: int | None) -> dict[str, float]:
    """Return the mean time of a task on a unit of each type, us, if units take tasks wherever their data is.

    The data is on any node with a unit, or on those of ``data_rack``; the time is transfer plus execution.
    """
    from vinesim.workloads.placement import nodes_of

    center, network = given.datacenter, given.network
    nodes = [node for node in nodes_of(center) if data_rack is None or node[0] == data_rack]
    work = given.workload
    rate = given.affinity[:, work.job_task_type[0]]
    times: dict[str, list[float]] = {}
    for kind, rack, shelf in zip(center.unit_type, center.rack, center.shelf, strict=True):
        tiers = [0 if node == (rack, shelf) else 1 if node[0] == rack else 2 for node in nodes]
        per_byte = [1 / bandwidth for bandwidth in network.tier_bandwidth]
        transfers = [work.data_bytes[0] * per_byte[tier] + network.tier_latency_us[tier] for tier in tiers]
        execution = work.operations[0] / rate[kind]
        times.setdefault(center.processor_types[kind].name, []).append(float(np.mean(transfers) + execution))
    return {name: float(np.mean(found)) for name, found in times.items()}


def capacity(given: Scenario, data_rack: int | None) -> float:
    """Return the tasks per us that all units finish together, if each takes tasks wherever their data is."""
    count = given.datacenter.count_by_type()
    return sum(count[name] / time for name, time in service_us(given, data_rack).items())


def _capacity(data: Data) -> dict[str, float]:
    given = data.result("scenario")
    return {placed: capacity(given, rack) for placed, rack in PLACEMENTS.items()}


def critical_iat_us(data: Data) -> dict[str, float]:
    """The inter-arrival time at which a job's tasks just keep all units busy, by placement."""
    return {placed: TASKS_PER_JOB / rate for placed, rate in _capacity(data).items()}


def _service(data: Data) -> dict[str, float]:
    """Mean time of a task on a unit in the run of HIGH with all jobs at once, by placement and type."""
    found = {}
    for placed in PLACEMENTS:
        tasks = data.result(placed).tasks
        took = tasks["finish_us"] - tasks["init_us"]
        for name, code in (("CPU", 0), ("GPU", 2)):
            found[f"{name}, data {placed}"] = float(np.mean(took[tasks["unit_type"] == code]))
    return found


def _share_across(data: Data) -> dict[str, float]:
    """The share of tasks whose data comes from the other rack, with HIGH and all jobs at once."""
    found = {}
    for placed in PLACEMENTS:
        transfers = transfer_us(data.result(placed))
        tasks = data.result(placed).tasks
        took = tasks["start_us"] - tasks["init_us"]
        found[placed] = float(np.mean(np.isclose(took, transfers[-1])))
    return found


def _latency(data: Data, placed: str, scheduler: str, iat_us: float) -> float:
    return data.mean("main", LATENCY, data=placed, scheduler=scheduler, **{"arrivals.iat": iat_us})


def _drain_ms(data: Data, placed: str, scheduler: str) -> float:
    """How long it takes to finish all tasks when all jobs come at once, ms."""
    return data.mean("main", MAKESPAN, data=placed, scheduler=scheduler, **{"arrivals.iat": 0}) / 1000


def _drains_ms(data: Data) -> dict[str, float]:
    return {f"{name}, data {placed}": _drain_ms(data, placed, name) for placed in PLACEMENTS for name in (HIGH, CLOSER)}


def _c_to_f(data: Data, scheduler: str, iats_us: tuple[float, ...]) -> dict[str, float]:
    return {
        f"{iat} us": _latency(data, EVERYWHERE, scheduler, iat) / _latency(data, CPU_RACK, scheduler, iat)
        for iat in iats_us
    }


def _cliff(data: Data) -> dict[str, float]:
    """Utilisation under CLOSER_TO_DATA over the placements of the data, on both sides of the sharp drop."""
    above, below = (data.values("cliff", ALL, scheduler=CLOSER, **{"arrivals.iat": iat}) for iat in (175, 140))
    bound = data.values("cliff", ALL, scheduler=BOUND, **{"arrivals.iat": 140})
    latency = data.values("cliff", LATENCY, scheduler=BOUND, **{"arrivals.iat": 140})
    return {
        "at 175 us, highest": float(above.max()),
        "at 140 us, lowest": float(below.min()),
        "rack-bound at 140 us, highest": float(bound.max()),
        "rack-bound, latency in ms, highest": float(latency.max()) / 1000,
    }


def _last_jobs_us(result: Result) -> float:
    """Mean latency of the last 100 jobs."""
    return float(np.mean(result.jobs["latency_us"][-100:]))


def _after_burst(data: Data) -> dict[str, float]:
    """Mean latency of the last 100 jobs, long after a burst."""
    return {name: _last_jobs_us(data.result(name)) for name in BURSTS}


def _draw(data: Data) -> dict[str, "Figure"]:
    return {
        "fig18_why": _draw_latency(data),
        "fig18_why_cliff": _draw_cliff(data),
        "fig18_why_burst": _draw_bursts(data),
    }


def _draw_latency(data: Data) -> "Figure":
    """Latency against load for both placements, with the critical inter-arrival times."""
    from vinesim.plots.lines import Axis, Line, Panel, line_figure
    from vinesim.plots.marks import mark_x

    panels = []
    for letter, placed in zip("cf", PLACEMENTS, strict=True):
        lines = []
        for name in (*WORK_CONSERVING, BOUND):
            curve = data.curve("main", LATENCY, along="arrivals.iat", data=placed, scheduler=name)
            seen = curve.x > 0
            mean_ms, low_ms, high_ms = (part[seen] / 1000 for part in (curve.mean, curve.low, curve.high))
            lines.append(Line(name, curve.x[seen], mean_ms, low_ms, high_ms))
        panels.append(Panel(f"as Fig. 18({letter}): data {placed}", lines))
    figure = line_figure(panels, Axis("inter-arrival time, us", "log"), Axis("mean job latency, ms", "log"), columns=2)
    for number, iat in enumerate(critical_iat_us(data).values()):
        mark_x(figure, number, {f"critical: {iat:.0f} us": iat})
    return figure


def _draw_cliff(data: Data) -> "Figure":
    from vinesim.plots.points import Points, PointsPanel, points_figure

    panels = []
    for title, column, scale, factor in (
        ("utilisation, %", ALL, "linear", 100),
        ("mean job latency, ms", LATENCY, "log", 0.001),
    ):
        points = []
        for name in (CLOSER, BOUND):
            rows = data.rows("cliff", scheduler=name)
            table = data.table("cliff")
            points.append(Points(name, table["arrivals.iat"][rows], factor * table[column][rows]))
        panels.append(PointsPanel("", title, points, scale))
    return points_figure(panels, "inter-arrival time, us")


def _draw_bursts(data: Data) -> "Figure":
    from vinesim.plots.series import Series, SeriesPanel, series_figure

    panels = []
    for name in BURSTS:
        edges, share = over_time(data.result(name), "all")
        panels.append(SeriesPanel(name, [Series("all units", edges / 1000, 100 * share)]))
    return series_figure(panels, "time, ms", "utilisation, %", limits=(-3, 103))


SOURCE = "section 8.8.2, Fig. 18(c, f)"
ITEM = Item(
    id="fig18-why",
    title="Why 1 MB near the CPUs only is faster than 1 MB near all units (left open by the paper)",
    source="section 8.8.2, open question",
    studies={"main": "fig18_why.yaml", "cliff": "fig18_cliff.yaml"},
    runs={
        "scenario": partial(scenario, STUDY),
        **{placed: partial(run, STUDY, {**AT_ONCE, DATA_RACK: rack}) for placed, rack in PLACEMENTS.items()},
        **{name: partial(run, CLIFF, {"sampling": SAMPLING_US}, given) for name, given in BURSTS.items()},
    },
    draw=_draw,
    claims=(
        Claim(
            id="W18.1",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="In (c) all units cross racks for half of their tasks; in (f) GPUs always do, CPUs never",
            expected="time on a unit: 5093; 4618; 1297; 8414 us",
            measure=_service,
            judge=Parts(Within(5093, 0.05), Within(4618, 0.05), Within(1297, 0.01), Within(8414, 0.001)),
            unit="us",
        ),
        Claim(
            id="W18.2",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="In (c) every second task crosses racks; in (f) only the few that the slowed GPUs take",
            expected="0.5; 0.134",
            measure=_share_across,
            judge=Parts(Within(0.5, 0.05), Within(0.134, 0.05)),
        ),
        Claim(
            id="W18.3",
            kind=Kind.GIVEN,
            source=SOURCE,
            statement="The rates of the units add up, so (f) has more than twice the capacity of (c)",
            expected="0.00826; 0.01779 tasks per us",
            measure=_capacity,
            judge=Parts(Within(0.00826, 0.005), Within(0.01779, 0.005)),
            unit="tasks per us",
        ),
        Claim(
            id="W18.4",
            kind=Kind.GIVEN,
            source=SOURCE,
            statement="The critical inter-arrival time, 5 tasks over the capacity, is 606 us in (c), 281 us in (f)",
            expected="606; 281 us",
            measure=critical_iat_us,
            judge=Parts(Within(606, 0.005), Within(281, 0.005)),
            unit="us",
        ),
        Claim(
            id="W18.5",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="All jobs at once: any work-conserving scheduler needs 2500 tasks over the capacity",
            expected="303 ms on all nodes, 140.5 ms in the CPU rack",
            measure=_drains_ms,
            judge=Parts(Within(303, 0.05), Within(303, 0.05), Within(140.5, 0.05), Within(140.5, 0.05)),
            unit="ms",
        ),
        Claim(
            id="W18.6",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="HIGH: (c) is about 2.15 times (f) when overloaded; far more where only (c) is, 281 to 606 us",
            expected="2.15, then above 8",
            measure=lambda data: _c_to_f(data, HIGH, (0, 300, 400, 500)),
            judge=Parts(Within(2.15, 0.05), Above(8), Above(8), Above(8)),
        ),
        Claim(
            id="W18.7",
            kind=Kind.FINDING,
            source="section 8.8.2, Fig. 18(f)",
            statement="HIGH in (f) gets faster with load: jobs that spill over to the CPUs save the crossing",
            expected="falls from 8414 us",
            measure=lambda data: {
                f"{iat} us": _latency(data, CPU_RACK, HIGH, iat) for iat in (5000, 2000, 1500, 1000, 700, 500, 400, 350)
            },
            judge=Falling(),
            unit="us",
        ),
        Claim(
            id="W18.8",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="CLOSER_TO_DATA is the other way round until it collapses: in (c) each rack has its own work",
            expected="(c) / (f) far below 1 at 200 us, about 2.15 at 100 us and below",
            measure=lambda data: _c_to_f(data, CLOSER, (200, 100, 0)),
            judge=Parts(Below(0.2), Above(2), Within(2.15, 0.05)),
        ),
        Claim(
            id="W18.9",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="Control: a closer-to-data scheduler that never crosses racks drains (c) in about a quarter",
            expected="81 against about 300 ms",
            measure=lambda data: {name: _drain_ms(data, EVERYWHERE, name) for name in (BOUND, CLOSER)},
            judge=Parts(Within(81.1, 0.05), Within(300, 0.05)),
            unit="ms",
        ),
        Claim(
            id="W18.10",
            kind=Kind.FINDING,
            source=SOURCE,
            statement="Where one rack has no data, the same control idles it: never crossing is a gain only in (c)",
            expected="162 against 140.5 ms",
            measure=lambda data: {name: _drain_ms(data, CPU_RACK, name) for name in (BOUND, CLOSER)},
            judge=Parts(Within(162, 0.05), Within(140.5, 0.05)),
            unit="ms",
        ),
        Claim(
            id="W18.11",
            kind=Kind.FINDING,
            source="section 8.8.1, Fig. 16(f, i)",
            statement="Equal racks: CLOSER_TO_DATA falls off a cliff between 175 and 140 us in every draw, but not "
            "if it never crosses",
            expected="utilisation below 0.45, above 0.95; below 0.95 and less than 5 ms",
            measure=_cliff,
            judge=Parts(Below(0.45), Above(0.95), Below(0.95), Below(5)),
        ),
        Claim(
            id="W18.12",
            kind=Kind.FINDING,
            source="section 8.8.1, Fig. 16(c)",
            statement="The collapse lasts: with 400 us between jobs, 20 at once at the start slow the last 100 of 500",
            expected="below 2 ms without; above 20 ms after the burst; below 2 ms again for rack-bound",
            measure=lambda data: {name: us / 1000 for name, us in _after_burst(data).items()},
            judge=Parts(Below(2), Above(20), Below(2)),
            unit="ms",
        ),
    ),
)
