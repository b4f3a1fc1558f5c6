"""The core against that of another commit: the cases of core_cases.py, run in turns, each in its own process.

A machine's speed wanders, so only ratios of what was measured in turns count: the least CPU time of each side. A case
that the other commit cannot run has no figure there.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.core_cases import COMPILED, RUNS
from benchmarks.measure import ROOT, in_process
from benchmarks.report import Report, Table, Target, figure
from vinesim.cli.stopping import raising_on

N_TURNS = 3
QUICK = ("A", "slots, B var")
CASES = [*RUNS, *COMPILED]
PAIRS = {  # what conservative backfilling costs beyond EASY
    "conservative, 745 nodes": "easy, 745 nodes",
    "conservative, 745 nodes of 2 classes": "easy, 745 nodes of 2 classes",
    "conservative, 745 nodes of 8 classes": "easy, 745 nodes of 8 classes",
    "conservative, log": "easy, log",
    "conservative, log, exact times": "easy, log, exact times",
}
Measured = dict[str, Any]  # as core_cases.py prints it; empty: the case does not run


def commit_of(name: str) -> str:
    """The full name of a commit. Raises ValueError if there is none of that name."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        raise ValueError(f"no commit {name} in this repository")
    return found.stdout.strip()


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """A worktree of the commit, which is removed in the end, also if this process is terminated."""
    with TemporaryDirectory() as folder, raising_on(signal.SIGTERM):
        path = str(Path(folder) / "checkout")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", path, commit], cwd=ROOT, check=True)
        try:
            yield Path(path)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", path], cwd=ROOT, check=True)


def one(case: str, root: Path) -> Measured:
    """One run of a case on the core of a checkout; what compiles begins with an empty cache."""
    command = ["-m", "benchmarks.core_cases", case, "1"]
    try:
        if case in RUNS:
            printed = in_process(command, root=root)[1]
        else:
            with TemporaryDirectory() as cache:
                printed = in_process(command, cache, root)[1]
    except RuntimeError:
        if root == ROOT:
            raise
        return {}
    found: Measured = json.loads(printed)
    return found


def least(turns: Sequence[Measured]) -> Measured:
    """The least CPU times and the least memory of the turns of one side."""
    if not all(turns):
        return {}
    found = turns[-1] | {"took_s": [min(took) for took in zip(*(turn["took_s"] for turn in turns), strict=True)]}
    if "bytes" in found:
        found["bytes"] = min(turn["bytes"] for turn in turns)
    return found


def in_turns(cases: Sequence[str], other: Path, n: int) -> dict[str, tuple[Measured, Measured]]:
    """Of each case what was measured on the other checkout, and on this one; each is printed when it is known."""
    found = {}
    for case in cases:
        turns = [(one(case, other), one(case, ROOT)) for _ in range(n)]
        found[case] = least([turn[0] for turn in turns]), least([turn[1] for turn in turns])
        for row in rows_of({case: found[case]}):
            print(" | ".join(row), flush=True)
    return found


def rows_of(found: dict[str, tuple[Measured, Measured]]) -> list[list[str]]:
    """CPU times before and now, their ratio, memory, and whether tasks finish at the same times."""
    rows = []
    for case, sides in found.items():
        names = case.removeprefix("compile ").split(", then ") if case in COMPILED else [case]
        for i, name in enumerate(names):
            took = [side["took_s"][i] if side else None for side in sides]
            row = ["cold compile of " + name if case in COMPILED else name, *map(figure_or_none, took)]
            row.append(figure(took[1] / took[0]) if took[0] and took[1] else "-")
            row += [figure_or_none(side.get("bytes")) for side in sides]
            hashes = [side.get("found") for side in sides]
            row.append("-" if None in hashes else "yes" if hashes[0] == hashes[1] else "no")
            rows.append(row)
    return rows


def figure_or_none(value: float | None) -> str:
    return "-" if value is None else figure(value)


def targets_of(found: dict[str, tuple[Measured, Measured]]) -> list[Target]:
    """What was promised of this checkout, whatever the other one is."""
    targets = []
    for slow, fast in PAIRS.items():
        sides = found.get(slow, ({}, {}))[1], found.get(fast, ({}, {}))[1]
        if all(sides):
            ratio = sides[0]["took_s"][0] / sides[1]["took_s"][0]
            targets.append(Target(f"{slow}: CPU time, that of EASY = 1", ratio, 3.0, 1.5, " x", True))
    for case in ("B const", "B var"):
        if found.get(case, ({}, {}))[1]:
            beyond = found[case][1]["bytes"]
            targets.append(Target(f"{case}: memory beyond the scenario, bytes a task", beyond, 24.0, 20.0, "", True))
    return targets


def run(quick: bool, against: str, cases: Sequence[str] = ()) -> Report:
    """Measure some cases, or all, against a commit."""
    has_log = "VINESIM_LOG" in os.environ
    known = [case for case in CASES if has_log or ", log" not in case]
    with checkout(against) as other:
        found = in_turns(cases or (QUICK if quick else known), other, 1 if quick else N_TURNS)
    columns = ["", "before, s", "now, s", "now / before", "before, bytes a task", "now, bytes a task", "same result"]
    note = f"CPU time and peak memory of simulate(), least of the turns; before: commit {against[:12]}."
    return Report([Table("The core in turns", columns, rows_of(found), note)], targets_of(found))
