"""Find the rows of a log that are not jobs, and the reasons."""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from collections.abc import Mapping
from pathlib import Path

from vinesim.formats.importers.csv_names import named
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.scenario.workload_cells import number_of
from vinesim.formats.scenario.workload_columns import TIME_ANYWHERE
from vinesim.formats.scenario.workload_table import wrong_of
from vinesim.formats.source.database import text_of
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem
from vinesim.model.tokens import COUNTS

STEP = r"^\d+([_+]\d+)?\.[a-z0-9]+$"  # such as 1001.batch, as Slurm numbers the steps of a job
UNEVEN = "an empty line, or more or fewer cells than the header"
UNREADABLE = {  # by VineSim's name of the column
    "arrival_us": "no time of arrival that can be read",
    TIME_ANYWHERE: "no duration that can be read, or an end before the start",
}
MOST_US = 4.1e15  # 130 years
MOST = {
    "arrival_us": MOST_US,
    TIME_ANYWHERE: MOST_US,
    "cores": MAX_UNITS,
    "gpus": MAX_UNITS,
    "total_gpus": MAX_UNITS,
    "memory": 2.0**60,
}


def steps_of(source: TableSource) -> str:
    """Return an SQL condition that selects steps whose job has its own row."""
    steps = []
    for name, cell in source.columns.items():
        if named(name).stem == "job_id":
            text = f"{cell}::VARCHAR"
            jobs = f"SELECT {text} FROM {source.sql} WHERE {cell} IS NOT NULL"
            is_step = f"regexp_matches({text}, {text_of(STEP)}) AND split_part({text}, '.', 1) IN ({jobs})"
            steps.append(f"coalesce({is_step}, false)")
    return " OR ".join(steps) or "false"


def empty_of(source: TableSource) -> str:
    """Return an SQL condition that selects rows without values, among them lines with too many or too few cells."""
    return " AND ".join(f"{cell} IS NULL" for cell in source.columns.values())


def sorted_out(
    log: Path,
    source: TableSource,
    match: Mapping[str, tuple[str, float]],
    steps: str,
    empty: str = "false",
    first_line: int = 2,
) -> tuple[ImportReport, str]:
    """Return the report with the dropped rows, and the SQL condition that the kept rows satisfy.

    A row is dropped for the first reason that applies; ``first_line`` is the line of the first row. Raises
    :class:`InputError` if no row is left.
    """
    reasons = {"a step of a job that has its own line": [steps], UNEVEN: [empty]}
    number = {
        ours: f"({number_of(ours, source.columns[name])} * {scale!r})::DOUBLE" for ours, (name, scale) in match.items()
    }
    for ours, condition in wrong_of(source, match).items():
        reason = UNREADABLE.get(ours, f"{match[ours][0]}: a cell that cannot be read")
        reasons.setdefault(reason, []).append(condition)
    for ours in (ours for ours in MOST if ours in match):
        reasons[f"{match[ours][0]}: too large to be true"] = [
            f"{number[ours]} > {MOST[ours]!r} AND NOT isnan({number[ours]})"
        ]
    for ours in (ours for ours in COUNTS if ours in match):
        reasons[f"{match[ours][0]}: empty"] = [f"{source.columns[match[ours][0]]} IS NULL"]
    if TIME_ANYWHERE in match:
        is_right = f"{number[TIME_ANYWHERE]} > 0 AND NOT isnan({number[TIME_ANYWHERE]})"
        reasons["a duration of 0, or none"] = [f"NOT coalesce({is_right}, false)"]
    if amounts := [f"coalesce({number[name]}, 0)" for name in ("cores", "gpus", "total_gpus") if name in match]:
        reasons["neither cores nor GPUs"] = [f"{' + '.join(amounts)} = 0"]
    cases = " ".join(f"WHEN {' OR '.join(f'({c})' for c in some)} THEN {i}" for i, some in enumerate(reasons.values()))
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
    why = f"CASE {cases} ELSE -1 END"
    table = source.query(f"SELECT _row, {why} AS why FROM {rows} WHERE {why} >= 0 ORDER BY _row")
    n_lines = int(source.query(f"SELECT count(*) AS n FROM {source.sql}")["n"][0])
    report = ImportReport(str(log), n_lines)
    names = list(reasons)
    for row, code in zip(table["_row"].tolist(), table["why"].tolist(), strict=True):
        report.drop(names[code], row + first_line)
    n_jobs = n_lines - report.n_dropped
    report.made, report.numbers = f"{n_jobs:,} jobs", {"jobs": n_jobs}
    if not n_jobs:
        found = f"none in {n_lines} rows; dropped: " + ", ".join(report.dropped)
        raise InputError(
            [Problem(str(log), "at least one job", found, "Say what the columns mean: --column NAME=MEANING.")]
        )
    return report, f"({why}) < 0"
