"""The datacenter: which units stand where. Source: VineSim report, sections 4.1 and 4.2."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any

import numpy as np

from vinesim.model.arrays import as_column
from vinesim.model.attributes import attribute
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType, codes_of
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import InputError, Problem
from vinesim.model.scalars import as_found, is_above_0

MAX_RACKS = 10_000_000


def _row(given: Any) -> tuple[str, float, float] | None:
    """Return the type, rack and shelf of a row; numbers may be texts. None if it is not such a row."""
    try:
        name, rack, shelf = given
        return (name, float(rack), float(shelf)) if isinstance(name, str) else None
    except (TypeError, ValueError, OverflowError):
        return None


AT_LEAST_ONE = "at least one unit"  # what a datacenter without units lacks, in an error


@dataclass(frozen=True, eq=False)
class Datacenter:
    """The units of a datacenter: one row per unit, in the order of the deployment.

    A *node* is the units at one (rack, shelf). Racks count from 0, shelves from 0 at the bottom.
    """

    unit_type: np.ndarray  # [N] int32: index into processor_types
    rack: np.ndarray  # [N] int32
    shelf: np.ndarray  # [N] int32
    processor_types: tuple[ProcessorType, ...] = PROCESSOR_TYPES
    # fmt: off
    n_racks: int = field(default=0, metadata=attribute(  # R; 0: the default
        "Number of racks; default: up to the highest in use."))
    n_shelves: int = field(default=0, metadata=attribute(  # S; 0: the default
        "Shelves per rack; default: up to the highest in use."))
    storage: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int32))  # [D, 2] int32: rack, shelf
    capacity: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] float64; None: that of each unit's type
    # what people call each unit's node and each rack; they change nothing
    node_names: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [N] texts
    rack_names: tuple[str, ...] = field(default=(), metadata=IF_GIVEN)  # [R], or none
    power_cap_w: float | None = field(default=None, metadata=IF_GIVEN | attribute(
        "The most that all units together may draw: tasks wait that would exceed it."))
    rack_power_cap_w: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [R] those of a rack; inf: no cap
    # fmt: on

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        n_units = np.size(self.unit_type)
        for name in ("unit_type", "rack", "shelf"):
            column = as_column(("datacenter", name), getattr(self, name), np.int32, n_units, problems)
            object.__setattr__(self, name, column)
        if self.capacity is not None:
            own = as_column(("datacenter", "capacity"), self.capacity, np.float64, n_units, problems)
            object.__setattr__(self, "capacity", own)
        flat = as_column(("datacenter", "storage"), np.asarray(self.storage).reshape(-1), np.int32, None, problems)
        if problems:
            raise InputError(problems)
        object.__setattr__(self, "storage", flat.reshape(-1, 2))
        if not len(self.unit_type):
            raise InputError([Problem(("datacenter",), AT_LEAST_ONE, "none", "Add a unit.")])
        racks, shelves = self.storage[:, 0], self.storage[:, 1]
        if not self.n_racks:
            object.__setattr__(self, "n_racks", int(max(self.rack.max(), racks.max(initial=0))) + 1)
        if not self.n_shelves:
            object.__setattr__(self, "n_shelves", int(max(self.shelf.max(), shelves.max(initial=0))) + 1)
        self._take_caps()
        self._check()

    def _take_caps(self) -> None:
        problems: list[Problem] = []
        if self.power_cap_w is not None and not is_above_0(self.power_cap_w):
            problems.append(
                Problem(("datacenter", "power_cap"), "a finite power above 0, W", as_found(self.power_cap_w))
            )
        if self.rack_power_cap_w is not None:
            where = ("datacenter", "rack_power_cap")
            caps = as_column(where, self.rack_power_cap_w, np.float64, self.n_racks, problems)
            for rack in [] if problems else np.flatnonzero(~(caps > 0))[:20]:
                problems.append(Problem((*where, rack), "a power above 0, W, or inf", f"{caps[rack]:g}"))
            object.__setattr__(self, "rack_power_cap_w", caps if np.isfinite(caps).any() else None)
        if problems:
            raise InputError(problems)

    def _check(self) -> None:
        problems = []
        if self.n_racks > MAX_RACKS:
            problems.append(Problem(("datacenter", "n_racks"), f"at most {MAX_RACKS:,}", f"{self.n_racks:,}"))
        limits = (
            ("unit_type", self.unit_type, len(self.processor_types), "a processor type's code"),
            ("rack", self.rack, self.n_racks, "a rack"),
            ("shelf", self.shelf, self.n_shelves, "a shelf"),
        )
        for name, values, end, what in limits:
            for u in np.flatnonzero((values < 0) | (values >= end))[:20]:
                problems.append(Problem(("datacenter", "units", u, name), f"{what}, 0 to {end - 1}", str(values[u])))
        if self.capacity is not None:
            for u in np.flatnonzero(~(np.isfinite(self.capacity) & (self.capacity > 0)))[:20]:
                where = ("datacenter", "capacity", u)
                problems.append(Problem(where, "a finite number above 0", f"{self.capacity[u]:g}"))
        outside = (self.storage < 0) | (self.storage >= [self.n_racks, self.n_shelves])
        for d in np.flatnonzero(outside.any(axis=1))[:20]:
            problems.append(
                Problem(
                    f"datacenter.storage[{d}]",
                    f"rack 0 to {self.n_racks - 1}, shelf 0 to {self.n_shelves - 1}",
                    str(tuple(self.storage[d].tolist())),
                )
            )
        if problems:
            raise InputError(problems)
        if self.capacity is not None and np.array_equal(self.capacity, self._type_capacity):
            object.__setattr__(self, "capacity", None)

    @classmethod
    def of(
        cls, units: Iterable[tuple[str, int, int]], processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
    ) -> "Datacenter":
        """Build from (type name, rack, shelf) rows, e.g. ``Datacenter.of([("GPU", 0, 1)])``."""
        given, codes = list(units), codes_of(processor_types)
        rows = [row for row in map(_row, given) if row is not None]
        if len(rows) < len(given):
            wrong, expected = [i for i, row in enumerate(given) if _row(row) is None], "a row of type, rack and shelf"
            raise InputError([Problem(("datacenter", "units", i), expected, as_found(given[i])) for i in wrong])
        unknown = [
            Problem(("datacenter", "units", i), "one of " + ", ".join(codes), repr(name), "Define the type first.")
            for i, (name, _, _) in enumerate(rows)
            if name not in codes
        ]
        if unknown:
            raise InputError(unknown)
        return cls(
            np.array([codes[name] for name, _, _ in rows], np.int32),
            np.array([rack for _, rack, _ in rows]),
            np.array([shelf for _, _, shelf in rows]),
            tuple(processor_types),
        )

    @property
    def n_units(self) -> int:
        """N, the number of units."""
        return len(self.unit_type)

    @property
    def has_power_caps(self) -> bool:
        """Whether a rack or the datacenter has a power cap."""
        return self.power_cap_w is not None or self.rack_power_cap_w is not None

    @property
    def takes_ahead(self) -> bool:
        """Whether any unit takes tasks while it computes another one."""
        return any((self.unit_type == p).any() for p, one in enumerate(self.processor_types) if one.ahead > 0)

    @property
    def unit_capacity(self) -> np.ndarray:
        """[N] each unit's capacity: its own, or its type's."""
        return self._type_capacity if self.capacity is None else self.capacity

    @property
    def _type_capacity(self) -> np.ndarray:
        return np.array([p.capacity for p in self.processor_types], np.float64)[self.unit_type]

    def __repr__(self) -> str:
        types = [f"{n:,} {name}" for name, n in self.count_by_type().items()]
        return f"Datacenter({len(self.unit_type):,} units: {shorten(', '.join(types), 80, placeholder=' ...')})"

    def count_by_type(self) -> dict[str, int]:
        """Return the number of units of each type; types without units are left out."""
        counts = np.bincount(self.unit_type, minlength=len(self.processor_types))
        return {p.name: int(n) for p, n in zip(self.processor_types, counts, strict=True) if n}
