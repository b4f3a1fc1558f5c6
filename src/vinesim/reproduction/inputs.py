"""What an item takes from the user: files that are not part of VineSim, and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vinesim.model.errors import InputError, Problem

if TYPE_CHECKING:
    from vinesim.reproduction.item import Item

REMEDY = "`vinesim reproduce --help` says which item takes what."
Given = Mapping[str, Path | int]  # name of an input -> a file or a number


@dataclass(frozen=True)
class Input:
    """An option of ``vinesim reproduce``: a file that an item needs, or a number, at least 1, with a ``default``."""

    name: str  # of the option, without its dashes
    what: str
    remedy: str = ""  # where the file is found
    default: int | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.default is None

    @property
    def option(self) -> str:
        """The option, as a user writes it."""
        return f"--{self.name}" + (" FILE" if self.is_file else "")


def files_of(item: "Item") -> list[Input]:
    """Return the files that an item needs."""
    return [one for one in item.inputs if one.is_file]


def inputs_of(items: Sequence["Item"], given: Given) -> dict[str, dict[str, Path | int]]:
    """Return the inputs of each item by its id: those that are given, and the defaults of others.

    Raises :class:`InputError` for every file that is missing and number that is wrong, and for what no item takes.
    """
    taken = {one.name for item in items for one in item.inputs}
    problems = [
        Problem(f"--{name}", "an item that takes it", ", ".join(item.id for item in items), REMEDY)
        for name in given
        if name not in taken
    ]
    found: dict[str, dict[str, Path | int]] = {}
    for item in items:
        found[item.id] = {}
        for one in item.inputs:
            value = given.get(one.name, one.default)
            problems += _problems(item, one, value)
            if value is not None:
                found[item.id][one.name] = value
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return found


def _problems(item: "Item", one: Input, value: Path | int | None) -> list[Problem]:
    if value is None:
        return [Problem(f"vinesim reproduce {item.id}", f"{one.option}, {one.what}", "none", one.remedy)]
    if isinstance(value, int):
        return [Problem(f"--{one.name}", "at least 1", f"{value}")] if value < 1 else []
    if not value.is_file():
        return [Problem(f"--{one.name}", f"a file: {one.what}", f"no file {value}", "Check the path.")]
    return []
