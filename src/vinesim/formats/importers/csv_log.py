"""Import any log with a row per job: guess what its columns mean, and let the user correct the guess.

The rows that are jobs are copied unchanged to a CSV file. A scenario next to it says what the columns mean, and is the
place to correct the guess. See ``csv_guess`` for the guess and ``workload_forms`` for what columns may hold.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for COPY and file names; all text goes through text_of
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from vinesim.formats.importers.csv_columns import Column, columns_of
from vinesim.formats.importers.csv_dropped import empty_of, sorted_out, steps_of
from vinesim.formats.importers.csv_files import folder_for, in_log, read_log
from vinesim.formats.importers.csv_forms import Form, read_forms
from vinesim.formats.importers.csv_guess import guessed
from vinesim.formats.importers.csv_mapping import mapping_text, read_mapping
from vinesim.formats.importers.csv_names import STATUS, words_of
from vinesim.formats.importers.csv_scenario import csv_scenario, like_another, made_for, types_for
from vinesim.formats.importers.csv_units import SECONDS
from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.job_rows import on_nodes, types_of
from vinesim.formats.importers.made_engine import ON_ENGINE, has_tokens
from vinesim.formats.importers.made_nodes import ON_WHAT
from vinesim.formats.importers.nodes_table import read_nodes_table
from vinesim.formats.importers.prefix_blocks import MADE, TIMES, with_prefixes
from vinesim.formats.importers.report import MAX_VALUES, Finding, Guess, ImportReport, zone_assumed
from vinesim.formats.scenario.workload_columns import GENERAL_LEAD, IGNORE, NAMES, SLURM, TIME_ANYWHERE, matched
from vinesim.formats.scenario.workload_forms import as_columns, first_date, slurm_bytes
from vinesim.formats.source.database import file_of, name_of, text_of
from vinesim.formats.source.files import replacing
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.table_source import TableSource, open_table, run
from vinesim.model.errors import InputError, Problem
from vinesim.model.tokens import COUNTS

LEFT_OUT = (
    "where and, except for a back-test, when the log's own scheduler started a job: the simulated policy decides",
)


def import_csv(
    log: Annotated[
        Path, Argument("A row per job: CSV with a header, tab-separated or JSON Lines, plain or gzip; or Parquet.")
    ],
    output: Annotated[
        Path, Option("The rows that are jobs, a CSV file; a scenario is written next to it.", short="-o")
    ],
    column: Annotated[
        tuple[str, ...], Option("Meaning of a column, in place of the guess; may be repeated.", metavar="NAME=MEANING")
    ] = (),
    mapping: Annotated[
        Path | None, Option("Meanings of columns: the file that an earlier import wrote, with your corrections.")
    ] = None,
    date_format: Annotated[
        str, Option("How dates are written: d/m/y, m/d/y, or a format such as %d.%m.%Y %H:%M.", metavar="FORMAT")
    ] = "",
    decimal: Annotated[str, Option("Decimal mark of numbers: comma or point; default: guessed.")] = "",
    nodes: Annotated[Path | None, Option("A table of the nodes; default: nodes made for the log.")] = None,
    like: Annotated[
        Path | None, Option("Take the datacenter and types of this scenario; default: made for the log.")
    ] = None,
) -> Imported:
    """Import any log with a row per job: guess what its columns mean, and write the guess for you to correct."""
    _check_options(output, nodes, like)
    of_nodes = ImportReport("")
    places = [] if nodes is None else read_nodes_table(nodes, of_nodes)
    scenario, written = output.with_suffix(".yaml"), output.with_suffix(".mapping.yaml")
    saved = {} if mapping is None else read_mapping(mapping)
    forms = {"decimal": decimal or saved.get("decimal", ""), "date_format": date_format or saved.get("date_format", "")}

    def taken(table: TableSource, first_line: int) -> tuple[ImportReport, dict[str, Guess], dict[str, Any]]:
        said = [*(f"{name}={is_}" for name, is_ in saved.get("columns", {}).items()), *column]
        table, shared = with_prefixes(log, table, dict(_parts(text) for text in said), folder)
        given = _given(said, table)
        source, rewritten = read_forms(table, given, **forms)
        steps, empty = steps_of(source), empty_of(source)
        columns = columns_of(source, f"NOT ({steps}) AND NOT ({empty})")
        found = _with_forms(guessed(columns, given, TIMES if shared else SECONDS), rewritten)
        found |= dict(MADE) if shared else {}
        _check(log, found, like)
        meanings = {name: guess.meaning for name, guess in found.items()}
        in_us, ours = as_columns(source, meanings)
        source = replace(source, sql=in_us.sql)  # its conditions refer to it
        types = types_of(places) if places else types_for(in_us, ours)
        match = matched(in_us, types, ours)
        report, kept = sorted_out(log, in_us, match, steps, empty, first_line)
        report.left_out = LEFT_OUT
        report.columns = dict(found) | of_nodes.columns
        report.findings = [*shared, *_findings(source, found, match, kept)]
        report.time_zone = _time_zone(columns, found)
        _count_statuses(report, in_us, columns, kept)
        report.unused = {c.name: c.n_filled for c in columns if found[c.name].meaning == IGNORE and c.n_filled}
        copy = folder / "jobs.csv"
        _copy(source, kept, copy)
        if places:
            on = on_nodes(output, places, types)
        elif like is not None:
            on = like_another(like, output.parent, is_timed=TIME_ANYWHERE in ours.values())
        else:
            on = _made(log, copy, types, meanings, lambda: _lines(source, kept, first_line))
            are_requests = has_tokens(set(meanings.values()))
            report.notes.append(ON_ENGINE if are_requests else f"{ON_WHAT}, or give --nodes or --like")
        start = first_date(open_table(copy), meanings)
        on = ({} if start is None else {"start_date": f"{start}"}) | on
        with replacing(output) as draft:
            shutil.copyfile(copy, draft)
        return report, found, on

    with folder_for(log) as folder:
        report, found, on = read_log(log, folder, taken)
    with replacing(scenario) as draft:
        draft.write_text(csv_scenario(log, output, found, on), encoding="utf-8")
    with replacing(written) as draft:
        draft.write_text(mapping_text(log, written.name, found, forms), encoding="utf-8")
    return Imported(report, output, f"{report.numbers['jobs']:,} jobs", scenario, mapping=written)


IMPORTER = Importer("csv", import_csv)


def _made(log: Path, copy: Path, types: Any, meanings: Mapping[str, str], lines: Callable[[], list[int]]) -> Any:
    """Return the sections of a scenario made for a log. Errors about a job name its line in the log."""
    try:
        return made_for(copy, types, meanings)
    except InputError as error:
        raise in_log(error, log, str(copy), lines().__getitem__) from None


def _with_forms(found: Mapping[str, Guess], forms: Mapping[str, Form]) -> dict[str, Guess]:
    """Return the guesses with the notation of their columns."""
    return {
        name: Guess(guess.meaning, f"{guess.why}; {forms[name].words}", guess.is_doubtful or forms[name].is_doubtful)
        if name in forms and guess.meaning != IGNORE
        else guess
        for name, guess in found.items()
    }


def _given(column: Sequence[str], source: TableSource) -> dict[str, str]:
    """Return the meanings of columns that the user set. Raises :class:`InputError`."""
    given, problems = {}, []
    for text in column:
        name, meaning = _parts(text)
        if not name:
            problems.append(Problem("--column", "NAME=MEANING, such as duration=time_min", repr(text)))
        elif name not in source.columns:
            remedy = did_you_mean(name, source.columns)
            problems.append(
                Problem("--column or --mapping", "a column: " + ", ".join(source.columns), repr(name), remedy)
            )
        elif meaning not in (*NAMES, IGNORE) and "." not in meaning:
            remedy = did_you_mean(meaning, NAMES)
            problems.append(Problem("--column", "the name of a column of a workload, or ignore", repr(meaning), remedy))
        given[name] = meaning
    if problems:
        raise InputError(problems)
    return given


def _parts(text: str) -> tuple[str, str]:
    """Split NAME=MEANING."""
    name, _, meaning = text.rpartition("=")
    return name, meaning


def _check_options(output: Path, nodes: Path | None, like: Path | None) -> None:
    """Raise :class:`InputError` for options that exclude each other."""
    if output.suffix != ".csv":
        raise InputError([Problem("-o", "a name that ends in .csv", str(output))])
    if nodes is not None and like is not None:
        raise InputError([Problem("--nodes", "the nodes once", "--like too", "Keep one of them.")])


def _check(log: Path, found: Mapping[str, Guess], like: Path | None) -> None:
    """Raise :class:`InputError` if no column gives arrivals or durations, or if jobs have partitions, which a
    datacenter made for the log lacks."""
    meanings = [guess.meaning for guess in found.values()]
    lacking = [
        (
            "when jobs arrive",
            ("arrival_", "period"),
            "--column NAME=arrival_s, or arrival_date; if the log does not say "
            "it, add a column arrival_s, with 0 in each line for jobs that all wait from the beginning",
        ),
        ("how long jobs take", ("time_", "end_", "operations"), "--column NAME=time_s, or end_date"),
    ]
    if set(COUNTS) & set(meanings):
        lacking[1:] = [(f"the {name} of a request", (name,), f"--column NAME={name}") for name in COUNTS]
    guesses = "; ".join(f"{name}: {guess.meaning} ({guess.why})" for name, guess in found.items())
    problems = [
        Problem(str(log), f"a column that says {what}", guesses[:400], f"Say which: {remedy}.")
        for what, names, remedy in lacking
        if not any(meaning.startswith(names) for meaning in meanings)
    ]
    if like is None and "partition" in meanings:
        remedy = "Give --like SCENARIO.yaml, which names the partitions and their nodes."
        problems.append(Problem("--column", "no partition, as the datacenter is made for the log", "one", remedy))
    if problems:
        raise InputError(problems)


def _findings(source: TableSource, found: Mapping[str, Guess], match: Mapping[str, object], kept: str) -> list[Finding]:
    """Return the doubtful guesses and the findings about the jobs' demands."""
    findings = []
    if doubtful := [name for name, guess in found.items() if guess.is_doubtful]:
        findings.append(Finding("columns", f"in doubt, marked above: {', '.join(doubtful)}", True, {"names": doubtful}))
    if not match.keys() & {"cores", "gpus", "total_gpus", *GENERAL_LEAD, *COUNTS}:
        words = "no column says how many cores or GPUs: each job takes one"
        findings.append(Finding("size of jobs", words, True))
    for name, guess in found.items():
        if guess.meaning == f"memory_{SLURM}":
            size = slurm_bytes(source.columns[name], "1.0")
            counts = f"count(*) FILTER ({size} = 0) AS n, count(*) FILTER ({size} > 0) AS n_others"
            (n,), (n_others,) = source.query(f"SELECT {counts} FROM {source.sql} WHERE {kept}").values()
            if n and n_others:
                words = f"{n:,} jobs ask for all of a node (0): they hold as much as the largest other job"
                findings.append(Finding("memory", words, True, {"all_of_a_node": int(n)}))
    return findings


def _lines(source: TableSource, kept: str, first_line: int) -> list[int]:
    """Return the log's line of each kept row."""
    rows = f"(SELECT *, row_number() OVER () - 1 AS _row FROM {source.sql})"
    found = source.query(f"SELECT _row + {first_line} AS line FROM {rows} WHERE {kept} ORDER BY _row")
    return list(found["line"].tolist())


def _time_zone(columns: Sequence[Column], found: Mapping[str, Guess]) -> str:
    """Describe the time zone of a log's dates; empty if it has no dates."""
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
    """Write the kept rows unchanged."""
    select = ", ".join(f"{cell} AS {name_of(name)}" for name, cell in source.columns.items())
    to = text_of(file_of(output))
    query = f"COPY (SELECT {select} FROM {source.sql} WHERE {kept}) TO {to} (FORMAT csv, HEADER true)"
    run(output, query, "a file that can be written")
