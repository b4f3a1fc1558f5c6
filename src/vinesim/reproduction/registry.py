"""The installed papers and their items.

A paper is a package that registers under the entry point group ``vinesim.papers``, or a folder. An item is a module of
that package that defines ``ITEM``.
"""

import importlib
import re
import sys
import warnings
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.reproduction.item import Item

ENTRY_POINTS = "vinesim.papers"


@cache
def papers() -> dict[str, ModuleType]:
    """Return the package of each installed paper by the name of its entry point, in the order of the names."""
    found = {}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except Exception as wrong:  # one broken package must not affect the others
            warnings.warn(f"paper {entry.name} of an installed package: {wrong}", InputWarning, stacklevel=2)
    return found


def load_folder(folder: Path) -> ModuleType:
    """Import the package of a paper from its folder. Raises :class:`InputError`."""
    where, name = f"vinesim reproduce {folder}", folder.resolve().name
    if not (folder / "__init__.py").is_file():
        raise InputError([Problem(where, "a Python package", "a folder without __init__.py", "Add an empty one.")])
    sys.path.insert(0, str(folder.resolve().parent))
    try:
        package = importlib.import_module(name)
    except Exception as wrong:
        words = f"{type(wrong).__name__}: {wrong}"
        raise InputError([Problem(where, "a package that can be imported", words)]) from wrong
    finally:
        del sys.path[0]
    if Path(package.__path__[0]).resolve() != folder.resolve():
        found, remedy = f"{name}, an installed package", "Give the folder another name."
        raise InputError([Problem(where, "a name that no other package has", found, remedy)])
    return package


@cache
def items() -> dict[str, Item]:
    """Return the items of all installed papers by id: paper by paper, figures, tables and text of each in order."""
    found: dict[str, Item] = {}
    for paper, package in papers().items():
        for item in items_of(paper, package):
            if item.id in found:
                raise ValueError(f"the papers {found[item.id].paper} and {paper} both have an item {item.id}")
            found[item.id] = item
    return found


def items_of(paper: str, package: ModuleType) -> list[Item]:
    """Return the items of a paper's package: the ``ITEM`` of each of its modules that has one."""
    modules = [import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__)]
    folder = Path(package.__path__[0])
    found = [replace(module.ITEM, paper=paper, folder=folder) for module in modules if hasattr(module, "ITEM")]
    return sorted(found, key=lambda item: _order(item.id))


def chosen(names: list[str]) -> list[Item]:
    """Return the items of these ids. The name of a paper, or the folder of its package, means all of its items.

    Raises :class:`InputError`.
    """
    every = items()
    known_papers = {item.paper for item in every.values()}
    problems, found = [], {}
    for name in names:
        if name in every:
            found[name] = every[name]
        elif name in known_papers:
            found |= {item.id: item for item in every.values() if item.paper == name}
        elif Path(name).is_dir():
            package = load_folder(Path(name))
            found |= {item.id: item for item in items_of(package.__name__, package)}
        else:
            known = [*every, *sorted(known_papers)]
            close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
            remedy = f"Did you mean {' or '.join(close)}?" if close else ""
            text = f"{remedy} `vinesim reproduce --list` lists them.".strip()
            expected = "the id of a figure, a table or a paper, or a paper's folder"
            problems.append(Problem("vinesim reproduce", expected, repr(name), text))
    if problems:
        raise InputError(problems)
    return list(found.values())


def _order(name: str) -> tuple[str, list[int]]:
    """Sort key: figures, tables, text; numbers by value."""
    return re.sub(r"\d+", "", name), [int(number) for number in re.findall(r"\d+", name)]
