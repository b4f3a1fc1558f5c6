"""Read a result folder's record of the scenario for ``vinesim explain``, and check that it belongs to the run."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.explain_record import COLUMNS, COMPANION, REQUEST, ExplainRecord, OfTasks
from vinesim.formats.results.folder import EXPLAIN_TASKS, EXPLAIN_TYPES
from vinesim.formats.results.parquet import read_table
from vinesim.formats.results.tables import ResultTables
from vinesim.formats.source.files import read_text
from vinesim.model.errors import InputError, Problem
from vinesim.model.partition import Partition
from vinesim.model.reservation import Reservation


def read_record(result: ResultTables) -> ExplainRecord:
    """Read the record of a run. Raises :class:`InputError` if there is none, or if it belongs to another run."""
    record = _read(result.folder)
    if problems := _of_another_run(record, result):
        raise InputError(problems)
    return record


def read_closed(folder: Path) -> tuple[list[tuple[int, int, float, float]], list[Reservation]]:
    """Return when nodes were down (rack, shelf, from, to), and the reservations of a run; empty without a record."""
    if not (folder / EXPLAIN_TYPES).exists():
        return [], []
    found = json.loads(read_text(folder / EXPLAIN_TYPES))
    return _outages(found), _reservations(found)


def _of_another_run(record: ExplainRecord, result: ResultTables) -> list[Problem]:
    """Return the problem of a record whose rows, codes or types show that it belongs to another run."""
    problems = []
    n_tasks = int(result.rows("SELECT count(*) FROM tasks")[0][0])
    again = "Run it again with vinesim run ... --explain --out DIR."
    where = str(result.folder / EXPLAIN_TASKS)
    if len(record.demand) != n_tasks:
        expected, found = (
            f"a row for each of the run's {n_tasks:,} tasks",
            f"{len(record.demand):,}: those of another run",
        )
        problems.append(Problem(where, expected, found, again))
    for name, column in COLUMNS.items():
        codes, n = getattr(record, name), len(getattr(record, column.codes_of or "demand"))
        if column.codes_of and len(codes) and not -1 <= codes.min() <= codes.max() < n:
            found = f"{codes.min()} to {codes.max()}"
            problems.append(Problem(f"{where}: {name}", f"-1 to {n - 1}", found, again))
    for what, names in (("processor_types", record.processor_types), ("task_types", record.task_types)):
        own = result.summary["provenance"].get(what)  # none in results of early versions
        if own is not None and own != names:
            expected = f"the run's types, {', '.join(own)}"
            problems.append(Problem(f"{result.folder / EXPLAIN_TYPES}: {what}", expected, ", ".join(names), again))
    shape = len(record.processor_types), len(record.task_types)
    if record.affinity.shape != shape or len(record.attributes) != shape[0]:
        expected = f"{shape[0]} processor types by {shape[1]} task types"
        found = " by ".join(map(str, record.affinity.shape))
        problems.append(Problem(f"{result.folder / EXPLAIN_TYPES}: affinity", expected, found, again))
    return problems


def _read(folder: Path) -> ExplainRecord:
    types, tasks = folder / EXPLAIN_TYPES, folder / EXPLAIN_TASKS
    if not (types.exists() and tasks.exists()):
        remedy = "Run it again with vinesim run ... --explain --out DIR."
        raise InputError([Problem(str(folder), "a run that was recorded for explain", "no record of it", remedy)])
    try:
        found: dict[str, Any] = json.loads(read_text(types))
        columns = read_table(tasks)
        return ExplainRecord(
            processor_types=found["processor_types"],
            task_types=found["task_types"],
            attributes=found["attributes"],
            affinity=np.array(found["affinity"], np.float64),
            lead_sets=found.get("lead_sets", []),  # none in records of versions without it
            node_lists=[[(rack, shelf) for rack, shelf in nodes] for nodes in found.get("node_lists", [])],
            partitions=[Partition(**one) for one in found.get("partitions", [])],
            users=found.get("users", []),
            companions=_named(COMPANION, columns),
            requests=_named(REQUEST, columns),
            outages=_outages(found),
            reserves=found.get("reserves", ""),
            starts_in_order=found.get("starts_in_order", False),
            power_caps={k: np.array(v) for k, v in found["power_caps"].items()} if "power_caps" in found else None,
            after={int(job): others for job, others in found.get("after", {}).items()},
            reservations=_reservations(found),
            **{name: _column(columns, name, one) for name, one in COLUMNS.items()},
        )
    except InputError:
        raise
    except Exception as wrong:  # errors of JSON, of missing keys, or of DuckDB
        found_text = f"{type(wrong).__name__}: {str(wrong).splitlines()[0]}"
        raise InputError([Problem(str(folder), "a record that can be read", found_text, "Run it again.")]) from None


def _column(columns: dict[str, np.ndarray], name: str, declared: OfTasks) -> Any:
    """Return a column of tasks, or its default if the file lacks it; every file has the demands."""
    absent = None if declared.absent is None else np.full(len(columns["demand"]), declared.absent)
    return columns.get(declared.file or name, absent)


def _outages(found: dict[str, Any]) -> list[tuple[int, int, float, float]]:
    return [(rack, shelf, down, math.inf if up is None else up) for rack, shelf, down, up in found["outages"]]


def _reservations(found: dict[str, Any]) -> list[Reservation]:
    given = found.get("reservations", [])
    return [Reservation(**one | {"end_us": math.inf if one["end_us"] is None else one["end_us"]}) for one in given]


def _named(prefix: str, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): values for name, values in columns.items() if name.startswith(prefix)}
