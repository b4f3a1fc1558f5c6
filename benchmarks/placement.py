"""Placing tasks on servers of four types: best fit by index, by brute force and in blocks; whole periods of it."""

import time

import numpy as np

import vinesim as vs
from benchmarks.measure import best_of, forget_peak, memory_bytes
from benchmarks.report import Report, Table, Target, figure
from vinesim.model.catalog import SERVER_TYPES
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.first_fit import FirstFit
from vinesim.workloads.registry import generator
from vinesim_papers.energy.speed import question

PERIOD_US = 10e6


def scenario(n_servers: int, n_tasks: int) -> vs.Scenario:
    """20 periods of such batches, with what has not finished placed again."""
    options = {"n_batches": 20, "tasks_per_batch": n_tasks, "iat_us": PERIOD_US}
    n = np.arange(n_servers)
    center = vs.Datacenter(n % 4, np.zeros(n_servers), n, SERVER_TYPES)
    work = generator("batches").generate(options, seed=1)
    return vs.Scenario(center, work, policy="bf", affinity=np.ones((4, 1)), horizon_us=20 * PERIOD_US)


def run(quick: bool) -> Report:
    n_servers, n_tasks = (20_000, 2_000) if quick else (200_000, 20_000)
    tasks, servers = question(n_servers, n_tasks)
    policies = {
        "bf, brute force": BestFit(method="scan"),
        "bf, indexed": BestFit(),
        "dcbf, 8 blocks, brute force": DivideAndConquerBestFit(method="scan"),
        "dcbf, 8 blocks, indexed": DivideAndConquerBestFit(),
        "abf, blocks of 512": AcceleratedBestFit(),
        "abf, blocks of 32": AcceleratedBestFit(block_size=32),
        "ff, big servers first": FirstFit(servers="big_first"),
    }
    seconds, placed = {}, {}
    for name, policy in policies.items():
        policy.place(*question(40, 10))  # compile
        repeats = 1 if "bf, brute" in name else 9
        seconds[name], placed[name] = best_of(repeats, lambda policy=policy: lambda: policy.place(tasks, servers))
    if not np.array_equal(placed["bf, brute force"], placed["bf, indexed"]):
        raise RuntimeError("indexed and brute-force best fit differ")
    slow = seconds["bf, brute force"]
    rows = [[name, figure(1e3 * s), figure(slow / s)] for name, s in seconds.items()]
    title = f"{n_tasks:,} tasks on {n_servers:,} empty servers"
    table = Table(title, ["", "ms", "x brute force"], rows, "CPU time; indexed and brute force chose the same servers.")
    vs.simulate(scenario(40, 4), engine="compiled")
    case = scenario(n_servers, n_tasks)
    forget_peak()
    before, begun = memory_bytes("VmRSS"), time.perf_counter()
    result = vs.simulate(case, engine="compiled")
    wall = time.perf_counter() - begun
    peak = memory_bytes() - before
    whole = Table(
        f"20 periods of {n_tasks:,} new tasks on {n_servers:,} servers, bf indexed, simulate()",
        ["", "wall s", "memory above the scenario's, MB"],
        [[f"{len(result.tasks['task']):,} tasks", figure(wall), figure(peak / 1e6)]],
    )
    ratio = slow / seconds["bf, indexed"]
    return Report([table, whole], [Target("indexed against brute-force best fit", ratio, 300, 600, " x")])
