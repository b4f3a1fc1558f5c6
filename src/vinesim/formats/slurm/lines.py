"""The lines of Slurm's files: UTF-8, except that names and comments may have other encodings, with any line ends."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from vinesim.formats.source.files import lines_of, not_text
from vinesim.model.errors import InputError


class Unread(defaultdict[str, list[int]]):
    """The lines of a file that are left out, as a whole or in one value, by what is unreadable in them."""

    def __init__(self) -> None:
        super().__init__(list)


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines without line ends; characters that are not UTF-8 are replaced. Raises :class:`InputError`."""
    for number, line in enumerate(lines_of(path), 1):
        if b"\0" in line:
            raise InputError([not_text(path, number, line.index(b"\0") + 1)])
        yield line.decode("utf-8", "replace").rstrip("\r\n")
