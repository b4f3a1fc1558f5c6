"""How large a text that is read may be: the limits of all readers, and the one message about them.

A gzip file counts with the bytes that it unpacks to; no more of it is unpacked than the limit.
"""

import csv
import os

from vinesim.model.errors import Problem

DOCUMENT_BYTES = 8 << 20  # YAML; PyYAML reads about 1 MB a second, at 4 bytes a value
TEXT_BYTES = 256 << 20  # other text that is read whole
LOG_BYTES = 16 << 30  # logs that are read line by line
LINE_BYTES = 1 << 20  # of text that is read line by line
FIELD_CHARACTERS = csv.field_size_limit()  # of a CSV file
VALUES, LEVELS = 200_000, 60  # in a YAML document; aliases count as often as they are used
FINDINGS = 200  # problems of a document that are looked into; more are only counted

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def in_words(n_bytes: int) -> str:
    """A number of bytes in the largest unit that fits."""
    return next((f"{n_bytes / size:g} {unit}" for size, unit in UNITS if n_bytes >= size), f"{n_bytes} bytes")


def too_much(where: str | os.PathLike[str], most: str, remedy: str = "Is this the right file?") -> Problem:
    """The problem of an input that is larger than the limit, told as ``8 MiB of text``."""
    return Problem(str(where), f"at most {most}", "more", remedy)
