"""The page of a sweep, finished or still running: the results that its Parquet files hold at this time."""

import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.folder import REPORT, STUDY
from vinesim.formats.source.database import name_of, pattern_of, reading, text_of
from vinesim.formats.source.files import read_text
from vinesim.formats.source.units import axis_label, displayed_labels, is_number, label_texts
from vinesim.metrics.by import BY
from vinesim.metrics.numbers import in_order
from vinesim.metrics.overload import overload_of_points
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import ExitReason
from vinesim.model.study import OWN_COLUMNS, Study
from vinesim.model.titles import Title, axis_titles, number_title
from vinesim.pages.verdicts import verdicts
from vinesim.report.breakdown import COLUMNS, title_of
from vinesim.report.markup import Content, Section, counted, facts, note, notice, table
from vinesim.report.rounding import rounded
from vinesim.studies.backtest_record import error_note
from vinesim.studies.compare import direction_of
from vinesim.studies.labels import axes_of_jobs, by_label
from vinesim.studies.points import plain
from vinesim.studies.rows import number_columns
from vinesim.studies.same_workload import same_workload
from vinesim.studies.statistics import summarize_points, t_factor
from vinesim.studies.store import open_folder
from vinesim.studies.sweep import read_sweep
from vinesim.studies.sweep_notes import Stalled, equal_words, stalled_note

CONFIDENCE = 0.95
MAX_VALUES = 40_000  # means and half widths on the page
MAX_FAILURES = 50
MAX_AXES = 4  # in the title
MAX_LABELS = 200  # rows of a table of points and labels
FIRST = (
    "jobs.latency_us.mean",
    "jobs.latency_us.p99",
    "utilization.overall",
    "utilization.active.overall",
    "makespan_us",
    "energy_j",
    "energy.cost",
    "cost.purchase",
    "deadlines.missed_pct",
    "serving.first_token_us.p99",
    "serving.token_us.p99",
    "serving.goodput_pct",
    "tasks.latency_us.mean",
)
TWICE = "utilization.allocated."  # repeats `utilization.`


def first_numbers(*record: str) -> list[str]:
    """Return the numbers that a page compares: the usual ones, then those that the studies' ``record`` names."""
    return list(dict.fromkeys((*FIRST, *record)))


@dataclass(frozen=True)
class Points:
    """The results at each point of a study up to now; arrays are [P]."""

    n_runs: np.ndarray
    means: dict[str, np.ndarray]  # by number; NaN without values
    halves: dict[str, np.ndarray]  # half widths of the intervals; NaN with fewer than two values
    left_out: list[str]  # numbers that do not fit on the page
    ended: dict[str, int]  # runs by exit reason, without those that are done or stalled
    stalled: dict[int, Stalled]  # by point
    are_equal: np.ndarray  # whether a point has several runs, all identical


def sweep_page(folder: Path) -> Content:
    """Build the page of the sweep in a folder. Raises :class:`InputError`."""
    found = open_folder(folder)
    study, failures = found.study, found.failed
    confidence = study.until.confidence if study.until is not None else CONFIDENCE
    points = read_points(folder, found.parts, study, confidence)
    n_done = int(points.n_runs.sum())
    sections = [Section("study", "Study", _study(study, points, n_done, len(failures)))]
    if points.means:
        sections.append(Section("curves", "Curves", ""))
        sections.append(Section("points", "Points", ""))
    if text := _by_labels(folder, study) if points.means else "":
        sections.append(Section("jobs", "Jobs by label", text))
    if failures:
        rows = [[run, message] for run, message in list(failures.items())[:MAX_FAILURES]]
        text = table(f"{len(failures):,} runs failed", ["run", "why"], rows, has_texts=True)
        sections.append(Section("failures", "Failures", text))
    source = (
        f'<details class="values"><summary>study.yaml</summary><pre>{escape(read_text(folder / STUDY))}</pre></details>'
    )
    sections.append(Section("provenance", "Provenance", facts(_provenance(study, folder)) + source))
    return Content(
        title=study.description or _question(folder.resolve().name, study),
        lead=f"{counted(study.n_points, 'point')}, {counted(n_done, 'run')} done",
        sections=sections,
        data={"sweep": _data(study, points, confidence) | _more(folder, study, points, confidence)}
        if points.means
        else {},
        scripts=("numbers.js", "sweep.js", "points.js"),
    )


def _question(name: str, study: Study) -> str:
    """Return the question that a sweep answers, as the title of its page."""
    axes = [" and ".join(axis.columns) for axis in study.axes]
    if not 0 < len(axes) <= MAX_AXES:
        return f"Sweep {name}"
    *most, last = axes
    return f"Sweep {name}: what {'do' if most else 'does'} {', '.join(most)}{' and ' * bool(most)}{last} change?"


def _by_labels(folder: Path, study: Study) -> str:
    """Return a table for each axis of the jobs that the study records: the means of each label at each point."""
    axes = axes_of_jobs(study.record)
    if not axes:
        return ""
    sweep, text = read_sweep(folder), ""
    for axis in axes:
        swept = by_label(sweep, axis)
        columns = [*study.columns, axis]
        names = [name for name in COLUMNS if name in swept.table]
        found = summarize_points(swept.table, columns, names)
        means = {name: found[f"{name}.mean"] for name in names}
        titles = [*(axis_titles(list(study.columns))[name].words for name in study.columns), title_of(axis)]
        rows = [
            [
                *(axis_label(name, plain(found[name][i])) for name in columns),
                *(_mean(name, means[name][i]) for name in names),
            ]
            for i in range(min(found.n_rows, MAX_LABELS))
        ]
        text += table(f"By {title_of(axis)}", [*titles, *(COLUMNS[name][0] for name in names)], rows)
        if found.n_rows > MAX_LABELS:
            text += note(f"{found.n_rows - MAX_LABELS:,} more rows: vinesim show {folder.name} --by {axis} --json")
    return text and text + note("Means over the replications, of all jobs: the warm-up is not left out.")


def _mean(name: str, value: float) -> str:
    """Format a mean over replications; the mean of a count may be a fraction."""
    if name in ("jobs", "finished"):
        return f"{value:,.4g}"
    return COLUMNS[name][1](value)


def read_points(folder: Path, files: list[Path], study: Study, confidence: float) -> Points:
    """Return the mean and Student's t interval of every number at every point, over the replications done up to now.

    Source: Law, Simulation Modeling and Analysis, 5th edition, section 9.4.1.
    """
    n_runs = np.zeros(study.n_points, np.int64)
    if not files:
        return Points(n_runs, {}, {}, [], {}, {}, np.zeros(study.n_points, bool))
    with reading(folder / "runs", "Parquet files of a sweep") as connection:
        given = ", ".join(text_of(pattern_of(file)) for file in files)
        source = f"read_parquet([{given}], union_by_name = true)"
        connection.execute(f"CREATE TEMP VIEW every AS SELECT * FROM {source}")  # noqa: S608
        types = {name: kind for name, kind, *_ in connection.execute("DESCRIBE every").fetchall()}
        missing = [name for name in (*OWN_COLUMNS, *study.columns) if name not in types]
        if missing:
            raise InputError([Problem(str(folder / "runs"), f"columns {', '.join(missing)}", ", ".join(types))])
        connection.execute(
            "CREATE TEMP TABLE runs AS "
            "SELECT DISTINCT ON (point, replication) * FROM every WHERE point BETWEEN 0 AND $last",
            {"last": study.n_points - 1},
        )
        own = {*OWN_COLUMNS, *study.columns}
        names = [name for name, kind in types.items() if name not in own and kind == "DOUBLE"]
        names = [name for name in names if not name.startswith((TWICE, BY))]
        names.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), in_order(name)))
        room = max(1, MAX_VALUES // (2 * study.n_points))
        kept, left_out = names[:room], names[room:]
        sums = [f", avg({x}), stddev_samp({x}), count({x})" for x in map(_finite, kept)]
        query = f"SELECT point, count(*){''.join(sums)} FROM runs GROUP BY point"  # noqa: S608
        rows = connection.execute(query).fetchall()
        numbers = [name_of(name) for name in number_columns(types, study.columns)]
        same = [f"min({x}) IS NOT DISTINCT FROM max({x}) AND count({x}) IN (0, count(*))" for x in numbers]
        query = f"SELECT point FROM runs GROUP BY point HAVING count(*) > 1 AND {' AND '.join(same)}"  # noqa: S608
        equal = [point for (point,) in connection.execute(query).fetchall()]
        query = "SELECT exit_reason, count(*) FROM runs GROUP BY ALL ORDER BY ALL"
        ended = dict(connection.execute(query).fetchall()) if "exit_reason" in types else {}
        stalled = _stalled(connection, study) if ended.pop(ExitReason.STALLED, 0) else {}
        ended.pop(ExitReason.ALL_DONE, None)
    means = {name: np.full(study.n_points, np.nan) for name in kept}
    halves = {name: np.full(study.n_points, np.nan) for name in kept}
    for point, count, *values in rows:
        n_runs[point] = count
        for i, name in enumerate(kept):
            mean, deviation, n = values[3 * i : 3 * i + 3]
            if n:
                means[name][point] = mean
            if n > 1:
                halves[name][point] = t_factor(confidence, n - 1) * deviation / math.sqrt(n)
    return Points(n_runs, means, halves, left_out, ended, stalled, np.isin(np.arange(study.n_points), equal))


def _stalled(connection: Any, study: Study) -> dict[int, Stalled]:
    """Return the points with stalled runs, by their numbers, from the table of runs."""
    axes = list(study.columns)
    labels = "".join(f", any_value({name_of(name)})" for name in axes)
    n = f"count(*) FILTER (exit_reason = {text_of(ExitReason.STALLED)})"
    query = f"SELECT point, {n} AS n, count(*){labels} FROM runs GROUP BY point HAVING n > 0 ORDER BY point"  # noqa: S608
    rows = connection.execute(query).fetchall()
    return {point: Stalled(dict(zip(axes, words, strict=True)), n, runs) for point, n, runs, *words in rows}


def _finite(name: str) -> str:
    quoted = name_of(name)
    return f"CASE WHEN isfinite({quoted}) THEN {quoted} END"


def _data(study: Study, points: Points, confidence: float) -> dict[str, Any]:
    titles = axis_titles(list(study.columns))
    axes = []
    for axis in study.axes:
        shown = [_labels(axis.labels, c, titles[column]) for c, column in enumerate(axis.columns)]
        axes.append(
            {
                "columns": list(axis.columns),
                "titles": [titles[column].words for column in axis.columns],
                "units": [unit for _, unit in shown],
                "labels": [labels for labels, _ in shown],
            }
        )
    return {
        "axes": axes,
        "n_runs": points.n_runs.tolist(),
        "stalled": [[point, one.stalled] for point, one in points.stalled.items()],
        "confidence": confidence,
        "numbers": [
            {
                "name": name,
                "title": number_title(name).words,
                "unit": number_title(name).unit,
                "better": direction_of(name),
                "mean": rounded(points.means[name]),
                "half": rounded(points.halves[name], 3),
            }
            for name in points.means
        ],
    }


def _more(folder: Path, study: Study, points: Points, confidence: float) -> dict[str, Any]:
    """Return the verdicts, and the links to single runs: the folder, and the points whose reports are in it."""
    names = [name for name in first_numbers(*study.record) if name in points.means]
    reports = [int(file.parent.name) for file in folder.glob(f"points/*/{REPORT}") if file.parent.name.isdigit()]
    return {
        "folder": folder.resolve().name,
        "reports": sorted(reports),
        "verdicts": verdicts(folder, study, names, confidence),
    }


def _labels(labels: tuple[tuple[Any, ...], ...], column: int, title: Title) -> tuple[list[Any], str]:
    """Return numbers if all labels are numbers, otherwise texts; and the unit of the numbers."""
    values = [label[column] for label in labels]
    if all(is_number(value) and math.isfinite(value) for value in values):
        shown = displayed_labels(title, values)
        return (values if shown.size == 1 else [value / shown.size for value in values]), shown.unit
    return label_texts(title, values)


def _study(study: Study, points: Points, n_done: int, n_failed: int) -> str:
    text = ""
    if study.until is None and n_done < study.n_runs:
        text += notice(f"{n_done:,} of {counted(study.n_runs, 'run')} are done: the curves show these only.")
    if n_failed:
        text += notice(f"{counted(n_failed, 'run')} failed; see Failures.")
    if points.ended:
        early = ", ".join(f"{reason} {n:,}" for reason, n in points.ended.items())
        text += notice(f"Some runs did not finish all tasks: {early}.")
    for said in (
        stalled_note(list(points.stalled.values())),
        overload_of_points(points.means),
        equal_words(points.are_equal[points.n_runs > 0]),
        same_workload(study),
        error_note(study),
    ):
        text += notice(said) if said else ""
    if points.left_out:
        text += notice(f"{len(points.left_out)} numbers do not fit on this page: {', '.join(points.left_out)}.")
    rows, titles = [], axis_titles(list(study.columns))
    for axis in study.axes:
        for c, column in enumerate(axis.columns):
            values, unit = label_texts(titles[column], [label[c] for label in axis.labels])
            shown = ", ".join(values if len(values) <= 12 else [*values[:5], "...", *values[-2:]])
            words = titles[column].words
            rows.append([f"{words}, {unit}" if unit else words, column, f"{len(values)}", shown])
    axes = table("Axes", ["axis", "key", "positions", "values"], rows, has_texts=True)
    return text + (axes if rows else "")


def _provenance(study: Study, folder: Path) -> list[tuple[str, str]]:
    until = study.until
    again = counted(study.replications, "replication") + " per point"
    if until is not None:
        again += (
            f", more until the half width of {until.of} is within {until.ci_width:g} of its mean, "
            f"at most {until.at_most}"
        )
    return [
        ("Folder", folder.resolve().name),
        ("Runs", again),
        ("Seeds", f"from {study.seed}, the same for every point"),
        ("Warm-up", "none" if study.warm_up is None else str(study.warm_up)),
    ]
