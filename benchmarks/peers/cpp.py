"""By hand in C++ (high.cpp), compiled when it is first used; there are no such rows without g++."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.cases import CPU, GPU, SPEED


def is_there() -> bool:
    return shutil.which("g++") is not None


@cache
def _library():
    folder = tempfile.TemporaryDirectory()
    made = Path(folder.name) / "high.so"
    source = Path(__file__).parent / "high.cpp"
    options = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC"]
    subprocess.run(["g++", *options, "-o", str(made), str(source)], check=True)
    library = ctypes.CDLL(str(made))
    folder.cleanup()
    return library


def prepare(case, is_radix: bool, is_lowest: bool):
    """``is_radix``: radix heap, else 4-ary; ``is_lowest``: ties go to the lowest unit, else to the last one used."""
    n = case.n_tasks
    columns = np.full(n, -1, np.int32), np.full(n, np.nan), np.full(n, np.nan)
    inputs = case.arrival_us, case.operations

    def pointers(arrays):
        return [ctypes.c_void_p(a.ctypes.data) for a in arrays]

    def run():
        _library().high(
            ctypes.c_int(is_radix),
            ctypes.c_int(is_lowest),
            ctypes.c_int64(case.n_jobs),
            ctypes.c_int64(case.n_of_each),
            *pointers(inputs),
            ctypes.c_double(SPEED[CPU]),
            ctypes.c_double(SPEED[GPU]),
            *pointers(columns),
        )
        return columns[2]

    _library()
    return run


PEERS = {  # name -> prepare, and whether its tie rule is VineSim's
    "C++ by hand, radix heap": (partial(prepare, is_radix=True, is_lowest=True), True),
    "C++ by hand, 4-ary heap": (partial(prepare, is_radix=False, is_lowest=True), True),
    "C++ by hand, radix heap, any idle unit": (partial(prepare, is_radix=True, is_lowest=False), False),
    "C++ by hand, 4-ary heap, any idle unit": (partial(prepare, is_radix=False, is_lowest=False), False),
}
