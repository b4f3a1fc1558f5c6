"""A scenario: what the user wants to simulate, validated, and identified by its content."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.model import affinity as affinity_table
from vinesim.model.accounting import Accounting
from vinesim.model.application import Application, with_deadlines
from vinesim.model.arrays import as_numbers, distinct
from vinesim.model.batching import PREFILL
from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES
from vinesim.model.consolidation import single_times
from vinesim.model.datacenter import Datacenter
from vinesim.model.digest import IF_GIVEN, NEVER
from vinesim.model.electricity import Electricity
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.failure import Failures
from vinesim.model.network import PAPER, Network
from vinesim.model.outage import Outage
from vinesim.model.partition import Partition
from vinesim.model.reservation import Reservation
from vinesim.model.scalars import as_found, is_number
from vinesim.model.scenario_rules import RULES
from vinesim.model.step_times import StepTime
from vinesim.model.workload import NO_PARTITION, Workload

PERIOD_US = 10e6  # the batch period of the energy-aware scheduler thesis


@dataclass(frozen=True, eq=False)
class Scenario:
    """Everything that decides the outcome of a run: datacenter, workload, policy and parameters.

    ``policy`` is a registered name, a ``file.py:Class``, or a policy object; ``options`` are the policy's options.
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
    reservations: tuple[Reservation, ...] = field(default=(), metadata=IF_GIVEN)  # of nodes, known before they begin
    period_us: float = PERIOD_US  # a batch policy places tasks at multiples of this time
    start_date: datetime | None = field(default=None, metadata=NEVER)  # when time 0 was, for people; None: not known

    def __repr__(self) -> str:
        return f"Scenario(policy {self.policy}, {self.workload}, {self.datacenter})"

    def __post_init__(self) -> None:
        shape = (len(self.datacenter.processor_types), len(self.workload.task_types))
        if self.affinity is None:
            built_in = (
                self.datacenter.processor_types[: len(PROCESSOR_TYPES)] == PROCESSOR_TYPES
                or [p.name for p in self.datacenter.processor_types] == [p.name for p in PROCESSOR_TYPES]
            ) and [t.name for t in self.workload.task_types] == [t.name for t in TASK_TYPES]
            if not built_in:
                raise InputError(
                    [Problem(("affinity",), "a table for the scenario's own types", "none", "Give affinity [P, T].")]
                )
            table = np.zeros(shape)
            table[: len(PROCESSOR_TYPES)] = affinity_table.table_1()
            object.__setattr__(self, "affinity", table)
        for name in ("affinity", "overhead_us", "power_w"):
            self._as_table(name, shape)
        if self.consolidated_us is not None:
            object.__setattr__(self, "consolidated_us", as_numbers("consolidated_us", self.consolidated_us))
        self._period_from_options()
        self._check()
        object.__setattr__(self, "workload", with_deadlines(self.workload, self.applications))

    def _as_table(self, name: str, shape: tuple[int, int]) -> None:
        value = getattr(self, name)
        if value is None:
            return
        table = as_numbers(name, value)
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
            raise InputError([Problem((name, p, t), "a finite number, 0 or more", f"{table[p, t]:g}") for p, t in bad])
        object.__setattr__(self, name, table)

    def _period_from_options(self) -> None:
        """Take the period from the options, where older versions had it."""
        if "period_us" not in self.options:
            return
        value = self.options["period_us"]
        if not is_number(value) or self.period_us not in (PERIOD_US, value):
            with_period = "" if self.period_us == PERIOD_US else f" along with period_us={as_found(self.period_us)}"
            found = repr(value)[:60] + with_period
            problem = Problem(("options", "period_us"), "the period as period_us of the scenario, us", found)
            raise InputError([problem])
        rest = {name: value for name, value in self.options.items() if name != "period_us"}
        object.__setattr__(self, "options", rest)
        object.__setattr__(self, "period_us", float(value))
        text = f"the period belongs to the scenario: give Scenario period_us={float(value):g} instead of an option"
        warnings.warn(text, InputWarning, stacklevel=4)

    def _check(self) -> None:
        for name in ("outages", "failures", "partitions", "reservations"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        problems = [problem for rule in RULES for problem in rule(self)]
        if problems:
            raise InputError(problems)

    @cached_property
    def single_times_us(self) -> np.ndarray | None:
        """[N, P] us: how long each task computes alone, where times are given; None: operations / affinity."""
        return single_times(self.workload, self.affinity, self.consolidated_us)

    @property
    def interrupts(self) -> bool:
        """Whether outages, failures or maintenance may interrupt tasks."""
        return bool(self.outages or self.failures) or any(one.interrupts for one in self.reservations)

    @property
    def has_changes(self) -> bool:
        """Whether nodes or jobs change at their own times: outages, failures, reservations, withdrawn jobs."""
        is_withdrawn = self.workload.withdraw_us is not None
        return bool(self.outages or self.failures or self.reservations) or is_withdrawn

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

    @cached_property
    def resources(self) -> np.ndarray:
        """Codes of the processor types in the datacenter that run nothing, such as memory: tasks only hold them."""
        runs_any = np.any(self.affinity, axis=1)
        if runs_any.all():
            return self.datacenter.unit_type[:0]
        deployed = distinct(self.datacenter.unit_type)
        return deployed[~runs_any[deployed]]

    @cached_property
    def engine_types(self) -> np.ndarray:
        """Codes of the processor types in the datacenter whose units are serving engines."""
        types = self.datacenter.processor_types
        served = [p for p, one in enumerate(types) if one.batching is not None]
        return np.array([p for p in served if (self.datacenter.unit_type == p).any()], np.int64)

    @cached_property
    def is_disaggregated(self) -> bool:
        """Whether some serving engines only prefill, and send the cache of a request to one that decodes."""
        types, unit_type = self.datacenter.processor_types, self.datacenter.unit_type
        prefills = [p for p, one in enumerate(types) if one.batching is not None and one.batching.role == PREFILL]
        return any((unit_type == p).any() for p in prefills)

    def served_by(self, p: int) -> np.ndarray:
        """Codes of the task types of the workload that a processor type can run."""
        used = distinct(self.workload.job_task_type)
        return used[self.affinity[p][used] > 0]

    def step_on(self, p: int) -> StepTime | None:
        """The time of a step of a serving engine of a type; None if it serves nothing."""
        batching, served = self.datacenter.processor_types[p].batching, self.served_by(p)
        if batching is None or not len(served):
            return None
        return batching.step_of(self.workload.task_types[served[0]].name)

    @property
    def prices(self) -> np.ndarray:
        """[P] price of one unit of each type, NaN if unknown. A type that runs nothing and has no price is part of its
        node's."""
        price = np.array([np.nan if p.price is None else p.price for p in self.datacenter.processor_types])
        return np.where(np.isnan(price) & ~self.affinity.any(axis=1), 0.0, price)
