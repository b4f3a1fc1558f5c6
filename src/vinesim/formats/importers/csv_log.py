"""Any log with a row per job, as a CSV file: what its columns mean is guessed, and the user may correct it.

The rows that are jobs are copied as they stand, and a scenario beside them says what their columns are, so that the
guess can be corrected there. See ``csv_guess`` for the guess, ``workload_forms`` for what columns may hold.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from vinesim.formats.importers.csv_columns import Column, columns_of
from vinesim.formats.importers.csv_guess import STATUS, Guess, guessed, named, words_of
from vinesim.formats.importers.csv_scenario import csv_scenario, like_another, made_for, types_for
from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.made_nodes import ON_WHAT
from vinesim.formats.importers.report import MAX_VALUES, ImportReport, zone_assumed
from vinesim.formats.scenario.workload_columns import IGNORE, NAMES, TIME_ANYWHERE, matched
from vinesim.formats.scenario.workload_forms import as_columns
from vinesim.formats.scenario.workload_table import wrong_of
from vinesim.formats.source.database import file_of, name_of, text_of
from vinesim.formats.source.files import GZIP, opened, read_text, replacing
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource, open_table, run
from vinesim.model.errors import InputError, Problem

LEFT_OUT = ("when and where the log's own scheduler started a job: the simulated policy decides",)
STEP = r"^\d+(_\d+)?\.[a-z0-9]+$"  # such as 1001.batch, as Slurm numbers the steps of a job
REASONS = {  # a row is dropped for the first of these conditions that it meets, by our name of the column
    "arrival_us": "no time of arrival that can be read",
    TIME_ANYWHERE: "no duration that can be read, or an end before the start",
}


def import_csv(
    log: Annotated[Path, Argument("A CSV file with a header and a row per job, plain or gzip; or a Parquet file.")],
    output: Annotated[Path, Option("The rows that are jobs, a CSV file; a scenario is written beside it.", short="-o")],
    column: Annotated[
        tuple[str, ...], Option("What a column is, instead of the guess; may be repeated.", metavar="NAME=MEANING")
    ] = (),
    like: Annotated[
        Path | None, Option("A scenario whose datacenter and types to take; else one is made for the log.")
    ] = None,
) -> Imported:
    """Import any log with a row per job: guess what its columns mean, and write the guess for you to correct."""
    if output.suffix != ".csv":
        raise InputError([Problem("-o", "a name that ends in .csv", str(output))])
    scenario = output.with_suffix(".yaml")
    with tempfile.TemporaryDirectory() as folder:
        source = open_table(_unpacked(log, Path(folder)))
        columns = columns_of(source)
        found = guessed(columns, _given(column, source))
        _check(log, found)
        mapping = {name: guess.meaning for name, guess in found.items()}
        if like is None and "partition" in mapping.values():
            remedy = "Give --like SCENARIO.yaml, which names the partitions and their nodes."
            raise InputError(
                [Problem("--column", "no partition, as the datacenter is made for the log", "one", remedy)]
            )
        in_us, ours = as_columns(source, mapping)
        types = types_for(in_us, ours)
        report, kept = _sorted_out(log, in_us, matched(in_us, types, ours))
        report.columns = dict(found)
        report.time_zone = _time_zone(columns, found)
        _count_statuses(report, in_us, columns, kept)
        report.unused = {c.name: c.n_filled for c in columns if found[c.name].meaning == IGNORE and c.n_filled}
        copy = Path(folder) / "jobs.csv"
        _copy(source, kept, copy)
        if like is None:
            try:
                on = made_for(copy, types, mapping)
            except InputError as error:
                raise _in_log(error, log, copy, source, kept) from None
            report.notes.append(f"{ON_WHAT}, or give --like")
        else:
            on = like_another(like, output.parent, is_timed=TIME_ANYWHERE in ours.values())
        with replacing(output) as draft:
            shutil.copyfile(copy, draft)
    with replacing(scenario) as draft:
        draft.write_text(csv_scenario(log, output, found, on), encoding="utf-8")
    return Imported(report, output, f"{report.numbers['jobs']:,} jobs", scenario)


IMPORTER = Importer("csv", import_csv)


def _unpacked(log: Path, folder: Path) -> Path:
    """Return the log, or a copy of it without its compression."""
    with opened(log) as stream:
        is_gzip = stream.read(2) == GZIP
    if not is_gzip:
        if log.suffix not in (".csv", ".parquet"):
            remedy = "For other logs there are vinesim import slurm (the output of sacct) and vinesim import swf."
            raise InputError([Problem(str(log), "a name that ends in .csv, .csv.gz or .parquet", log.name, remedy)])
        return log
    copy = folder / f"{log.stem.removesuffix('.csv')}.csv"
    copy.write_text(read_text(log), encoding="utf-8")
    return copy


def _given(column: Sequence[str], source: TableSource) -> dict[str, str]:
    """Return what the user says that columns are. Raises :class:`InputError`."""
    given, problems = {}, []
    for text in column:
        name, _, meaning = text.rpartition("=")
        if not name:
            problems.append(Problem("--column", "NAME=MEANING, such as duration=time_min", repr(text)))
        elif name not in source.columns:
            remedy = did_you_mean(name, source.columns)
            problems.append(Problem("--column", "a column: " + ", ".join(source.columns), repr(name), remedy))
        elif meaning not in (*NAMES, IGNORE) and "." not in meaning:
            remedy = did_you_mean(meaning, NAMES)
            problems.append(Problem("--column", "the name of a column of a workload, or ignore", repr(meaning), remedy))
        given[name] = meaning
    if problems:
        raise InputError(problems)
    return given


def _check(log: Path, found: Mapping[str, Guess]) -> None:
    """Raise :class:`InputError` if no column says when jobs arrive, or how long they take."""
    meanings = [guess.meaning for guess in found.values()]
    lacking = (
        ("when jobs arrive", ("arrival_", "period"), "--column NAME=arrival_s, or arrival_date"),
        ("how long jobs take", ("time_", "end_", "operations"), "--column NAME=time_s, or end_date"),
    )
    guesses = "; ".join(f"{name}: {guess.meaning} ({guess.why})" for name, guess in found.items())
    problems = [
        Problem(str(log), f"a column that says {what}", guesses[:400], f"Say which: {remedy}.")
        for what, names, remedy in lacking
        if not any(meaning.startswith(names) for meaning in meanings)
    ]
    if problems:
        raise InputError(problems)


def _sorted_out(log: Path, source: TableSource, match: Mapping[str, tuple[str, float]]) -> tuple[ImportReport, str]:
    """Return the report, with the rows that are dropped, and the SQL condition of those that are kept."""
    reasons: dict[str, list[str]] = {}
    for name, cell in source.columns.items():
        if named(name)[0] == "job_id":
            reasons["a step of a job that has a line of its own"] = [
                f"regexp_matches({cell}::VARCHAR, {text_of(STEP)})"
            ]
    for ours, condition in wrong_of(source, match).items():
        reason = REASONS.get(ours, f"{match[ours][0]}: a cell that cannot be read")
        reasons.setdefault(reason, []).append(condition)
    if TIME_ANYWHERE in match:
        cell = source.columns[match[TIME_ANYWHERE][0]]
        reasons.setdefault("a duration of 0, or none", []).append(f"TRY_CAST({cell} AS DOUBLE) IS NULL OR {cell} = 0")
    amounts = [
        f"coalesce(TRY_CAST({source.columns[match[name][0]]} AS DOUBLE), 0)"
        for name in ("cores", "gpus")
        if name in match
    ]
    if amounts:
        reasons["neither cores nor GPUs"] = [f"{' + '.join(amounts)} = 0"]
    cases = " ".join(f"WHEN {' OR '.join(f'({c})' for c in some)} THEN {i}" for i, some in enumerate(reasons.values()))
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
    why = f"CASE {cases} ELSE -1 END"
    table = source.query(f"SELECT _row, {why} AS why FROM {rows} WHERE {why} >= 0 ORDER BY _row")
    n_lines = int(source.query(f"SELECT count(*) AS n FROM {source.sql}")["n"][0])
    report = ImportReport(str(log), n_lines, left_out=LEFT_OUT)
    names = list(reasons)
    for row, code in zip(table["_row"].tolist(), table["why"].tolist(), strict=True):
        report.drop(names[code], row + 2)
    n_jobs = n_lines - report.n_dropped
    report.made, report.numbers = f"{n_jobs:,} jobs", {"jobs": n_jobs}
    if not n_jobs:
        found = f"none in {n_lines} rows; dropped: " + ", ".join(report.dropped)
        raise InputError([Problem(str(log), "at least one job", found, "Say what columns are: --column NAME=MEANING.")])
    return report, f"({why}) < 0"


def _in_log(error: InputError, log: Path, copy: Path, source: TableSource, kept: str) -> InputError:
    """Return an error about the copy of the rows that are kept as one about the log, with its lines."""
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
    line = source.query(f"SELECT _row + 2 AS line FROM {rows} WHERE {kept} ORDER BY _row")["line"].tolist()

    def where(text: str) -> str:
        name, _, number = text.rpartition(":")
        return (
            f"{log}:{line[int(number) - 2]}"
            if name == str(copy) and number.isdigit()
            else text.replace(str(copy), str(log))
        )

    return InputError([replace(one, where=where(one.where)) for one in error.problems], error.n_problems)


def _time_zone(columns: Sequence[Column], found: Mapping[str, Guess]) -> str:
    """Return in words in which time zone the dates of a log are; nothing if it has none."""
    dated = [column for column in columns if found[column.name].meaning.endswith("_date")]
    if not dated:
        return "UTC, as times since 1970" if any("_epoch_" in guess.meaning for guess in found.values()) else ""
    n_without = sum(column.dates - column.zoned for column in dated)
    return zone_assumed(n_without) if n_without else "as the dates say"


def _count_statuses(report: ImportReport, source: TableSource, columns: Sequence[Column], kept: str) -> None:
    """Count the jobs by status, if the log has one."""
    for column in columns:
        if "".join(words_of(column.name)[0]) in STATUS and column.distinct <= MAX_VALUES:
            cell = f"coalesce({source.columns[column.name]}::VARCHAR, 'empty')"
            table = source.query(
                f"SELECT {cell} AS s, count(*) FILTER (WHERE {kept}) AS k, count(*) AS n FROM {source.sql} "
                "GROUP BY s ORDER BY n DESC, s"
            )
            report.values[column.name] = {
                str(s): [k, n - k]
                for s, k, n in zip(table["s"].tolist(), table["k"].tolist(), table["n"].tolist(), strict=True)
            }


def _copy(source: TableSource, kept: str, output: Path) -> None:
    """Write the rows that are kept, as they stand."""
    select = ", ".join(f"{cell} AS {name_of(name)}" for name, cell in source.columns.items())
    to = text_of(file_of(output))
    query = f"COPY (SELECT {select} FROM {source.sql} WHERE {kept}) TO {to} (FORMAT csv, HEADER true)"
    run(output, query, "a file that can be written")
