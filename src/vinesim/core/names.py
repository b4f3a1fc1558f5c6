"""What names machine code: a hash of the policy and what it calls, of the package's kernels, of the features that they
are compiled for, and of the versions of Numba and NumPy. It is found without importing the compiler."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vinesim.core.fingerprint import fingerprint

PACKAGE = Path(__file__).parent.parent
OF_STATE = (
    "arrays",
    "demand",
    "expected",
    "layout",
    "places",
    "power",
    "queries",
    "reservations",
    "skew_heap",
    "until",
    "window",
)  # files of state that kernels are made from


def files() -> Iterator[Path]:
    """The files whose functions are compiled into loops, and those that say how."""
    for room in ("core", "jit"):
        yield from sorted((PACKAGE / room).rglob("*.py"))
    yield from (PACKAGE / "state" / f"{name}.py" for name in OF_STATE)
    yield PACKAGE / "model" / "power_caps.py"  # constants
    yield PACKAGE / "model" / "step_times.py"


@cache
def kernels() -> bytes:
    """Hash of everything that the package itself compiles, and of the compiler's version."""
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')}".encode())
    for file in files():
        digest.update(file.name.encode() + file.read_bytes())
    return digest.digest()


def digest_of(features: frozenset[str], functions: tuple[Any, ...], *others: str) -> str:
    """What names the code of a loop with these features, and of functions as they are loaded now."""
    digest = hashlib.sha256(kernels() + " ".join(sorted(features)).encode())
    for function in functions:
        digest.update(fingerprint(function))
    for other in others:
        digest.update(other.encode())
    return digest.hexdigest()
