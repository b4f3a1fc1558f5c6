"""Clocks: time since the cluster first started, and a clock for leases that no setting of the date moves."""

import time

_LEASE_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # boot time also counts while a laptop sleeps

GRID_US = 2.0**-6  # of the cluster's times: so the sums and differences of decades of them are exact


def lease_clock_us() -> float:
    """Return the time of this machine's lease clock: the same in all its processes."""
    return time.clock_gettime(_LEASE_CLOCK) * 1e6


class ClusterClock:
    """Microseconds since the cluster first started. It never goes back, not even across restarts of the manager."""

    def __init__(self, started_s: float, at_least_us: float = 0.0):
        """``started_s`` is the date of the cluster's first start, ``at_least_us`` the last time in its journal."""
        self._zero_us = max((time.time() - started_s) * 1e6, at_least_us) - time.monotonic() * 1e6
        self._last_us = -(-at_least_us // GRID_US) * GRID_US

    def now_us(self) -> float:
        """Return the time, a multiple of ``GRID_US``."""
        now_us = time.monotonic() * 1e6 + self._zero_us
        self._last_us = max(self._last_us, now_us // GRID_US * GRID_US)
        return self._last_us
