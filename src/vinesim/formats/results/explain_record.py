"""A result folder's record of the scenario for ``vinesim explain``: what tasks need and what units provide.

``explain.json`` has the types and the outages, ``explain.parquet`` one row per task. The result's tables say where and
when tasks ran.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.folder import EXPLAIN_TASKS, EXPLAIN_TYPES
from vinesim.formats.results.parquet import write_table
from vinesim.model.application import Application, listed_by_code, requests_on_nodes
from vinesim.model.cohort import COHORT_FIELDS
from vinesim.model.outage import Outage
from vinesim.model.partition import Partition
from vinesim.model.power_caps import cap_columns
from vinesim.model.reservation import Reservation
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ANY_LEAD, ANYWHERE, NO_GANG, NO_PARTITION, ONE_SLOT, Workload

Listed = list[Application | None]
REQUEST, COMPANION = "request.", "companion."
ANY_NODE = -1


@dataclass(frozen=True)
class OfTasks:
    """How ``explain.parquet`` stores a column of the record."""

    absent: float | None = None  # the value of every task if the file lacks the column; None: no value
    file: str = ""  # its name in the file, if different
    codes_of: str = ""  # the field into which its values are indices, or -1


def _of_tasks(absent: float | None = None, **about: str) -> Mapping[str, OfTasks]:
    return {"column": OfTasks(absent, **about)}


@dataclass(frozen=True, eq=False)
class ExplainRecord:
    """The recorded facts about P processor types, T task types and N tasks."""

    processor_types: list[str]
    task_types: list[str]
    attributes: list[dict[str, float]]  # [P]: the resources a unit provides
    affinity: np.ndarray  # [P, T]: operations per us, 0 = cannot run
    # [N] float64, of each unit of the lead: NaN = one slot, infinite = the whole unit
    demand: np.ndarray = field(metadata=_of_tasks(ONE_SLOT))
    n_units: np.ndarray = field(metadata=_of_tasks(1, file="units"))  # [N]: units of the lead
    lead: np.ndarray = field(metadata=_of_tasks(ANY_LEAD, codes_of="lead_sets"))  # [N]
    lead_sets: list[list[str]]  # processor types of a lead
    # [N]: what tasks of its job must share to start together, of model.workload; 0: nothing, they start separately
    gang: np.ndarray = field(metadata=_of_tasks(NO_GANG))
    tasks_per_node: np.ndarray = field(metadata=_of_tasks(0))  # [N]: the most of them at one node, 0: any number
    # [N]: the number of nodes, each with per_node tasks; 0: any number
    gang_nodes: np.ndarray = field(metadata=_of_tasks(0))
    node_lists: list[list[tuple[int, int]]]  # (rack, shelf) of the nodes that hold an application's data
    node_list: np.ndarray = field(metadata=_of_tasks(ANY_NODE, codes_of="node_lists"))  # [N]
    partitions: list[Partition]
    partition: np.ndarray = field(metadata=_of_tasks(NO_PARTITION, codes_of="partitions"))  # [N]
    users: list[str]
    user: np.ndarray = field(metadata=_of_tasks(-1, codes_of="users"))  # [N]
    companions: dict[str, np.ndarray]  # processor type -> [N] float64: the amount held of one unit
    requests: dict[str, np.ndarray]  # resource -> [N] float64
    outages: list[tuple[int, int, float, float]]  # nodes that were down: (rack, shelf, down_us, up_us)
    reserves: str  # the waiting jobs for which the policy keeps units free: "first", "all", "by rank", or "" for none
    starts_in_order: bool  # whether the policy starts tasks in the order of arrival
    # [N]: the longest run time that the policy expects of each task; None: not recorded
    expected_us: np.ndarray | None = field(metadata=_of_tasks())
    power_caps: dict[str, np.ndarray] | None  # caps and powers of units (model/power_caps.py); None without caps
    after: dict[int, list[int]]  # the jobs on which each job depends, if any
    reservations: list[Reservation]

    def outages_of(self, rack: np.ndarray, shelf: np.ndarray) -> dict[int, list[tuple[float, float]]]:
        """Return (down_us, up_us) of each unit that was ever down; ``rack`` and ``shelf`` are [U], of the units."""
        found: dict[int, list[tuple[float, float]]] = {}
        for at_rack, at_shelf, down_us, up_us in self.outages:
            for unit in np.flatnonzero((rack == at_rack) & (shelf == at_shelf)).tolist():
                found.setdefault(unit, []).append((down_us, up_us))
        return found


COLUMNS: dict[str, OfTasks] = {
    one.name: one.metadata["column"] for one in fields(ExplainRecord) if "column" in one.metadata
}


def write_record(folder: Path, scenario: Scenario, failures: Sequence[Outage] = (), policy: Any = None) -> None:
    """Write both files for the run's failures and its policy, whose declarations are kept. Raises OSError."""
    work = scenario.workload
    heeds = "application" in getattr(policy, "groups", ()) and work.application is not None
    listed = listed_by_code(work, scenario.applications) if heeds else []
    outages = sorted((*scenario.outages, *failures), key=lambda outage: outage.down_us)
    content = _types(scenario, listed, outages, policy)
    (folder / EXPLAIN_TYPES).write_text(json.dumps(content, indent=1) + "\n")
    columns = _columns(scenario, listed, policy)
    of_file = {COLUMNS[name].file or name: column for name, column in columns.items() if column is not None}
    of_file |= {f"{REQUEST}{name}": values for name, values in (work.requests or {}).items()}
    of_file |= {f"{COMPANION}{name}": values for name, values in (work.companions or {}).items()}
    write_table(folder / EXPLAIN_TASKS, of_file)


def _types(scenario: Scenario, listed: Listed, outages: Sequence[Outage], policy: Any) -> dict[str, Any]:
    """Return the facts that are not about single tasks; ``listed`` has the nodes with each application's data."""
    types, work = scenario.datacenter.processor_types, scenario.workload
    caps = {name: np.asarray(column).tolist() for name, column in cap_columns(scenario).items()}
    content = {
        "processor_types": [p.name for p in types],
        "task_types": [t.name for t in work.task_types],
        "lead_sets": work.lead_sets,
        "attributes": [dict(p.attributes) for p in types],
        "affinity": scenario.affinity.tolist(),
        "partitions": [
            {
                "name": one.name,
                "nodes": None if one.nodes is None else one.nodes.tolist(),
                "quota": dict(one.quota),
                "user_quota": dict(one.user_quota),
                **({} if one.cohort is None else {name: getattr(one, name) for name in COHORT_FIELDS}),
            }
            for one in scenario.partitions
        ],
        "node_lists": [[] if one is None else one.nodes for one in listed],
        "users": work.user_names,
        "reserves": getattr(policy, "reserves", ""),
        "starts_in_order": getattr(policy, "starts_in_order", False),
        **({"power_caps": caps} if caps else {}),
        **({"reservations": list(map(_reserved, scenario.reservations))} if scenario.reservations else {}),
        "outages": [[o.rack, o.shelf, o.down_us, None if math.isinf(o.up_us) else o.up_us] for o in outages],
    }
    if work.after is not None and work.after_first is not None:
        first = work.after_first.tolist()
        waits = np.flatnonzero(np.diff(work.after_first)).tolist()
        content["after"] = {job: work.after[first[job] : first[job + 1]].tolist() for job in waits}
    return content


def _columns(scenario: Scenario, listed: Listed, policy: Any) -> dict[str, np.ndarray | None]:
    """Return the columns of tasks, [N] each; None is not written."""
    work, counts = scenario.workload, np.diff(scenario.workload.job_first)
    columns: dict[str, np.ndarray | None] = {
        "demand": np.full(work.n_tasks, ONE_SLOT) if work.demand is None else work.demand,
        "n_units": work.units,
        "lead": work.lead_types,
    }
    if work.gang_within is not None:
        per_node = np.zeros(work.n_jobs, np.int32) if work.tasks_per_node is None else work.tasks_per_node
        columns |= {"gang": np.repeat(work.gang_within, counts), "tasks_per_node": np.repeat(per_node, counts)}
        columns["gang_nodes"] = None if work.gang_nodes is None else np.repeat(work.gang_nodes, counts)
    on_nodes = requests_on_nodes(work, scenario.applications, getattr(policy, "groups", ()))
    if on_nodes is not None:
        is_of_gang = np.repeat(on_nodes, counts)
        within = np.where(is_of_gang, ANYWHERE, NO_GANG).astype(np.int8)
        columns |= {"gang": within, "tasks_per_node": is_of_gang.astype(np.int32)}
    if listed:
        place = np.array([ANY_NODE if one is None or not one.nodes else i for i, one in enumerate(listed)], np.int32)
        columns["node_list"] = np.repeat(place[work.application], counts)
    if work.partition is not None:
        columns["partition"] = np.repeat(scenario.job_partition, counts)
    if work.user is not None and (work.partition is not None or scenario.reservations):
        columns["user"] = np.repeat(work.user, counts)
    return columns | {"expected_us": _expected_us(work)}


def _reserved(one: Reservation) -> dict[str, Any]:
    return {
        "name": one.name,
        "start_us": one.start_us,
        "end_us": None if math.isinf(one.end_us) else one.end_us,
        "nodes": None if one.nodes is None else one.nodes.tolist(),
        "users": list(one.users),
    }


def _expected_us(work: Workload) -> np.ndarray | None:
    """Return [N] the smaller of each task's estimate and limit, us; None if the workload has neither."""
    if work.estimate_us is None and work.limit_us is None:
        return None
    estimate_us = np.full(work.n_tasks, np.inf) if work.estimate_us is None else work.estimate_us
    limit_us = np.inf if work.limit_us is None else np.repeat(work.limit_us, np.diff(work.job_first))
    expected_us = np.fmin(estimate_us, limit_us)
    return np.where(np.isfinite(expected_us), expected_us, np.nan)
