"""The items of all papers: every module of a paper's package that defines ``ITEM``."""

import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from vinesim.model.errors import InputError, Problem
from vinesim.papers.item import Item


@cache
def items() -> dict[str, Item]:
    """Return every item by its id: paper by paper; figures, tables and text of each in order."""
    root = import_module("vinesim.papers")
    found: dict[str, Item] = {}
    for paper in (module.name for module in iter_modules(root.__path__) if module.ispkg):
        package = import_module(f"vinesim.papers.{paper}")
        modules = [import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__)]
        for item in sorted((m.ITEM for m in modules if hasattr(m, "ITEM")), key=lambda item: _order(item.id)):
            if item.id in found:
                raise ValueError(f"two items are called {item.id}")
            found[item.id] = item
    return found


def chosen(names: list[str]) -> list[Item]:
    """Return the items of these ids; a paper's name means all of its items. Raises :class:`InputError`."""
    every = items()
    papers = {item.paper for item in every.values()}
    problems, found = [], {}
    for name in names:
        if name in every:
            found[name] = every[name]
        elif name in papers:
            found |= {item.id: item for item in every.values() if item.paper == name}
        else:
            known = [*every, *sorted(papers)]
            close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
            remedy = f"Did you mean {' or '.join(close)}?" if close else ""
            text = f"{remedy} `vinesim reproduce --list` lists them.".strip()
            problems.append(Problem("vinesim reproduce", "the id of a figure, a table or a paper", repr(name), text))
    if problems:
        raise InputError(problems)
    return list(found.values())


def _order(name: str) -> tuple[str, list[int]]:
    """Sort key: figures, tables, text; numbers by value."""
    return re.sub(r"\d+", "", name), [int(number) for number in re.findall(r"\d+", name)]
