"""Symphony: a day of 18 million requests, and the cost of a decision by nodes and by applications."""

import time

import numpy as np

import vinesim as vs
from benchmarks import engine
from benchmarks.measure import best_of, forget_peak, memory_bytes
from benchmarks.report import Report, Table, Target, figure
from vinesim.workloads import symphony_applications as paper

HOUR_US = 3.6e9
POLICIES = ("symphony", "symphony_recommended", "fcfs", "edf")


def scenario(n_nodes: int, policy: str, duration_us: float, copies: int = 1, scale: float = 1.0) -> vs.Scenario:
    """Nodes of a CPU unit and two GPUs; the paper's applications, n of each."""
    options = {"duration_us": duration_us, "copies": copies, "scale": scale / copies, "spikes": 2}
    options |= {"spike_width_low_us": duration_us / 20, "spike_width_high_us": duration_us / 10}
    work = vs.generator("requests").generate(options)
    units, shelf = np.tile([0, 1, 1], n_nodes), np.repeat(np.arange(n_nodes), 3)
    return vs.Scenario(
        vs.Datacenter(units, np.zeros(3 * n_nodes, int), shelf, paper.PROCESSOR_TYPES),
        work,
        policy,
        affinity=paper.affinity(),
        overhead_us=paper.overhead(),
        applications=paper.applications(options),
    )


def per_event_ns(made: vs.Scenario) -> float:
    """CPU time of the event loop, decisions included, per arrival or completion."""
    runs = []

    def prepare():
        run = engine.built(made)
        runs[:] = [run]
        return lambda: run.advance(np.inf, np.inf, 1 << 60)

    best_s, _ = best_of(6, prepare)
    return best_s / runs[0].n_events * 1e9


def by_size(quick: bool) -> Table:
    nodes = (3, 100) if quick else (3, 16, 100, 1_000)
    copies = (1, 25) if quick else (1, 4, 25, 250)
    rows = []
    for policy in POLICIES:
        row = [policy]
        for n in nodes:
            row.append(figure(per_event_ns(scenario(n, policy, HOUR_US / n, scale=n / 5))))
        for k in copies:
            row.append(figure(per_event_ns(scenario(7, policy, HOUR_US / 6, copies=k))))
        rows.append(row)
    columns = [
        "",
        *(f"{n:,} nodes, 4 applications" for n in nodes),
        *(f"7 nodes, {4 * k:,} applications" for k in copies),
    ]
    note = "The same load a node, or in all. The event loop with its decisions; best of 6."
    return Table("ns an event, by nodes and by applications", columns, rows, note)


def day(quick: bool) -> tuple[Table, float]:
    """A day on seven nodes: its parts in CPU time, and the peak of memory."""
    duration = HOUR_US / 4 if quick else 24 * HOUR_US
    rows, total = [], 0.0
    for policy in ("symphony", "fcfs"):
        engine.built(scenario(7, policy, HOUR_US / 60))  # compiles
        forget_peak()
        begun = time.process_time()
        made = scenario(7, policy, duration)
        generated = time.process_time()
        missed = vs.simulate(made).summary["applications"]["mean"]["missed_pct"]
        done = time.process_time()
        total = max(total, done - begun)
        n = made.workload.n_jobs
        rows.append(
            [
                policy,
                f"{n:,}",
                figure(generated - begun) + " s",
                figure(done - generated) + " s",
                figure(memory_bytes() / 2**30) + " GiB",
                figure(missed) + " %",
            ]
        )
    columns = ["", "requests", "generated in", "simulated and summed up in", "peak of memory", "mean missed"]
    return Table("A day of requests on 7 nodes", columns, rows, "CPU time of one thread."), total


def run(quick: bool) -> Report:
    """All of it."""
    table, total_s = day(quick)
    targets = [] if quick else [Target("a day of requests, generated and simulated", total_s, 60.0, 15.0, " s", True)]
    return Report([table, by_size(quick)], targets)
