"""Does a decision cost the same whatever the number of units, and whatever the number of pending tasks?"""

import numpy as np

import vinesim as vs
from benchmarks import engine
from benchmarks.cases import B_CONST, B_VAR, C_CONST, C_VAR, CPU, GPU, LOAD, SPEED, TASKS_A_JOB, Case
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, Target, figure

# name -> policy, options, and whether its tasks have data or preferences
POLICIES = {
    "flat, per_task": ("flat", {"order": "per_task"}),
    "flat, once": ("flat", {"order": "once"}),
    "flat, xy": ("flat", {"order": "xy"}),
    "high": ("high", {}),
    "pref, first": ("pref", {"mode": "first"}),
    "closer_to_data, tiers": ("closer_to_data", {"distance": "tiers"}),
    "closer_to_data, coordinates": ("closer_to_data", {"distance": "coordinates"}),
    "delay, type": ("delay", {"wait_for": "type", "wait_us": 10.0}),
    "delay, node": ("delay", {"wait_for": "node", "wait_us": 10.0}),
    "delay, rack": ("delay", {"wait_for": "rack", "wait_us": 10.0}),
    "earliest_finish": ("earliest_finish", {}),
    "earliest_completion": ("earliest_completion", {}),
    "easy_backfill": ("easy_backfill", {}),
    "conservative_backfill": ("conservative_backfill", {}),
    "rb_ljf_ocl": ("rb_ljf_ocl", {}),
}
UNITS = (40, 1_000, 10_000, 100_000)
LONG_S = 10.0  # a run that takes longer is measured once


def scenario(case: Case, policy: str, options: dict, has_one_speed: bool = False) -> vs.Scenario:
    """Tasks with data on a random node, most of them preferring GPUs; the units are busy for LOAD of the time.

    Policies that are blind to speed get units of one speed: most would be overloaded else.
    """
    rng = np.random.default_rng(2)
    center = case.datacenter()
    at = rng.integers(0, case.n_units, case.n_tasks)
    is_blind = has_one_speed or policy in ("flat", "closer_to_data", "delay")
    speed_up = 2 * SPEED[GPU] / (SPEED[CPU] + SPEED[GPU]) if is_blind else 1.0
    work = case.workload(
        arrival_us=case.arrival_us / speed_up,
        data_bytes=np.full(case.n_tasks, 1000.0),
        data_rack=center.rack[at],
        data_shelf=center.shelf[at],
        preferred_type=np.repeat(rng.choice([CPU, GPU], case.n_jobs, p=[0.05, 0.95]), TASKS_A_JOB),
    )
    if is_blind:
        affinity = np.zeros((len(center.processor_types), len(work.task_types)))
        affinity[[CPU, GPU]] = SPEED[GPU]
        return vs.Scenario(center, work, policy=policy, options=options, affinity=affinity)
    return vs.Scenario(center, work, policy=policy, options=options)


def by_units(quick: bool) -> Table:
    n_tasks = 50_000 if quick else 500_000
    names = ["flat, per_task", "high"] if quick else list(POLICIES)
    units = UNITS[:3] if quick else UNITS
    rows = []
    for name in names:
        row = [name]
        for n_units in units:
            case = Case(name, n_tasks // TASKS_A_JOB, n_units)
            made = scenario(case, *POLICIES[name])
            best_s, finish_us = best_of(1, lambda made=made: engine.loop_of(made))
            if best_s < LONG_S:
                best_s = min(best_s, best_of(2, lambda made=made: engine.loop_of(made))[0])
            row.append(f"{figure(best_s / n_tasks * 1e9)} ({figure(mean_latency_us(made, finish_us))})")
        rows.append(row)
    note = (
        f"The whole event loop per task, its decision included, at a load of {LOAD:g}; in brackets the mean time from "
        "arrival to finish, us. Tasks with data on random nodes; best of 3, of 1 beyond 10 s."
    )
    return Table("ns a task, by number of units", ["", *(f"{n:,} units" for n in units)], rows, note)


def mean_latency_us(made: vs.Scenario, finish_us: np.ndarray) -> float:
    """Mean time from arrival to finish: a queue that grows without end would show."""
    work = made.workload
    return float((finish_us - np.repeat(work.arrival_us, np.diff(work.job_first))).mean())


def pending_ns(policy: str, options: dict, n_pending: int, n_measured: int) -> float:
    """Time per event while ``n_pending`` tasks wait: as many arrive as finish.

    1,000 GPUs, which the first tasks take one after the other, so that they finish one after the other from then on. As
    the first one does, all others that wait arrive. Tasks are equally long, whichever goes first.
    """
    n_units, gap_us, ops_a_us = 1_000, 25.0, SPEED[GPU]
    length_us = n_units * gap_us
    center = vs.Datacenter(np.full(n_units, GPU), np.arange(n_units) // 100, np.arange(n_units) % 100 // 10)
    n_running, n_waiting = n_units // TASKS_A_JOB, -(-n_pending // TASKS_A_JOB)
    n_first = n_running + n_waiting
    n_jobs = n_first + n_measured // TASKS_A_JOB
    case = Case("pending", n_jobs, n_units)
    arrival = np.zeros(n_jobs)
    arrival[:n_running] = np.arange(n_running)
    arrival[n_running:n_first] = n_running
    arrival[n_first:] = n_running + np.arange(1, n_jobs - n_first + 1)
    rng = np.random.default_rng(3)
    at = rng.integers(0, n_units, case.n_tasks)
    length = np.full(case.n_tasks, length_us)
    length[:n_units] += np.arange(n_units) % TASKS_A_JOB * gap_us + gap_us / 2
    work = case.workload(
        arrival_us=arrival * (TASKS_A_JOB * gap_us),
        data_rack=center.rack[at],
        data_shelf=center.shelf[at],
        operations=length * ops_a_us,
    )
    made = vs.Scenario(center, work, policy=policy, options=options)

    def prepare():
        run = engine.built(made)
        engine.advance(run, n_first)
        if abs(run.n_pending - n_pending) > 2 * TASKS_A_JOB:
            raise RuntimeError(f"{run.n_pending} tasks pending, not {n_pending}")

        def loop():
            engine.advance(run, n_measured)
            if abs(run.n_pending - n_pending) > 4 * TASKS_A_JOB:
                raise RuntimeError(f"{run.n_pending} tasks pending at the end, not about {n_pending}")

        return loop

    best_s, _ = best_of(3, prepare)
    return best_s / n_measured * 1e9


def by_pending(quick: bool) -> Table:
    lengths = (10, 1_000, 100_000) if quick else (10, 1_000, 100_000, 1_000_000)
    names = ["flat, per_task", "high", "pref, first", "closer_to_data, tiers", "delay, type", "earliest_finish"]
    names = ["high"] if quick else [*names, "earliest_completion"]
    rows = []
    for name in names:
        policy, options = POLICIES[name]
        rows.append([name, *(figure(pending_ns(policy, options, n, 200_000)) for n in lengths)])
    note = "As many tasks arrive as finish, on 1,000 busy units; the time per event, best of 3."
    return Table("ns an event, by number of pending tasks", ["", *(f"{n:,} pending" for n in lengths)], rows, note)


def run(quick: bool) -> Report:
    report = Report([by_units(quick), by_pending(quick)])
    if not quick:
        for small, large in ((B_CONST, C_CONST), (B_VAR, C_VAR)):
            times = []
            for case in (small, large):
                made = case.scenario()
                simulation = engine.simulation_of(made)
                best_s, _ = best_of(4, lambda simulation=simulation: simulation)
                times.append(best_s / case.n_tasks)
            what = f"simulate(), cost per task of {large.name} over {small.name}"
            report.targets.append(Target(what, times[1] / times[0], 1.6, 1.2, " x", less_is_better=True))
    return report
