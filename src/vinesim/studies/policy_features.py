"""The features of scenarios with which a policy is tried: users, gangs, outages and others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vinesim.model.application import Application
from vinesim.model.batching import Batching
from vinesim.model.errors import InputError
from vinesim.model.outage import Outage
from vinesim.model.partition import Partition
from vinesim.model.reservation import Reservation
from vinesim.model.scenario import Scenario
from vinesim.model.step_times import StepTime
from vinesim.model.workload import ANYWHERE, NO_GANG, NO_PARTITION, RACK, WHOLE_UNIT
from vinesim.policies.columns import functions_of_policy, reads_column
from vinesim.policies.contract import Policy
from vinesim.policies.demands import check_demands, check_policy
from vinesim.state import queries as q

BASE: Mapping[str, Any] = {
    "datacenter": {"racks": [{"nodes": [{"units": {"CPU_INTEL": 1, "GPU": 2}, "count": 2}], "count": 2}]},
    "workload": {
        "generator": "mix",
        "options": {"n_jobs": 48, "shares": {"INT": 1, "FP_BAD": 2}, "tasks_per_job": 2},
    },
    "arrivals": {"poisson": {"mean": 200}},
}
USERS = ("ann", "ben", "eve")


@dataclass(frozen=True)
class Feature:
    """A feature of a scenario, and how a policy shows that its rule depends on it."""

    dress: Callable[[Scenario], Scenario]  # adds the feature to a scenario
    declared: tuple[str, ...] = ()  # attributes of the policy by which its author declares the feature
    queries: tuple[Any, ...] = ()
    groups: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def concerns(self, policy: Policy) -> bool:
        """Whether the policy declares the feature or reads anything of it."""
        kind = type(policy)
        own = [vars(one) for one in kind.__mro__ if one.__module__ != Policy.__module__]
        return (
            any(name in one and getattr(policy, name) for one in own for name in self.declared)
            or not called_by(kind).isdisjoint(self.queries)
            or not set(getattr(policy, "groups", ())).isdisjoint(self.groups)
            or any(reads_column(kind, column) for column in self.columns)
        )


def called_by(kind: type[Policy]) -> set[Any]:
    """Return the queries that a policy's functions call directly, not through other queries."""
    functions = [one for one in functions_of_policy(kind) if one.__module__ != q.__name__]
    names = {name for one in functions for name in one.__code__.co_names}
    known = {value for one in functions for name, value in one.__globals__.items() if name in names and callable(value)}
    return known | {vars(q)[name] for name in names & vars(q).keys()}  # also as an attribute of a module


def with_feature(name: str, case: Scenario, policy: Policy) -> Scenario | None:
    """Return the scenario with a feature; None if its other features exclude it, or the policy does not support it."""
    try:
        more = FEATURES[name].dress(case)
        check_policy(more, policy)
        check_demands(more, policy)
    except InputError:
        return None
    return more


def alone(base: Scenario, policy: Policy) -> Iterator[tuple[str, Scenario]]:
    """Yield each feature that the policy supports, and the scenario with it."""
    for name in FEATURES:
        if (case := with_feature(name, base, policy)) is not None:
            yield name, case


def together(base: Scenario, policy: Policy, names: Iterable[str]) -> Iterator[tuple[list[str], Scenario]]:
    """Yield scenarios that combine the features that concern the policy, as many at once as go together.

    Fewer scenarios save time: the policy is compiled for each, which takes seconds.
    """
    left = [name for name in names if FEATURES[name].concerns(policy)]
    while left:
        case, chosen = base, list[str]()
        for name in left:
            if (more := with_feature(name, case, policy)) is not None:
                case = more
                chosen.append(name)
        yield chosen, case
        left = [name for name in left if name not in chosen]


def _with(case: Scenario, **columns: Any) -> Scenario:
    return replace(case, workload=replace(case.workload, **columns))


def _of_jobs(case: Scenario, *values: Any) -> np.ndarray:
    """Return [J] these values, repeated in turn."""
    return np.resize(np.array(values), case.workload.n_jobs)


def _of_tasks(case: Scenario, *values: Any) -> np.ndarray:
    """Return [N] these values, repeated in turn."""
    return np.resize(np.array(values), case.workload.n_tasks)


def _users(case: Scenario) -> Scenario:
    return _with(case, user=_of_jobs(case, 0, 0, 1, 2, 0), user_names=USERS)


def _urgency(case: Scenario) -> Scenario:
    due_us = case.workload.arrival_us + _of_jobs(case, 4000.0, 700.0, 9000.0, 1500.0)
    return _with(case, priority=_of_jobs(case, 0.0, 2.0, 1.0), deadline_us=due_us)


def _estimates(case: Scenario) -> Scenario:
    return _with(case, estimate_us=_of_tasks(case, 500.0, 1900.0, 70.0), time_factor=_of_tasks(case, 1.0, 1.5, 0.5))


def _data(case: Scenario) -> Scenario:
    return _with(
        case,
        data_bytes=_of_tasks(case, 0.0, 40000.0, 5000.0),
        data_rack=_of_tasks(case, 0, 1, 1),
        data_shelf=_of_tasks(case, 0, 0, 1),
    )


def _dependencies(case: Scenario) -> Scenario:
    """Add dependencies: of every six jobs, one waits for a later one, and one for two earlier ones."""
    n = case.workload.n_jobs
    waits = [{1: [j + 2], 4: [j - 2, j - 1]}.get(j % 6, []) for j in range(n)]
    first = np.r_[0, np.cumsum([len(some) for some in waits])]
    return _with(case, after_first=first, after=np.array([one for some in waits for one in some], np.int64))


def _gangs(case: Scenario) -> Scenario:
    return _with(case, gang_within=_of_jobs(case, ANYWHERE, NO_GANG, RACK))


def _outages(case: Scenario) -> Scenario:
    return replace(case, outages=(Outage(0, 0, 1500.0, 4000.0), Outage(1, 1, 4500.0, 6000.0)))


def _draining(case: Scenario) -> Scenario:
    outages = case.outages or (Outage(0, 1, 1500.0, 4000.0), Outage(1, 0, 4500.0, 6000.0))
    return replace(case, outages=tuple(replace(one, running="finish") for one in outages))


def _withdrawn(case: Scenario) -> Scenario:
    arrival_us = case.workload.arrival_us
    return _with(case, withdraw_us=arrival_us + _of_jobs(case, np.inf, 5.0, np.inf, np.inf, 800.0))


def _limits(case: Scenario) -> Scenario:
    return _with(case, limit_us=_of_jobs(case, np.inf, 400.0, np.inf, 2600.0))


def _partitions(case: Scenario) -> Scenario:
    case = case if case.workload.user is not None else _users(case)
    low = Partition("low", np.array([[0, 0], [0, 1], [1, 0]]), {"GPU": 3.0}, {"GPU|CPU_INTEL": 2.0})
    partition = _of_jobs(case, 0, NO_PARTITION, 1)
    work = replace(case.workload, partition=partition, partition_names=("low", "all"))
    return replace(case, workload=work, partitions=(low, Partition("all")))


def _reservations(case: Scenario) -> Scenario:
    case = case if case.workload.user is not None else _users(case)
    kept = Reservation("course", 2000.0, 5000.0, np.array([[0, 0]]), USERS[:1])
    return replace(case, reservations=(kept, Reservation("repair", 4500.0, 6000.0, np.array([[1, 0]]))))


def _units(case: Scenario) -> Scenario:
    return _with(case, units=_of_tasks(case, 1, 2, 1))


def _sharing(case: Scenario) -> Scenario:
    return _with(case, demand=_of_tasks(case, 0.5, 0.25, WHOLE_UNIT))


def _applications(case: Scenario) -> Scenario:
    used, of_jobs = np.unique(case.workload.job_task_type, return_inverse=True)
    names = tuple(case.workload.task_types[code].name for code in used)
    work = replace(case.workload, application=of_jobs, application_names=names)
    known = tuple(Application(name, 3000.0 * (1 + i), max_consolidated=2 + i) for i, name in enumerate(names))
    return replace(case, workload=work, applications=known)


def _engines(case: Scenario) -> Scenario:
    batching = Batching(4, 64, 1024, StepTime(base_us=50.0, prefill_token_us=2.0, sequence_us=5.0))
    types = tuple(replace(one, batching=batching, capacity=1.0) for one in case.datacenter.processor_types)
    tokens: dict[str, Any] = {"input_tokens": _of_tasks(case, 20, 90, 5), "output_tokens": _of_tasks(case, 4, 1, 9)}
    work = replace(case.workload, **tokens)
    return replace(case, workload=work, datacenter=replace(case.datacenter, processor_types=types))


FEATURES: Mapping[str, Feature] = {
    "users": Feature(_users, columns=("user",)),
    "priorities and deadlines": Feature(_urgency, columns=("priority", "deadline")),
    "wrong estimates": Feature(_estimates, queries=(q.estimate_us, q.remaining_us)),
    "data at other nodes": Feature(
        _data, queries=(q.tier, q.transfer_us, q.closest_free), groups=("data_node", "data_rack")
    ),
    "jobs that wait for others": Feature(_dependencies, declared=("takes_dependencies",)),
    "outages that interrupt tasks": Feature(
        _outages, declared=("takes_back",), queries=(q.first_interrupted, q.next_interrupted, q.is_up)
    ),
    "outages that let tasks end": Feature(_draining),
    "jobs that are withdrawn": Feature(
        _withdrawn, declared=("takes_withdrawals",), queries=(q.first_withdrawn, q.next_withdrawn, q.has_left)
    ),
    "jobs that are killed at their limit": Feature(_limits),
    "gangs": Feature(_gangs, declared=("takes_gangs",), queries=(q.gang_fits,)),
    "partitions": Feature(_partitions, queries=(q.is_in_partition, q.quotas_allow, q.is_within_quotas)),
    "reservations": Feature(_reservations, queries=(q.reservations_allow,)),
    "tasks that hold several units": Feature(_units, queries=(q.rest_fits, q.companion_unit)),
    "units that tasks share": Feature(
        _sharing, queries=(q.demand, q.room, q.has_room_for, q.throughput), groups=("demand",)
    ),
    "requests of applications": Feature(
        _applications, queries=(q.application, q.joinable, q.start_consolidated), groups=("application",)
    ),
    "serving engines": Feature(
        _engines, queries=(q.input_tokens, q.unit_tokens, q.unit_tokens_waiting, q.unit_waiting, q.tokens_found)
    ),
}
