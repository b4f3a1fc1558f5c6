"""``python -m verification.mutations [NUMBER]... [--nearest] [--write] [--scores]``: see the package."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import verification.mutations as package
from verification.mutations.bench import SURVIVED, Bench
from verification.mutations.mutation import ROOT, Mutation

AREAS = ("engine", "core", "metrics", "policies", "studies", "plans", "live", "formats")
TABLE = ROOT / "docs" / "mutations.json"


def declared() -> list[tuple[str, Mutation]]:
    """Return all mutations with their areas, numbered from 1 in this order."""
    return [(area, one) for area in AREAS for one in import_module(f"{package.__name__}.{area}").MUTATIONS]


def row(area: str, one: Mutation, caught: str) -> dict[str, Any]:
    """What the documentation tells of a mutation; ``caught`` is by which tests."""
    return {
        "area": area,
        "files": one.files,
        "meaning": one.meaning,
        "caught": caught,
        "added": one.added,
        "equivalent": one.equivalent,
    }


def write(rows: Iterable[dict[str, Any]]) -> None:
    """Put these rows into the table, in the order of the declarations; the others stay as long as they are declared."""
    known = {_key(row): row for row in [*json.loads(TABLE.read_text()), *rows]}
    keys = [(area, one.meaning) for area, one in declared()]
    TABLE.write_text(json.dumps([known[key] for key in keys if key in known], indent=1, ensure_ascii=False) + "\n")


def _key(row: dict[str, Any]) -> tuple[str, str]:
    return row["area"], row["meaning"]


def score(rows: Iterable[dict[str, Any]]) -> str:
    """In words: how many are caught, by what was there or by what was added, and how many are equivalent."""
    kinds = [_kind(row) for row in rows]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return f"{len(kinds)} mutations: {counts}"


def scores(rows: Iterable[dict[str, Any]]) -> Table:
    """By area, and of all: how many mutations are caught, of those that are not equivalent."""
    table = Table("area", "mutations", "caught", SURVIVED, "equivalent", "score", box=None)
    rows = list(rows)
    for area in [*dict.fromkeys(row["area"] for row in rows), "all"]:
        kinds = [_kind(row) for row in rows if area in (row["area"], "all")]
        survived, equivalent = kinds.count(SURVIVED), kinds.count("equivalent")
        counted = len(kinds) - equivalent
        score = f"{100 * (counted - survived) / counted:.0f} %" if counted else "-"
        table.add_row(area, *map(str, (len(kinds), counted - survived, survived, equivalent)), score)
    return table


def _kind(row: dict[str, Any]) -> str:
    if row["caught"] == SURVIVED:
        return "equivalent" if row["equivalent"] else SURVIVED
    return "caught by tests that were added" if row["added"] else "caught"


def main(words: list[str]) -> int:
    """The exit code: 1 where a mutation survives that is not equivalent, or one that is said to be is caught."""
    parser = argparse.ArgumentParser(prog="python -m verification.mutations", description=package.__doc__)
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="only these mutations, from 1 on")
    parser.add_argument("--nearest", action="store_true", help="leave the whole suite out")
    parser.add_argument("--write", action="store_true", help=f"renew docs/{TABLE.name}")
    parser.add_argument("--scores", action="store_true", help=f"print the scores in docs/{TABLE.name}, and run nothing")
    chosen = parser.parse_args(words)
    if chosen.scores:
        Console().print(scores(json.loads(TABLE.read_text())))
        return 0
    everything = dict(enumerate(declared(), 1))
    if unknown := [number for number in chosen.numbers if number not in everything]:
        parser.error(f"mutations are numbered 1 to {len(everything)}, not {unknown[0]}")
    asked = {number: everything[number] for number in chosen.numbers or everything}
    begun, rows = time.perf_counter(), []
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        for number, (area, one) in asked.items():
            since = time.perf_counter()
            caught, test = bench.catch(one, not (chosen.nearest or one.equivalent))
            rows.append(row(area, one, caught))
            took = f"{time.perf_counter() - since:4.0f} s"
            print(f"{number:3} {took}  {_kind(rows[-1]):11} {area}: {one.meaning}  {test}", flush=True)
        bench.check()
    Console().print(scores(rows))
    print(f"{score(rows)}; {time.perf_counter() - begun:.0f} s")
    if chosen.write:
        write(rows)
    return int(any((row["caught"] == SURVIVED) != bool(row["equivalent"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
