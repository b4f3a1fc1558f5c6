"""Read a scenario from the papers' text files, and report the errors of all files together."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.papers.deployment import read_deployment
from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity, read_power
from vinesim.formats.papers.trace import read_trace
from vinesim.model import affinity as affinity_table
from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, ProcessorType
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario


class _Collector:
    """Calls one reader after another and collects their errors."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.n_problems = 0

    def read(self, reader: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what the reader returns, or None if it raises :class:`InputError`."""
        try:
            return reader(*args, **kwargs)
        except InputError as wrong:
            self.problems += wrong.problems
            self.n_problems += wrong.n_problems
            return None

    def raise_if_any(self) -> None:
        if self.n_problems:
            raise InputError(self.problems, self.n_problems)


def read_text_scenario(
    deployment: Path,
    trace: Path,
    iat: float | None = None,
    arrivals: Path | None = None,
    affinity: Path | None = None,
    prices: Path | None = None,
    power: Path | None = None,
) -> Scenario:
    """Read a deployment, a trace, and the inter-arrival time (us) or a file of arrival times.

    Without an affinity file, Table 1 of the paper applies. Raises :class:`InputError` with every problem of every file.
    """
    collector = _Collector()
    shape = (len(PROCESSOR_TYPES), len(TASK_TYPES))
    center = collector.read(read_deployment, deployment)
    table = affinity_table.table_1() if affinity is None else collector.read(read_affinity, affinity, *shape)
    times = iat if arrivals is None else collector.read(read_arrivals, arrivals)
    price = {} if prices is None else collector.read(read_prices, prices)
    watts = None if power is None else collector.read(read_power, power, *shape)
    work = collector.read(
        read_trace, trace, arrivals=0.0 if times is None else times, datacenter=center, affinity=table
    )
    collector.raise_if_any()
    if price:
        center = replace(center, processor_types=_priced(center.processor_types, price))
    return Scenario(center, work, affinity=np.asarray(table), power_w=watts)


def _priced(types: tuple[ProcessorType, ...], prices: dict[int, float]) -> tuple[ProcessorType, ...]:
    return tuple(replace(p, price=prices.get(code, p.price)) for code, p in enumerate(types))
