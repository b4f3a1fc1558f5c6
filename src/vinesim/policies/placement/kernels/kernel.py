"""How the placement kernels are compiled: no reference counts, no lock, cached on disk by the content of this
folder."""

import hashlib
import types
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from vinesim.state import demand
from vinesim.state.kernel import OPTIONS, inlined

__all__ = ["amount_of", "compiled", "inlined"]
amount_of = inlined(demand.amount_of)


@cache
def _folder() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for path in [Path(demand.__file__), *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiled(source: Any, **options: Any) -> Any:
    """Return a kernel, cached on disk under a name that changes with every file compiled into it: Numba's own cache
    checks only the file that a function is in, not those that it calls."""
    name = f"{source.__name__}_{_folder()}"
    bound = types.FunctionType(source.__code__, source.__globals__, name, source.__defaults__, source.__closure__)
    bound.__qualname__, bound.__module__ = name, source.__module__
    chosen = {**OPTIONS, **options}
    try:
        return numba.njit(cache=True, **chosen)(bound)
    except RuntimeError:  # no writable folder for the cache
        return numba.njit(**chosen)(bound)
