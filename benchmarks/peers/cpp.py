"""By hand in C++ (high.cpp), compiled when it is first used; there is no such row without g++."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
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


def prepare(case):
    n = case.n_tasks
    columns = np.full(n, -1, np.int32), np.full(n, np.nan), np.full(n, np.nan)
    inputs = case.arrival_us, case.operations

    def pointers(arrays):
        return [ctypes.c_void_p(a.ctypes.data) for a in arrays]

    def run():
        _library().high(
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
