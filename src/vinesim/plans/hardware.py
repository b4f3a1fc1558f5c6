"""The hardware of a point: units by type and rack, their price and power. All of it is known without a run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vinesim.formats.scenario.datacenter import datacenter
from vinesim.formats.scenario.datacenter_parts import DatacenterPart
from vinesim.formats.scenario.names import Names
from vinesim.formats.source.document import checked_part
from vinesim.formats.study.file import scenario_source
from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import AT_LEAST_ONE, Datacenter
from vinesim.model.errors import InputError
from vinesim.model.plan import Costs, Plan
from vinesim.model.scenario import Scenario

HOURS_PER_YEAR = 8766.0
SECTION = "datacenter"


@dataclass(frozen=True, eq=False)
class Hardware:
    """The units of a datacenter: ``count`` [P] by type, ``by_rack`` [R, P], and their capacity, total and per unit."""

    count: np.ndarray
    by_rack: np.ndarray
    capacity_by_rack: np.ndarray  # [R, P] of all units together
    smallest: np.ndarray  # [P] capacity of the smallest unit; that of the type if there is none
    largest: np.ndarray  # [P] of the largest one, in the same way

    @property
    def capacity(self) -> np.ndarray:
        """[P] of all units of a type together."""
        return np.asarray(self.capacity_by_rack.sum(axis=0))


class Hardwares:
    """Counts the units of points; each datacenter is counted once."""

    def __init__(self, plan: Plan):
        self._source, self._folder = scenario_source(plan.space), plan.space.folder
        self._known: dict[str, Hardware | str] = {}

    def of(self, settings: dict[str, Any], base: Scenario) -> Hardware | str:
        """Return the units, with the types of ``base``; a text says why there are none."""
        own = {key: value for key, value in settings.items() if key.startswith(SECTION)}
        key = repr((own, [p.name for p in base.datacenter.processor_types]))
        if key not in self._known:
            self._known[key] = self._counted(own, base)
        return self._known[key]

    def _counted(self, own: dict[str, Any], base: Scenario) -> Hardware | str:
        source = self._source.changed(own)
        part = checked_part(source, (SECTION,), DatacenterPart, source.data[SECTION])
        types = base.datacenter.processor_types
        names = Names(types, base.workload.task_types, self._folder)
        center = None if part is None else datacenter(source, part, names)
        try:
            source.raise_if_any()
        except InputError as error:
            if all(problem.expected == AT_LEAST_ONE for problem in error.problems):
                return "it has no units"
            return "; ".join(str(problem) for problem in error.problems)
        assert center is not None
        by_rack = np.zeros((center.n_racks, len(types)), np.int64)
        np.add.at(by_rack, (center.rack, center.unit_type), 1)
        capacity_by_rack = np.zeros(by_rack.shape)
        np.add.at(capacity_by_rack, (center.rack, center.unit_type), center.unit_capacity)
        return Hardware(by_rack.sum(axis=0), by_rack, capacity_by_rack, *unit_sizes(center, types))


def unit_sizes(center: Datacenter, types: Sequence[ProcessorType]) -> tuple[np.ndarray, np.ndarray]:
    """[P] the capacity of the smallest and of the largest unit of each type; the type's own capacity if it has no
    units."""
    of_type = np.array([p.capacity for p in types])
    smallest, largest = np.full(len(of_type), np.inf), np.zeros(len(of_type))
    np.minimum.at(smallest, center.unit_type, center.unit_capacity)
    np.maximum.at(largest, center.unit_type, center.unit_capacity)
    return np.where(largest > 0, smallest, of_type), np.where(largest > 0, largest, of_type)


def busiest_w(scenario: Scenario, hardware: Hardware) -> np.ndarray:
    """Return the power of each rack if all its units are busy, [R] W; NaN where powers are unknown."""
    found = np.zeros(len(hardware.by_rack))
    for p, processor_type in enumerate(scenario.datacenter.processor_types):
        n_units, idle_w = hardware.by_rack[:, p], processor_type.idle_power_w
        table_w = None if scenario.power_w is None else float(scenario.power_w[p].max())
        if processor_type.power_curve_w is not None:
            busy_w = n_units * max(processor_type.power_curve_w)
        elif processor_type.dynamic_power_w is not None:
            busy_w = n_units * idle_w + processor_type.dynamic_power_w * hardware.capacity_by_rack[:, p]
        elif table_w is None and scenario.affinity[p].any():
            busy_w = np.where(n_units > 0, math.nan, 0.0)
        else:  # what runs nothing draws its idle power, unless it has its own power
            busy_w = n_units * max(idle_w, table_w or 0.0)
        found += busy_w
    return found


def known_numbers(hardware: Hardware, scenario: Scenario, costs: Costs | None) -> dict[str, float]:
    """Return the numbers of a point that need no run: its units, its racks' power, what is bought and rented."""
    types, count = scenario.datacenter.processor_types, hardware.count
    found = {"units.count": float(count.sum())}
    found |= {f"units.by_type.{p.name}": float(n) for p, n in zip(types, count, strict=True)}
    found |= {f"racks.power_w.{rack}": float(watts) for rack, watts in enumerate(busiest_w(scenario, hardware))}
    costs = costs or Costs()
    hours = costs.years * HOURS_PER_YEAR
    rented = np.array([costs.rent_per_hour.get(p.name, 0.0) for p in types])
    is_bought = np.array([p.name not in costs.rent_per_hour for p in types])
    found["cost.purchase"] = float(np.where(is_bought & (count > 0), count * scenario.prices, 0.0).sum())
    found["cost.rent"] = float((rented * count).sum() * hours)
    return found
