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
from vinesim.formats.results.parquet import read_table, write_table
from vinesim.formats.source.files import read_text
from vinesim.model.application import listed_by_code, requests_on_nodes
from vinesim.model.errors import InputError, Problem
from vinesim.model.outage import Outage
from vinesim.model.partition import Partition
from vinesim.model.scenario import Scenario
from vinesim.model.workload import ANY_LEAD, ANYWHERE, NO_GANG, NO_PARTITION, ONE_SLOT

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

    def outages_of(self, rack: np.ndarray, shelf: np.ndarray) -> dict[int, list[tuple[float, float]]]:
        """Return (down_us, up_us) of each unit that was ever down; ``rack`` and ``shelf`` are [U], of the units."""
        found: dict[int, list[tuple[float, float]]] = {}
        for at_rack, at_shelf, down_us, up_us in self.outages:
            for unit in np.flatnonzero((rack == at_rack) & (shelf == at_shelf)).tolist():
                found.setdefault(unit, []).append((down_us, up_us))
        return found


def write_record(folder: Path, scenario: Scenario, failures: Sequence[Outage] = (), groups: Sequence[str] = ()) -> None:
    """Write both files; ``failures`` are those of the run, ``groups`` those of its policy. Raises OSError."""
    outages = sorted((*scenario.outages, *failures), key=lambda outage: outage.down_us)
    types, work = scenario.datacenter.processor_types, scenario.workload
    heeds = "application" in groups and work.application is not None
    listed = listed_by_code(work, scenario.applications) if heeds else []
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
            }
            for one in scenario.partitions
        ],
        "node_lists": [[] if one is None else one.nodes for one in listed],
        "users": work.user_names,
        "outages": [[o.rack, o.shelf, o.down_us, None if math.isinf(o.up_us) else o.up_us] for o in outages],
    }
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
        columns |= {} if work.user is None else {"user": np.repeat(work.user, counts)}
    columns |= {f"{REQUEST}{name}": values for name, values in (work.requests or {}).items()}
    columns |= {f"{COMPANION}{name}": values for name, values in (work.companions or {}).items()}
    write_table(folder / EXPLAIN_TASKS, columns)


def read_record(folder: Path) -> ExplainRecord:
    """Read both files. Raises :class:`InputError` if the run was not recorded."""
    types, tasks = folder / EXPLAIN_TYPES, folder / EXPLAIN_TASKS
    if not (types.exists() and tasks.exists()):
        remedy = "Run it again with vinesim run ... --explain --out DIR."
        raise InputError([Problem(str(folder), "a run that was recorded for explain", "no record of it", remedy)])
    try:
        found: dict[str, Any] = json.loads(read_text(types))
        columns = read_table(tasks)
        return ExplainRecord(
            found["processor_types"],
            found["task_types"],
            found["attributes"],
            np.array(found["affinity"], np.float64),
            columns["demand"],
            columns.get("units", np.ones(len(columns["demand"]), np.int32)),
            columns.get("lead", np.full(len(columns["demand"]), ANY_LEAD)),
            found.get("lead_sets", []),  # none in records of versions without it
            columns.get("gang", np.full(len(columns["demand"]), NO_GANG)),
            columns.get("tasks_per_node", np.zeros(len(columns["demand"]), np.int32)),
            columns.get("gang_nodes", np.zeros(len(columns["demand"]), np.int32)),
            [[(rack, shelf) for rack, shelf in nodes] for nodes in found.get("node_lists", [])],
            columns.get("node_list", np.full(len(columns["demand"]), ANY_NODE)),
            [Partition(**one) for one in found.get("partitions", [])],
            columns.get("partition", np.full(len(columns["demand"]), NO_PARTITION)),
            found.get("users", []),
            columns.get("user", np.full(len(columns["demand"]), -1)),
            _named(COMPANION, columns),
            _named(REQUEST, columns),
            [(rack, shelf, down, math.inf if up is None else up) for rack, shelf, down, up in found["outages"]],
        )
    except InputError:
        raise
    except Exception as wrong:  # errors of JSON, of missing keys, or of DuckDB
        found_text = f"{type(wrong).__name__}: {str(wrong).splitlines()[0]}"
        raise InputError([Problem(str(folder), "a record that can be read", found_text, "Run it again.")]) from None


def _named(prefix: str, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of a prefix by the rest of their names."""
    return {name.removeprefix(prefix): values for name, values in columns.items() if name.startswith(prefix)}
