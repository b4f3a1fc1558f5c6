"""A scenario: what the user wants to simulate, validated, and identified by its content."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.model import affinity as affinity_table
from vinesim.model.accounting import Accounting
from vinesim.model.application import Application, with_deadlines, wrong_applications
from vinesim.model.arrays import distinct
from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES
from vinesim.model.consolidation import single_times, wrong_table
from vinesim.model.datacenter import Datacenter
from vinesim.model.digest import IF_GIVEN
from vinesim.model.electricity import Electricity
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.failure import Failures, wrong_failures
from vinesim.model.network import PAPER, Network
from vinesim.model.outage import Outage, wrong_outages
from vinesim.model.partition import Partition, wrong_partitions
from vinesim.model.scalars import as_found, is_above_0, is_number, is_whole
from vinesim.model.speed_curves import unknown_task_types
from vinesim.model.workload import NO_PARTITION, NOT_PLACED, Workload

MAX_SAMPLES = 10_000_000  # of the utilisation over time
PREEMPTION = ("resume", "checkpoint", "restart")  # what a task keeps of its work when a policy preempts or moves it
PERIOD_US = 10e6  # the batch period of the energy-aware scheduler thesis


@dataclass(frozen=True, eq=False)
class Scenario:
    """Datacenter + workload + scheduler + parameters: everything that decides the outcome of a run.

    ``policy`` is a registered name, a ``file.py:Class``, or a policy object; ``options`` are the policy's own.
    Raises :class:`InputError` with all problems if the parts do not fit together.
    """

    datacenter: Datacenter
    workload: Workload
    policy: Any = "high"
    options: Mapping[str, Any] = field(default_factory=dict)
    affinity: np.ndarray = None  # type: ignore[assignment]  # [P, T] operations per us; None: Table 1
    overhead_us: np.ndarray | None = None  # [P, T] us before each task computes; None: 0
    power_w: np.ndarray | None = None  # [P, T] W while a task runs; None: no energy is reported
    network: Network = PAPER
    sampling_us: float | None = None  # sampling interval of the utilisation; None: no time series
    horizon_us: float = math.inf  # the run ends here at the latest
    seed: int = 0
    accounting: Accounting = field(default_factory=Accounting)  # how the periods of a batch policy are accounted for
    electricity: Electricity = field(default_factory=Electricity)  # price and carbon intensity, and PUE
    outages: tuple[Outage, ...] = ()  # times when nodes are down
    applications: tuple[Application, ...] = ()  # client-server applications; they set deadlines for their requests
    failures: tuple[Failures, ...] = field(default=(), metadata=IF_GIVEN)  # nodes that go down at random
    preemption: str = field(default="resume", metadata=IF_GIVEN)  # of PREEMPTION
    consolidated_us: np.ndarray | None = field(default=None, metadata=IF_GIVEN)  # [P, T, B] us that n tasks compute
    partitions: tuple[Partition, ...] = field(default=(), metadata=IF_GIVEN)  # nodes and quotas for certain jobs
    period_us: float = PERIOD_US  # a batch policy places tasks at multiples of this time

    def __post_init__(self) -> None:
        shape = (len(self.datacenter.processor_types), len(self.workload.task_types))
        if self.affinity is None:
            built_in = (
                self.datacenter.processor_types[: len(PROCESSOR_TYPES)] == PROCESSOR_TYPES
                or [p.name for p in self.datacenter.processor_types] == [p.name for p in PROCESSOR_TYPES]
            ) and [t.name for t in self.workload.task_types] == [t.name for t in TASK_TYPES]
            if not built_in:
                raise InputError(
                    [Problem("affinity", "a table for the scenario's own types", "none", "Give affinity [P, T].")]
                )
            table = np.zeros(shape)
            table[: len(PROCESSOR_TYPES)] = affinity_table.table_1()
            object.__setattr__(self, "affinity", table)
        for name in ("affinity", "overhead_us", "power_w"):
            self._as_table(name, shape)
        if self.consolidated_us is not None:
            object.__setattr__(self, "consolidated_us", np.ascontiguousarray(self.consolidated_us, np.float64))
        self._period_from_options()
        self._check()
        object.__setattr__(self, "workload", with_deadlines(self.workload, self.applications))

    def _as_table(self, name: str, shape: tuple[int, int]) -> None:
        value = getattr(self, name)
        if value is None:
            return
        table = np.ascontiguousarray(value, dtype=np.float64)
        if table.shape != shape:
            raise InputError(
                [
                    Problem(
                        name,
                        f"{shape[0]} rows (processor types) by {shape[1]} columns (task types)",
                        " by ".join(map(str, table.shape)),
                    )
                ]
            )
        bad = np.argwhere(~(np.isfinite(table) & (table >= 0)))[:20]
        if len(bad):
            raise InputError(
                [Problem(f"{name}[{p}, {t}]", "a finite number, 0 or more", f"{table[p, t]:g}") for p, t in bad]
            )
        object.__setattr__(self, name, table)

    def _period_from_options(self) -> None:
        """Take the period from the options, where older versions had it."""
        if "period_us" not in self.options:
            return
        value = self.options["period_us"]
        if not is_number(value) or self.period_us not in (PERIOD_US, value):
            beside = "" if self.period_us == PERIOD_US else f" beside period_us={as_found(self.period_us)}"
            found = repr(value)[:60] + beside
            problem = Problem("options.period_us", "the period as period_us of the scenario, us", found)
            raise InputError([problem])
        rest = {name: value for name, value in self.options.items() if name != "period_us"}
        object.__setattr__(self, "options", rest)
        object.__setattr__(self, "period_us", float(value))
        text = f"the period belongs to the scenario: give Scenario period_us={float(value):g} instead of an option"
        warnings.warn(text, InputWarning, stacklevel=4)

    def _check(self) -> None:
        work, center = self.workload, self.datacenter
        problems = []
        for axis, end in (("rack", center.n_racks), ("shelf", center.n_shelves)):
            values = getattr(work, f"data_{axis}")
            for t in np.flatnonzero((values < 0) | (values >= end))[:10]:
                problems.append(
                    Problem(f"workload.data_{axis}[{t}]", f"a {axis} of the datacenter, 0 to {end - 1}", f"{values[t]}")
                )
        n_types = len(center.processor_types)
        for t in np.flatnonzero((work.preferred_type < -1) | (work.preferred_type >= n_types))[:10]:
            problems.append(
                Problem(
                    f"workload.preferred_type[{t}]",
                    f"a processor type, 0 to {n_types - 1}",
                    f"{work.preferred_type[t]}",
                )
            )
        runs = self.affinity[distinct(center.unit_type)].max(axis=0) > 0
        for code in distinct(work.job_task_type):
            if not runs[code]:
                job = int(np.flatnonzero(work.job_task_type == code)[0])
                problems.append(
                    Problem(
                        f"workload.job_task_type[{job}]",
                        f"a unit that can run {work.task_types[code].name} tasks",
                        "affinity 0 on every unit of " + ", ".join(center.count_by_type()),
                        "Add such a unit, or an affinity above 0.",
                    )
                )
        problems += self._too_large()
        problems += self._unknown_types()
        if work.times_us is not None:
            problems += self._wrong_times(work.times_us)
        if self.consolidated_us is not None:
            problems += wrong_table(self.consolidated_us, work, self.affinity)
        if self.applications:
            problems += wrong_applications(work, self.applications, center, self.affinity)
        deployed = [center.processor_types[p] for p in self.running_types]
        linear = [p.name for p in deployed if p.dynamic_power_w is not None]
        unknown = [p.name for p in deployed if not p.has_own_power]
        if self.electricity.rates and unknown and self.power_w is None:
            found = "none of " + ", ".join(unknown)
            remedy = "Give a power table, or these types a power_curve or a dynamic_power."
            problems.append(Problem("electricity", "powers of all types in use", found, remedy))
        if linear and (unknown or self.power_w is not None):
            found = ", ".join(linear) + (" beside a power table" if self.power_w is not None else " only")
            problems.append(Problem("processor_types", "a dynamic_power of all types in use, or of none", found))
        object.__setattr__(self, "outages", tuple(self.outages))
        problems += wrong_outages(self.outages, center)
        object.__setattr__(self, "failures", tuple(self.failures))
        problems += wrong_failures(self.failures, center)
        object.__setattr__(self, "partitions", tuple(self.partitions))
        problems += wrong_partitions(self.partitions, center, work)
        if self.preemption not in PREEMPTION:
            problems.append(Problem("preemption", "one of " + ", ".join(PREEMPTION), repr(self.preemption)))
        problems += self._wrong_placed()
        has_horizon = is_number(self.horizon_us) and self.horizon_us > 0
        if self.sampling_us is not None and not is_above_0(self.sampling_us):
            problems.append(Problem("sampling_us", "a time above 0, or none for off", as_found(self.sampling_us)))
        elif self.sampling_us is not None and has_horizon:
            least_us = min(float(work.arrival_us[-1]), self.horizon_us)  # the run takes at least this long
            if least_us / self.sampling_us > MAX_SAMPLES:
                expected = f"an interval that gives at most {MAX_SAMPLES:,} samples"
                found = f"{self.sampling_us:g} us in a run of {least_us:g} us or more"
                problems.append(Problem("sampling_us", expected, found, "Sample less often."))
        if not has_horizon:
            problems.append(Problem("horizon_us", "a time above 0", as_found(self.horizon_us)))
        if not is_above_0(self.period_us):
            problems.append(Problem("period_us", "a time above 0", as_found(self.period_us)))
        if not (is_whole(self.seed) and 0 <= self.seed < 2**63):
            problems.append(Problem("seed", "an integer from 0 to 2^63 - 1", repr(self.seed)[:60]))
        if problems:
            raise InputError(problems)

    @cached_property
    def single_times_us(self) -> np.ndarray | None:
        """[N, P] us: how long each task computes alone, where times are given; None: operations / affinity."""
        return single_times(self.workload, self.affinity, self.consolidated_us)

    @property
    def job_partition(self) -> np.ndarray:
        """[J] int32: the partition of each job, of ``partitions``, or NO_PARTITION."""
        names = [one.name for one in self.partitions]
        number = [names.index(name) for name in self.workload.partition_names]
        chosen = self.workload.partition
        none = np.full(self.workload.n_jobs, NO_PARTITION, np.int32)
        return none if chosen is None else np.array([*number, NO_PARTITION], np.int32)[chosen]  # -1 is the last

    @property
    def running_types(self) -> np.ndarray:
        """Codes of the processor types in the datacenter that run tasks; memory, for example, runs none."""
        deployed = distinct(self.datacenter.unit_type)
        return deployed[self.affinity[deployed].any(axis=1)]

    @property
    def resources(self) -> np.ndarray:
        """Codes of the processor types in the datacenter that run nothing, such as memory: tasks only hold them."""
        deployed = distinct(self.datacenter.unit_type)
        return deployed[~self.affinity[deployed].any(axis=1)]

    @property
    def prices(self) -> np.ndarray:
        """[P] of one unit of each type, NaN if unknown; what runs nothing and has no price is in that of its node."""
        price = np.array([np.nan if p.price is None else p.price for p in self.datacenter.processor_types])
        return np.where(np.isnan(price) & ~self.affinity.any(axis=1), 0.0, price)

    def _too_large(self) -> list[Problem]:
        """Find demands above the capacity of every unit that can run the task."""
        work, center = self.workload, self.datacenter
        if work.demand is None:
            return []
        capacity = np.zeros(len(center.processor_types))
        np.maximum.at(capacity, center.unit_type, center.unit_capacity)
        largest = np.where(self.affinity > 0, capacity[:, np.newaxis], 0.0).max(axis=0)  # by task type
        limit = largest[np.repeat(work.job_task_type, np.diff(work.job_first))]
        return [
            Problem(
                f"workload.demand[{t}]",
                f"at most the capacity of the largest unit that can run it ({limit[t]:g})",
                f"{work.demand[t]:g}",
                "Give the unit more capacity, or split the task.",
            )
            for t in np.flatnonzero(np.isfinite(work.demand) & (work.demand > limit * (1 + 1e-9)))[:10]
        ]

    def _unknown_types(self) -> list[Problem]:
        """Find names of processor types in the workload, and of task types in the datacenter, that nothing defines."""
        work, known = self.workload, [p.name for p in self.datacenter.processor_types]
        named = [(f"workload.companions.{name}", name) for name in work.companions or ()]
        named += [(f"workload.lead_sets[{i}]", name) for i, names in enumerate(work.lead_sets) for name in names]
        expected = "a processor type, one of " + ", ".join(known)
        problems = [Problem(where, expected, repr(name)) for where, name in named if name not in known]
        task_types = [one.name for one in work.task_types]
        for one in self.datacenter.processor_types:
            problems += unknown_task_types(one.name, one.rates, task_types)
        return problems[:10]

    def _wrong_placed(self) -> list[Problem]:
        """Find tasks that run from the beginning on a unit that does not exist or cannot run them."""
        work, center = self.workload, self.datacenter
        if work.placed is None:
            return []
        kind = np.repeat(work.job_task_type, np.diff(work.job_first))
        is_unit = (work.placed >= 0) & (work.placed < center.n_units)
        able = np.where(is_unit, self.affinity[center.unit_type[np.where(is_unit, work.placed, 0)], kind] > 0, False)
        if work.lead_types is not None:
            names = [p.name for p in center.processor_types]
            may_lead = np.array([[name in some for name in names] for some in (*work.lead_sets, names)])
            able &= may_lead[work.lead_types, center.unit_type[np.where(is_unit, work.placed, 0)]]
        expected = f"-1, or a unit that can run it, 0 to {center.n_units - 1}"
        return [
            Problem(f"workload.placed[{t}]", expected, str(work.placed[t]))
            for t in np.flatnonzero((work.placed != NOT_PLACED) & ~able)[:10]
        ]

    def _wrong_times(self, times_us: np.ndarray) -> list[Problem]:
        """Check that there is a measured time wherever the affinity says that the type can run the task."""
        work, n_types = self.workload, len(self.datacenter.processor_types)
        if times_us.shape[1] != n_types:
            return [Problem("workload.times_us", f"{n_types} columns, one per processor type", f"{times_us.shape[1]}")]
        able = self.affinity.T[np.repeat(work.job_task_type, np.diff(work.job_first))] > 0
        bad = np.argwhere(able & ~(np.isfinite(times_us) & (times_us >= 0)))[:10]
        names = [p.name for p in self.datacenter.processor_types]
        return [
            Problem(
                f"workload.times_us[{t}, {p}]",
                f"a time, because {names[p]} can run the task (affinity above 0)",
                f"{times_us[t, p]:g}",
                "Give a time, or set the affinity to 0.",
            )
            for t, p in bad
        ]

    @property
    def content_id(self) -> str:
        """A hash of everything that decides the outcome, equal on every machine: 16 hex digits."""
        from vinesim.policies.identity import content_id

        return content_id(self)
