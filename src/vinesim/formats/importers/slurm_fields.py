"""Parse the fields that Slurm prints: times, limits, amounts of memory, job arrays."""

import math
import re

from vinesim.formats.importers.counts import to_time_us

DIGITS = 15  # most digits of a whole number, which is then exact as a float
_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}):(\d\d):(\d\d)(?:\.\d+)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_ARRAY = re.compile(r"\d+_\[([0-9,:-]+)(?:%\d+)?\]", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def whole(text: str) -> int | None:
    """Parse a whole number; None if the text is not one, or has too many digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None


def seconds(text: str) -> float | None:
    """Parse a point in time, s since 1970; None for texts such as Unknown."""
    found = to_time_us(text)
    return None if found is None else found / 1e6


def limit_s(text: str) -> float | None:
    """Parse a limit such as 1-12:00:00, or a number of minutes, in s; infinite if there is none, None if unreadable."""
    if (minutes := whole(text)) is not None:
        return minutes * 60.0 or None
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, secs = (int(part or 0) for part in clock.groups())
        return float(days * 86400 + hours * 3600 + minutes * 60 + secs) or None
    return math.inf if text.lower() in ("", "unlimited", "partition_limit", "infinite", "invalid") else None


def size_bytes(text: str) -> float | None:
    """Parse an amount of memory such as 62.5G, in bytes; plain numbers are MiB."""
    match = _SIZE.fullmatch(text)
    return None if match is None else float(match[1]) * 1024.0 ** ("KMGTP".index(match[2] or "M") + 1)


def rounding_bytes(text: str) -> float:
    """Return the rounding error of such an amount, half of its last digit, in bytes; 0 for a whole number."""
    decimals = re.search(r"\.(\d+)", text)
    unit = size_bytes("1" + text.lstrip("0123456789.")) or 0.0
    return 0.0 if decimals is None else 0.5 * 10.0 ** -len(decimals[1]) * unit


def array_size(job_id: str) -> int | None:
    """Return how many jobs a line such as 300_[201-300%50] describes; 1 if it is not an array, None if unreadable."""
    if "[" not in job_id:
        return 1
    match = _ARRAY.fullmatch(job_id)
    ranges = [] if match is None else [_RANGE.fullmatch(item) for item in match[1].split(",")]
    n = 0
    for found in ranges:
        if found is None or found[3] == "0":
            return None
        first, last = int(found[1]), int(found[2] or found[1])
        n += max(0, last - first) // int(found[3] or 1) + 1
    return n or None
