"""Numbers rounded for the page."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def rounded(values: Iterable[Any] | np.ndarray, digits: int = 6) -> list[Any]:
    """Round to ``digits`` significant digits; missing or infinite values become None, whole numbers become ints."""
    return [_short(value, digits) for value in (values.tolist() if isinstance(values, np.ndarray) else values)]


def _short(value: Any, digits: int) -> Any:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
