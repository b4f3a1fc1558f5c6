"""What applications register, and the model built from it: compiled like a scenario with one request of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vinesim.engine.engine_choice import queries_of
from vinesim.engine.simulate import unit_order_of
from vinesim.model.application import Application, due_us
from vinesim.model.catalog import TaskType, code_of
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.places_ahead import against_ahead
from vinesim.state.build import build_model
from vinesim.state.model import Model


@dataclass(frozen=True)
class Registration:
    """One application, and the properties of its requests."""

    application: Application
    task_type: int
    demand: float
    requests: Mapping[str, float] = field(default_factory=dict)  # resource -> least that the unit's type provides

    def deadline_us(self, now_us: float, size: float) -> float:
        """Return when a request that arrives now is due."""
        return float(due_us(now_us, self.application.relative_deadline_us, self.application.per_size, size))


@dataclass(frozen=True)
class Cluster:
    """Where requests run, and how fast: the parts of a scenario other than its workload."""

    datacenter: Datacenter
    task_types: tuple[TaskType, ...]
    affinity: np.ndarray | None
    overhead_us: np.ndarray | None
    seed: int

    def __post_init__(self) -> None:
        if self.datacenter.has_power_caps:
            expected = "none, for a live scheduler, which does not know what its nodes draw"
            raise InputError([Problem(("datacenter", "power_cap"), expected, "a power cap", "Leave the caps out.")])


def can_forget(policy: OnlinePolicy) -> bool:
    """Whether a policy needs no notice of a request that is withdrawn: it keeps no tasks, or passes over those that
    wait no more."""
    return policy.can_withdraw and not (policy.keeps_tasks and "first_withdrawn" in queries_of(policy.decide))


def registration(
    cluster: Cluster,
    policy: OnlinePolicy,
    application: Application,
    task_type: str,
    demand: float,
    requests: Mapping[str, float] | None,
) -> Registration:
    """Return the registration of an application. Raises :class:`InputError` if it is not for this cluster."""
    kind = code_of(("application", application.name, "task_type"), task_type, cluster.task_types)
    if application.gang_size > 1 and ("application" not in policy.groups or policy.may_overcommit):
        expected = f"1, as the groups of the policy {policy.name} do not name application, or it may overcommit"
        found = f"{application.gang_size}"
        raise InputError([Problem(("application", application.name, "gang_size"), expected, found)])
    if application.gang_size > cluster.datacenter.n_units:  # before anything is made for each member
        expected = f"at most {cluster.datacenter.n_units:,}, the units of the cluster"
        found = f"{application.gang_size:,}"
        raise InputError([Problem(("application", application.name, "gang_size"), expected, found)])
    return Registration(application, kind, demand, dict(requests or {}))


def compiled(cluster: Cluster, registered: Sequence[Registration], policy: OnlinePolicy) -> tuple[Model, list[int]]:
    """Return the model, and the group of each application.

    Raises :class:`InputError` for applications that do not fit the cluster.
    """
    scenario = one_request_each(cluster, registered, policy)
    if scenario.datacenter.takes_ahead and (problems := against_ahead(scenario, policy)):
        raise InputError(problems)
    model = build_model(scenario, policy.groups, unit_order_of(policy, scenario))
    first = scenario.workload.job_first
    group = model.task_group.tolist() if len(model.task_group) else [0] * int(first[-1])
    return model, [group[task] for task in first[:-1].tolist()]


def one_request_each(cluster: Cluster, registered: Sequence[Registration], policy: OnlinePolicy) -> Scenario:
    """Return a scenario with a request of size 1 of each application, all at once."""
    counts = np.array([r.application.gang_size for r in registered])
    first = np.concatenate(([0], np.cumsum(counts)))
    n_tasks = int(first[-1])
    nothing = np.zeros(n_tasks)
    resources = sorted({name for r in registered for name in r.requests})
    wanted = {name: np.repeat([r.requests.get(name, 0.0) for r in registered], counts) for name in resources}
    work = Workload(
        job_task_type=np.array([r.task_type for r in registered]),
        job_first=first,
        arrival_us=np.zeros(len(registered)),
        operations=np.ones(n_tasks),
        data_bytes=nothing,
        data_rack=nothing,
        data_shelf=nothing,
        preferred_type=np.full(n_tasks, NO_PREFERENCE),
        demand=np.repeat([r.demand for r in registered], counts),
        application=np.arange(len(registered)),
        requests=wanted or None,
        task_types=cluster.task_types,
        application_names=tuple(r.application.name for r in registered),
    )
    tables: dict[str, Any] = {"affinity": cluster.affinity, "overhead_us": cluster.overhead_us, "seed": cluster.seed}
    return Scenario(cluster.datacenter, work, policy, applications=tuple(r.application for r in registered), **tables)
