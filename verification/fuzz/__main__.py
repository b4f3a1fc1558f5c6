"""``python -m verification.fuzz [--seconds S] [--inputs N] [--seed N] [--first N] [--keep DIR] [AREA]...``"""

import argparse
import re
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import verification.fuzz as package
from verification.fuzz.folders import samples_of_results, write
from verification.fuzz.inputs import Input, input_of
from verification.fuzz.outcomes import Outcome, Seen, outcome_of
from verification.fuzz.samples import AREAS, EXAMPLES, Sample, samples
from verification.fuzz.worker import ROOT, Worker

GOOD = (Outcome.ACCEPTED, Outcome.REFUSED)


class Finding(NamedTuple):
    """What became of one input."""

    area: str
    number: int
    outcome: Outcome
    command: tuple[str, ...]
    why: str = ""
    errors: str = ""

    @property
    def cause(self) -> str:
        """The same text for failures that probably have one cause."""
        return f"{self.area}: vinesim {self.command[0]}: {self.outcome}: " + re.sub(r"\d+|'[^']*'", "_", self.why)[:100]


def try_input(worker: Worker, one: Input, number: int, folder: Path) -> Finding:
    """Write an input into an empty folder, run the commands that read it, and judge the first that fails."""
    write(folder, one.files)
    link_examples(folder)
    found = Finding(one.sample.area, number, Outcome.ACCEPTED, one.sample.commands[0])
    for i, command in enumerate(one.sample.commands):
        if command[0] == "validate" and not (folder / command[1]).exists():
            continue  # an import that writes no scenario
        before = _paths(folder)
        seen = worker.run(folder, command)
        is_first = i == 0 or one.sample.area == "results"
        outcome, why = _judged(command, is_first, seen, _paths(folder) - before)
        if outcome not in GOOD:
            return Finding(one.sample.area, number, outcome, command, why, seen.errors + seen.traceback)
        if outcome is Outcome.REFUSED:
            found = found._replace(outcome=outcome)
            if one.sample.area != "results":
                break
    return found


def link_examples(folder: Path) -> None:
    """Put the examples where the pages have them."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)


def _judged(command: tuple[str, ...], is_first: bool, seen: Seen, made: set[str]) -> tuple[Outcome, str]:
    """Judge a command: only the first may refuse its input, and a run may be long, as a large file is no fault."""
    outcome, why = outcome_of(seen, made)
    if outcome is Outcome.REFUSED and not is_first:
        return Outcome.CONTRADICTION, seen.errors[:300]
    is_long_run = outcome is Outcome.SLOW and command[0] == "run"
    return (Outcome.ACCEPTED, "") if is_long_run else (outcome, why)


def _paths(folder: Path) -> set[str]:
    found = set()
    for path in folder.iterdir():
        if not path.is_symlink():
            found |= {str(one.relative_to(folder)) for one in (path, *path.rglob("*"))}
    return {name for name in found if "__pycache__" not in name}


def fuzz(areas: Sequence[str], seed: int, first: int, n_inputs: int, seconds: float, keep: Path) -> Iterator[Finding]:
    """Try inputs of the areas in turn, until there are so many of each or the time is up; keep those that fail."""
    end_s = time.monotonic() + seconds
    with Worker() as worker, TemporaryDirectory() as name:
        known: dict[str, list[Sample]] = samples()
        if "results" in areas:
            known["results"] = samples_of_results(worker)
        for number in range(first, first + n_inputs):
            for area in areas:
                if time.monotonic() > end_s:
                    return
                folder, one = Path(name) / f"{area}-{number}", input_of(known[area], seed, number)
                folder.mkdir()
                found = try_input(worker, one, number, folder)
                shutil.rmtree(folder)
                if found.outcome not in GOOD:
                    _keep(keep / f"{area}-{seed}-{number}", one, found)
                yield found


def _keep(folder: Path, one: Input, found: Finding) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    write(folder, one.files)
    link_examples(folder)
    text = [f"{one.sample.name}: {one.damage}", f"vinesim {shlex.join(found.command)}", f"{found.outcome}: {found.why}"]
    (folder / "WHY").write_text("\n".join([*text, "", found.errors]), errors="backslashreplace")


def main(words: list[str]) -> int:
    """The exit code: 1 where an input fails."""
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz", description=package.__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", choices=[*AREAS, []], help=", ".join(AREAS))
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after that time")
    parser.add_argument("--inputs", type=int, default=10**9, help="of each area, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with input N of each area")
    parser.add_argument("--keep", type=Path, default=ROOT / "out" / "fuzz", metavar="DIR", help="for inputs that fail")
    given = parser.parse_args(words)
    areas = given.areas or AREAS
    found = list(fuzz(areas, given.seed, given.first, given.inputs, given.seconds, given.keep))
    _print(found, given.seed, given.keep)
    return int(any(one.outcome not in GOOD for one in found))


def _print(found: list[Finding], seed: int, keep: Path) -> None:
    shown = [outcome for outcome in Outcome if outcome in GOOD or any(one.outcome is outcome for one in found)]
    table = Table("area", "inputs", *shown, box=None)
    for area in dict.fromkeys(one.area for one in found):
        counts = Counter(one.outcome for one in found if one.area == area)
        table.add_row(area, f"{counts.total()}", *(f"{counts[outcome]}" for outcome in shown))
    Console().print(table)
    causes: dict[str, list[Finding]] = {}
    for one in found:
        if one.outcome not in GOOD:
            causes.setdefault(one.cause, []).append(one)
    for cause, alike in sorted(causes.items(), key=lambda item: -len(item[1])):
        one = alike[0]
        where = keep / f"{one.area}-{seed}-{one.number}"
        print(f"\n{len(alike)} x {cause}\n  {one.why}")
        print(f"  cd {where} && vinesim {shlex.join(one.command)}")
        print(f"  python -m verification.fuzz {one.area} --seed {seed} --first {one.number} --inputs 1")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
