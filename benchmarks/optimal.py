"""Optimal schedules: the time to prove one, and how far the other policies are from it.

The size of the RBSS paper: 76 jobs on 24 nodes of 3 devices, here 12 types of 6. Random times of 3 to about 1200 ms,
by the job and its kind; a fifth of the (kind, type) pairs cannot run. "equal" types differ in speed by up to 4, "apart"
ones log-normally, so that jobs queue for the fast ones; "alike" jobs are of about the same length as well, which is the
hard case: a matter of how many fit on a unit.
"""

from dataclasses import replace

import numpy as np

import vinesim as vs
from benchmarks.report import Report, Table, Target, figure
from vinesim.policies.registry import policies

N_JOBS, N_TYPES, N_NODES, PER_NODE, N_KINDS = 76, 12, 24, 3, 5
CASES = (("equal", 60.0), ("apart", 300.0), ("apart", 60.0), ("alike", 60.0))
OTHERS = ("high", "earliest_finish", "rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl")
TIME_LIMIT_S = 30.0


def case(seed: int, spread: str, span_ms: float) -> vs.Scenario:
    random = np.random.default_rng([seed, int(span_ms), len(spread)])
    types = tuple(vs.ProcessorType(f"P{p}") for p in range(N_TYPES))
    units = [
        (f"P{(node * PER_NODE + i) % N_TYPES}", node // 8, node % 8) for node in range(N_NODES) for i in range(PER_NODE)
    ]
    shortest_ms = 400.0 if spread == "alike" else 10.0
    base = np.exp(random.uniform(np.log(shortest_ms), np.log(600.0), N_JOBS))
    speed = random.uniform(1, 4, N_TYPES) if spread == "equal" else np.exp(random.normal(0.5, 1.0, N_TYPES))
    efficiency = random.uniform(0.6, 1.4, (N_TYPES, N_KINDS))
    able = random.random((N_TYPES, N_KINDS)) >= 0.2
    able[0] = True
    kind = random.integers(0, N_KINDS, N_JOBS)
    times_ms = np.maximum(3.0, np.rint(base[:, None] / (speed[:, None] * efficiency).T[kind]))
    none = np.zeros(N_JOBS)
    work = vs.Workload(
        kind,
        np.arange(N_JOBS + 1),
        np.sort(random.integers(0, int(span_ms), N_JOBS)) * 1e3,
        none,
        none,
        none,
        none,
        np.full(N_JOBS, -1),
        times_us=times_ms * 1e3,
        task_types=tuple(vs.TaskType(f"T{t}") for t in range(N_KINDS)),
    )
    affinity = able * (speed[:, None] * efficiency)
    return vs.Scenario(vs.Datacenter.of(units, types), work, affinity=affinity)


def run(quick: bool) -> Report:
    n, limit_s = (2, 5.0) if quick else (5, TIME_LIMIT_S)
    others = [name for name in OTHERS if name in policies()]
    rows, gaps, proven_s = [], [], []
    for spread, span_ms in CASES:
        found, above = [], []
        for seed in range(n):
            scenario = case(seed, spread, span_ms)
            result = vs.simulate(replace(scenario, policy="optimal", options={"time_limit_s": limit_s}))
            bound = result.summary["bound"]
            found.append((bound["status"] == "OPTIMAL", result.summary["provenance"]["plan_s"], bound["gap_pct"]))
            spans = [vs.simulate(replace(scenario, policy=name)).summary["makespan_us"] for name in others]
            above.append([100.0 * (span / bound["value_us"] - 1.0) for span in spans])
        took = [seconds for is_proven, seconds, _ in found if is_proven]
        proven_s += took if spread != "alike" else []
        label = f"{spread}, arrivals within {span_ms:.0f} ms"
        median, most = (figure(float(np.median(took))), figure(max(took))) if took else ("-", "-")
        rows.append([label, f"{len(took)} of {n}", median, most, figure(max(gap for _, _, gap in found))])
        gaps.append([label, *(figure(gap) for gap in np.mean(above, axis=0))])
    columns = ["76 jobs on 72 units", "proven optimal", "median s", "longest s", "largest gap, %"]
    note = f"Wall time of the search with 8 workers and a limit of {limit_s:.0f} s; the gap is to the bound."
    behind = "Makespan above that of the best schedule found, %, mean."
    limit = Target(
        "longest search that was proven, but for the alike, s",
        max(proven_s, default=limit_s),
        limit_s,
        10.0,
        " s",
        True,
    )
    return Report(
        [Table("Optimal schedules", columns, rows, note), Table("How far the others are", ["", *others], gaps, behind)],
        [limit],
    )
