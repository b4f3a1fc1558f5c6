"""Break the jobs of a run down by user, partition, application, type, size or hour of arrival.

All numbers come from the tables of a result, so a stored run gives the same ones. The cost and energy of a unit are
divided among the jobs that held it: its price by the share of its capacity and of the makespan that each job held, the
energy of its active time by how much of it each job held. What no job held appears in no group.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.formats.source.clock import Clock
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.metrics.gaps import gaps_us
from vinesim.metrics.latency import quantiles
from vinesim.metrics.serving import between_tokens_us, in_time
from vinesim.metrics.tables import SLOWDOWN_FLOOR_US
from vinesim.model.errors import InputError, Problem
from vinesim.model.time import US_PER_HOUR

TYPE, SIZE, HOUR = "task_type", "size", "hour"  # axes that every run has
OWN = (TYPE, SIZE, HOUR)
BY = "by."  # the start of the names of such numbers in a study: by.user.ann.wait_us
NONE = "-"  # the label of jobs that have none
TABLES = ("jobs", "tasks", "units", "segments", "labels")  # those of a result that are needed
_HOURS, _TAILS = 24, (0.5, 0.9, 0.99)

Tables = Mapping[str, Mapping[str, np.ndarray] | None]


def axes(tables: Tables) -> list[str]:
    """Return the axes that a run has: its labels, task_type, size and hour."""
    return [name for name in tables["labels"] or () if name != "job"] + list(OWN)


def wrong_axis(tables: Tables, axis: str, start: str = "") -> Problem | None:
    """Return a problem if a run has no such axis, otherwise None; ``start`` stands before each name in its words. Only
    the table of labels is needed."""
    there = axes(tables)
    if axis in there:
        return None
    remedy = did_you_mean(axis, there).replace("mean ", f"mean {start}")
    return Problem("--by", f"one of {', '.join(start + name for name in there)}", start + axis, remedy)


def by(tables: Tables, summary: Mapping[str, Any], axis: str) -> Table:
    """Return a row per label of an axis: sizes and hours in their own order, other labels by decreasing work.

    ``tables`` are those of a result: jobs, tasks, units, segments and labels, the last two None if there are none.
    Columns: the axis, jobs, finished; refused, with a policy that may drop jobs; the mean wait, its percentiles, the
    mean latency and its 99th percentile, us; the mean bounded slowdown; utilization, the share of all units that run
    tasks over the makespan; work, as a share of all work; energy_j and cost. With serving engines also the mean time to
    the first token and per token, their 99th percentiles, us, and the share of requests within both of their times,
    percent. Waits, latencies, slowdowns and times of tokens leave out the jobs that the summary leaves out as its
    warm-up. Raises :class:`InputError` for an axis that the run lacks.
    """
    jobs, units = _table(tables, "jobs"), _table(tables, "units")
    n_jobs, end_us = len(jobs["job"]), float(summary["makespan_us"])
    names, code, is_ordered = groups(tables, summary, axis)
    held, n = _held(tables, end_us), len(names)

    def per_job(amount: np.ndarray) -> np.ndarray:
        return np.bincount(held["job"], amount, n_jobs)

    def total(of_job: np.ndarray) -> np.ndarray:
        return np.bincount(code, of_job, n)

    wait_us, slowdown = _waits(jobs, held)
    busy_us = held["share"] * (held["end_us"] - held["begin_us"])
    resources = summary["provenance"].get("resources", ())
    codes = [c for c, name in enumerate(summary["provenance"].get("processor_types", ())) if name in resources]
    runs = ~np.isin(units["unit_type"], codes)
    whole_us = (units["capacity"] * runs).sum() * end_us
    work = total(per_job(busy_us * (units["capacity"] * runs)[held["unit"]]))
    latency_us = jobs["latency_us"]
    start = summary["jobs"].get("warm_up", {"dropped": 0})["dropped"]
    rows = [row[row >= start] for row in _rows(code, n)]
    tasks = _table(tables, "tasks")
    columns: dict[str, Any] = {
        axis: np.array(names, object),
        "jobs": np.bincount(code, minlength=n),
        "finished": np.bincount(code[np.isfinite(latency_us)], minlength=n),
        **({"refused": np.bincount(code[jobs["refused"]], minlength=n)} if "refused" in jobs else {}),
        "wait_us": np.array([_mean(wait_us[row]) for row in rows]),
        **{f"wait_p{100 * p:g}_us": np.array([_tail(wait_us[row], p) for row in rows]) for p in _TAILS},
        "latency_us": np.array([_mean(latency_us[row]) for row in rows]),
        "latency_p99_us": np.array([_tail(latency_us[row], 0.99) for row in rows]),
        "slowdown": np.array([_mean(slowdown[row]) for row in rows]),
        "utilization": work / whole_us if whole_us > 0 else np.zeros(n),
        "work": work / work.sum() if work.sum() > 0 else np.full(n, math.nan),
        "energy_j": total(per_job(_energy_j(units, held, busy_us))),
        "cost": total(per_job(busy_us * units["price"][held["unit"]])) / end_us if end_us > 0 else np.zeros(n),
        **(_of_tokens(tasks, _rows(code[tasks["job"]], n), start) if "first_token_us" in tasks else {}),
    }
    order = np.arange(n) if is_ordered else np.lexsort((columns["jobs"], work))[::-1]
    return Table({name: column[order] for name, column in columns.items()})


def side_by_side(one: Table, other: Table, number: str) -> Table:
    """Compare one number of two runs by label: columns ``label``, ``first``, ``second``, ``difference`` and ``ratio``.

    The difference is second - first, the ratio second / first. NaN where a run has no jobs with the label.
    """
    axis = next(iter(one))
    labels = list(dict.fromkeys([*one[axis].tolist(), *other[axis].tolist()]))
    values = [dict(zip(rows[axis].tolist(), rows[number].tolist(), strict=True)) for rows in (one, other)]
    first, second = (np.array([each.get(label, math.nan) for label in labels], np.float64) for each in values)
    ratio = np.divide(second, first, out=np.full(len(labels), math.nan), where=first != 0)
    columns = {"first": first, "second": second, "difference": second - first, "ratio": ratio}
    return Table({"label": np.array(labels, object), **columns})


def _of_tokens(tasks: Mapping[str, np.ndarray], rows: list[np.ndarray], start: int) -> dict[str, np.ndarray]:
    """Return each group's token times, us, of the jobs from ``start`` on, and the percentage of all its tasks that met
    both of their limits."""
    to_first_us = tasks["first_token_us"] - tasks["arrival_us"]
    token_us = between_tokens_us(tasks["first_token_us"], tasks["finish_us"], tasks["output_tokens"])
    found, kept = {}, [row[tasks["job"][row] >= start] for row in rows]
    for name, time_us in (("first_token", to_first_us), ("token", token_us)):
        found[f"{name}_us"] = np.array([_mean(time_us[row]) for row in kept])
        found[f"{name}_p99_us"] = np.array([_tail(time_us[row], 0.99) for row in kept])
    within = (tasks.get("first_token_within_us"), tasks.get("token_within_us"))
    good = in_time(to_first_us, token_us, np.isfinite(tasks["finish_us"]), *within)
    return found if good is None else found | {"goodput_pct": np.array([100.0 * good[row].mean() for row in rows])}


def groups(tables: Tables, summary: Mapping[str, Any], axis: str) -> tuple[list[str], np.ndarray, bool]:
    """Return the labels of an axis, the number of each job's label [J], and whether the labels have an order.

    Raises :class:`InputError` for an axis that the run lacks.
    """
    if problem := wrong_axis(tables, axis):
        raise InputError([problem])
    return _groups(axis, tables, summary)


def _rows(code: np.ndarray, n: int) -> list[np.ndarray]:
    """Return the indices of the jobs in each of ``n`` groups."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.cumsum(np.bincount(code, minlength=n))[:-1])


def _table(tables: Tables, name: str) -> Mapping[str, np.ndarray]:
    found = tables[name]
    assert found is not None
    return found


def _held(tables: Tables, end_us: float) -> dict[str, np.ndarray]:
    """Return a row for each time that a task held a unit: job, unit, share, amount, start and end, us, and ``is_lead``.

    ``is_lead`` marks the units that the task itself ran on in its first segment, as opposed to companions.
    """
    tasks, units, segments = _table(tables, "tasks"), _table(tables, "units"), tables["segments"]
    if segments is None:
        started = tasks["unit"] >= 0
        rows = {name: column[started] for name, column in tasks.items()}
        names = {"begin_us": "init_us", "end_us": "finish_us"}
    else:
        rows, names = dict(segments), {}
    unit = rows["unit"]
    ends = rows[names.get("end_us", "end_us")]
    zeros = np.zeros(len(unit), np.int32)
    amount = rows.get("amount", units["capacity"][unit])
    begins = rows.get("segment", zeros) == 0
    named = begins & (rows.get("part", zeros) == 0)
    lead_type = np.full(len(tasks["job"]), -1)
    lead_type[rows["task"][named]] = units["unit_type"][unit[named]]
    return {
        "job": tasks["job"][rows["task"]],
        "unit": unit,
        "amount": amount,
        "share": amount / units["capacity"][unit],
        "begin_us": rows[names.get("begin_us", "begin_us")],
        "end_us": np.where(np.isnan(ends), end_us, ends),
        "is_lead": begins & (units["unit_type"][unit] == lead_type[rows["task"]]),
    }


def _waits(jobs: Mapping[str, np.ndarray], held: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return [J] how long no task of each job held a unit before its last start, us; and [J] its bounded slowdown."""
    gaps = gaps_us(held["job"], held["begin_us"], held["end_us"], len(jobs["job"]))
    running_us = jobs["finish_us"] - jobs["start_us"] - gaps
    slowdown = np.maximum(1.0, jobs["latency_us"] / np.maximum(running_us, SLOWDOWN_FLOOR_US))
    since_us = jobs.get("eligible_us", jobs["arrival_us"])
    return jobs["start_us"] - since_us + gaps, slowdown


def _energy_j(units: Mapping[str, np.ndarray], held: Mapping[str, np.ndarray], busy_us: np.ndarray) -> np.ndarray:
    """Return the energy of each time that a task held a unit, J; NaN if it is unknown."""
    if "active_j" not in units:
        return np.full(len(busy_us), math.nan)
    of_unit = np.bincount(held["unit"], busy_us, len(units["unit"]))[held["unit"]]
    share = np.divide(busy_us, of_unit, out=np.zeros(len(busy_us)), where=of_unit > 0)
    return np.asarray(units["active_j"][held["unit"]] * share)


def _groups(axis: str, tables: Tables, summary: Mapping[str, Any]) -> tuple[list[str], np.ndarray, bool]:
    jobs, labels = _table(tables, "jobs"), tables["labels"]
    if axis == HOUR:
        start = Clock.of(summary["provenance"].get("start_date")).start_s or 0.0
        hour = np.floor_divide(start * 1e6 + jobs["arrival_us"], US_PER_HOUR).astype(np.int64) % _HOURS
        used, code = np.unique(hour, return_inverse=True)
        return [f"{one:02d}" for one in used], code, True
    if axis == SIZE:
        held = _held(tables, float(summary["makespan_us"]))
        size = np.bincount(held["job"], held["amount"] * held["is_lead"], len(jobs["job"]))
        power = np.full(len(size), -1, np.int64)
        power[size > 0] = np.maximum(0, np.ceil(np.log2(size[size > 0]) - 1e-9)).astype(np.int64)
        used, code = np.unique(power, return_inverse=True)
        return [_size(int(one)) for one in used], code, True
    if axis == TYPE:
        names = summary["provenance"].get("task_types") or {}
        used, code = np.unique(jobs["task_type"], return_inverse=True)
        return [names[one] if one < len(names) else f"task type {one}" for one in used.tolist()], code, False
    assert labels is not None
    texts = np.array([NONE if one is None or one == "" else str(one) for one in labels[axis]], object)
    names, code = np.unique(texts.astype(str), return_inverse=True)
    return names.tolist(), code, False


def _size(power: int) -> str:
    """Return the label of a size class: 1, 2, 3-4, 5-8 and so on. A size is how many lead units a job holds."""
    if power < 0:
        return "never started"
    return str(1 << power) if power < 2 else f"{(1 << power - 1) + 1}-{1 << power}"


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def _tail(values: np.ndarray, share: float) -> float:
    known = values[np.isfinite(values)]
    return float(quantiles(known, [share])[0]) if len(known) else math.nan
