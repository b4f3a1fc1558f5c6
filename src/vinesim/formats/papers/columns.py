"""Read the papers' text files as NumPy columns: 10 million lines in seconds, memory bounded by the columns themselves.

Measured on 2 cores, 10 M trace lines of 7 numbers (303 MB): this reader 1.3 s and 0.32 GB, DuckDB's ``read_csv``
2.4 s and 1.3 GB. DuckDB was tried and dropped: it also rounds "1.5" into integer columns and rejects double spaces.
A piece of the file that this reader cannot parse goes to ``lines``, which accepts it or explains what is wrong.
"""

import os
import re
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from vinesim.formats.papers import lines
from vinesim.formats.papers.lines import Column
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem

N_THREADS = 2  # NumPy releases the interpreter lock; reading is the bottleneck, so more threads do not help
_MAX_DIGITS = 18  # numbers of this length are below 2^63
_MAX_WIDTH = 32  # most characters of a decimal number
_COMMENT = re.compile(rb"#[^\n]*")
Piece = tuple[list[np.ndarray], list[Problem]]


def read_columns(path: str | os.PathLike[str], columns: Sequence[Column]) -> list[np.ndarray]:
    """Return one array per column: float64 for numbers, the smallest unsigned type that fits for whole numbers.

    Raises :class:`InputError` with the place of every problem.
    """
    pieces: list[list[np.ndarray]] = []
    problems: list[Problem] = []
    n_problems = 0
    with ThreadPoolExecutor(N_THREADS) as pool:
        waiting: deque[Future[Piece]] = deque()

        def take() -> None:
            nonlocal n_problems
            arrays, found = waiting.popleft().result()
            n_problems += len(found)
            problems.extend(found[:MAX_PROBLEMS])
            pieces.append(arrays)

        for first_line, chunk in lines.chunks(path):
            waiting.append(pool.submit(parse, path, first_line, chunk, columns))
            if len(waiting) > N_THREADS + 1:
                take()
            if n_problems >= lines.MAX_COUNTED:
                break
        while waiting:
            take()
    if problems:
        raise InputError(problems, n_problems)
    if not any(len(piece[0]) for piece in pieces):
        names = " ".join(c.name for c in columns)
        raise InputError([Problem(str(path), f"at least one line of: {names}", "none", "Is the file complete?")])
    result = []
    for c in range(len(columns)):  # column by column, so that at most one is in memory twice
        result.append(np.concatenate([piece[c] for piece in pieces]))
        for piece in pieces:
            piece[c] = np.empty(0, np.uint8)
    return result


def parse(path: str | os.PathLike[str], first_line: int, chunk: bytes, columns: Sequence[Column]) -> Piece:
    """Parse a piece of whole lines: by the quick parser or, if it gives up, by the exact one."""
    quick = parse_quick(chunk, columns)
    return (quick, []) if quick is not None else parse_slow(path, first_line, chunk, columns)


def parse_slow(path: str | os.PathLike[str], first_line: int, chunk: bytes, columns: Sequence[Column]) -> Piece:
    """Parse a piece of whole lines in plain Python: the columns, and what is wrong with them."""
    values, problems = lines.parse(path, lines.records(path, first_line, chunk), columns)
    if problems:
        return [np.empty(0, np.uint8) for _ in columns], problems
    arrays = [
        np.array(v, np.float64) if c.is_number else _narrow(np.array(v, np.int64))
        for v, c in zip(values, columns, strict=True)
    ]
    return arrays, problems


def parse_quick(chunk: bytes, columns: Sequence[Column]) -> list[np.ndarray] | None:
    """Parse a piece of whole lines; None if it contains anything but plain numbers in plain lines."""
    if not chunk.isascii() or b"\0" in chunk:
        return None
    if b"#" in chunk:
        chunk = _COMMENT.sub(b"", chunk)
    others = chunk.translate(None, b"0123456789 \t\r\n")
    if others.translate(None, b".eE+-"):
        return None
    data = np.frombuffer(chunk, np.uint8)
    span = _spans(data, len(columns))
    if span is None:
        return None
    result = []
    for c, column in enumerate(columns):
        start, end = span[:, c, 0], span[:, c, 1]
        array = _whole(data, start, end, is_pure=not others)
        if array is None and column.is_number:
            array = _decimal(data, start, end)
        if array is None:
            return None
        result.append(array.astype(np.float64) if column.is_number else array)
    return result


def _spans(data: np.ndarray, n_columns: int) -> np.ndarray | None:
    """Return the start and end of each field, [line, column, 2]; None if a line has more or fewer fields."""
    is_field = data > ord(" ")
    edges = np.flatnonzero(is_field[1:] != is_field[:-1]) + 1
    if is_field[0]:
        edges = np.concatenate(([0], edges))
    if len(edges) % (2 * n_columns):
        return None
    spans = edges.reshape(-1, n_columns, 2)
    line_ends = np.flatnonzero(data == ord("\n"))
    if len(line_ends) != len(spans):  # there are blank lines, or malformed ones
        at = np.searchsorted(line_ends, spans[:, -1, 1])
        if (at != np.searchsorted(line_ends, spans[:, 0, 0])).any():
            return None
        line_ends = line_ends[at]
    is_right = (spans[:, -1, 1] <= line_ends).all() and (spans[1:, 0, 0] > line_ends[:-1]).all()
    return spans if is_right else None


def _whole(data: np.ndarray, start: np.ndarray, end: np.ndarray, is_pure: bool) -> np.ndarray | None:
    """Return numbers from their digits, for all lines at once; None if one is too long or has other characters."""
    width = end - start
    if not len(width):
        return np.empty(0, np.uint8)
    shortest, longest = int(width.min()), int(width.max())
    if longest > _MAX_DIGITS:
        return None
    at = end - 1
    digit = data[at] - ord("0")  # wraps around to above 9 for any other character
    value = digit.astype(np.int64)
    for k in range(longest):
        if k:
            at -= 1
            digit = data[at] - ord("0")
            if k >= shortest:
                digit *= width > k
            value += digit * np.int64(10**k)
        if not is_pure and (digit > 9).any():
            return None
    return _narrow(value)


def _decimal(data: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
    """Convert decimal numbers with NumPy; None if that fails or the file format forbids a number."""
    width = end - start
    longest = int(width.max())
    if longest > _MAX_WIDTH or np.isin(data[start], (ord("-"), ord("+"))).any():
        return None
    place = np.arange(longest)
    text = data[np.minimum(start[:, None] + place, len(data) - 1)]
    text[place >= width[:, None]] = 0
    try:
        with np.errstate(over="ignore"):
            value = np.ascontiguousarray(text).view(f"S{longest}")[:, 0].astype(np.float64)
    except ValueError:
        return None
    return value if (value < lines.LARGEST).all() else None


def _narrow(value: np.ndarray) -> np.ndarray:
    """Convert whole numbers to the smallest unsigned type that holds them."""
    return value.astype(np.min_scalar_type(int(value.max(initial=0))))
