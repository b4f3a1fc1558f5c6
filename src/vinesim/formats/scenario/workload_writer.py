"""Write a workload as a table."""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.formats.scenario.workload_after import texts_of_after
from vinesim.formats.scenario.workload_cells import list_of
from vinesim.formats.scenario.workload_columns import (
    AFTER,
    COLUMNS,
    GANG,
    IF_GIVEN,
    LEAD,
    METADATA,
    NAMED,
    OF_JOB,
    WORDS,
)
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
    columns |= {name: kind for name, (kind, _) in IF_GIVEN.items() if getattr(workload, name) is not None}
    for name in columns:
        values = getattr(workload, name, None)
        if values is not None:
            tasks[name] = np.repeat(values, counts) if name in OF_JOB else values
    tasks["task_type"] = np.repeat(workload.job_task_type, counts).astype(np.int64)
    tasks["preferred_type"] = tasks["preferred_type"].astype(np.int64)
    names = _names_of(workload, processor_types)
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
    for name in workload.attributes or {}:
        columns[f"attribute.{name}"] = "VARCHAR"  # each job may have its own word: too many for a list in the SQL
        words = np.array([*(workload.attribute_words or {})[name], ""], object)
        tasks[f"attribute.{name}"] = np.repeat(words[workload.attributes[name]], counts)  # type: ignore[index]
    if workload.gang_within is not None:
        names |= WORDS
        for name, code in _gang_codes(workload, workload.gang_within).items():
            columns[name], tasks[name] = GANG[name][0], np.repeat(code.astype(np.int64), counts)
    if workload.after is not None:
        columns["after"], tasks["after"] = AFTER["after"][0], np.repeat(texts_of_after(workload), counts)
    select = [_cell(name, kind, names, name in tasks) for name, kind in columns.items()]
    tasks["preferred_type"] = np.where(tasks["preferred_type"] < 0, len(processor_types), tasks["preferred_type"])
    with replacing(path) as temporary:
        temporary.touch()  # reports a missing folder or permission
        run(
            path,
            f"COPY (SELECT {', '.join(select)} FROM tasks) TO {text_of(file_of(temporary))} "
            "(FORMAT parquet, USE_TMP_FILE false, COMPRESSION zstd, "
            f"KV_METADATA {{'{METADATA}': {text_of(json.dumps(names['task_type']))}}})",
            "a file that can be written",
            tasks=tasks,
        )


def _names_of(workload: Workload, processor_types: Sequence[ProcessorType]) -> dict[str, list[str]]:
    """Return the names for the codes of columns."""
    names = {
        "task_type": [one.name for one in workload.task_types],
        "preferred_type": [one.name for one in processor_types],
    }
    for name, field in NAMED.items():
        if getattr(workload, name) is not None:
            names[name] = list(getattr(workload, field))
    if workload.application is not None:
        n_named = len(names["application"])
        names["application"] += map(str, range(n_named, int(workload.application.max()) + 1))
    return names


def _gang_codes(workload: Workload, within: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns about gangs, [J] each; words are given by their indices, -1 for none."""
    is_spread = np.zeros(workload.n_jobs, bool) if workload.gang_spread is None else workload.gang_spread
    per_node = np.zeros(workload.n_jobs, np.int32) if workload.tasks_per_node is None else workload.tasks_per_node
    codes = {"gang": within - 1, "spread": np.where(is_spread, 1, -1), "tasks_per_node": per_node}
    return codes | ({} if workload.gang_nodes is None else {"nodes": workload.gang_nodes})


def _cell(name: str, kind: str, names: Mapping[str, Sequence[str]], is_given: bool) -> str:
    """Return SQL for a column of the written file."""
    cell = name_of(name)
    if name in names:  # SQL lists count from 1; an index outside the list gives null
        return f"CASE WHEN {cell} >= 0 THEN {list_of(names[name])}[{cell} + 1] END AS {cell}"
    if name.startswith("time_us.") or (name == "demand" and is_given):
        return f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END AS {cell}"
    if name.startswith("attribute."):
        return f"NULLIF({cell}, '') AS {cell}"
    if name == "nodes":
        return "NULLIF(nodes, 0) AS nodes"
    return f"{cell if is_given else 'NULL'}::{kind} AS {cell}"
