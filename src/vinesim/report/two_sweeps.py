"""The page of two sweeps: what differs in their studies, and in the numbers of the points that both have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.source.yaml_source import YamlSource
from vinesim.metrics.numbers import shown_number
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import Table
from vinesim.model.titles import number_title
from vinesim.report.markup import Content, Section, note, table
from vinesim.report.sweep import FIRST
from vinesim.report.two_runs import names_of, settings_table
from vinesim.studies.compare import Comparison, compare
from vinesim.studies.damage import STUDY
from vinesim.studies.sweep import Sweep, read_sweep

BY = "sweep"
MAX_ROWS = 200  # pairs per number


def two_sweeps_page(first: Path, second: Path) -> Content:
    """Read the folders of two sweeps. Raises :class:`~vinesim.model.errors.InputError`."""
    names = names_of(first, second)
    sweeps = [read_sweep(folder) for folder in (first, second)]
    settings = [_settings(folder) for folder in (first, second)]
    compared = compared_sweeps(names, sweeps)
    rule = (
        "Runs with the same seed are compared in pairs. Intervals are corrected for all points of a number "
        "(Bonferroni), as vinesim compare does: those of one number hold together at 95 %."
    )
    html = note(rule) + "".join(_pairs(names, found) for found in compared)
    return Content(
        title=f"{names[0]} and {names[1]}",
        lead=f"{len(compared)} numbers at {len(compared[0].pairs):,} points that both sweeps have",
        sections=[
            Section("settings", "What differs", settings_table(names, *settings)),
            Section("numbers", "Numbers", html),
        ],
        data={},
        scripts=(),
    )


def compared_sweeps(names: list[str], sweeps: list[Sweep]) -> list[Comparison]:
    """Compare two sweeps at the points that both have, in the numbers that both have. Raises :class:`InputError`."""
    axes = [[name for axis in sweep.study.axes for name in axis.columns] for sweep in sweeps]
    if set(axes[0]) != set(axes[1]):
        found = f"{', '.join(axes[0]) or 'none'}; {', '.join(axes[1]) or 'none'}"
        raise InputError([Problem("vinesim report", "sweeps with the same axes", found)])
    tables = [sweep.table for sweep in sweeps]
    wanted = [name for name in FIRST if all(name in one for one in tables)]
    rows = [_points(one, axes[0]) for one in tables]
    common = set(rows[0]) & set(rows[1])
    if not common or not wanted:
        what = "a point that both have" if wanted else "a number that both have"
        raise InputError([Problem("vinesim report", what, "none")])
    kept = [np.array([row in common for row in of], bool) for of in rows]
    joined = {
        name: np.concatenate([one[name][mine] for one, mine in zip(tables, kept, strict=True)])
        for name in (*axes[0], "seed", *wanted)
    }
    label = np.repeat(np.array(names, object), [int(mine.sum()) for mine in kept])
    both = Table({BY: label, **joined})
    return [compare(both, BY, name, axes=(*axes[0], BY)) for name in wanted]


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
        at = ", ".join(f"{name} = {label}" for name, label in pair.point.items()) or "all runs"
        shown = [shown_number(found.of, x) for x in (pair.first_mean, pair.second_mean, pair.difference.estimate)]
        low, high = (shown_number(found.of, value) for value in (pair.difference.low, pair.difference.high))
        verdict = f"{pair.better} is better" if pair.better else "they differ" if pair.significant else "unclear"
        verdict = "equal" if pair.is_equal else verdict
        rows.append([at, *shown, f"{low} to {high}" if pair.difference.n > 1 else "-", str(pair.difference.n), verdict])
    head = ["", *names, "difference", "95 % interval", "seeds", "verdict"]
    left = len(found.pairs) - len(rows)
    return table(title.words, head, rows, has_texts=True) + (note(f"{left:,} more points.") if left else "")
