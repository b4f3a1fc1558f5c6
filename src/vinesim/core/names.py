"""What names machine code: a hash of the policy and what it calls, of the package's kernels, of the features that they
are compiled for, and of the versions of Numba and NumPy. It is found without importing the compiler."""

import hashlib
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
OF_STATE = (
    "arrays",
    "demand",
    "expected",
    "layout",
    "places",
    "power",
    "queries",
    "shortcuts",
    "skew_heap",
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


@lru_cache(1000)  # each run asks for the same few
def digest_of(features: frozenset[str], *parts: bytes | str) -> str:
    """What names the code of a loop with these features, and of what else it is made from: the fingerprints of
    functions, and words."""
    digest = hashlib.sha256(kernels() + " ".join(sorted(features)).encode())
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()
