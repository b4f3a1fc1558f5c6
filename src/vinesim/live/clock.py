"""Clocks: time since the cluster first started, and a clock for leases that no setting of the date moves."""

import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_LEASE_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # boot time also counts while a laptop sleeps

GRID_US = 2.0**-6  # of the cluster's times: so the sums and differences of decades of them are exact


def lease_clock_us() -> float:
    """Return the time of this machine's lease clock: the same in all its processes."""
    return time.clock_gettime(_LEASE_CLOCK) * 1e6


@cache
def boot_id() -> str:
    """Return what tells this start of the machine from all others; empty if the operating system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class ClusterClock:
    """Microseconds since the cluster first started. It never goes back, not even across restarts of the manager; until
    the machine is started again, setting the date does not change it."""

    def __init__(self, started_s: float, at_least_us: float = 0.0, kept: Mapping[str, Any] | None = None):
        """``started_s`` is the date of the cluster's first start, ``at_least_us`` the last time in its journal, and
        ``kept`` what :meth:`keep` returned under the manager before."""
        by_date_us = (time.time() - started_s) * 1e6 - lease_clock_us()
        is_same_boot = kept is not None and boot_id() != "" and kept["boot"] == boot_id()
        zero_us = kept["zero_us"] if kept is not None and is_same_boot else by_date_us
        self._zero_us = max(zero_us, at_least_us - lease_clock_us())
        self._last_us = -(-at_least_us // GRID_US) * GRID_US

    def keep(self) -> dict[str, Any]:
        """Return what the next manager needs to continue this clock."""
        return {"boot": boot_id(), "zero_us": self._zero_us}

    def now_us(self) -> float:
        """Return the time, a multiple of ``GRID_US``."""
        now_us = lease_clock_us() + self._zero_us
        self._last_us = max(self._last_us, now_us // GRID_US * GRID_US)
        return self._last_us
