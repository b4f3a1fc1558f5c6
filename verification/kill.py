"""Kill sweeps at random moments and let them go on: ``python -m verification.kill [KILLS]``.

A sweep of 1,000 runs in worker processes is ended by SIGKILL, the process alone or all its processes at once, at a
random moment between its start and its end, and started again in its folder. Each time it comes to its end its data set
must equal, byte for byte, that of a sweep which nobody disturbed; then the next folder begins. After each kill every
file of rows must be whole, and no finished run may be lost.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).parents[1]
STUDY = {
    "scenario": {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 20, "GPU": 20}}]},
        "workload": {"generator": "500jobs"},
        "policy": "high",
    },
    "axes": {
        "arrivals": {"cases": {str(mean): {"arrivals": {"poisson": {"mean": mean}}} for mean in (6, 7, 8, 10, 12)}},
        "policy": ["high", "flat"],
    },
    "replications": 100,
}
BEFORE_S = 0.5  # of a start, in which nothing of interest happens
LATEST = 0.9  # of an undisturbed sweep's time, so that most sweeps are killed several times


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.kill", description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = kill(Path(folder), STUDY, arguments.kills, arguments.workers, random.Random(arguments.seed))
    print(
        f"{arguments.kills} kills in {time.perf_counter() - begun:.0f} s: {found['sweeps']} sweeps came to their end,"
    )
    print(f"{found['at_work']} of the kills hit while runs were done; data sets that differ: {found['different']},")
    print(f"files that could not be read: {found['unreadable']}, finished runs that were lost: {found['lost']}")
    return 1 if found["different"] or found["unreadable"] or found["lost"] else 0


def kill(folder: Path, study: dict, n_kills: int, workers: int, dice: random.Random) -> dict[str, int]:
    """Kill sweeps of a study ``n_kills`` times; what was found."""
    (folder / "study.yaml").write_text(json.dumps(study))
    _start(folder, "whole", workers).wait()  # compiles what is not compiled yet
    shutil.rmtree(folder / "whole")
    begun = time.perf_counter()
    _start(folder, "whole", workers).wait()
    length = time.perf_counter() - begun
    whole = _files(folder / "whole")
    found = {"sweeps": 0, "different": 0, "unreadable": 0, "lost": 0, "at_work": 0}
    killed = 0
    finished: set[str] = set()
    groups: list[int] = []
    while killed < n_kills or finished:
        process = _start(folder, "out", workers)
        groups.append(process.pid)
        try:
            process.wait(dice.uniform(BEFORE_S, LATEST * length) if killed < n_kills else None)
        except subprocess.TimeoutExpired:
            killed += 1
            if dice.random() < 0.5:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
        now, unreadable = _finished(folder / "out")
        found["unreadable"] += unreadable
        found["lost"] += len(finished - now)
        found["at_work"] += process.returncode == -signal.SIGKILL and now > finished
        finished = now
        if process.returncode == 0:
            found["sweeps"] += 1
            found["different"] += _files(folder / "out") != whole or (folder / "out" / "journal").exists()
            while groups:
                _wait_for_workers(groups.pop())
            shutil.rmtree(folder / "out")
            finished = set()
        elif process.returncode != -signal.SIGKILL:
            raise RuntimeError(f"the sweep ended with {process.returncode}: {(folder / 'log').read_text()[-2000:]}")
    return found


def _start(folder: Path, out: str, workers: int) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [
        sys.executable,
        "-m",
        "vinesim",
        "sweep",
        "study.yaml",
        "--out",
        out,
        "--workers",
        str(workers),
        "--json",
    ]
    with open(folder / "log", "w") as log:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )


def _wait_for_workers(group: int) -> None:
    """Wait until no worker of a killed sweep is left that might still write."""
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "runs").iterdir()}


def _finished(folder: Path) -> tuple[set[str], int]:
    """The ids of the runs that are finished, read as plainly as can be, and how many files cannot be read."""
    found: set[str] = set()
    unreadable = 0
    for file in (folder / "runs").glob("*.parquet"):
        try:
            found |= {row[0] for row in duckdb.sql(f"SELECT run_id FROM read_parquet('{file}')").fetchall()}
        except duckdb.Error:
            unreadable += file.exists()
    for file in (folder / "journal").glob("*.jsonl"):
        try:
            lines = file.read_text().split("\n")[:-1]
        except FileNotFoundError:  # a worker has just finished the chunk
            return _finished(folder)
        found |= {json.loads(line)["run_id"] for line in lines if line.startswith("{") and line.endswith("}}")}
    return found, unreadable


if __name__ == "__main__":
    sys.exit(main())
