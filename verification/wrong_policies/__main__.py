"""``python -m verification.wrong_policies [PAPER]... [--write]``: see the package."""

import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import verification.wrong_policies as package
from verification.wrong_policies.bench import Bench

TABLE = Path(__file__).parents[2] / "docs" / "wrong_policies.json"


def papers() -> dict[str, ModuleType]:
    """The modules here that define the ``WRONG`` versions of a paper, by its name, and how often to repeat its runs."""
    modules = {m.name: import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)}
    return {name: module for name, module in modules.items() if hasattr(module, "WRONG")}


def rows(paper: str, module: ModuleType) -> list[dict[str, Any]]:
    """What each wrong version of a paper turns."""
    bench, found = Bench(paper, module.REPLICATIONS), []
    for wrong in module.WRONG:
        turns = bench.turned(wrong)
        print(f"{paper}, {wrong.of}, {wrong.version}: {', '.join(turns) or 'nothing'}", flush=True)
        about = [name for name in bench.usual if name in wrong.about.split()]
        found.append({"paper": paper, "of": wrong.of, "version": wrong.version, "about": about, "turns": turns})
    return found


def problems(found: list[dict[str, Any]], written: list[dict[str, Any]], paper: str) -> list[str]:
    """What is not as it should be."""
    reported = []
    for row in found:
        missing = [claim for claim in row["about"] if claim not in row["turns"]]
        if missing:
            reported.append(f"{row['of']}, {row['version']}: {', '.join(missing)} must turn, and did not")
    if found != [row for row in written if row["paper"] == paper]:
        reported.append(f"{paper}: {TABLE.name} says otherwise; --write renews it")
    return reported


def main(words: list[str]) -> int:
    """The exit code: 1 where something is not as it should be."""
    named = [word for word in words if word != "--write"]
    written = json.loads(TABLE.read_text()) if TABLE.exists() else []
    reported = []
    for paper, module in papers().items():
        if not named or paper in named:
            found = rows(paper, module)
            if "--write" in words:
                written = [row for row in written if row["paper"] != paper] + found
            reported += problems(found, written, paper)
    if "--write" in words:
        TABLE.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    for line in reported:
        print(f"FAILED {line}")
    return int(bool(reported))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
