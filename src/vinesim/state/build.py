"""Scenario -> Model: builds the arrays that do not change during a run."""

from collections.abc import Sequence

import numpy as np

from vinesim.model.application import listed_by_code, nodes_by_type, requests_on_nodes
from vinesim.model.arrays import distinct
from vinesim.model.consolidation import largest_sizes
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.scenario_rules import PREEMPTION
from vinesim.model.workload import NO_GANG, ONE_SLOT, Workload
from vinesim.state import bit_levels
from vinesim.state.demand import amount_of, amounts, demands
from vinesim.state.demand_classes import DemandClasses, classes_of, unmet
from vinesim.state.gang_order import BY_NUMBER, placing_order
from vinesim.state.gang_room import check_gangs, gangs_of
from vinesim.state.groups import number_groups
from vinesim.state.layout import ASKED, OF_REQUEST, SOLES, Model
from vinesim.state.node_rooms import ranked
from vinesim.state.numbering import coded, first_rows
from vinesim.state.partitions import over_quota, partition_columns, quotas_of
from vinesim.state.speed_curves import speed_curves

NOTHING_F8, NOTHING_I4, NOTHING_I8 = np.empty(0, np.float64), np.empty(0, np.int32), np.empty(0, np.int64)

NOT_PROVIDED = -1.0


def build_model(scenario: Scenario, groups: Sequence[str] = (), unit_order: np.ndarray | None = None) -> Model:
    """Compile a scenario.

    ``groups`` names what distinguishes a policy's tasks besides their type (see ``GROUP_KEYS``); ``unit_order`` is a
    permutation of the units that replaces the (rack, shelf) order.
    """
    center, work = scenario.datacenter, scenario.workload
    order = np.lexsort((center.shelf, center.rack))
    if unit_order is not None:
        order = order[unit_order]
    unit_type, rack, shelf = center.unit_type[order], center.rack[order], center.shelf[order]

    place = rack.astype(np.int64) * center.n_shelves + shelf
    has_data = bool(work.data_bytes.any() or work.data_rack.any() or work.data_shelf.any())
    data_place = work.data_rack * np.int64(center.n_shelves) + work.data_shelf if has_data else np.zeros(1, np.int64)
    nodes, unit_node, data_node = _nodes(place, data_place, center.n_racks * center.n_shelves)
    node_rack, node_shelf = nodes // center.n_shelves, nodes % center.n_shelves
    classes = _classes(scenario) if work.has_vectors else None
    quotas = quotas_of(scenario, classes) if classes is not None and work.partition is not None else None
    affinity, overhead_us = scenario.affinity, scenario.overhead_us
    if classes is not None:
        affinity = np.where(classes.can_lead, affinity.T[classes.task_type], 0.0).T.copy()
        overhead_us = None if overhead_us is None else np.ascontiguousarray(overhead_us[:, classes.task_type])
    times_us, joined_us = scenario.single_times_us, scenario.consolidated_us
    if joined_us is not None and classes is not None:
        joined_us = np.ascontiguousarray(joined_us[:, classes.task_type])
    deployed = distinct(unit_type)
    n_types, n_task_types = affinity.shape
    ranking = np.full((n_task_types, n_types), -1, np.int32)
    by_speed = deployed[np.argsort(-affinity[deployed], axis=0, kind="stable").T]
    is_able = affinity.T[np.arange(n_task_types)[:, np.newaxis], by_speed] > 0
    ranking[:, : len(deployed)] = np.where(is_able, by_speed, -1)

    types = center.processor_types
    capacity = center.unit_capacity[order]
    parallelism = np.array([np.nan if p.full_speed is None else p.full_speed for p in types])[unit_type]
    sorted_units = unit_order is None
    counts = np.diff(work.job_first)
    group, following, kinds, preferred, application = number_groups(
        scenario, groups, data_node if has_data else None, counts, classes, quotas
    )
    on_nodes = requests_on_nodes(work, scenario.applications, groups)
    has_gangs = work.gang_within is not None or on_nodes is not None
    network = scenario.network
    resources = sorted(work.requests or {})
    requests = np.stack([work.requests[name] for name in resources], axis=1) if work.requests else np.empty((0, 0))
    model = Model(
        unit_type=unit_type.astype(np.int32),
        unit_node=unit_node.astype(np.int32),
        unit_capacity=capacity,
        unit_parallelism=np.where(np.isnan(parallelism), capacity, parallelism),
        **speed_curves(types, _task_type_names(work, classes)),
        unit_order=order.astype(np.int64),
        node_rack=node_rack.astype(np.int32),
        node_shelf=node_shelf.astype(np.int32),
        node_first=_firsts(unit_node, len(nodes), sorted_units),
        rack_first=_firsts(rack, center.n_racks, sorted_units),
        rack_node=_firsts(node_rack, center.n_racks, True),
        affinity=affinity,
        overhead_us=np.zeros_like(affinity) if overhead_us is None else overhead_us,
        joined_us=np.empty((0, 0, 0)) if joined_us is None else joined_us,
        joined_most=np.empty((0, 0), np.int64) if joined_us is None else largest_sizes(joined_us),
        ranking=ranking,
        runs_everywhere=(affinity[deployed] > 0).all(axis=0) & (classes is None),
        tier_bandwidth=np.array(network.tier_bandwidth),
        tier_latency_us=np.array(network.tier_latency_us),
        job_arrival_us=work.arrival_us,
        job_first=work.job_first,
        job_deadline_us=NOTHING_F8 if work.deadline_us is None else work.deadline_us,
        task_job=np.repeat(np.arange(work.n_jobs, dtype=np.int32), counts),
        job_limit_us=NOTHING_F8 if work.limit_us is None else work.limit_us,
        job_withdraw_us=NOTHING_F8 if work.withdraw_us is None else work.withdraw_us,
        withdrawn_job=_withdrawn(work),
        **_gangs(work, on_nodes),
        gang_order=BY_NUMBER
        if work.gang_within is None
        else placing_order(work, classes, affinity.T > 0, unit_type, capacity),
        **partition_columns(scenario, quotas, node_rack, node_shelf),
        job_priority=NOTHING_F8 if work.priority is None else work.priority,
        job_user=NOTHING_I4 if work.user is None else work.user,
        task_checkpoint_us=NOTHING_F8 if work.checkpoint_us is None else work.checkpoint_us,
        task_restart_us=NOTHING_F8 if work.restart_us is None else work.restart_us,
        preemption=np.array([PREEMPTION.index(scenario.preemption)]),
        task_operations=work.operations,
        task_data_bytes=work.data_bytes if has_data else NOTHING_F8,
        task_data_node=data_node.astype(np.int32) if has_data else NOTHING_I4,
        task_demand=_demands(work, capacity) if classes is None else demands(work),
        task_times_us=np.empty((0, 0)) if times_us is None else times_us,
        task_factor=NOTHING_F8 if work.time_factor is None else work.time_factor,
        task_estimate_us=NOTHING_F8 if work.estimate_us is None else work.estimate_us,
        task_request=requests,
        type_resource=np.array(
            [[p.attributes.get(name, NOT_PROVIDED) for name in resources] for p in types], np.float64
        ).reshape(len(types), -1),
        type_is_cpu=np.array([p.is_cpu for p in types]),
        type_sms=np.array([p.attributes.get("sms", 0.0) for p in types], np.float64),
        task_group=group,
        task_next=following,
        group_task_type=kinds,
        group_preferred=preferred,
        group_application=application,
        **_applications(scenario, rack, shelf),
        **_without_vectors(n_task_types)
        if classes is None
        else _vectors(classes, unit_node, unit_type, len(nodes), capacity),
        **_units_of_nodes(unit_node, unit_type, len(nodes), n_types, classes is not None or has_gangs),
    )
    if work.gang_within is not None:
        check_gangs(model)
    return Model(*map(_read_only, model))


def _task_type_names(work: Workload, classes: DemandClasses | None) -> list[str]:
    """Return the names of the scenario's task types, for each of the model's."""
    names = [one.name for one in work.task_types]
    return names if classes is None else [names[code] for code in classes.task_type]


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


def _demands(work: Workload, capacity: np.ndarray) -> np.ndarray:
    """[N] the tasks' demands; [0] if each takes the whole of any unit, of these capacities."""
    sizes = capacity.min(), capacity.max()
    if work.demand is None:
        is_whole = all(amount_of(ONE_SLOT, size) == size for size in sizes)
        return NOTHING_F8 if is_whole else np.full(work.n_tasks, ONE_SLOT)
    is_whole = all((amounts(work.demand, size) == size).all() for size in sizes)
    return NOTHING_F8 if is_whole else work.demand


def _classes(scenario: Scenario) -> DemandClasses:
    """Return the classes of demands; raises :class:`InputError` for those that no node can ever hold."""
    if any(a.gang_size > 1 for a in scenario.applications):
        expected = "applications without gangs, where tasks hold several units or name the types of their units"
        raise InputError([Problem("applications", expected, "a gang_size above 1")])
    classes = classes_of(scenario)
    if problems := unmet(classes, scenario) or over_quota(scenario, classes):
        raise InputError(problems)
    return classes


def _without_vectors(n_task_types: int) -> dict[str, np.ndarray]:
    """Return the columns of the model about tasks that hold several units, for a scenario without."""
    return {
        "kind_task_type": np.arange(n_task_types, dtype=np.int32),
        "kind_units": np.empty(0, np.int8),  # by this type loops are compiled: state/kernel.py
        "kind_share": NOTHING_F8,
        "kind_companion": np.empty((0, 0)),
        "kind_named": np.empty((0, 0), bool),
        "kind_lead": np.empty((0, 0), np.int32),
        "task_held": NOTHING_I8,
        "lead_type": NOTHING_I4,
        "lead_units": NOTHING_I4,
        "lead_end": NOTHING_I4,
        "lead_share": NOTHING_F8,
        "lead_shape": NOTHING_I4,
        "type_lead": NOTHING_I4,
        "kind_shape": NOTHING_I4,
        "kind_types": np.empty((0, 0), np.uint64),
        "companion_type": NOTHING_I4,
        "node_sole": NOTHING_I4,
        "kind_beside": np.empty(0, ASKED),
        "kind_with_more": NOTHING_I4,
        "kind_rank": np.empty((0, 0), np.int16),
        "kind_asks": NOTHING_I4,
        "asked": NOTHING_F8,
        "asked_rank": np.empty(0, np.int16),
        "asked_first": NOTHING_I4,
    }


def _units_of_nodes(
    unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, n_types: int, is_used: bool
) -> dict[str, np.ndarray]:
    """Return the units by node and type, where tasks hold several units or start together."""
    if not is_used:
        return {"node_begin": NOTHING_I4, "node_unit": NOTHING_I4}
    place = unit_node.astype(np.int64) * n_types + unit_type
    unit = np.argsort(place, kind="stable").astype(np.int32)
    begin = np.searchsorted(place[unit], np.arange(n_nodes * n_types + 1)).astype(np.int32)
    return {"node_begin": begin, "node_unit": unit}


def _withdrawn(work: Workload) -> np.ndarray:
    """int32: the jobs that are withdrawn, in the order of time."""
    if work.withdraw_us is None:
        return NOTHING_I4
    order = np.argsort(work.withdraw_us, kind="stable")
    return order[work.withdraw_us[order] < np.inf].astype(np.int32)


def _sole_units(unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, companion_type: np.ndarray) -> np.ndarray:
    """[V C] int32: each node's unit of the type of each companion, -1 where it has none or several."""
    sole = np.full((n_nodes, len(companion_type)), -1, np.int32)
    for c, p in enumerate(companion_type):
        units = np.flatnonzero(unit_type == p)
        is_alone = np.bincount(unit_node[units], minlength=n_nodes)[unit_node[units]] == 1
        sole[unit_node[units[is_alone]], c] = units[is_alone]
    return sole.ravel()


def _gangs(work: Workload, requests: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the columns about jobs whose tasks start together; ``requests`` are those of applications, [J] bool."""
    if work.gang_within is None:
        nothing = {"job_spread": np.empty(0, bool)}
        nothing |= dict.fromkeys(("job_per_node", "job_nodes"), NOTHING_I4)
        if requests is not None:
            return {"job_gang": np.where(requests, OF_REQUEST, NO_GANG).astype(np.int32), **nothing}
        return {"job_gang": np.empty(0, np.int8), **nothing}  # by this type loops are compiled: state/kernel.py
    is_spread, per_node, nodes = work.gang_spread, work.tasks_per_node, work.gang_nodes
    return {
        "job_gang": gangs_of(work),
        "job_spread": np.zeros(work.n_jobs, bool) if is_spread is None else is_spread,
        "job_per_node": np.zeros(work.n_jobs, np.int32) if per_node is None else per_node,
        "job_nodes": np.zeros(work.n_jobs, np.int32) if nodes is None else nodes,
    }


def _vectors(
    classes: DemandClasses, unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, capacity: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the same for a scenario with such tasks."""
    n_types = classes.can_lead.shape[1]
    kind_lead = np.full(classes.can_lead.shape, -1, np.int32)
    kind, lead_of = np.nonzero(classes.can_lead)
    share = np.where(np.isnan(classes.share), -1.0, classes.share)
    shape = coded([share, classes.units])
    share = share[kind]
    number = coded([lead_of, share, classes.units[kind]])
    kind_lead[kind, lead_of] = number
    first = first_rows(number)
    lead_type, shares, lead_units = lead_of[first], share[first], classes.units[kind[first]]
    begins = np.flatnonzero(np.r_[True, (lead_type[1:] != lead_type[:-1]) | (shares[1:] != shares[:-1]), True])
    n_companions = (classes.companion > 0).sum(axis=1)
    used = (classes.companion > 0)[classes.of_task].sum(axis=0)
    by_use = np.argsort(-used, kind="stable")
    n_held = (classes.units - 1 + n_companions)[classes.of_task]
    companion_type = by_use[used[by_use] > 0].astype(np.int32)
    asked = _asked(classes, companion_type)
    return {
        "kind_task_type": classes.task_type,
        "kind_units": classes.units.astype(np.int32),
        "kind_share": np.where(np.isnan(classes.share) & (capacity.min() >= 1.0), 1.0, classes.share),  # one slot
        "kind_companion": classes.companion,
        "kind_named": classes.named,
        "kind_lead": kind_lead,
        "task_held": np.concatenate([[0], np.cumsum(n_held)]).astype(np.int64),
        "lead_type": lead_type.astype(np.int32),
        "lead_units": lead_units.astype(np.int32),
        "lead_share": np.where(shares < 0, ONE_SLOT, shares),
        "lead_end": np.repeat(begins[1:], np.diff(begins)).astype(np.int32),
        "lead_shape": shape[kind[first]],
        "type_lead": np.searchsorted(lead_type, np.arange(n_types + 1)).astype(np.int32),
        "kind_shape": shape,
        "kind_types": bit_levels.of_rows(classes.can_lead),
        "companion_type": companion_type,
        "node_sole": _sole_units(unit_node, unit_type, n_nodes, companion_type),
        "kind_beside": asked,
        "kind_with_more": np.flatnonzero(asked["has_more"]).astype(np.int32),
        **ranked(classes.companion, companion_type),
    }


def _asked(classes: DemandClasses, companion_type: np.ndarray) -> np.ndarray:
    """[T] of ASKED."""
    asked = np.zeros(len(classes.units), ASKED)
    amounts = classes.companion[:, companion_type]
    for name, amount in zip(("first", "second"), amounts.T, strict=False):
        asked[name], asked[f"n_{name}"] = amount, amount > 0
    asked["has_more"] = (classes.units > 1) | (amounts[:, SOLES:] > 0).any(axis=1)
    return asked


def _read_only(column: np.ndarray) -> np.ndarray:
    """Return a read-only view, because some columns are the scenario's own."""
    view = column.view()
    view.flags.writeable = False
    return view


def _firsts(values: np.ndarray, n: int, is_sorted: bool) -> np.ndarray:
    """Return where each of 0 .. n - 1 begins in a sorted column; all empty if the units have another order."""
    if not is_sorted:
        return np.zeros(n + 1, np.int32)
    return np.searchsorted(values, np.arange(n + 1)).astype(np.int32)


def _applications(scenario: Scenario, rack: np.ndarray, shelf: np.ndarray) -> dict[str, np.ndarray]:
    """Return what the applications registered, by the workload's codes; ``rack`` and ``shelf`` are the units'."""
    listed = listed_by_code(scenario.workload, scenario.applications) if scenario.applications else []
    units = bit_levels.empty(len(listed), len(rack))[0]
    n_shelves = scenario.datacenter.n_shelves
    place = rack.astype(np.int64) * n_shelves + shelf
    for a, application in enumerate(listed):
        nodes = [r * n_shelves + s for r, s in (application.nodes if application is not None else ())]
        members = np.flatnonzero(np.isin(place, nodes)) if nodes else np.arange(len(rack))
        np.bitwise_or.at(units[a], members >> 6, np.uint64(1) << (members & 63).astype(np.uint64))
    return {
        "application_max_consolidated": np.array([1 if a is None else a.max_consolidated for a in listed], np.int64),
        "application_load": np.array([1.0 if a is None else a.average_load for a in listed]),
        "application_relative_deadline_us": np.array([np.inf if a is None else a.relative_deadline_us for a in listed]),
        "application_gang_size": np.array([1 if a is None else a.gang_size for a in listed], np.int64),
        "application_nodes": np.array([nodes_by_type(scenario.datacenter, a) for a in listed], np.int64).reshape(
            len(listed), len(scenario.datacenter.processor_types)
        ),
        "application_units": units,
    }
