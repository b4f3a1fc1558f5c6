"""The size limits of all text input, and the message about them.

A gzip file counts with its decompressed bytes; decompression stops at the limit.
"""

import csv
import os

from vinesim.model.errors import Problem

DOCUMENT_BYTES = 8 << 20  # YAML; PyYAML reads a few MB a second, at 4 bytes a value
TEXT_BYTES = 256 << 20  # other text that is read as a whole
LOG_BYTES = 16 << 30  # logs that are read line by line
LINE_BYTES = 1 << 20  # a line of a text that is read line by line
FIELD_CHARACTERS = csv.field_size_limit()  # a field of a CSV file
VALUES, LEVELS = 200_000, 60  # in a YAML document; an alias counts each time it is used
FINDINGS = 200  # reported problems of a document; further ones are only counted

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def in_words(n_bytes: int) -> str:
    """Format a number of bytes in the largest unit that fits."""
    return next((f"{n_bytes / size:g} {unit}" for size, unit in UNITS if n_bytes >= size), f"{n_bytes} bytes")


def too_much(where: str | os.PathLike[str], most: str, remedy: str = "Is this the right file?") -> Problem:
    """Return the problem of an input over the limit ``most``, such as ``8 MiB of text``."""
    return Problem(str(where), f"at most {most}", "more", remedy)
