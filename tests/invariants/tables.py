"""The tables themselves: their rows, their columns, and the exit reason."""

import math
from collections.abc import Iterator

import numpy as np

from tests.invariants.facts import Facts
from vinesim.model.columns import OF_RUNS

DECLARED = {table.name: table.columns for table in OF_RUNS}


def columns_are_as_declared(facts: Facts) -> Iterator[str]:
    """Columns have known names, types and one length, and values where none may be missing."""
    for name, table in facts.folder.tables.items():
        known = {column.name: column for column in DECLARED[name]}
        if len({len(values) for values in table.values()}) > 1:
            yield f"{name} has columns of several lengths"
        for title, values in table.items():
            if title not in known:
                yield f"{name}.{title} is declared nowhere"
                continue
            column, is_text = known[title], values.dtype.kind in "UO"
            if is_text != (column.dtype == "str") or not (is_text or values.dtype == column.dtype):
                yield f"{name}.{title} is {values.dtype}, not {column.dtype}"
            if not column.nullable and values.dtype.kind == "f" and np.isnan(values).any():
                yield f"{name}.{title} misses values"
            if not column.nullable and values.dtype.kind == "i" and (values < 0).any():
                yield f"{name}.{title} has numbers below 0"


def every_task_once(facts: Facts) -> Iterator[str]:
    """There is one row per task with its facts from the scenario, and its unit exists."""
    rows, units = facts.folder.tasks, facts.folder.units
    if [row["task"] for row in rows] != list(range(facts.work.n_tasks)):
        yield "the tasks are not those of the workload, each once"
        return
    for number, row in enumerate(units):
        expected = (number, facts.unit_type[number], *facts.place[number], facts.capacity(number))
        if tuple(row[name] for name in ("unit", "unit_type", "rack", "shelf", "capacity")) != expected:
            yield f"unit {number} is not that of the datacenter"
    for task, row in enumerate(rows):
        given = (facts.job[task], facts.kind[task], facts.arrival[task])
        if (row["job"], row["task_type"], row["arrival_us"]) != given:
            yield f"task {task}: job, type or arrival are not the workload's"
        unit = row["unit"]
        there = (-1, -1, -1) if unit < 0 else (facts.unit_type[unit], *facts.place[unit])
        if (row["unit_type"], row["rack"], row["shelf"]) != there:
            yield f"task {task}: type, rack or shelf are not those of unit {unit}"
        if (unit < 0) != facts.is_missing(row["init_us"]):
            yield f"task {task} has a unit without an init time, or the reverse"
        if unit < 0 and not (facts.is_missing(row["start_us"]) and facts.is_missing(row["finish_us"])):
            yield f"task {task} ran on no unit"


def jobs_are_their_tasks(facts: Facts) -> Iterator[str]:
    """A job starts with its first task and ends with its last one."""
    rows, work = facts.folder.jobs, facts.work
    if [row["job"] for row in rows] != list(range(work.n_jobs)):
        yield "the jobs are not those of the workload, each once"
        return
    for job, row in enumerate(rows):
        mine = facts.folder.tasks[work.job_first[job] : work.job_first[job + 1]]
        begins = [hold.begin for task in mine for hold in facts.holds_of.get(task["task"], ())]
        ends = [task["finish_us"] for task in mine]
        finish = np.nan if any(map(facts.is_missing, ends)) else max(ends)
        expected = {
            "task_type": work.job_task_type[job],
            "tasks": len(mine),
            "arrival_us": work.arrival_us[job],
            "start_us": min(begins, default=np.nan),
            "finish_us": finish,
            "latency_us": finish - work.arrival_us[job],
        }
        expected |= {} if work.deadline_us is None else {"deadline_us": work.deadline_us[job]}
        if work.withdraw_us is not None:
            expected["withdraw_us"] = work.withdraw_us[job] if np.isfinite(work.withdraw_us[job]) else np.nan
        if facts.policy.may_drop:
            withdraw_us = np.inf if work.withdraw_us is None else work.withdraw_us[job]
            never_ran = facts.is_missing(row["start_us"]) and not withdraw_us <= facts.makespan
            dropped = [task for task in mine if not facts.is_missing(task["dropped_us"])]
            expected["refused"] = never_ran and bool(dropped)
            for task in dropped:
                if not work.arrival_us[job] <= task["dropped_us"] or not facts.is_missing(task["finish_us"]):
                    yield f"task {task['task']}: it was dropped at {task['dropped_us']}"
        expected |= {} if work.application is None else {"application": work.application[job]}
        expected |= {} if work.after is None else {"eligible_us": facts.eligible[job]}
        for name, value in expected.items():
            if not (row[name] == value or (row[name] != row[name] and value != value)):
                yield f"job {job}: {name} is {row[name]}, not {value}"
        for task in mine:
            if not facts.same(task["generation_us"], expected["start_us"], slack=0.0):
                yield f"task {task['task']}: generation_us is not the start of job {job}"


def exit_reason(facts: Facts) -> Iterator[str]:
    """The reason is what the tables show."""
    rows, reason, words = facts.folder.tasks, facts.reason, facts.folder.summary["provenance"]["reason"]
    over = {task for task, holds in facts.holds_of.items() if holds[-1].outcome in ("killed", "withdrawn")}
    left = [row for row in rows if facts.is_missing(row["finish_us"]) and row["task"] not in over]
    may_drop = facts.policy.may_drop or facts.work.withdraw_us is not None
    waiting = [row for row in left if row["unit"] < 0]
    if reason == "ALL_DONE":
        if len(left) > len(waiting) or (waiting and not may_drop):
            yield f"ALL_DONE, but task {left[0]['task']} did not end"
        if not left and not over and facts.makespan != max(row["finish_us"] for row in rows):
            yield f"the makespan {facts.makespan} is not the last finish"
    elif reason == "HORIZON":
        if not left or facts.makespan != facts.scenario.horizon_us:
            yield "HORIZON, but nothing was cut off there"
    elif reason == "STALLED":
        never = np.isinf(facts.work.operations)  # neither do those consolidated with one
        endless = [
            row for row in left if row["unit"] >= 0 and (never[row["task"]] or (facts.consolidates and never.any()))
        ]
        if len(left) > len(waiting) + len(endless) or not waiting:
            yield "STALLED, but tasks run, or none waits"
        if any(facts.makespan < arrival < math.inf for arrival in facts.due):
            yield "STALLED, but jobs are to come"
    elif reason == "ENDLESS":
        if any(not facts.is_missing(facts.eligible[row["job"]]) for row in waiting) and not may_drop:
            yield "ENDLESS, but tasks wait"
    else:
        yield f"{reason} is no way that a run ends by itself"
    if bool(words) != (reason in ("STALLED", "ENDLESS")):
        yield f"{reason} with the words {words!r}"
