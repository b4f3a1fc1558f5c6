"""Kill sweeps, plans or runs at random moments and let them go on: ``python -m verification.kill [KILLS] [--of plan]``.

A sweep of 1,000 runs in worker processes, or a plan of 500, is ended by SIGKILL, the process alone or all its
processes at once, at a random moment between its start and its end, and started again in its folder. Each time it comes
to its end, what it made must be what it makes when nobody disturbs it: the data set of a sweep byte for byte; of a plan
its whole answer and the runs behind it. Then the next folder begins. After each kill every file of rows must be whole,
and no finished run may be lost.

A run replaces the result of the run before. After each kill there must be a whole result, the old or the new one; the
first run that is not killed must leave nothing else.
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
UNITS = "datacenter.racks[0].units"
PLAN = {
    "scenario": {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 2}}]},
        "workload": {
            "generator": "mix",
            "options": {"n_jobs": 40, "tasks_per_job": 3, "operations": 5e6, "shares": {"INT": 1, "MEM": 2}},
        },
        "affinity": {"absolute": {"CPU_INTEL": {"INT": 5e4, "MEM": 4e4}, "GPU": {"INT": 3e5, "MEM": 1.5e4}}},
        "arrivals": {"poisson": {"mean": 60}},
        "prices": {"CPU_INTEL": 2000, "GPU": 3000},
    },
    "choose": {
        f"{UNITS}.CPU_INTEL": {"from": 0, "to": 24},
        f"{UNITS}.GPU": {"from": 0, "to": 14},
        "policy": ["high", "earliest_completion"],
    },
    "minimize": {"utility": "cost.purchase / 1000 + 0.1 * jobs.latency_us.p99"},
    "limits": {"jobs.latency_us.p99": {"below": "600 us"}},
    "budget": {"runs": 400},
    "confirm": {"replications": 100, "horizon": 2},
}
SCENARIO = ROOT / "examples" / "quickstart.yaml"
BEFORE_S = 0.5  # of a start, in which nothing of interest happens
LATEST = 0.9  # of an undisturbed time, so that most are killed several times


@dataclass(frozen=True)
class Target:
    """A command that is killed: its name, its file, and what it has made in a folder."""

    command: str
    document: Mapping[str, Any]
    made: Callable[[Path], Any]


def _rows(folder: Path) -> dict[str, Any]:
    files = {file.name: file.read_bytes() for file in (folder / "runs").iterdir()}
    return {**files, "journal": (folder / "journal").exists()}


def _answer(folder: Path) -> dict[str, Any]:
    answer = json.loads((folder / "plan.json").read_text())
    answer["counts"].pop("runs_done_now")
    answer.pop("checksum")  # which covers that number too
    scenario = (folder / "recommendation.yaml").read_text()
    return {"answer": answer, "scenario": scenario, "runs": _finished(folder)[0]}


TARGETS = {target.command: target for target in (Target("sweep", STUDY, _rows), Target("plan", PLAN, _answer))}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.kill", description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--of", choices=[*TARGETS, "run"], default="sweep", help="what is killed (default sweep)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    dice = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.of == "run":
            return kill_runs(Path(folder), arguments.kills, dice)
        found = kill(Path(folder), TARGETS[arguments.of], arguments.kills, arguments.workers, dice)
    seconds = time.perf_counter() - begun
    print(f"{arguments.kills} kills in {seconds:.0f} s: {found['ended']} of {arguments.of} came to their end,")
    print(f"{found['at_work']} of the kills hit while runs were done; results that differ: {found['different']},")
    print(f"files that could not be read: {found['unreadable']}, finished runs that were lost: {found['lost']}")
    return 1 if found["different"] or found["unreadable"] or found["lost"] else 0


def kill(folder: Path, target: Target, n_kills: int, workers: int, dice: random.Random) -> dict[str, int]:
    """Kill a command ``n_kills`` times; return the findings."""
    (folder / f"{target.command}.yaml").write_text(json.dumps(target.document))
    _start(folder, target, "whole", workers).wait()  # compiles what is not compiled yet
    shutil.rmtree(folder / "whole")
    begun = time.perf_counter()
    _start(folder, target, "whole", workers).wait()
    length = time.perf_counter() - begun
    whole = target.made(folder / "whole")
    found = {"ended": 0, "different": 0, "unreadable": 0, "lost": 0, "at_work": 0}
    killed = 0
    finished: set[str] = set()
    groups: list[int] = []
    while killed < n_kills or finished:
        process = _start(folder, target, "out", workers)
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
            found["ended"] += 1
            found["different"] += target.made(folder / "out") != whole
            while groups:
                _wait_for_workers(groups.pop())
            shutil.rmtree(folder / "out")
            finished = set()
        elif process.returncode != -signal.SIGKILL:
            log = (folder / "log").read_text()[-2000:]
            raise RuntimeError(f"the {target.command} ended with {process.returncode}: {log}")
    return found


def kill_runs(folder: Path, n_kills: int, dice: random.Random) -> int:
    """Kill runs that replace a result; return the exit code."""
    (folder / "home").mkdir()
    words = [sys.executable, "-m", "vinesim", "run", str(SCENARIO), "--out", "home/o"]

    def start() -> subprocess.Popen:
        return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    lengths = []
    for _ in range(4):
        begun = time.perf_counter()
        start().wait()
        lengths.append(time.perf_counter() - begun)
    length = min(lengths)
    n_replaced = n_wrong = 0
    for _ in range(n_kills):
        before = (folder / "home" / "o").stat().st_ino
        process = start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0.3 * length, 0.9 * length))
        process.kill()
        process.wait()
        n_wrong += not _is_result(folder / "home" / "o")
        n_replaced += (folder / "home" / "o").stat().st_ino != before
    start().wait()
    n_left = len(list((folder / "home").iterdir())) - 1
    print(f"{n_kills} kills, {n_replaced} of them after the old result was replaced")
    print(f"kills that left no whole result: {n_wrong}, drafts that are left: {n_left}")
    return int(n_wrong + n_left > 0)


def _is_result(folder: Path) -> bool:
    command = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
    return folder.is_dir() and subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL).returncode == 0


def _start(folder: Path, target: Target, out: str, workers: int) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "vinesim", target.command, f"{target.command}.yaml"]
    command += ["--out", out, "--workers", str(workers), "--json"]
    with open(folder / "log", "w") as log:
        return subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )


def _wait_for_workers(group: int) -> None:
    """Wait until no killed worker is left that might still write."""
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)


def _finished(folder: Path) -> tuple[set[str], int]:
    """The ids of the runs that are finished, read as plainly as can be, and how many files cannot be read."""
    found: set[str] = set()
    unreadable = 0
    for file in folder.rglob("runs/*.parquet"):
        try:
            found |= {row[0] for row in duckdb.sql(f"SELECT run_id FROM read_parquet('{file}')").fetchall()}
        except duckdb.Error:
            unreadable += file.exists()
    for file in folder.rglob("journal/*.jsonl"):
        try:
            lines = file.read_text().split("\n")[:-1]
        except FileNotFoundError:  # a worker has just finished the chunk
            return _finished(folder)
        found |= {json.loads(line)["run_id"] for line in lines if line.startswith("{") and line.endswith("}}")}
    return found, unreadable


if __name__ == "__main__":
    sys.exit(main())
