"""The declaration of an importer: a function whose parameters are the arguments and options of its command."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vinesim.formats.importers.report import ImportReport
from vinesim.model.errors import InputError, Problem


@dataclass(frozen=True)
class Argument:
    """Marks a positional parameter."""

    help: str


@dataclass(frozen=True)
class Option:
    """Marks an option; one whose type is a tuple may be repeated."""

    help: str
    short: str = ""
    metavar: str = ""


class Imported(NamedTuple):
    """The result of an import."""

    report: ImportReport
    output: Path
    holds: str  # what the output contains, in words
    scenario: Path | None = None  # a scenario that runs the output
    arrival_us: np.ndarray | None = None  # if the output is not a workload: the arrivals, increasing
    mapping: Path | None = None  # a file with the guessed meanings of the log's columns


@dataclass(frozen=True)
class Importer:
    """A way to import files: ``vinesim import NAME``.

    The parameters of ``read`` are ``Annotated`` with :class:`Argument` or :class:`Option`; its docstring is the
    command's help. It reads, writes and raises :class:`~vinesim.model.errors.InputError`; it prints nothing.
    """

    name: str
    read: Callable[..., Imported]


def check_workload(output: Path) -> None:
    """Check the output's name: the scenario's name ends in .yaml, and a name in .csv would be read as CSV."""
    if output.suffix != ".parquet":
        raise InputError([Problem("-o", "a name that ends in .parquet", str(output))])
