"""How the placement kernels are compiled: no reference counts, no lock, cached on disk by the content of this
folder."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.jit.kernels import NUMBA_VERSION, cached_kernel, inlined
from vinesim.state import demand

__all__ = ["amount_of", "compiled", "inlined"]
amount_of = inlined(demand.amount_of)


@cache
def _digest() -> str:
    digest = hashlib.sha256(f"{NUMBA_VERSION} {np.__version__}".encode())
    for path in [Path(demand.__file__), *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(source: Any, **options: Any) -> Any:
    """Return a kernel that is kept on the disk."""
    return cached_kernel(source, _digest(), {}, **options)
