"""Scenario -> Model: the arrays that do not change during a run. Each is made when it is first read."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from vinesim.model.application import listed_by_code, nodes_by_type, requests_on_nodes
from vinesim.model.consolidation import largest_sizes
from vinesim.model.dependencies import successors
from vinesim.model.errors import InputError, Problem
from vinesim.model.power_caps import cap_columns
from vinesim.model.reservation import reservation_columns
from vinesim.model.scenario import Scenario
from vinesim.model.scenario_rules import PREEMPTION
from vinesim.model.workload import NO_GANG
from vinesim.state import bit_levels
from vinesim.state.demand import demands, take_whole_units
from vinesim.state.demand_classes import DemandClasses, class_columns, classes_of, unmet
from vinesim.state.gangs import check_gangs, gang_types, gangs_of, placing_order
from vinesim.state.groups import number_groups
from vinesim.state.layout import ANY_NUMBER, OF_REQUEST
from vinesim.state.model import Model
from vinesim.state.partitions import Quotas, over_quota, partition_columns, quotas_of
from vinesim.state.power import over_caps
from vinesim.state.unit_laws import engine_columns, speed_curves

NOT_PROVIDED = -1.0
NO_FIRST = np.zeros(1, np.int32)  # where those of each of nothing begin, and end
Columns = dict[str, Any]


def build_model(scenario: Scenario, groups: Sequence[str] = (), unit_order: np.ndarray | None = None) -> Model:
    """Compile a scenario.

    ``groups`` names what distinguishes a policy's tasks besides their type (see ``GROUP_KEYS``); ``unit_order`` is a
    permutation of the units that replaces the (rack, shelf) order. Raises :class:`InputError` for tasks and gangs that
    the empty datacenter cannot hold.
    """
    parts = Parts(scenario, groups, unit_order)
    model = Model(parts)
    assert parts.quotas is None or scenario.workload.has_vectors  # raises what is wrong with them, and with classes
    if scenario.workload.gang_within is not None:
        check_gangs(model)
    if problems := over_caps(model) if scenario.datacenter.has_power_caps else []:
        raise InputError(problems)
    return model


class Parts:
    """The columns of a model, a method for each part of it; a column that is not given has no elements."""

    def __init__(self, scenario: Scenario, groups: Sequence[str], unit_order: np.ndarray | None):
        self.scenario, self._groups, self._has_own_order = scenario, groups, unit_order is not None
        center, work = scenario.datacenter, scenario.workload
        order = np.lexsort((center.shelf, center.rack))
        self.order = order if unit_order is None else order[unit_order]
        self.unit_type, self.rack, self.shelf = (
            center.unit_type[self.order],
            center.rack[self.order],
            center.shelf[self.order],
        )
        self.place = self.rack.astype(np.int64) * center.n_shelves + self.shelf
        data_place = (
            work.data_rack * np.int64(center.n_shelves) + work.data_shelf if work.has_data else np.zeros(1, np.int64)
        )
        self.places, self.unit_node, self.data_node = _nodes(self.place, data_place, center.n_racks * center.n_shelves)
        self.node_rack, self.node_shelf = np.divmod(self.places, center.n_shelves)
        self.capacity = center.unit_capacity[self.order]
        if any(p.batching is not None for p in center.processor_types):
            is_engine = np.array([p.batching is not None for p in center.processor_types])[self.unit_type]
            self.capacity = np.where(is_engine, ANY_NUMBER, self.capacity)

    def units(self) -> Columns:
        return {
            "unit_type": self.unit_type,
            "unit_node": self.unit_node,
            "unit_capacity": self.capacity,
            "unit_order": self.order,
        }

    def speeds(self) -> Columns:
        types = self.scenario.datacenter.processor_types
        if all(p.full_speed is None for p in types):
            return {"unit_parallelism": self.capacity}
        full_speed = [np.nan if p.full_speed is None else p.full_speed for p in types]
        parallelism = np.array(full_speed)[self.unit_type]
        return {"unit_parallelism": np.where(np.isnan(parallelism), self.capacity, parallelism)}

    def curves(self) -> Columns:
        names = [self.scenario.workload.task_types[code].name for code in self.task_type]
        return speed_curves(self.scenario.datacenter.processor_types, names)

    def engines(self) -> Columns:
        """The serving engines, and what they compute."""
        return engine_columns(self.scenario, self.unit_type)

    def nodes(self) -> Columns:
        center = self.scenario.datacenter
        return {
            "node_rack": self.node_rack,
            "node_shelf": self.node_shelf,
            "node_first": _firsts(self.unit_node, len(self.places), not self._has_own_order),
            "rack_first": _firsts(self.rack, center.n_racks, not self._has_own_order),
            "rack_node": _firsts(self.node_rack, center.n_racks, True),
        }

    def node_units(self) -> Columns:
        """The units by node and type, where tasks hold several units or start together."""
        if self.classes is None and self.scenario.workload.gang_within is None and self._requests_on_nodes is None:
            return {}
        n_types = len(self.scenario.affinity)
        place = self.unit_node.astype(np.int64) * n_types + self.unit_type
        unit = np.argsort(place, kind="stable")
        return {
            "node_begin": np.searchsorted(place[unit], np.arange(len(self.places) * n_types + 1)),
            "node_unit": unit,
        }

    def types(self) -> Columns:
        """The columns by processor type and task type."""
        affinity, overhead_us = self.scenario.affinity[:, self.task_type], self.scenario.overhead_us
        if self.classes is not None:
            affinity = np.where(self.classes.can_lead.T, affinity, 0.0)
        n_types, n_task_types = affinity.shape
        deployed = np.flatnonzero(np.bincount(self.unit_type))
        slowness = -affinity.T[:, deployed]
        order, ranked = slowness.argsort(axis=1, kind="stable"), np.sort(slowness)
        ranking, is_tied = np.full((n_task_types, n_types), -1, np.int32), np.zeros((n_task_types, n_types), bool)
        ranking[:, : len(deployed)] = np.where(ranked < 0, deployed[order], -1)
        is_tied[:, : len(deployed[1:])] = ranked[:, 1:] == ranked[:, :-1]
        return {
            "affinity": affinity,
            "overhead_us": np.zeros_like(affinity) if overhead_us is None else overhead_us[:, self.task_type],
            "ranking": ranking,
            "is_tied": is_tied,
            "runs_everywhere": (ranked < 0).all(axis=1) & (self.classes is None),
            "class_task_type": self.task_type,
        }

    def joined(self) -> Columns:
        """The times of tasks that were consolidated, if the scenario has a table of them."""
        if self.scenario.consolidated_us is None:
            return {}
        joined_us = self.scenario.consolidated_us[:, self.task_type]
        return {"joined_us": joined_us, "joined_most": largest_sizes(joined_us)}

    def resources(self) -> Columns:
        """The resources that units of a type provide, and those that tasks request of them."""
        types, requests = self.scenario.datacenter.processor_types, self.scenario.workload.requests
        names = sorted(requests or {})
        provided = [[p.attributes.get(name, NOT_PROVIDED) for name in names] for p in types]
        return {
            "type_resource": np.array(provided, np.float64).reshape(len(types), -1),
            "type_is_cpu": np.array([p.is_cpu for p in types]),
            "type_sms": np.array([p.attributes.get("sms", 0.0) for p in types], np.float64),
            **({"task_request": np.stack([requests[name] for name in names], axis=1)} if requests else {}),
        }

    def type_capacity(self) -> Columns:
        found = np.zeros(len(self.scenario.affinity))
        found[self.unit_type] = self.capacity
        return {"type_capacity": found}

    def ahead(self) -> Columns:
        """How many tasks units take while they compute another one."""
        if not self.scenario.datacenter.takes_ahead:
            return {}
        return {"type_ahead": [one.ahead for one in self.scenario.datacenter.processor_types]}

    def network(self) -> Columns:
        network = self.scenario.network
        return {"tier_bandwidth": network.tier_bandwidth, "tier_latency_us": network.tier_latency_us}

    def jobs(self) -> Columns:
        work = self.scenario.workload
        return {
            "job_arrival_us": work.arrival_us,
            "job_first": work.job_first,
            **_given(
                job_deadline_us=work.deadline_us,
                job_limit_us=work.limit_us,
                job_priority=work.priority,
                job_user=work.user,
            ),
        }

    def after(self) -> Columns:
        """The columns about jobs that wait for others."""
        work = self.scenario.workload
        if work.after is None or work.after_first is None:
            return {}
        first, successor = successors(work.after_first, work.after)
        return {"job_predecessors": np.diff(work.after_first), "successor_first": first, "successor": successor}

    def withdrawn(self) -> Columns:
        at = self.scenario.workload.withdraw_us
        if at is None:
            return {}
        order = np.argsort(at, kind="stable")
        return {"job_withdraw_us": at, "withdrawn_job": order[at[order] < np.inf]}

    def gangs(self) -> Columns:
        """The columns about jobs whose tasks start together."""
        work, on_nodes = self.scenario.workload, self._requests_on_nodes
        if work.gang_within is None:
            return {} if on_nodes is None else {"job_gang": np.where(on_nodes, OF_REQUEST, NO_GANG)}
        given = {"job_spread": work.gang_spread, "job_per_node": work.tasks_per_node, "job_nodes": work.gang_nodes}
        nothing = np.zeros(work.n_jobs, np.int32)
        columns = {name: nothing if column is None else column for name, column in given.items()}
        return {"job_gang": gangs_of(work), **columns}

    def gang_types(self) -> Columns:
        return {} if self.scenario.workload.gang_within is None else {"gang_types": gang_types(Model(self))}

    def gang_order(self) -> Columns:
        work = self.scenario.workload
        if work.gang_within is None:
            return {}
        can_run = self.types()["affinity"].T > 0
        return {"gang_order": placing_order(work, self.classes, can_run, self.unit_type, self.capacity)}

    def partitions(self) -> Columns:
        if self.quotas is None:
            return {"account_first": NO_FIRST, "cohort_first": NO_FIRST}
        return partition_columns(self.scenario, self.quotas, self.node_rack, self.node_shelf)

    def reservations(self) -> Columns:
        """The reservations of nodes."""
        scenario = self.scenario
        if not scenario.reservations:
            return {}
        return reservation_columns(scenario.reservations, scenario.workload, self.node_rack, self.node_shelf)

    def caps(self) -> Columns:
        """The power caps, and the powers that units draw."""
        return cap_columns(self.scenario, self.task_type)

    def tasks(self) -> Columns:
        work = self.scenario.workload
        return {
            "task_operations": work.operations,
            "preemption": [PREEMPTION.index(self.scenario.preemption)],
            **_given(
                task_times_us=self.scenario.single_times_us,
                task_factor=work.time_factor,
                task_estimate_us=work.estimate_us,
                task_checkpoint_us=work.checkpoint_us,
                task_restart_us=work.restart_us,
            ),
        }

    def task_job(self) -> Columns:
        work = self.scenario.workload
        return {"task_job": np.repeat(np.arange(work.n_jobs, dtype=np.int32), np.diff(work.job_first))}

    def data(self) -> Columns:
        work = self.scenario.workload
        return {"task_data_bytes": work.data_bytes, "task_data_node": self.data_node} if work.has_data else {}

    def demands(self) -> Columns:
        """How much of a unit tasks take; no columns if each takes the whole of any unit."""
        work = self.scenario.workload
        if self.classes is None and take_whole_units(work.demand, (self.capacity.min(), self.capacity.max())):
            return {}
        return {"task_demand": demands(work)}

    def groups(self) -> Columns:
        work = self.scenario.workload
        data_node = self.data_node if work.has_data else None
        return number_groups(self.scenario, self._groups, data_node, self.classes, self.quotas)

    def applications(self) -> Columns:
        """What the applications have registered, by the workload's codes."""
        scenario, n_units = self.scenario, len(self.place)
        listed = listed_by_code(scenario.workload, scenario.applications) if scenario.applications else []
        is_there, n_shelves = np.ones((len(listed), n_units), bool), scenario.datacenter.n_shelves
        for a, application in enumerate(listed):
            nodes = [r * n_shelves + s for r, s in (application.nodes if application is not None else ())]
            if nodes:
                is_there[a] = np.isin(self.place, nodes)
        by_type = np.array([nodes_by_type(scenario.datacenter, a) for a in listed], np.int64)
        return {
            "application_max_consolidated": [1 if a is None else a.max_consolidated for a in listed],
            "application_load": [1.0 if a is None else a.average_load for a in listed],
            "application_relative_deadline_us": [np.inf if a is None else a.relative_deadline_us for a in listed],
            "application_gang_size": [1 if a is None else a.gang_size for a in listed],
            "application_nodes": by_type.reshape(len(listed), len(scenario.datacenter.processor_types)),
            "application_units": bit_levels.of_rows(is_there),
        }

    def class_columns(self) -> Columns:
        """The columns about tasks that hold several units."""
        if self.classes is None:
            return {}
        return class_columns(self.classes, self.unit_node, self.unit_type, len(self.places), self.capacity)

    @cached_property
    def classes(self) -> DemandClasses | None:
        """The classes of demands, None if each task holds one unit. Raises :class:`InputError` for demands that no node
        can hold."""
        scenario = self.scenario
        if not scenario.workload.has_vectors:
            return None
        if any(a.gang_size > 1 for a in scenario.applications):
            expected = "applications without gangs, where tasks hold several units or name the types of their units"
            raise InputError([Problem(("applications",), expected, "a gang_size above 1")])
        classes = classes_of(scenario)
        if problems := unmet(classes, scenario):
            raise InputError(problems)
        return classes

    @cached_property
    def task_type(self) -> np.ndarray:
        """[T] the scenario's task type of each of the model's, which are the classes of demands if there are any."""
        return np.arange(len(self.scenario.workload.task_types)) if self.classes is None else self.classes.task_type

    @cached_property
    def quotas(self) -> Quotas | None:
        """The quotas, None without partitions. Raises :class:`InputError` for jobs that hold more than they allow."""
        if self.classes is None or self.scenario.workload.partition is None:
            return None
        quotas = quotas_of(self.scenario, self.classes)
        if problems := over_quota(self.scenario, self.classes, quotas):
            raise InputError(problems)
        return quotas

    @cached_property
    def _requests_on_nodes(self) -> np.ndarray | None:
        """[J] bool: the requests of applications whose tasks start together; None if there are none."""
        return requests_on_nodes(self.scenario.workload, self.scenario.applications, self._groups)


def _given(**columns: Any) -> Columns:
    """Return the columns that are given."""
    return {name: column for name, column in columns.items() if column is not None}


def _nodes(unit_place: np.ndarray, data_place: np.ndarray, n_places: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places in use, and the node of each unit and of each task's data, numbering these places.

    Tasks without data have it at place 0, which is then node 0.
    """
    if n_places > 10_000_000:  # mostly empty: sort the places in use
        both = np.concatenate([unit_place, data_place])
        nodes, number = np.unique(both, return_inverse=True)
        return nodes, number[: len(unit_place)], number[len(unit_place) :]
    used = np.zeros(n_places, bool)
    used[unit_place] = True
    used[data_place] = True
    number = np.cumsum(used, dtype=np.int64) - 1
    return np.flatnonzero(used), number[unit_place], number[data_place]


def _firsts(values: np.ndarray, n: int, is_sorted: bool) -> np.ndarray:
    """Return where each of 0 .. n - 1 begins in a sorted column; all empty if the units have another order."""
    return np.searchsorted(values, np.arange(n + 1)) if is_sorted else np.zeros(n + 1, np.int32)
