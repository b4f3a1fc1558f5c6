"""Tables that Slurm prints with ``--parsable2`` or ``--parsable``: a line for each row, fields separated by ``|``.

Three columns may contain ``|`` themselves: Constraints of sacct (as in ``amd|intel``), SubmitLine, which repeats it,
and FEATURES of squeue. If a row has more fields than the header, such values are joined again.
"""

from collections.abc import Iterator
from pathlib import Path

from vinesim.formats.slurm.lines import Unread, text_lines

WRONG_NUMBER = "a wrong number of fields"
BARRED = ("Constraints", "SubmitLine", "FEATURES")  # columns whose values may contain the separator


def read_table(path: Path) -> Iterator[tuple[int, dict[str, str] | int]]:
    """Yield the line of each row, and its values by column, or the number of its fields if that is wrong."""
    header = None
    for number, text in enumerate(text_lines(path), 1):
        if not text.strip():
            continue
        fields = [field.strip() for field in text.split("|")]
        if header is None:
            header = fields
            continue
        values = joined(fields, header)
        yield number, len(fields) if values is None else dict(zip(header, values, strict=True))


def read_rows(path: Path, unread: Unread) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row that has a value for each column, with its line."""
    for line, row in read_table(path):
        if isinstance(row, int):
            unread[WRONG_NUMBER].append(line)
        else:
            yield line, row


def joined(fields: list[str], header: list[str]) -> list[str] | None:
    """Return the values of a row, with values that contain the separator joined; None for a wrong number of fields."""
    n_more = len(fields) - len(header)
    if n_more == 0:
        return fields
    places = [header.index(name) for name in BARRED if name in header]
    if n_more < 0 or not places or n_more % len(places):
        return None
    each, found, at = n_more // len(places), list[str](), 0
    for column in range(len(header)):
        n = 1 + each * (column in places)
        found.append("|".join(fields[at : at + n]))
        at += n
    return found
