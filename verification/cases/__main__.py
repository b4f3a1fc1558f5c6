"""``python -m verification.cases [NAME]...``: see the package."""

import argparse
import os
import pkgutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

import verification.cases as package
from verification.cases.case import CASES, Case


def declared() -> list[Case]:
    """Return all cases, by name."""
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "__main__":
            import_module(f"{package.__name__}.{module.name}")
    return sorted(CASES, key=lambda one: one.name)


def seen(one: Case) -> str:
    """Return what the case observes in an empty folder, or how it ended."""
    with tempfile.TemporaryDirectory() as name:
        try:
            return one.ask(Path(name))
        except Exception as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def processor_s() -> float:
    """Return the processor time of this process and its ended children, which a busy machine does not increase."""
    return sum(os.times()[:4])


def main(words: list[str]) -> int:
    """Run the cases; return 1 if an answer is wrong."""
    cases = {one.name: one for one in declared()}
    parser = argparse.ArgumentParser(prog="python -m verification.cases", description=package.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these cases")
    names = parser.parse_args(words).names
    if unknown := [name for name in names if name not in cases]:
        parser.error(f"no case {unknown[0]}; there are {', '.join(cases)}")
    table, wrong = Table("case", "right", "seen", "CPU s", box=None), 0
    for name in names or cases:
        begun = processor_s()
        answer = seen(cases[name])
        took = processor_s() - begun
        is_right = answer == cases[name].right and took <= cases[name].seconds
        wrong += not is_right
        table.add_row(name, cases[name].right, answer, f"{took:.1f}", style="" if is_right else "red")
    Console().print(table)
    print(f"{len(names or cases)} cases, {wrong} wrong")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
