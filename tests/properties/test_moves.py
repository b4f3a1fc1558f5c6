"""Tasks that a batch policy moves: series and energy against a walk through time that notes every placement."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.results.folder import write_result
from vinesim.model.accounting import Accounting
from vinesim.model.electricity import Electricity, Series
from vinesim.policies.contract import BatchPolicy

PERIOD_US = 10.0
CURVE = (10, 22, 30, 36, 41, 45, 52, 60, 75, 90, 110)
KINDS = (
    vs.ProcessorType("CURVED", power_curve_w=CURVE, capacity=4.0),
    vs.ProcessorType("SLEEPY", idle_power_w=20.0, sleep_power_w=3.0, capacity=2.0),
    vs.ProcessorType("PLAIN", idle_power_w=9.0, capacity=3.0),
)
NOTES: list[tuple[float, int, int]] = []  # (time, task, unit) of every placement of the last run


@dataclass(frozen=True)
class Wander(BatchPolicy):
    """Puts every task anywhere, again and again."""

    name: ClassVar[str] = "wander"
    may_overcommit: ClassVar[bool] = True
    replaces_running: ClassVar[bool] = True

    def place(self, tasks, servers):
        begun = len({time for time, _, _ in NOTES})
        unit = np.random.default_rng(begun).integers(-1, len(servers.load), len(tasks.task))
        unit = np.where((unit < 0) & (tasks.unit >= 0), tasks.unit, unit)
        NOTES.extend(
            (begun * servers.period_us, int(t), int(u)) for t, u in zip(tasks.task, unit, strict=True) if u >= 0
        )
        if not len(tasks.task) or (unit < 0).all():
            NOTES.append((begun * servers.period_us, -1, -1))
        return unit


def scenario(seed, **more):
    random = np.random.default_rng(seed)
    n = 14
    work = vs.Workload(
        np.zeros(n),
        np.arange(n + 1),
        np.sort(random.integers(0, 60, n)).astype(float),
        random.integers(1, 50, n).astype(float),
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=random.integers(1, 3, n).astype(float),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter([0, 1, 2, 1, 0], np.zeros(5), [3, 1, 0, 2, 4], KINDS)  # the engine's order is not the file's
    options = {"policy": Wander, "affinity": np.ones((3, 1)), "power_w": [[100.0], [50.0], [30.0]], **more}
    return vs.Scenario(center, work, horizon_us=float("inf") if seed % 3 else 75.0, period_us=PERIOD_US, **options)


def run(case):
    NOTES.clear()
    return vs.simulate(case, engine="reference")  # not begun again on the other engine, which would note all twice


def walk(result, until):
    """[until, unit] lists: the tasks on each unit in each microsecond."""
    finish = np.where(np.isnan(result.tasks["finish_us"]), until, result.tasks["finish_us"])
    where: dict[int, int] = {}
    rows = []
    for us in range(until):
        where |= {task: unit for time, task, unit in NOTES if time == us and task >= 0}
        rows.append([[t for t, u in where.items() if u == unit and us < finish[t]] for unit in range(5)])
    return rows


def result_demand(seed):
    return scenario(seed).workload.demand


@pytest.mark.parametrize("seed", range(12))
def test_a_sampled_series_knows_where_each_task_was(seed):
    result = run(scenario(seed, sampling_us=7.0))
    assert len(result.outcome.early.task) > 3
    until = round(result.summary["makespan_us"])
    kinds, demand = result.units["unit_type"], result_demand(seed)
    rows = walk(result, until)
    busy = np.array([[bool(tasks) for tasks in row] for row in rows])
    held = np.array([[sum(demand[t] for t in tasks) for tasks in row] for row in rows]) / result.units["capacity"]
    for group, units in (("all", kinds >= 0), *((kind.name, kinds == code) for code, kind in enumerate(KINDS))):
        chosen = result.utilization["group"] == group
        for name, of, weights in (("active", busy, None), ("utilization", held, result.units["capacity"][units])):
            every = np.average(of[:, units], axis=1, weights=weights)
            expected = [every[at : at + 7].mean() for at in range(0, until, 7)]
            assert result.utilization[name][chosen] == pytest.approx(expected, abs=1e-12), name
    assert result.units["active_us"] == pytest.approx(busy.sum(axis=0))
    assert result.units["allocated_us"] == pytest.approx(held.sum(axis=0))


@pytest.mark.parametrize("seed", range(12))
def test_the_segments_are_where_each_task_was(seed):
    result = run(scenario(seed))
    until = round(result.summary["makespan_us"])
    table = result.segments
    end_us = np.where(np.isnan(table["end_us"]), until, table["end_us"])
    for us, row in enumerate(walk(result, until)):
        there = (table["begin_us"] <= us) & (us < end_us)
        found = [sorted(table["task"][there & (table["unit"] == unit)].tolist()) for unit in range(5)]
        assert found == [sorted(tasks) for tasks in row], us
    assert set(table["outcome"]) <= {"moved", "finished", "unfinished"}
    assert (table["amount"] == result_demand(seed)[table["task"]]).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_periods_count_what_was_placed_and_moved(seed):
    result = run(scenario(seed))
    where: dict[int, int] = {}
    expected = {}
    for time in sorted({time for time, _, _ in NOTES}):
        now = {task: unit for at, task, unit in NOTES if at == time and task >= 0}
        moved = sum(task in where and where[task] != unit for task, unit in now.items())
        expected[round(time / PERIOD_US)] = (sum(task not in where for task in now), moved)
        where |= now
    rows = zip(*(result.periods[name].tolist() for name in ("period", "placed", "moved")), strict=True)
    assert {period: counts for period, *counts in rows if any(counts)} == {
        period: list(counts) for period, counts in expected.items() if any(counts)
    }
    assert result.periods["moved"].sum() == (result.segments["outcome"] == "moved").sum()


@pytest.mark.parametrize("seed", range(12))
def test_energy_goes_where_each_task_was(seed):
    price = Series([0.0, 30.0], [1.0, 5.0], 50.0)
    case = scenario(seed, accounting=Accounting(wake_up_j=0.5, migration_j=0.25), electricity=Electricity(price))
    result = run(case)
    until = round(result.summary["makespan_us"])
    parts = {name: np.zeros(5) for name in ("active", "idle", "sleep", "wake_up", "migration")}
    paid, before = 0.0, [[] for _ in range(5)]
    for us, row in enumerate(walk(result, until)):
        spent = {name: np.zeros(5) for name in parts}
        for unit, tasks in enumerate(row):
            kind = KINDS[result.units["unit_type"][unit]]
            share = sum(case.workload.demand[t] for t in tasks) / kind.capacity
            if tasks and kind.name == "CURVED":
                spent["active"][unit] = np.interp(share, np.linspace(0, 1, 11), CURVE) * 1e-6
            elif tasks:
                spent["active"][unit] = {"SLEEPY": 50.0, "PLAIN": 30.0}[kind.name] * share * 1e-6
            elif kind.sleep_power_w is not None:
                spent["sleep"][unit] = kind.sleep_power_w * 1e-6
            else:
                spent["idle"][unit] = kind.idle_power_w * 1e-6
            if tasks and not before[unit] and kind.sleep_power_w is not None:
                spent["wake_up"][unit] = 0.5
            left = [t for t in before[unit] if any(t in others for u, others in enumerate(row) if u != unit)]
            spent["migration"][unit] = 0.25 * len(left)
        before = row
        for name in parts:
            parts[name] += spent[name]
        paid += sum(joule.sum() for joule in spent.values()) * (1.0 if us % 50 < 30 else 5.0)
    for name, joule in parts.items():
        assert result.units[f"{name}_j"] == pytest.approx(joule, rel=1e-9, abs=1e-15), name
    assert result.units["energy_j"] == pytest.approx(sum(parts.values()), rel=1e-9)
    assert result.summary["energy"]["cost"] == pytest.approx(paid / 3.6e6, rel=1e-9)


def test_segments_are_a_table_only_where_a_task_has_more_than_one(tmp_path):
    plain = vs.read_scenario("examples/energy.yaml", ["datacenter.racks[0].units={A: 5, D: 5}"])
    moved = vs.simulate(plain)
    assert moved.segments is not None
    assert moved.segments.n_rows == plain.workload.n_tasks + len(moved.outcome.early.task)
    stays = vs.simulate(replace(plain, options={"realloc": "new"}))
    assert (stays.outcome.early, stays.segments) == (None, None)
    write_result(tmp_path / "moved", moved)
    assert (tmp_path / "moved" / "segments.parquet").exists()
    write_result(tmp_path / "moved", stays)
    assert not (tmp_path / "moved" / "segments.parquet").exists()


@pytest.mark.parametrize("policy", ["bf", "rr"])
def test_a_placements_series_adds_up_to_its_utilization(policy):
    change = [
        "datacenter.racks[0].units={A: 9, B: 9, C: 9, D: 9}",
        "workload.options.tasks_per_batch=6",
        "sampling=3 s",
    ]
    result = vs.simulate(vs.read_scenario("examples/energy.yaml", [*change, f"policy={policy}"]))
    series = result.utilization
    width = series["t_end_us"] - series["t_start_us"]
    for column, measure in (("utilization", "allocated"), ("active", "active")):
        reported = result.summary["utilization"][measure]
        for group, mean in (("all", reported["overall"]), *reported["by_type"].items()):
            chosen = series["group"] == group
            total = (series[column] * width)[chosen].sum()
            assert total / result.summary["makespan_us"] == pytest.approx(mean, rel=1e-9)
