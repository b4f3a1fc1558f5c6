"""What a result folder keeps of the scenario for ``vinesim explain``: what tasks need and what units provide.

``explain.json`` has the types and the outages, ``explain.parquet`` one row per task. The result's tables say where and
when tasks ran.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.folder import EXPLAIN_TASKS, EXPLAIN_TYPES
from vinesim.formats.results.parquet import write_table
from vinesim.model.application import listed_by_code, requests_on_nodes
from vinesim.model.cohort import COHORT_FIELDS
from vinesim.model.outage import Outage
from vinesim.model.partition import Partition
from vinesim.model.power_caps import cap_columns
from vinesim.model.reservation import Reservation
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ANYWHERE, NO_GANG, ONE_SLOT, Workload

REQUEST, COMPANION = "request.", "companion."
ANY_NODE = -1


@dataclass(frozen=True, eq=False)
class ExplainRecord:
    """P processor types, T task types, N tasks."""

    processor_types: list[str]
    task_types: list[str]
    attributes: list[dict[str, float]]  # [P]: the resources a unit provides
    affinity: np.ndarray  # [P, T]: operations per us, 0 = cannot run
    demand: np.ndarray  # [N] float64, of each unit of the lead: NaN = one slot, infinite = the whole unit
    n_units: np.ndarray  # [N]: units of the lead
    lead: np.ndarray  # [N]: index into lead_sets, or ANY_LEAD
    lead_sets: list[list[str]]  # processor types of a lead
    gang: np.ndarray  # [N]: within what the tasks of its job start together, of model.workload; 0: they do not
    tasks_per_node: np.ndarray  # [N]: the most of them at one node, 0: any number
    gang_nodes: np.ndarray  # [N]: the number of nodes on each of which that many start, 0: any number of nodes
    node_lists: list[list[tuple[int, int]]]  # (rack, shelf) of the nodes that hold an application's data
    node_list: np.ndarray  # [N]: of these, or ANY_NODE
    partitions: list[Partition]
    partition: np.ndarray  # [N]: of these, or NO_PARTITION
    users: list[str]
    user: np.ndarray  # [N]: of these, or -1
    companions: dict[str, np.ndarray]  # processor type -> [N] float64: what is held of one unit of it
    requests: dict[str, np.ndarray]  # resource -> [N] float64
    outages: list[tuple[int, int, float, float]]  # (rack, shelf, down_us, up_us) of nodes
    reserves: str  # for which waiting jobs the policy keeps units free: "first", "all", or "": for none
    starts_in_order: bool  # the policy starts tasks in the order of arrival
    expected_us: np.ndarray | None  # [N]: how long the policy takes each task to run at most; None: not recorded
    power_caps: dict[str, np.ndarray] | None  # caps, and what units draw: model/power_caps.py; None: no caps
    after: dict[int, list[int]]  # the jobs that a job waited for; no entry: none
    reservations: list[Reservation]

    def outages_of(self, rack: np.ndarray, shelf: np.ndarray) -> dict[int, list[tuple[float, float]]]:
        """Return (down_us, up_us) of each unit that was ever down; ``rack`` and ``shelf`` are [U], of the units."""
        found: dict[int, list[tuple[float, float]]] = {}
        for at_rack, at_shelf, down_us, up_us in self.outages:
            for unit in np.flatnonzero((rack == at_rack) & (shelf == at_shelf)).tolist():
                found.setdefault(unit, []).append((down_us, up_us))
        return found


def write_record(folder: Path, scenario: Scenario, failures: Sequence[Outage] = (), policy: Any = None) -> None:
    """Write both files; ``failures`` are those of the run, ``policy`` is the one that decided, with its declarations.
    Raises OSError."""
    groups = getattr(policy, "groups", ())
    outages = sorted((*scenario.outages, *failures), key=lambda outage: outage.down_us)
    types, work = scenario.datacenter.processor_types, scenario.workload
    heeds = "application" in groups and work.application is not None
    listed = listed_by_code(work, scenario.applications) if heeds else []
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
    (folder / EXPLAIN_TYPES).write_text(json.dumps(content, indent=1) + "\n")
    columns = {"demand": np.full(work.n_tasks, ONE_SLOT) if work.demand is None else work.demand}
    columns |= {} if work.units is None else {"units": work.units}
    columns |= {} if work.lead_types is None else {"lead": work.lead_types}
    if work.gang_within is not None:
        per_node = np.zeros(work.n_jobs, np.int32) if work.tasks_per_node is None else work.tasks_per_node
        counts = np.diff(work.job_first)
        columns |= {"gang": np.repeat(work.gang_within, counts), "tasks_per_node": np.repeat(per_node, counts)}
        columns |= {} if work.gang_nodes is None else {"gang_nodes": np.repeat(work.gang_nodes, counts)}
    on_nodes = requests_on_nodes(work, scenario.applications, groups)
    if on_nodes is not None:
        is_of_gang = np.repeat(on_nodes, np.diff(work.job_first))
        within = np.where(is_of_gang, ANYWHERE, NO_GANG).astype(np.int8)
        columns |= {"gang": within, "tasks_per_node": is_of_gang.astype(np.int32)}
    if listed:
        place = np.array([ANY_NODE if one is None or not one.nodes else i for i, one in enumerate(listed)], np.int32)
        columns |= {"node_list": np.repeat(place[work.application], np.diff(work.job_first))}
    if work.partition is not None:
        counts = np.diff(work.job_first)
        columns |= {"partition": np.repeat(scenario.job_partition, counts)}
    if work.user is not None and (work.partition is not None or scenario.reservations):
        columns |= {"user": np.repeat(work.user, np.diff(work.job_first))}
    if (expected_us := _expected_us(work)) is not None:
        columns |= {"expected_us": expected_us}
    columns |= {f"{REQUEST}{name}": values for name, values in (work.requests or {}).items()}
    columns |= {f"{COMPANION}{name}": values for name, values in (work.companions or {}).items()}
    write_table(folder / EXPLAIN_TASKS, columns)


def _reserved(one: Reservation) -> dict[str, Any]:
    return {
        "name": one.name,
        "start_us": one.start_us,
        "end_us": None if math.isinf(one.end_us) else one.end_us,
        "nodes": None if one.nodes is None else one.nodes.tolist(),
        "users": list(one.users),
    }


def _expected_us(work: Workload) -> np.ndarray | None:
    """[N] us: the estimate of each task, or its limit if that is less; None if the workload has neither."""
    if work.estimate_us is None and work.limit_us is None:
        return None
    estimate_us = np.full(work.n_tasks, np.inf) if work.estimate_us is None else work.estimate_us
    limit_us = np.inf if work.limit_us is None else np.repeat(work.limit_us, np.diff(work.job_first))
    expected_us = np.fmin(estimate_us, limit_us)
    return np.where(np.isfinite(expected_us), expected_us, np.nan)
