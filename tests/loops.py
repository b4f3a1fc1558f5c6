"""Copy compiled loops that all policies share, for a test that begins with an empty cache."""

import shutil
from pathlib import Path

from vinesim.jit import machine_code


def copy_loops(cache: Path) -> None:
    """Give them to processes whose NUMBA_CACHE_DIR is ``cache``; what policies were compiled to they do not get."""
    there, known = cache / "vinesim" / "machine_code", machine_code.folder()
    there.mkdir(parents=True)
    for file in known.glob("*_of_all*.nb[ic]") if known else ():
        shutil.copy(file, there)
