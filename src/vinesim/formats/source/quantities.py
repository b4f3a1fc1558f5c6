"""Convert numbers with units ("25 us", "10 Gb/s", "8 KiB") to us, bytes per us, bytes and W; format times for people.

A plain number is already in that unit. k, M, G mean powers of 1000, Ki, Mi, Gi powers of 1024; b is bits, B is bytes.
As in Kubernetes, a size may leave out the B after Ki, Mi, Gi and Ti.
"""

import math
import re

from vinesim.model.errors import InputError, Problem

MEMORY = "memory"  # the resource behind the key `memory` of a node

# unit: (multiply, divide), both exact, so that a conversion rounds only once
_TIME = {
    "ns": (1, 1000),
    "us": (1, 1),
    "µs": (1, 1),  # the micro sign
    "μs": (1, 1),  # the Greek letter
    "ms": (1000, 1),
    "s": (10**6, 1),
    "min": (60 * 10**6, 1),
    "h": (3600 * 10**6, 1),
    "d": (86400 * 10**6, 1),
}
_PREFIX = {"": 1, "k": 1000, "K": 1000, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIX |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
SIZES = {f"{p}B": (n, 1) for p, n in _PREFIX.items()} | {p: (n, 1) for p, n in _PREFIX.items() if p.endswith("i")}
_BANDWIDTH = {f"{p}B/s": (n, 10**6) for p, n in _PREFIX.items()}
_BANDWIDTH |= {f"{p}b/s": (n, 8 * 10**6) for p, n in _PREFIX.items()}
_BANDWIDTH |= {f"{p}bps": (n, 8 * 10**6) for p, n in _PREFIX.items()}
_BANDWIDTH |= {"B/us": (1, 1)}
AMOUNTS = SIZES | _BANDWIDTH
_POWER = {"mW": (1, 1000), "W": (1, 1), "kW": (1000, 1), "MW": (10**6, 1), "GW": (10**9, 1)}

QUANTITY = r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ/]*)\s*"
_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4}
_WIDTH_HEIGHT = re.compile(r"\s*([0-9.]+)\s*x\s*([0-9.]+)\s*(in|cm|mm)\s*", re.ASCII)
_QUANTITY = re.compile(QUANTITY, re.ASCII)


def time_us(value: float | str, where: str = "time") -> float:
    """Convert a number of us, or a text such as "30 s", to us."""
    return _convert(value, _TIME, "a time, 0 or more: a number of us, or with a unit: 25 us, 30 s, 24 h", where)


def bandwidth(value: float | str, where: str = "bandwidth") -> float:
    """Convert a number of bytes per us, or a text such as "10 Gb/s" (1250), to bytes per us."""
    return _convert(value, _BANDWIDTH, "a bandwidth: a number of bytes per us, or with a unit: 10 Gb/s", where)


def size_bytes(value: float | str, where: str = "size") -> float:
    """Convert a number of bytes, or a text such as "8 KiB" or "1 MB", to bytes."""
    return _convert(value, SIZES, "a size, 0 or more: a number of bytes, or with a unit: 8 KiB, 1 MB", where)


def power_w(value: float | str, where: str = "power") -> float:
    """Convert a number of W, or a text such as "400 kW", to W."""
    return _convert(value, _POWER, "a power, 0 or more: a number of W, or with a unit: 400 kW, 1.5 MW", where)


def amount(value: float | str, where: str = "amount") -> float:
    """Convert a number, a size such as "512 GiB" or a bandwidth such as "25 GB/s" to the number, bytes or bytes per us.

    It is an amount of a resource that a node has or a task takes.
    """
    expected = "an amount, 0 or more: a number, or a size or bandwidth with its unit: 512 GiB, 25 GB/s"
    return _convert(value, AMOUNTS, expected, where)


def _convert(value: float | str, units: dict[str, tuple[int, int]], expected: str, where: str) -> float:
    problem = Problem(where, expected, repr(value)[:60])
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if not match:
            raise InputError([problem])
        number, unit = float(match[1]), match[2]
        if unit and unit not in units:
            raise InputError([Problem(where, expected, repr(value)[:60], "Units: " + ", ".join(units) + ".")])
        multiply, divide = units[unit] if unit else (1, 1)
        number = number * multiply / divide
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError([problem])
    else:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise InputError([problem])
    return number


def size_inches(text: str, where: str = "size") -> tuple[float, float]:
    """Convert a width and a height, such as "3.5x2.4in", "88x60mm" or "8.8x6cm", to inches."""
    match = _WIDTH_HEIGHT.fullmatch(text)
    if not match:
        expected = "a width, a height and their unit: 3.5x2.4in, 88x60mm or 8.8x6cm"
        raise InputError([Problem(where, expected, repr(text)[:60])])
    inch = _PER_INCH[match[3]]
    return float(match[1]) / inch, float(match[2]) / inch


def format_time_us(value_us: float) -> str:
    """Format a time for people, with three digits: ``25.0 us``, ``1.52 ms``, ``3.00 h``."""
    if not math.isfinite(value_us):
        return str(value_us)
    if value_us == 0:
        return "0 us"
    unit = "ns"
    for name in ("us", "ms", "s", "min", "h", "d"):
        multiply, divide = _TIME[name]
        if abs(value_us) >= 0.9995 * multiply / divide:
            unit = name
    number = value_us * _TIME[unit][1] / _TIME[unit][0]
    whole_digits = len(str(int(abs(number))))
    decimals = max(0, 3 - whole_digits)
    return f"{number:,.{decimals}f} {unit}"


def format_bytes(value: float) -> str:
    """Format a size for people: ``64 GiB``, ``1.5 MiB``, ``12 B``."""
    unit = next((name for name in ("Ti", "Gi", "Mi", "Ki") if abs(value) >= _PREFIX[name]), "")
    return f"{value / _PREFIX[unit]:.4g} {unit}B"


def time_or_dash(value_us: float | None) -> str:
    """Format a time for a table; a missing time is a dash."""
    return "-" if value_us is None else format_time_us(value_us)


def amount_words(name: str, amount: float) -> str:
    """Format an amount of a processor type or resource: memory with its unit, other amounts as numbers."""
    return format_bytes(amount) if name == MEMORY else f"{amount:g}"
