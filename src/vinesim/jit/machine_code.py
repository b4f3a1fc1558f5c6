"""Where compiled kernels are kept on the disk, and under which names. This module does not import the compiler.

Each name holds a hash of everything that the code is made from, so code is never stale, wherever the package is
installed. Numba itself adds the processor to its key. Only the user may write to the folder: whoever can write to it
decides what the next run executes.
"""

import errno
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from vinesim.model.errors import InputWarning

PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}"
UNUSED_S = 30 * 86_400.0  # code that was not loaded for this time is removed
MOST_BYTES = 1 << 30  # of all code; beyond it, the least recently loaded code is removed


@cache
def folder() -> Path | None:
    """Return the folder, in NUMBA_CACHE_DIR or the user's folder for caches; None if it cannot be used."""
    with suppress(OSError, RuntimeError):
        return _usable_folder()
    return None


def why_no_folder() -> str:
    """Return why no folder can be used; empty if one can."""
    try:
        _usable_folder()
    except OSError as wrong:
        return f"{wrong.filename}: {wrong.strerror}"
    except RuntimeError as wrong:
        return str(wrong)
    return ""


def _usable_folder() -> Path:
    """Return the folder, created if needed.

    Raises OSError if it cannot or should not be used, RuntimeError if the user has no home.
    """
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    place = (Path(given) if given else Path.home() / ".cache") / "vinesim" / "machine_code"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = place.stat()
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user", str(place))
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "other users can write to it", str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "it cannot be written", str(place))
    return place


@cache
def tell_not_kept(reason: str) -> None:
    """Warn that compiled code is not kept, once for each reason."""
    remedy = "Set NUMBA_CACHE_DIR to a folder that belongs to you and has room"
    text = f"compiled policies are not kept, so every run compiles them again: {reason}. {remedy}"
    warnings.warn(text, InputWarning, stacklevel=2)


def name_of(source: str, digest: str) -> str:
    """Return the name of the kernel made from ``source`` whose inputs have the hash ``digest``."""
    return f"{source}_{digest[:16]}"


def is_kept(source: str, digest: str) -> bool:
    """Whether the disk has this kernel, compiled for this version of Python."""
    place = folder()
    return place is not None and any(place.glob(f"*.{name_of(source, digest)}-.{PYTHON}*.nbi"))


def touch(name: str) -> None:
    """Mark the code whose files begin with ``name`` as used now."""
    for file in _files(name):
        with suppress(OSError):
            os.utime(file)


def tidy() -> None:
    """Remove code that was not used for long, and the least recently used code beyond the size limit."""
    found = []
    for file in _files():
        with suppress(OSError):
            status = file.stat()
            found.append((status.st_mtime, status.st_size, file))
    total, now_s = 0, time.time()
    for used_s, size, file in sorted(found, reverse=True):
        total += size
        if now_s - used_s > UNUSED_S or total > MOST_BYTES:
            with suppress(OSError):
                file.unlink()


def _files(name: str = "") -> Iterator[Path]:
    place = folder()
    if place is not None:
        yield from place.glob(f"{name}*.nb[ic]*")
