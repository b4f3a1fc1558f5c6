"""What a sweep costs besides the simulation, on each back-end: its start, each chunk, and each run.

The runs are of one job, so that they cost next to nothing. Workers are 2 processes of this machine; wall times.
"""

import importlib.util
import time
from unittest.mock import patch

from benchmarks.report import Report, Table, figure
from vinesim.formats.study.file import study
from vinesim.studies.backends import BACKENDS, open_backend
from vinesim.studies.sweep import sweep

WORKERS = 2
CHUNK = 500  # runs


def tiny(n_runs: int) -> object:
    scenario = {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 1}}]},
        "workload": {"generator": "identical", "options": {"n_jobs": 1}},
        "arrivals": {"iat": 1},
    }
    return study({"scenario": scenario, "replications": n_runs})


def _sweep_s(n_runs: int, chunk: int, backend: str, workers: int) -> float:
    """Wall time between the first chunk that is finished, when all is started, and the last."""
    seen: list[float] = []
    with patch("vinesim.studies.chunks.MAX_RUNS", chunk):
        sweep(tiny(n_runs), backend=backend, workers=workers, on_progress=lambda _: seen.append(time.perf_counter()))
    return (seen[-1] - seen[1 + workers]) / (len(seen) - 2 - workers)


def _start_s(backend: str, workers: int) -> float:
    begun = time.perf_counter()
    open_backend(backend, workers, None, 100, lambda _: None).close()
    return time.perf_counter() - begun


def run(quick: bool) -> Report:
    n_small, n_large = (30, 10) if quick else (200, 40)
    sweep(tiny(2), workers=1)  # compiles
    rows = []
    for name, backend, workers in (("this process", "loky", 1), *((name, name, WORKERS) for name in BACKENDS)):
        if importlib.util.find_spec(BACKENDS[backend]) is None:
            rows.append([name, "not installed", "", ""])
            continue
        start_s = _start_s(backend, workers)
        small_s = _sweep_s(n_small, 1, backend, workers)
        large_s = _sweep_s(n_large * CHUNK, CHUNK, backend, workers)
        rows.append([name, figure(start_s), figure(small_s * 1e3), figure(large_s / CHUNK * 1e3)])
    columns = ["Back-end", "start and end, s", "a chunk of one run, ms", f"a run in chunks of {CHUNK}, ms"]
    note = f"{WORKERS} workers but for this process; runs of one job, written to disk with their journal."
    return Report([Table("What a sweep costs besides the simulation", columns, rows, note)])
