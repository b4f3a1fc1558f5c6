"""Watch the files that a study names: a row is kept only if they did not change while its run read them."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem
from vinesim.policies.code import file_content

_Stamp = tuple[int, ...] | None


class Inputs:
    """The files of a study while a worker does some of its runs."""

    def __init__(self, files: Mapping[Path, str]):
        """``files`` are the hashes when the sweep began, by path. Raises :class:`InputError` if one differs."""
        self._stamps = {path: _stamp(path) for path in files}  # taken before the files are read
        _refuse([path for path, content in files.items() if _content(path) != content])

    def check(self) -> None:
        """Raise :class:`InputError` if a file has been written or replaced since, even with the same contents."""
        _refuse([path for path, stamp in self._stamps.items() if _stamp(path) != stamp])


def _stamp(path: Path) -> _Stamp:
    """Return what changes whenever the file is written or replaced; None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _content(path: Path) -> str | None:
    try:
        return file_content(path)
    except InputError:
        return None


def _refuse(changed: list[Path]) -> None:
    if changed:
        where = f"the files of the study on {socket.gethostname()}"
        more = f" and {len(changed) - MAX_PROBLEMS} more" if len(changed) > MAX_PROBLEMS else ""
        found = f"{', '.join(map(str, changed[:MAX_PROBLEMS]))}{more} changed or gone"
        remedy = "Put back the files as they were and repeat the command, or sweep the new ones in another folder."
        raise InputError([Problem(where, "unchanged files since the sweep began", found, remedy)])
