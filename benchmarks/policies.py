"""Every registered policy: what a task costs by the number of units and of pending tasks, and what compiling costs."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import vinesim as vs
from benchmarks import engine, scale
from benchmarks.cases import LOAD, TASKS_A_JOB, Case
from benchmarks.measure import in_process
from benchmarks.report import Report, Table, Target, figure
from vinesim.plots.lines import Axis, Line, Panel, line_figure
from vinesim.plots.style import save
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import policies

UNITS = (100, 1_000, 10_000, 100_000)
PENDING = (10, 1_000, 100_000)
LOADS = (0.8, 1.2)
N_TASKS = 100_000  # of a run by units
BUDGET_S = 4.0  # of one figure; what was done by then is taken
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "policies_cost"
SLOW = ("delay", "earliest_completion", "easy_backfill", "conservative_backfill", "rb_ljf_ocl")  # of version 0.1

FIRST = """
import time
from benchmarks.cases import A
import vinesim as vs
before = time.process_time()
vs.simulate(A.scenario({policy!r}), engine={engine!r})
print(time.process_time() - before)
"""


def online() -> list[str]:
    """The registered policies that decide task by task, without a plan made before."""
    return [name for name, kind in policies().items() if issubclass(kind, OnlinePolicy) and not kind.plans]


def cost_ns(made: vs.Scenario) -> float:
    """The event loop's time per task, of as many tasks as the budget allows."""
    run, n_jobs = engine.built(made), made.workload.n_jobs
    took_s, chunk, share = 0.0, 1_000, n_jobs / (n_jobs + made.workload.n_tasks)
    while took_s < BUDGET_S and run.n_done < made.workload.n_tasks:
        begun, before = time.perf_counter(), run.n_events
        engine.advance(run, chunk)
        took_s += time.perf_counter() - begun
        if run.n_events == before:
            raise RuntimeError(f"{made.policy} leaves {run.n_pending} tasks")
        chunk = min(2 * chunk, 100_000)
    return took_s / (run.n_events * (1.0 - share)) * 1e9


def by_units(name: str, load: float, units: tuple[int, ...]) -> Iterator[float]:
    for n_units in units:
        case = Case(name, N_TASKS // TASKS_A_JOB, n_units)
        case.__dict__["arrival_us"] = case.arrival_us * (LOAD / load)
        yield cost_ns(scale.scenario(case, name, {}, has_one_speed=True))


def by_pending(name: str, lengths: tuple[int, ...]) -> Iterator[str]:
    for n_pending in lengths:
        yield figure(scale.pending_ns(name, {}, n_pending, 20_000 if n_pending > 10_000 else 100_000))


def compile_s(policy: str) -> tuple[float, float]:
    """CPU time to a policy's first result: compiled with nothing on the disk, and as ``auto`` does it."""
    with tempfile.TemporaryDirectory() as cache:
        _, compiled = in_process(["-c", FIRST.format(policy=policy, engine="compiled")], cache)
        _, auto = in_process(["-c", FIRST.format(policy=policy, engine="auto")], cache)
    return float(compiled), float(auto)


def draw(costs: dict[str, dict[float, list[float]]], units: tuple[int, ...]) -> None:
    """One panel a load, one line a policy of the five and of the quickest."""
    chosen = [name for name in ("high", "earliest_finish", *SLOW) if name in costs]
    panels = [
        Panel(f"load {load:g}", [Line(name, np.array(units), np.array(costs[name][load]) / 1e3) for name in chosen])
        for load in LOADS
    ]
    x, y = Axis("units", "log"), Axis("time per task (us)", "log")
    save(line_figure(panels, x, y, columns=2), FIGURE)


def run(quick: bool) -> Report:
    names = ["high", "delay"] if quick else online()
    units, lengths = (UNITS[:2], PENDING[:2]) if quick else (UNITS, PENDING)
    costs = {name: {load: list(by_units(name, load, units)) for load in LOADS} for name in names}
    tables = [
        Table(
            f"ns a task at a load of {load:g}, by number of units",
            ["", *(f"{n:,} units" for n in units)],
            [[name, *map(figure, costs[name][load])] for name in names],
            "The event loop with its decisions, default options; tasks with data and preferences, units of one speed. "
            f"At a load of 1.2 up to {N_TASKS / 6:,.0f} tasks wait. One run of {BUDGET_S:g} s at most each.",
        )
        for load in LOADS
    ]
    pending = [[name, *by_pending(name, lengths)] for name in names]
    note = "As many tasks arrive as finish, on 1,000 busy units of one type; the least of 3."
    titles = [f"{n:,} pending" for n in lengths]
    tables.append(Table("ns an event, by number of pending tasks", ["", *titles], pending, note))
    begun = {name: compile_s(name) for name in names}
    rows = [[name, figure(compiled), figure(auto)] for name, (compiled, auto) in begun.items()]
    note = "CPU time after the import, each policy in its own processes with nothing on the disk; 500 jobs."
    tables.append(Table("s to the first result", ["", "compiled", "auto"], rows, note))
    if quick:
        return Report(tables)
    draw(costs, units)
    targets = [
        Target(
            f"{name}: a task at 100,000 units over 1,000, load 0.8", cost[0.8][3] / cost[0.8][1], 3.0, 1.5, " x", True
        )
        for name, cost in costs.items()
        if name in SLOW
    ]
    longest = max(begun, key=lambda name: begun[name][0])
    ratio = begun[longest][0] / begun["high"][0]
    targets.append(Target(f"longest compilation ({longest}) over high", ratio, 2.0, 1.2, " x", True))
    return Report(tables, targets)
