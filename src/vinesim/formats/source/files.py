"""Open, read and replace files; every error of the operating system becomes an :class:`InputError`."""

import codecs
import ctypes
import errno
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from vinesim.formats.source.drafts import draft_of, remove_drafts
from vinesim.formats.source.limits import LINE_BYTES, LOG_BYTES, TEXT_BYTES, in_words, too_much
from vinesim.model.errors import InputError, Problem

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file

_REASONS = {
    errno.ENOENT: ("no such file or folder", "Check the name."),
    errno.EACCES: ("no permission", "Change the file's permissions or choose another place."),
    errno.EPERM: ("no permission", "Change the file's permissions or choose another place."),
    errno.EROFS: ("a read-only file system", "Choose another place."),
    errno.EISDIR: ("a folder", "Name a file in it."),
    errno.ENOTDIR: ("a file where a folder is needed", "Check the path."),
    errno.ENOSPC: ("no space left on the disk", "Free some space or choose another place."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space or choose another place."),
    errno.EFBIG: ("the file would exceed the allowed size", "Raise the limit or choose another place."),
    errno.EMFILE: ("too many open files", "Raise the limit of open files, for example with ulimit -n 4096."),
    errno.ENFILE: ("too many open files on this machine", "Close some programs or raise the machine's limit."),
    errno.ENOMEM: ("too little memory", "Free some memory or raise its limit."),
    errno.EILSEQ: ("a name that is not UTF-8 text", "Rename it or choose another place."),
    errno.ENAMETOOLONG: ("a name that is too long", "Choose a shorter name."),
}


def problem_of(path: str | os.PathLike[str], expected: str, error: OSError) -> Problem:
    """Explain an error of the operating system to the user."""
    found, remedy = _REASONS.get(error.errno or 0, (error.strerror or str(error), ""))
    return Problem(str(path), expected, found, remedy)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """Open a file for reading bytes; a missing file, a folder, no permission or a read error is an InputError."""
    try:
        with open(path, "rb") as stream:
            yield stream
    except OSError as error:
        raise InputError([problem_of(path, "a file that can be read", error)]) from None
    except UnicodeEncodeError:
        remedy = "Set the locale to one with UTF-8, for example with LC_ALL=C.UTF-8."
        raise InputError([Problem(ascii(path), "a name that the locale can represent", "another", remedy)]) from None
    except ValueError as error:  # the name contains a NUL
        if "null" not in str(error):
            raise
        raise InputError([Problem(repr(path), "a file name", "a NUL character in it")]) from None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a whole file."""
    with opened(path) as stream:
        return stream.read()


def read_text(path: str | os.PathLike[str], most: int = TEXT_BYTES) -> str:
    """Read a UTF-8 text file of at most ``most`` bytes, plain or gzip, without its byte order mark."""
    with opened(path) as stream:
        data = stream.read(most + 1)
        if data.startswith(GZIP):
            stream.seek(0)
            data = _unpacked(path, stream, most)
    if len(data) > most:
        raise InputError([too_much(path, f"{in_words(most)} of text")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError([not_text(path, line, error.start - data.rfind(b"\n", 0, error.start))]) from None
    if "\0" in text:
        at = text.index("\0")
        raise InputError([not_text(path, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))])
    return text


def _unpacked(path: str | os.PathLike[str], stream: BinaryIO, most: int) -> bytes:
    try:
        return gzip.GzipFile(fileobj=stream).read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError([cut_gzip(path, error)]) from None


def lines_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the lines of a log, plain or gzip, without its byte order mark. Raises :class:`InputError`."""
    with opened(path) as stream:
        is_gzip = stream.read(2) == GZIP
        stream.seek(0)
        source = gzip.GzipFile(fileobj=stream) if is_gzip else stream
        n_bytes = number = 0
        try:
            while line := source.readline(LINE_BYTES + 1):
                number += 1
                n_bytes += len(line)
                if len(line) > LINE_BYTES:
                    raise InputError([too_much(f"{path}:{number}", f"{in_words(LINE_BYTES)} in a line")])
                if n_bytes > LOG_BYTES:
                    raise InputError([too_much(path, f"{in_words(LOG_BYTES)} of text")])
                yield line if number > 1 else line.removeprefix(codecs.BOM_UTF8)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError([cut_gzip(path, error)]) from None


def cut_gzip(path: str | os.PathLike[str], error: Exception) -> Problem:
    """Return the problem of a gzip file that cannot be decompressed."""
    found = "one that ends too early" if isinstance(error, EOFError) else "damaged data"
    return Problem(str(path), "a complete gzip file", found, "Fetch the file again.")


def not_text(path: str | os.PathLike[str], line: int, column: int) -> Problem:
    """Return the problem of a binary file, at its first byte that cannot be in UTF-8 text."""
    return Problem(f"{path}:{line}:{column}", "UTF-8 text", "a binary file", "Is this the right file?")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft next to ``path``; move it there at the end, or remove it if anything fails.

    Readers therefore see the old file or the complete new one, never a part.
    """
    target = Path(path)
    draft = draft_of(target)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        remove_drafts(target)
        yield draft
        os.replace(draft, target)
    except OSError as error:
        raise InputError([problem_of(path, "a file that can be written", error)]) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def is_table(file: str) -> bool:
    """Whether a workload's file is a table, by its name; otherwise it is a trace."""
    return file.endswith((".parquet", ".csv"))


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of <fcntl.h> on Linux


def exchanged(one: Path, other: Path) -> bool:
    """Exchange two files or folders on one file system; return False, and do nothing, if the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # another system than Linux, or an old one
        return False
    return rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
