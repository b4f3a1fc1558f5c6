"""``python -m verification.fuzz [--seconds S] [--inputs N] [--seed N] [--first N] [--keep DIR] [AREA]...``"""

import argparse
import shlex
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

import verification.fuzz as package
from verification.fuzz.outcomes import GOOD, Outcome
from verification.fuzz.samples import AREAS
from verification.fuzz.trying import Finding, fuzz
from verification.fuzz.worker import ROOT


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
    found: list[Finding] = []
    with suppress(KeyboardInterrupt):
        found.extend(fuzz(areas, given.seed, given.first, given.inputs, given.seconds, given.keep))
    _print(found, given.seed, given.keep)
    return int(any(one.outcome not in GOOD for one in found))


def _print(found: list[Finding], seed: int, keep: Path) -> None:
    shown = [outcome for outcome in Outcome if outcome in GOOD or any(one.outcome is outcome for one in found)]
    table = Table("area", "inputs", *shown, box=None)
    for area in dict.fromkeys(one.area for one in found):
        counts = Counter(one.outcome for one in found if one.area == area)
        table.add_row(area, f"{counts.total()}", *(f"{counts[outcome]}" for outcome in shown))
    Console(width=120).print(table)
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
