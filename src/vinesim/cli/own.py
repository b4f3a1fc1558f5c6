"""The numbers that ``--record file.py:function`` asks for."""

from collections.abc import Mapping
from pathlib import Path

from vinesim.cli.terminal import say
from vinesim.metrics.numbers import shown_number
from vinesim.model.errors import InputError, Problem
from vinesim.model.python_file import split_file
from vinesim.studies.own_numbers import OwnNumbers


def of_command(record: list[str]) -> OwnNumbers:
    """Load the functions, whose files are relative to the working directory. Raises :class:`InputError`."""
    if wrong := [name for name in record if not split_file(name)[0]]:
        raise InputError([Problem("--record", "file.py:function", name) for name in wrong])
    return OwnNumbers(record, Path.cwd())


def print_own(numbers: Mapping[str, float | str]) -> None:
    """Print each number on a line."""
    for name, value in numbers.items():
        say(f"{name}  {shown_number(name, float(value))}")
