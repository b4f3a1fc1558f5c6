"""Kernels that sleep for as long as a device would compute, so that a busy machine disturbs them little. Consolidated
requests take the sum of their times, less what starting the device costs once."""

import time

from vinesim.live.kernels import kernel

START_MS = 2.0  # paid once per start
MS = {  # per unit of size
    "CPU": {"search": 40.0, "option": 80.0, "sql": 50.0, "video": 60.0},
    "ACC": {"search": 20.0, "option": 40.0, "sql": 60.0, "video": 30.0},
}


def sleeping(on, name):
    def run(sizes):
        time.sleep((START_MS + MS[on][name] * sum(sizes)) / 1e3)
        return sizes

    return run


for on, times in MS.items():
    for name in times:
        kernel(name, on=on)(sleeping(on, name))
