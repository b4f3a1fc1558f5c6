"""What the core is measured on: scenarios built through the public API alone, so that older versions run them too.

``python -m benchmarks.core_cases NAME N`` prints, as JSON, the least CPU time of N runs of ``simulate()`` after one
that compiles, the peak of memory beyond what the scenario takes, in bytes a task, and a hash of its finish times; for
``compile ...`` the CPU time of the first results of a process. ``python -m benchmarks core_cases --against COMMIT``
does this in turns with another commit (core_turns.py).
"""

import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from benchmarks import cases, pods, training
from benchmarks.measure import best_of, forget_peak, give_back_free_memory, memory_bytes
from vinesim.model.workload import ANYWHERE, NO_GANG

SIZES = {1: 0.5, 2: 0.15, 4: 0.12, 8: 0.1, 16: 0.07, 32: 0.04, 64: 0.02}  # nodes: share of the jobs
N_FULL, FULL_LOAD = 745, 0.98


def nearly_full(policy: str, n_jobs: int = 20_000, n_classes: int = 1) -> vs.Scenario:
    """Jobs of 1 to 64 whole nodes, with estimates of up to four times what they take; of several classes of nodes, each
    task takes a node of any."""
    random = np.random.default_rng(2)
    size = random.choice(list(SIZES), n_jobs, p=list(SIZES.values()))
    took_us = np.minimum(random.lognormal(np.log(1800e6), 1.8, n_jobs), 86_400e6)
    rate = FULL_LOAD * N_FULL / float((size * took_us).mean())
    arrival_us = np.cumsum(random.exponential(1 / rate, n_jobs))
    n, node = int(size.sum()), np.arange(N_FULL)
    work = vs.Workload(
        job_task_type=np.zeros(n_jobs),
        job_first=np.concatenate([[0], np.cumsum(size)]),
        arrival_us=arrival_us,
        operations=np.repeat(took_us, size),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        units=np.ones(n),
        gang_within=np.where(size > 1, ANYWHERE, NO_GANG),
        estimate_us=np.repeat(took_us * random.uniform(1, 4, n_jobs), size),
        task_types=(vs.TaskType("T"),),
    )
    types = tuple(vs.ProcessorType(f"N{i}") for i in range(n_classes))
    center = vs.Datacenter(node % n_classes, node // 20, node % 20, types)
    return vs.Scenario(center, work, policy, affinity=np.ones((n_classes, 1)))


def of_log(policy: str, *, exact: bool) -> vs.Scenario:
    """The jobs of the log that the environment names (``vinesim import swf --task job`` on one node that has all
    processors), as gangs of one task per processor; a scheduler knows how long they take, or what users requested."""
    jobs = vs.read_scenario(os.environ["VINESIM_LOG"])
    work, n_units = jobs.workload, int(jobs.datacenter.processor_types[0].capacity)
    size = work.demand.astype(int)
    n, node = int(size.sum()), np.arange(n_units)
    gangs = vs.Workload(
        job_task_type=np.zeros(work.n_jobs),
        job_first=np.concatenate([[0], np.cumsum(size)]),
        arrival_us=work.arrival_us,
        operations=np.repeat(work.operations, size),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        gang_within=np.where(size > 1, ANYWHERE, NO_GANG),
        estimate_us=None if exact else np.repeat(work.estimate_us, size),
        task_types=(vs.TaskType("T"),),
    )
    center = vs.Datacenter(np.zeros(n_units), node // 20, node % 20, (vs.ProcessorType("CPU"),))
    return vs.Scenario(center, gangs, policy, affinity=np.ones((1, 1)))


def with_slots(capacity: float, parallelism: float | None) -> vs.Scenario:
    """B var on a quarter of the units, which take several tasks each."""
    plain = cases.B_VAR.scenario()
    given = {"capacity": capacity} | ({} if parallelism is None else {"parallelism": parallelism})
    types = tuple(replace(one, **given) for one in plain.datacenter.processor_types)
    of = replace(cases.B_VAR, n_units=cases.B_VAR.n_units // 4).datacenter()
    return replace(plain, datacenter=vs.Datacenter(of.unit_type, of.rack, of.shelf, types))


def with_columns(policy: str, **columns: np.ndarray) -> vs.Scenario:
    """B var with further columns."""
    return vs.Scenario(cases.B_VAR.datacenter(), cases.B_VAR.workload(**columns), policy=policy)


def of_five_priorities() -> vs.Scenario:
    priority = np.random.default_rng(3).integers(0, 5, cases.B_VAR.n_jobs).astype(float)
    return with_columns("priority", priority=priority)


RUNS: dict[str, Callable[[], vs.Scenario]] = {
    "A": cases.A.scenario,
    "B const": cases.B_CONST.scenario,
    "B var": cases.B_VAR.scenario,
    "companions, B const": lambda: pods.with_companions(cases.B_CONST),
    "companions, B var": lambda: pods.with_companions(cases.B_VAR),
    "slots, B var": lambda: with_slots(4.0, None),
    "shared speed, B var": lambda: with_slots(8.0, 4.0),
    "limits, B var": lambda: with_columns("high", limit_us=np.full(cases.B_VAR.n_jobs, 400.0)),
    "preemption, B var": of_five_priorities,
    "pods, 1,000 nodes": lambda: pods.pods(1_000, 100_000, 0.9),
    "pods, 100,000 nodes": lambda: pods.pods(100_000, 1_000_000, 0.9),
    "fgd, 1,000 nodes": lambda: replace(pods.pods(1_000, 100_000, 0.9), policy="fgd", options={}),
    "gangs, srtf": lambda: training.scenario("srtf", 1.1, 40_000, 300),
    "gangs, las": lambda: training.scenario("las", 1.1, 80_000, 600),
    "easy, 745 nodes": lambda: nearly_full("easy_backfill"),
    "conservative, 745 nodes": lambda: nearly_full("conservative_backfill"),
    "easy, 745 nodes of 2 classes": lambda: nearly_full("easy_backfill", n_classes=2),
    "conservative, 745 nodes of 2 classes": lambda: nearly_full("conservative_backfill", n_classes=2),
    "easy, 745 nodes of 8 classes": lambda: nearly_full("easy_backfill", n_classes=8),
    "conservative, 745 nodes of 8 classes": lambda: nearly_full("conservative_backfill", n_classes=8),
    "easy, log": lambda: of_log("easy_backfill", exact=False),
    "conservative, log": lambda: of_log("conservative_backfill", exact=False),
    "easy, log, exact times": lambda: of_log("easy_backfill", exact=True),
    "conservative, log, exact times": lambda: of_log("conservative_backfill", exact=True),
}
COMPILED: dict[str, tuple[Callable[[], vs.Scenario], ...]] = {
    "compile high, then pref": (cases.B_CONST.first(20).scenario, lambda: cases.B_CONST.first(20).scenario("pref")),
    "compile las of gangs": (lambda: training.scenario("las", 1.1, 100, 10),),
    "compile easy of gangs": (lambda: nearly_full("easy_backfill", 50),),
}


def finishes(scenario: vs.Scenario) -> np.ndarray:
    return vs.simulate(scenario, engine="compiled").outcome.task_finish_us


def measured(name: str, n: int) -> dict[str, Any]:
    """CPU times in s; of runs also memory in bytes a task, and a hash of what came out."""
    if name in COMPILED:
        taken = []
        for make in COMPILED[name]:
            scenario, begun = make(), time.process_time()
            finishes(scenario)
            taken.append(time.process_time() - begun)
        return {"took_s": taken}
    scenario = RUNS[name]()
    finishes(scenario)
    give_back_free_memory()
    forget_peak()
    before = memory_bytes("VmRSS")
    took_s, found = best_of(n, lambda: lambda: finishes(scenario))
    beyond = (memory_bytes() - before) / scenario.workload.n_tasks
    return {"took_s": [took_s], "bytes": beyond, "found": hashlib.sha256(found.tobytes()).hexdigest()}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
