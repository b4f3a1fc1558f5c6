"""The output of ``scontrol show``: the fields ``Name=value`` of each node, partition or reservation.

They are on one line, or on several lines followed by an empty one.

Values may hold spaces; the next field begins at the next word with ``=`` in it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from vinesim.formats.slurm.lines import text_lines

_FIELD = re.compile(r"(?:^|\s)([A-Za-z][\w/:.]*)=")


def read_blocks(path: Path, first: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each object that the file describes: the line at which it begins, and its fields.

    ``first`` is the field with which each begins, such as NodeName. Snapshots are yielded in sequence.
    """
    begun, fields = 0, dict[str, str]()
    for number, line in enumerate(text_lines(path), 1):
        found = fields_of(line)
        if line.lstrip().startswith(f"{first}="):
            if fields:
                yield begun, fields
            begun, fields = number, {}
        elif not begun:
            continue  # before the first
        fields |= found
    if fields:
        yield begun, fields


def fields_of(line: str) -> dict[str, str]:
    """Return the fields of a line by name."""
    places = list(_FIELD.finditer(line))
    ends = [*(place.start() for place in places[1:]), len(line)]
    return {place[1]: line[place.end() : end].strip() for place, end in zip(places, ends, strict=False)}
