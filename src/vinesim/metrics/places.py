"""Find the places where a waiting task could start: units, or nodes if it holds several units or belongs to a gang."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vinesim.formats.results.explain_record import ANY_NODE, ExplainRecord
from vinesim.metrics.openings import Changes, Place, UnitRoom
from vinesim.model.workload import ANY_LEAD, NO_PARTITION
from vinesim.state.demand import amount_of


class TaskDemand(NamedTuple):
    """What a task demands: units, companions, and how it starts with other tasks."""

    demand: float  # of each unit that it runs on
    n_units: int
    lead_types: list[str]  # of which these may be; empty: any
    companions: dict[str, float]  # what it holds of one unit of other types
    within: int  # what its job's tasks must share if they start together, of model.workload; NO_GANG: they do not
    per_node: int  # the most of them at one node, 0: any number
    n_nodes: int  # the number of nodes with that many tasks each, 0: any number
    task_type: int

    def may_run_on(self, record: ExplainRecord, processor_type: int) -> bool:
        """Whether units of a processor type can run the task, by its affinity and the types it asks for."""
        name = record.processor_types[processor_type]
        is_asked_for = (not self.lead_types or name in self.lead_types) and name not in self.companions
        return is_asked_for and bool(record.affinity[processor_type, self.task_type] > 0)


def demand_of_task(record: ExplainRecord, task: int, task_type: int) -> TaskDemand:
    """Return the demand of a task of a recorded run."""
    code = int(record.lead[task])
    lead_types = [] if code == ANY_LEAD else record.lead_sets[code]
    companions = {name: float(values[task]) for name, values in record.companions.items() if values[task] > 0}
    gang = int(record.gang[task]), int(record.tasks_per_node[task]), int(record.gang_nodes[task])
    return TaskDemand(float(record.demand[task]), int(record.n_units[task]), lead_types, companions, *gang, task_type)


def allowed_units(record: ExplainRecord, task: int, units: dict[str, np.ndarray]) -> np.ndarray:
    """Return [U] whether a task's node list and partition both include the node of each unit."""
    rack, shelf = units["rack"], units["shelf"]
    number = int(record.partition[task])
    is_allowed = np.ones(len(rack), bool)
    if number != NO_PARTITION:
        is_allowed = record.partitions[number].has(rack, shelf)
    if record.node_list[task] != ANY_NODE:
        nodes = set(record.node_lists[record.node_list[task]])
        is_allowed &= np.array([node in nodes for node in zip(rack.tolist(), shelf.tolist(), strict=True)])
    return is_allowed


def places_for(
    demands: TaskDemand,
    leads: Sequence[str],
    names: Sequence[str],
    units: dict[str, np.ndarray],
    changes: Changes,
    on_nodes: bool,
) -> list[Place]:
    """Return the places where a task could start if it had room.

    Args:
        demands: What the task demands.
        leads: The names of the processor types that may be its lead.
        names: The names of all processor types, by code.
        units: The columns of the table of units, in its order.
        changes: The changes of the units.
        on_nodes: Whether a place is a node; otherwise it is a unit.
    """
    kind, capacity = [names[code] for code in units["unit_type"].tolist()], units["capacity"].tolist()
    at = list(zip(units["rack"].tolist(), units["shelf"].tolist(), strict=True))

    def room(unit: int, takes: float | None = None) -> UnitRoom:
        needed = amount_of(demands.demand, capacity[unit]) if takes is None else takes
        return UnitRoom(unit, capacity[unit], needed, changes.of_unit[unit])

    if not on_nodes:
        return [Place(name, *at[unit], 1, [[room(unit)]]) for unit, name in enumerate(kind) if name in leads]
    nodes: dict[tuple[int, int], list[int]] = {}
    for unit, place in enumerate(at):
        nodes.setdefault(place, []).append(unit)
    found = []
    for place, members in nodes.items():
        here = {kind[unit] for unit in members}
        for lead in [name for name in leads if name in here]:
            parts = [[room(unit) for unit in members if kind[unit] == lead]]
            for name, amount in demands.companions.items():
                parts.append([room(unit, amount) for unit in members if kind[unit] == name])
            found.append(Place(lead, *place, demands.n_units, parts))
    return found
