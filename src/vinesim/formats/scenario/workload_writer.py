"""Writing a workload as a table."""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_cells import list_of
from vinesim.formats.scenario.workload_columns import COLUMNS, GANG, LEAD, METADATA, NODES, OF_JOB, WORDS
from vinesim.formats.source.database import file_of, name_of, text_of
from vinesim.formats.source.files import replacing
from vinesim.formats.source.table_source import run
from vinesim.model.catalog import PROCESSOR_TYPES, ProcessorType
from vinesim.model.workload import Workload


def write_workload(
    path: str | os.PathLike[str], workload: Workload, processor_types: Sequence[ProcessorType] = PROCESSOR_TYPES
) -> None:
    """Write a workload, completely or not at all. Raises :class:`InputError` if it cannot be written."""
    counts = np.diff(workload.job_first)
    tasks: dict[str, Any] = {"job": np.repeat(np.arange(workload.n_jobs), counts)}
    columns = {name: kind for name, (kind, _) in COLUMNS.items() if "." not in name}
    for name in columns:
        values = getattr(workload, name, None)
        if values is not None:
            tasks[name] = np.repeat(values, counts) if name in OF_JOB else values
    tasks["task_type"] = np.repeat(workload.job_task_type, counts).astype(np.int64)
    tasks["preferred_type"] = tasks["preferred_type"].astype(np.int64)
    task_names = [t.name for t in workload.task_types]
    names = {"task_type": task_names, "preferred_type": [p.name for p in processor_types]}
    if workload.application is not None:
        own = workload.application_names
        n_applications = max(len(own), int(workload.application.max()) + 1)
        names["application"] = [*own, *map(str, range(len(own), n_applications))]
    if workload.user is not None:
        names["user"] = list(workload.user_names)
    if workload.partition is not None:
        names["partition"] = list(workload.partition_names)
    for i, processor in enumerate(processor_types if workload.times_us is not None else ()):
        columns[f"time_us.{processor.name}"] = "DOUBLE"
        tasks[f"time_us.{processor.name}"] = workload.times_us[:, i]  # type: ignore[index]
    for resource, values in (workload.requests or {}).items():
        columns[f"request.{resource}"] = "DOUBLE"
        tasks[f"request.{resource}"] = values
    if workload.units is not None:
        columns["units"], tasks["units"] = LEAD["units"][0], workload.units
    if workload.lead_types is not None:
        columns["types"], names["types"] = LEAD["types"][0], ["|".join(one) for one in workload.lead_sets]
        tasks["types"] = workload.lead_types.astype(np.int64)
    for name, values in (workload.companions or {}).items():
        columns[f"companion.{name}"] = "DOUBLE"
        tasks[f"companion.{name}"] = values
    if workload.gang_within is not None:
        is_spread = np.zeros(workload.n_jobs, bool) if workload.gang_spread is None else workload.gang_spread
        per_node = np.zeros(workload.n_jobs, np.int32) if workload.tasks_per_node is None else workload.tasks_per_node
        names |= WORDS
        codes = {"gang": workload.gang_within - 1, "spread": np.where(is_spread, 1, -1), "tasks_per_node": per_node}
        codes |= {} if workload.gang_nodes is None else {"nodes": workload.gang_nodes}
        for name, code in codes.items():
            columns[name], tasks[name] = (GANG | NODES)[name][0], np.repeat(code.astype(np.int64), counts)
    select = []
    for name, kind in columns.items():
        if name in names:  # SQL lists count from 1; an index outside the list gives null
            select.append(f"{list_of(names[name])}[{name} + 1] AS {name}")
        elif name.startswith("time_us.") or (name == "demand" and name in tasks):
            select.append(f"CASE WHEN isnan({name_of(name)}) THEN NULL ELSE {name_of(name)} END AS {name_of(name)}")
        elif name == "nodes":
            select.append("NULLIF(nodes, 0) AS nodes")
        else:
            select.append(f"{name_of(name) if name in tasks else 'NULL'}::{kind} AS {name_of(name)}")
    tasks["preferred_type"] = np.where(tasks["preferred_type"] < 0, len(processor_types), tasks["preferred_type"])
    with replacing(path) as temporary:
        temporary.touch()  # reports a missing folder or permission
        run(
            path,
            f"COPY (SELECT {', '.join(select)} FROM tasks) TO {text_of(file_of(temporary))} "
            "(FORMAT parquet, USE_TMP_FILE false, COMPRESSION zstd, "
            f"KV_METADATA {{'{METADATA}': {text_of(json.dumps(task_names))}}})",
            "a file that can be written",
            tasks=tasks,
        )
