"""Checksums: find damage by a disk or a transfer before the data is used.

A single file contains its own checksum: the SHA-256 of all its bytes, with zeros for the digits of the checksum itself.
There is then only one file to write, move and copy. The checksum is in the metadata of a Parquet file, in a comment in
YAML, or under a key in JSON.

A folder that is written as a whole has a list instead, ``SHA256SUMS``, which ``sha256sum -c`` also checks.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from vinesim.formats.source.files import opened, read_bytes, read_text
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
    """Whether the bytes match the checksum that they contain; False if there is none."""
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


def check_text(path: str | os.PathLike[str], what: str) -> None:
    """Raise :class:`InputError` if a file, described by ``what``, does not match the checksum in its comment."""
    if not is_text_intact(path):
        remedy = "If you edited it, remove its last line; if not, use the file that it was made from."
        raise InputError([Problem(str(path), f"{what} whose checksum matches", "a damaged or edited file", remedy)])


def write_sums(folder: Path) -> None:
    """Write the checksums of all files in a folder, in the order of their names, without links. Raises OSError."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    names = [(file, file.relative_to(folder).as_posix()) for file in files]
    lines = [f"{_digest(file)}  {name}\n" for file, name in names if name != SUMS]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def listed(folder: Path) -> set[str]:
    """Return the names in a folder's list of checksums; empty without a readable list."""
    try:
        return {name for _, name in map(_columns, read_text(folder / SUMS).splitlines())}
    except (InputError, ValueError):
        return set()


def check_sums(folder: Path, names: Iterable[str], remedy: str) -> list[Problem]:
    """Return the problems of a folder: each listed file must exist unchanged, and those of ``names`` that exist must be
    listed."""
    try:
        sums = {name: digest for digest, name in map(_columns, read_text(folder / SUMS).splitlines())}
    except InputError as error:
        return error.problems
    except ValueError:
        return [Problem(str(folder / SUMS), "a checksum and a file name on each line", "other text", remedy)]
    there = {name for name in names if (folder / name).exists()}
    found = [_differences(folder / name, sums.get(name), remedy) for name in sorted(there | sums.keys())]
    return [problem for problems in found for problem in problems]


def _columns(line: str) -> tuple[str, str]:
    digest, name = line.split("  ", 1)
    return digest, name


def _differences(file: Path, listed: str | None, remedy: str) -> list[Problem]:
    """Return the problem of a file that differs from its line in the list, or cannot be read."""
    if listed is None:
        return [Problem(str(file), f"a line in {SUMS}", "none", remedy)]
    if not file.exists():
        return [Problem(str(file), f"a file, as listed in {SUMS}", "no such file", remedy)]
    try:
        is_same = _digest(file) == listed
    except InputError as error:
        return error.problems
    expected, found = f"the contents listed in {SUMS}", "other contents: it is damaged"
    return [] if is_same else [Problem(str(file), expected, found, remedy)]


def _digest(file: Path) -> str:
    with opened(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
