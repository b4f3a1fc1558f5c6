"""The file with the meanings of a log's columns: an import writes it, the user edits it, the next import reads it."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from vinesim.formats.importers.csv_forms import DECIMALS
from vinesim.formats.importers.report import Guess
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.model.errors import InputError, Problem

KEYS = ("columns", "decimal", "date_format")
HEAD = "# What the columns of {log} were taken for; ! marks a guess that may be wrong.\n"
HEAD += "# Correct this file, and import again with --mapping {name}\n"


def as_lines(found: Mapping[str, Guess]) -> str:
    """Return the meanings of the columns as lines of YAML, each with the reason."""
    lines = []
    for name, guess in found.items():
        line = as_yaml({name: guess.meaning}).rstrip("\n")
        lines.append(f"{line}  # {'! ' * guess.is_doubtful}{_one_line(guess.why)}\n")
    return "".join(lines)


def _one_line(text: str) -> str:
    """Return a text in a form that is safe in a comment: it may quote anything from the log."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def mapping_text(log: Path, name: str, found: Mapping[str, Guess], forms: Mapping[str, str]) -> str:
    """Return the text of the file; ``forms`` are the options about the notation of cells."""
    given = {key: value for key, value in forms.items() if value}
    text = HEAD.format(log=_one_line(log.name), name=_one_line(name))
    return text + (as_yaml(given) if given else "") + "columns:\n" + indent(as_lines(found), "  ")


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the contents of the file: columns, decimal, date_format. Raises :class:`InputError`."""
    data = YamlSource(path, what="the meanings of columns").data
    if not isinstance(data, dict):
        raise InputError([Problem(str(path), "a mapping with the key columns", type(data).__name__)])
    problems = [Problem(f"{path}: {key}", "one of " + ", ".join(KEYS), repr(key)) for key in data if key not in KEYS]
    columns = data.get("columns", {})
    if not isinstance(columns, dict):
        problems.append(
            Problem(f"{path}: columns", "the meaning of each column, such as Submit: arrival_date", repr(columns)[:40])
        )
        columns = {}
    problems += [
        Problem(f"{path}: columns.{name}", "the name of a column of a workload, or ignore", repr(meaning)[:40])
        for name, meaning in columns.items()
        if not isinstance(meaning, str)
    ]
    if data.get("decimal", DECIMALS[0]) not in DECIMALS:
        problems.append(Problem(f"{path}: decimal", " or ".join(DECIMALS), repr(data["decimal"])[:40]))
    if not isinstance(data.get("date_format", ""), str):
        problems.append(Problem(f"{path}: date_format", "a text such as d/m/y", repr(data["date_format"])[:40]))
    if problems:
        raise InputError(problems)
    return data | {"columns": {str(name): meaning for name, meaning in columns.items()}}
