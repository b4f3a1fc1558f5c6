"""Serving engines in a scenario file: processor types with ``batching``, and the time of a step with its profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.scenario.declared import declared_by
from vinesim.formats.scenario.keys import moved
from vinesim.formats.scenario.names import Names, read
from vinesim.formats.scenario.step_parts import StepPart, StepProfilePart
from vinesim.formats.scenario.type_parts import BatchingPart, ProcessorTypePart
from vinesim.formats.source.csv_rows import read_csv_rows
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.attention_grid import MOST_POINTS, attention_grid, axes_of
from vinesim.model.batching import Batching
from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.speed_curves import ANY_TASK
from vinesim.model.step_times import AXES, NO_TABLE, Exchange, StepProfile, StepTime

Curves = Mapping[str, tuple[np.ndarray, np.ndarray]]  # of each layer: increasing numbers, and times, us
ATTENTION = "attention"  # counts as a layer
MOST_NUMBER = 1_000_000_000


def with_batching(source: YamlSource, parts: Sequence[ProcessorTypePart] | None, names: Names) -> Names:
    """Return the names with the batching of their processor types; problems are added to the source."""
    processors = {one.name: one for one in names.processors}
    for i, part in enumerate(parts or []):
        if part.batching is None or part.name not in processors:
            continue
        path = ("processor_types", i, "batching")
        batching = _batching(source, path, part.batching, names)
        try:
            processors[part.name] = replace(processors[part.name], batching=batching)
        except InputError as error:
            source.adopt(error, path)
    return replace(names, processors=tuple(processors.values()))


def _batching(source: YamlSource, path: Steps, part: BatchingPart, names: Names) -> Batching | None:
    steps = {}
    for name, step in part.step.items():
        at = (*path, "step") if name == ANY_TASK and len(part.step) == 1 else (*path, "step", name)
        found = step_time(source, at, step, names.folder)
        if found is None:
            return None
        steps[name] = found
    given = declared_by(part, Batching) | {"step": steps[ANY_TASK] if list(steps) == [ANY_TASK] else steps}
    n_bytes = given.get("token_bytes", 0.0)
    return Batching(**given | {"token_bytes": int(n_bytes) if n_bytes.is_integer() else n_bytes})


def step_time(source: YamlSource, path: Steps, part: StepPart, folder: Path) -> StepTime | None:
    """Return the step time at ``path``; None if it is invalid, with its problems added to the source."""
    profile = None
    if part.profile is not None:
        profile = _profile(source, (*path, "profile"), part.profile, folder)
        if profile is None:
            return None
    given = part.exchange
    exchange = None if given is None else Exchange(given.base, given.token, given.times)
    return StepTime(part.base, part.prefill_token, part.sequence, part.memory_token, profile, exchange)


def read_profile(path: Path) -> tuple[dict[str, Any], StepProfile]:
    """Return the section ``profile``, the only one of a file, and the profile. Raises :class:`InputError`."""
    source = YamlSource(path)
    part = checked_part(source, (), StepProfilePart, source.data)
    profile = None if part is None else _profile(source, (), part, path.parent)
    source.raise_if_any()
    assert profile is not None
    return source.data, profile


def moved_profile(section: Mapping[str, Any], file: Path, folder: Path) -> dict[str, Any]:
    """Return a file's section with its file names relative to another folder."""
    return dict(moved(section, ("processor_types",), file.parent, folder))


def _profile(source: YamlSource, path: Steps, part: StepProfilePart, folder: Path) -> StepProfile | None:
    n_before = source.n_problems
    dense: Curves = {}
    by_sequence: Curves = {}
    attention = None
    if part.dense_file is not None:
        dense = read(source, (*path, "dense_file"), folder / part.dense_file, read_layers, "tokens") or {}
    if part.per_sequence_file is not None:
        file = folder / part.per_sequence_file
        by_sequence = read(source, (*path, "per_sequence_file"), file, read_layers, "sequences") or {}
    if part.attention_file is not None:
        attention = read(source, (*path, "attention_file"), folder / part.attention_file, read_attention)
    if source.n_problems > n_before:
        return None
    known = [*dense, *by_sequence, *([] if attention is None else [ATTENTION])]
    for name in part.repeats:
        if name not in known:
            source.add_unknown((*path, "repeats", name), known, "a layer")
    if source.n_problems > n_before:
        return None
    tokens = _sum(dense, {name: part.repeats.get(name, part.layers) for name in dense})
    sequences = _sum(by_sequence, {name: part.repeats.get(name, 1) for name in by_sequence})
    axes, times_us = ((NO_TABLE,) * 4, np.zeros((1, 1, 1, 1))) if attention is None else attention
    return StepProfile(*tokens, *sequences, axes, times_us * part.repeats.get(ATTENTION, part.layers))


def _sum(curves: Curves, repeats: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Add up the curves of all layers: return their numbers, up to the end of the shortest curve, and total times.

    Each layer's time is interpolated linearly.
    """
    if not curves:
        return NO_TABLE, np.zeros(1)
    numbers = np.unique(np.concatenate([x for x, _ in curves.values()]))
    numbers = numbers[numbers <= min(x[-1] for x, _ in curves.values())]
    return numbers, sum(repeats[name] * np.interp(numbers, x, us) for name, (x, us) in curves.items())


def read_layers(path: Path, column: str) -> Curves:
    """Read the times of layers by number of tokens or sequences (``column``). Raises :class:`InputError`."""
    found = read_csv_rows(path, ("layer", column, "time_us"))
    curves: dict[str, dict[float, float]] = {}
    for line, row in found.rows:
        number = found.number(line, column, row[column], least=1, most=MOST_NUMBER, is_whole=True)
        time_us = found.number(line, "time_us", row["time_us"], least=0)
        found.check_name(line, "layer", row["layer"])
        times = curves.setdefault(row["layer"], {})
        if number in times:
            found.add(line, f"each number of {column} of a layer once", f"{row['layer']}, {number:g} again")
        times[number] = time_us
    found.raise_problems()
    rising = {name: sorted(times.items()) for name, times in curves.items()}
    return {
        name: (np.array([n for n, _ in pairs]), np.array([us for _, us in pairs])) for name, pairs in rising.items()
    }


def read_attention(path: Path) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Read the axes and the times of attention, with its gaps filled. Raises :class:`InputError`."""
    found = read_csv_rows(path, (*AXES, "time_us"))
    lines: dict[tuple[float, ...], int] = {}
    times_us = []
    for line, row in found.rows:
        point = tuple(found.number(line, name, row[name], least=0, most=MOST_NUMBER) for name in AXES)
        if point in lines:
            found.add(line, "each point once", f"that of line {lines[point]} again")
        lines[point] = line
        times_us.append(found.number(line, "time_us", row["time_us"], least=0))
    found.raise_problems()
    points = np.array(list(lines))
    n_points = np.prod([len(axis) for axis in axes_of(points)], dtype=np.float64)
    if n_points > MOST_POINTS:
        expected = f"points on a grid of at most {MOST_POINTS:,}"
        remedy = "Measure at the same numbers again and again, such as powers of 2."
        raise InputError([Problem(str(path), expected, f"numbers that span one of {n_points:,.0f}", remedy)])
    grid = attention_grid(points, np.array(times_us))
    if np.isnan(grid).any():
        expected = "at least two numbers along each column, measured with each other"
        raise InputError([Problem(str(path), expected, f"{np.isnan(grid).sum():,} of {grid.size:,} points unknown")])
    return axes_of(points), grid
