"""Thousands of small runs: A at ten loads, many seeds of arrivals each; compared with the peers in as many
processes."""

import importlib
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import vinesim as vs
from benchmarks.cases import small_case
from benchmarks.report import Report, Table, Target, figure
from benchmarks.user_policy import MINE
from vinesim.engine.many import simulate_many

IATS = tuple(float(iat) for iat in range(1, 11))
WORKERS = 2
MEAN = "jobs.latency_us.mean"
PEERS = {  # module -> how many seeds of each load it can do in a few seconds
    "simpy_processes": ("SimPy, processes", 10),
    "simpy_callbacks": ("SimPy, callbacks", 40),
    "plain_python": ("plain Python, heapq", 100),
}


def peer_run(module: str, iat_us: float, seed: int) -> float:
    """One run of a peer: mean job latency, us."""
    case = small_case(iat_us, seed)
    return case.mean_latency_us(importlib.import_module(f"benchmarks.peers.{module}").prepare(case)())


def run(quick: bool) -> Report:
    n_seeds = 100 if quick else 400
    points = list(product(IATS, range(n_seeds)))
    cases = [small_case(*point) for point in points]
    times, seeds = np.stack([case.arrival_us for case in cases]), np.array([seed for _, seed in points])

    def many(policy: str, record: tuple[str, ...] = (MEAN,), workers: int = WORKERS) -> Callable[[], Any]:
        scenario = cases[0].scenario(policy)
        return lambda: simulate_many(
            scenario, arrival_us=times, seeds=seeds, workers=workers, record=record, engine="compiled"
        )[MEAN]

    repeats = 2 if quick else 5
    rates, means = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.py"
        file.write_text(MINE)
        for name, work in {
            "high": many("high"),
            "high, 1 thread": many("high", workers=1),
            "high, all numbers": many("high", ()),
            "flat": many("flat"),
            "mine": many(f"{file}:Mine"),
        }.items():
            work()  # compiles
            rates[name], means[name] = rate(len(points), work, repeats)
    if not np.array_equal(means["high"], means["mine"]):
        raise RuntimeError("a user's HIGH does not give what the built-in one gives")
    some = points[:: len(points) // 200]
    rates["loop"], loop = rate(len(some), lambda: [one_by_one(*point) for point in some], 1)
    expected = dict(zip(points, means["high"], strict=True))
    compare("simulate() in a loop", dict(zip(some, loop, strict=True)), expected)
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        for module, (name, most) in PEERS.items():
            of_peer = list(product(IATS, range(min(n_seeds, most // 5 if quick else most))))
            jobs = [(module, *point) for point in of_peer]
            pool.starmap(peer_run, jobs[:WORKERS])  # imports
            rates[module], found = rate(len(jobs), lambda jobs=jobs: pool.starmap(peer_run, jobs), 1)
            compare(name, dict(zip(of_peer, found, strict=True)), expected)
    rows = [
        ["simulate_many(), HIGH, mean latency", rates["high"], f"{WORKERS} threads"],
        ["the same, 1 thread", rates["high, 1 thread"], "1 thread"],
        ["simulate_many(), HIGH, all numbers", rates["high, all numbers"], f"{WORKERS} threads"],
        ["simulate_many(), FLAT, mean latency", rates["flat"], f"{WORKERS} threads"],
        ["simulate_many(), HIGH in a user's file, mean latency", rates["mine"], f"{WORKERS} threads"],
        ["simulate() in a loop, HIGH, mean latency", rates["loop"], "1 thread"],
        *([f"{name}, HIGH", rates[module], f"{WORKERS} processes"] for module, (name, _) in PEERS.items()),
    ]
    note = (
        f"{len(points)} runs of A: a job every 1 to 10 us on average, {n_seeds} seeds of exponential gaps each; wall "
        "time, best of several (simulate() and the peers: once, on a part of the runs). The mean job latency of each "
        "run is the same to 1e-9 in all rows of HIGH."
    )
    table = Table("Runs of 2,500 tasks a second", ["", "runs/s", "on"], [[a, figure(b), c] for a, b, c in rows], note)
    targets = [
        Target("many small runs, HIGH, runs/s", rates["high"], 20_000, 40_000, ""),
        Target("against SimPy, processes", rates["high"] / rates["simpy_processes"], 100, None, " x"),
        Target("a user's policy against the built-in one", rates["high"] / rates["mine"], 1.5, 1.05, " x", True),
    ]
    return Report([table], targets)


def one_by_one(iat_us: float, seed: int) -> float:
    """One run of simulate(): mean job latency, us."""
    return vs.simulate(small_case(iat_us, seed).scenario("high"), engine="compiled").summary["jobs"]["latency_us"][
        "mean"
    ]


def rate(n_runs: int, work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Runs a second, the best of several, and the last answer."""
    best, answer = math.inf, None
    for _ in range(repeats):
        begun = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - begun)
    return n_runs / best, answer


def compare(name: str, found: dict[Any, float], expected: dict[Any, float]) -> None:
    """Raise if a run gave another mean latency."""
    for point, mean in found.items():
        if not math.isclose(mean, expected[point], rel_tol=1e-9):
            raise RuntimeError(f"{name}, {point}: mean job latency {mean!r} us, expected {expected[point]!r} us")
