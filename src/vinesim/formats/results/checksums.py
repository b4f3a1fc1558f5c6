"""Checksums: what was damaged on a disk or on the way is found before it is taken for data.

A file that is written alone carries its own checksum: the SHA-256 of all its bytes, with zeros for the digits of the
checksum itself. So one file is one thing to write, move and copy. Where a checksum stands is the format's choice: in
the metadata of a Parquet file, a comment of YAML, a key of JSON.
A folder that is written at once has a list instead, ``SHA256SUMS``, which ``sha256sum -c`` checks too.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from vinesim.formats.source.files import read_bytes, read_text
from vinesim.model.errors import InputError, Problem

BLANK = "sha256:" + 64 * "0"  # what stands in the place of a checksum until it is known
_COMMENT = re.compile(rb"^# sha256:[0-9a-f]{64}\s*$", re.MULTILINE)
_CHECKSUM = re.compile(rb"sha256:[0-9a-f]{64}")

SUMS = "SHA256SUMS"


def with_checksum(data: bytes) -> bytes:
    """The bytes with their checksum in the place of the last ``BLANK``. Raises ValueError where there is none."""
    at = data.rindex(BLANK.encode())
    return data[:at] + b"sha256:" + hashlib.sha256(data).hexdigest().encode() + data[at + len(BLANK) :]


def add_checksum(file: BinaryIO) -> None:
    """Put the checksum into a file that is open for reading and writing, in the place of its last ``BLANK``."""
    data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    file.seek(data.rindex(BLANK.encode()) + len("sha256:"))
    file.write(digest.encode())


def is_intact(data: bytes) -> bool:
    """Whether the bytes have the checksum that they carry; without one they are not."""
    view = memoryview(data)
    for found in _CHECKSUM.finditer(data):
        digest = hashlib.sha256(view[: found.start()])
        digest.update(BLANK.encode())
        digest.update(view[found.end() :])
        if found[0] == b"sha256:" + digest.hexdigest().encode():
            return True
    return False


def is_text_intact(path: str | os.PathLike[str]) -> bool:
    """Whether a text has the checksum that stands in a comment of it, if there is one."""
    data = read_bytes(path)
    return _COMMENT.search(data) is None or is_intact(data)


def write_sums(folder: Path) -> None:
    """List the checksums of the files in a folder, in the order of their names. Raises OSError."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != SUMS)
    (folder / SUMS).write_text("".join(f"{_digest(file)}  {file.name}\n" for file in files))


def check_sums(folder: Path, names: Iterable[str], remedy: str) -> list[Problem]:
    """What is wrong with a folder: listed files must be there as they are listed, and these, if there, be listed."""
    try:
        listed = {name: digest for digest, name in map(_columns, read_text(folder / SUMS).splitlines())}
    except InputError as error:
        return error.problems
    except ValueError:
        return [Problem(str(folder / SUMS), "a checksum and a file's name on each line", "other text", remedy)]
    there = {name for name in names if (folder / name).exists()}
    return [
        Problem(str(folder / name), *difference, remedy)
        for name in sorted(there | listed.keys())
        if (difference := _difference(folder / name, listed.get(name)))
    ]


def _columns(line: str) -> tuple[str, str]:
    digest, name = line.split("  ", 1)
    return digest, name


def _difference(file: Path, listed: str | None) -> tuple[str, str] | None:
    """What was expected and found of a file that is not as it is listed."""
    if listed is None:
        return f"a line in {SUMS}", "none"
    if not file.exists():
        return f"a file, which {SUMS} lists", "no such file"
    return None if _digest(file) == listed else (f"the contents listed in {SUMS}", "other contents: it is damaged")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
