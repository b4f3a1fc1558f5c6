"""Checksums: find damage from a disk or a transfer before the data is used.

A file that is written alone carries its own checksum: the SHA-256 of all its bytes, with zeros for the digits of the
checksum itself. So there is one file to write, move and copy. The format decides where the checksum is: in the metadata
of a Parquet file, in a comment in YAML, under a key in JSON.
A folder that is written at once has a list instead, ``SHA256SUMS``, which ``sha256sum -c`` also checks.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from vinesim.formats.source.files import read_bytes, read_text
from vinesim.model.errors import InputError, Problem

BLANK = "sha256:" + 64 * "0"  # placeholder until the checksum is known
_COMMENT = re.compile(rb"^# sha256:[0-9a-f]{64}\s*$", re.MULTILINE)
_CHECKSUM = re.compile(rb"sha256:[0-9a-f]{64}")

SUMS = "SHA256SUMS"


def with_checksum(data: bytes) -> bytes:
    """Return the bytes with their checksum in place of the last ``BLANK``. Raises ValueError if there is none."""
    at = data.rindex(BLANK.encode())
    return data[:at] + b"sha256:" + hashlib.sha256(data).hexdigest().encode() + data[at + len(BLANK) :]


def add_checksum(file: BinaryIO) -> None:
    """Write the checksum over the last ``BLANK`` of a file that is open for reading and writing."""
    data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    file.seek(data.rindex(BLANK.encode()) + len("sha256:"))
    file.write(digest.encode())


def is_intact(data: bytes) -> bool:
    """Whether the bytes match the checksum that they carry; False if they carry none."""
    view = memoryview(data)
    for found in _CHECKSUM.finditer(data):
        digest = hashlib.sha256(view[: found.start()])
        digest.update(BLANK.encode())
        digest.update(view[found.end() :])
        if found[0] == b"sha256:" + digest.hexdigest().encode():
            return True
    return False


def is_text_intact(path: str | os.PathLike[str]) -> bool:
    """Whether a text matches the checksum in its comment; True if it has none."""
    data = read_bytes(path)
    return _COMMENT.search(data) is None or is_intact(data)


def write_sums(folder: Path) -> None:
    """Write the checksums of the files in a folder, in the order of their names. Raises OSError."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != SUMS)
    (folder / SUMS).write_text("".join(f"{_digest(file)}  {file.name}\n" for file in files))


def check_sums(folder: Path, names: Iterable[str], remedy: str) -> list[Problem]:
    """Return what is wrong with a folder: each listed file must be there unchanged, and each of ``names`` that is there
    must be listed."""
    try:
        listed = {name: digest for digest, name in map(_columns, read_text(folder / SUMS).splitlines())}
    except InputError as error:
        return error.problems
    except ValueError:
        return [Problem(str(folder / SUMS), "a checksum and a file name on each line", "other text", remedy)]
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
    """Expected and found, for a file that differs from its line in the list."""
    if listed is None:
        return f"a line in {SUMS}", "none"
    if not file.exists():
        return f"a file, as listed in {SUMS}", "no such file"
    return None if _digest(file) == listed else (f"the contents listed in {SUMS}", "other contents: it is damaged")


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
