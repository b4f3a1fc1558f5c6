"""The page of two sweeps: the differences of their studies, and of their numbers at common points."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.results.folder import STUDY
from vinesim.formats.results.table import Table
from vinesim.formats.source.units import axis_label
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.metrics.numbers import shown_number
from vinesim.model.errors import InputError, Problem
from vinesim.model.titles import number_title
from vinesim.pages.sweep import first_numbers
from vinesim.pages.two_runs import names_of, settings_table
from vinesim.report.breakdown import compared_of
from vinesim.report.markup import Content, Section, counted, note, notice, table
from vinesim.studies.compare import Comparison, Correction, compare
from vinesim.studies.labels import axes_of_jobs, by_label
from vinesim.studies.sweep import Sweep, read_sweep
from vinesim.studies.sweep_notes import notes_of_both

BY = "sweep"
MAX_ROWS = 200  # pairs per number


def two_sweeps_page(first: Path, second: Path) -> Content:
    """Build the page of the sweeps in two folders. Raises :class:`~vinesim.model.errors.InputError`."""
    names = names_of(first, second)
    sweeps = [read_sweep(folder) for folder in (first, second)]
    settings = [_settings(folder) for folder in (first, second)]
    compared = compared_sweeps(names, sweeps)
    rule = (
        "Runs with the same seed are compared in pairs. Intervals are corrected for all points of a number "
        "(Bonferroni), as vinesim compare does: those of one number hold together at 95 %."
    )
    said = "".join(map(notice, notes_of_both(dict(zip(names, sweeps, strict=True)))))
    html = said + note(rule) + "".join(_pairs(names, found) for found in compared)
    sections = [
        Section("settings", "What differs", settings_table(names, *settings)),
        Section("numbers", "Numbers", html),
    ]
    if parts := _by_labels(names, sweeps):
        sections.append(Section("breakdown", "Whose jobs", parts))
    return Content(
        title=f"How do {names[0]} and {names[1]} differ?",
        lead=f"{counted(len(compared), 'number')} at {counted(len(compared[0].pairs), 'point')} that both sweeps have",
        sections=sections,
        data={},
        scripts=(),
    )


def compared_sweeps(
    names: Sequence[str],
    sweeps: Sequence[Sweep],
    wanted: Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    better: str | None = None,
    correction: Correction = "bonferroni",
) -> list[Comparison]:
    """Compare two sweeps at their common points, in their common numbers among ``wanted`` (default: those of a page).

    The other arguments are as for :func:`~vinesim.studies.compare.compare`. Raises :class:`InputError`.
    """
    if wanted is None:
        wanted = first_numbers(*(name for sweep in sweeps for name in sweep.study.record))
    axes = [[name for axis in sweep.study.axes for name in axis.columns] for sweep in sweeps]
    if set(axes[0]) != set(axes[1]):
        found = f"{', '.join(axes[0]) or 'none'}; {', '.join(axes[1]) or 'none'}"
        raise InputError([Problem("the sweeps", "the same axes in both", found)])
    tables = [sweep.table for sweep in sweeps]
    shared = [name for name in wanted if all(name in one for one in tables)]
    rows = [_points(one, axes[0]) for one in tables]
    common = set(rows[0]) & set(rows[1])
    if not common or not shared:
        what = "a point that both have" if shared else f"a number that both have, such as {wanted[0]}"
        raise InputError([Problem("the sweeps", what, "none")])
    kept = [np.array([row in common for row in of], bool) for of in rows]
    joined = {
        name: np.concatenate([one[name][mine] for one, mine in zip(tables, kept, strict=True)])
        for name in (*axes[0], "seed", "exit_reason", *shared)
        if all(name in one for one in tables)
    }
    label = np.repeat(np.array(names, object), [int(mine.sum()) for mine in kept])
    both = Table({BY: label, **joined})
    given: dict[str, Any] = {"confidence": confidence, "better": better, "correction": correction}
    return [compare(both, BY, name, axes=(*axes[0], BY), **given) for name in shared]


def _by_labels(names: list[str], sweeps: list[Sweep]) -> str:
    """Build the tables by user, size and other axes that both sweeps recorded; empty if there are none."""
    text, there = "", axes_of_jobs(sweeps[1].study.record)
    for axis in [axis for axis in axes_of_jobs(sweeps[0].study.record) if axis in there]:
        labelled = [by_label(sweep, axis) for sweep in sweeps]
        if all(axis in sweep.study.columns for sweep in labelled):
            wanted = compared_of([sweep.table for sweep in labelled])
            text += "".join(_pairs(names, found) for found in compared_sweeps(names, labelled, wanted))
    return text


def _points(rows: Table, axes: list[str]) -> list[tuple[Any, ...]]:
    """Return the labels of each row on the axes."""
    return list(zip(*(rows[name].tolist() for name in axes), strict=True)) or [()] * rows.n_rows


def _settings(folder: Path) -> dict[str, str]:
    """Return the settings of a study by dotted key."""
    return dict(_flat("", YamlSource(folder / STUDY).data))


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        inner = [item for name, one in value.items() for item in _flat(f"{key}.{name}" if key else str(name), one)]
        return inner or [(key, "none")]
    if isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        return [item for i, one in enumerate(value) for item in _flat(f"{key}[{i}]", one)]
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return [(key, text)]


def _pairs(names: list[str], found: Comparison) -> str:
    """Build the table of one number: a row per point."""
    title = number_title(found.of)
    rows = []
    for pair in found.pairs[:MAX_ROWS]:
        at = ", ".join(f"{name} = {axis_label(name, label)}" for name, label in pair.point.items()) or "all runs"
        shown = [shown_number(found.of, x) for x in (pair.first_mean, pair.second_mean, pair.difference.estimate)]
        low, high = (shown_number(found.of, value) for value in (pair.difference.low, pair.difference.high))
        verdict = f"{pair.better} is better" if pair.better else "they differ" if pair.significant else "unclear"
        verdict = "stalled" if pair.stalled else "equal" if pair.is_equal else verdict
        rows.append([at, *shown, f"{low} to {high}" if pair.difference.n > 1 else "-", str(pair.difference.n), verdict])
    head = ["", *names, "difference", "95 % interval", "seeds", "verdict"]
    left = len(found.pairs) - len(rows)
    return table(title.words, head, rows, has_texts=True) + (note(f"{left:,} more points.") if left else "")
