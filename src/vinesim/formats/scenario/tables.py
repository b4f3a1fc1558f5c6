"""Convert the tables of a scenario file (affinity, power, overhead), which use names, to arrays by code."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vinesim.formats.papers.tables import read_affinity, read_power
from vinesim.formats.scenario.names import Names, read, unknown_rows
from vinesim.formats.scenario.type_parts import AffinityPart, ConsolidatedTimesPart, ProcessorTypePart
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model import affinity as affinity_table
from vinesim.model.catalog import PROCESSOR_TYPES, TASK_TYPES, codes_of
from vinesim.model.consolidation import times_of_sizes
from vinesim.model.errors import InputError
from vinesim.model.speed_curves import ANY_TASK

FORMS = ("absolute", "peak", "times")


def affinity(
    source: YamlSource, part: AffinityPart | None, names: Names, own: np.ndarray | None, used: Sequence[str]
) -> np.ndarray | None:
    """Return operations per us [P, T]; None if the section is invalid.

    ``own`` is the table of a generator that adds its own types; ``used`` are the processor types in the datacenter,
    each of which needs a row.
    """
    n_before = source.n_problems
    part = part or AffinityPart.model_validate({})
    if part.file is not None:
        shape = (len(names.processors), len(names.tasks))
        return read(source, ("affinity", "file"), names.folder / part.file, read_affinity, *shape)
    table, has_row = _base(part, names, own)
    codes = codes_of(names.processors)
    for form in FORMS:
        rows = getattr(part, form) or {}
        unknown_rows(source, ("affinity", form), rows, names)
        for name, row in rows.items():
            if name not in codes:
                spread(source, ("affinity", form, name), row, names)
            else:
                code = codes[name]
                others = [f for f in FORMS if f != form and name in (getattr(part, f) or {})]
                if others and form > others[0]:
                    source.add(("affinity", form, name), "each type in one of " + ", ".join(FORMS), "it in two of them")
                table[code] = _affinity_row(source, ("affinity", form, name), form, row, names)
                if name in names.resources and table[code].any():
                    remedy = "Write it under units if it runs tasks."
                    found = "operations per us of one"
                    source.add(("affinity", form, name), "a type that is no resource of a node", found, remedy)
                has_row[code] = True
    for name in used:
        if not has_row[codes[name]]:
            remedy = f"Give one, as {{absolute: {{{name}: {{{names.task_names[0]}: 1000}}}}}}; {{}} if it runs nothing."
            source.add(("affinity",), f"a row for the processor type {name}", "none", remedy)
    return table if source.n_problems == n_before else None


def _base(part: AffinityPart, names: Names, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the table before the document's rows are applied, and the types for which it has a row."""
    n = len(names.processors)
    if own is not None:
        return padded(own, n), np.ones(n, bool)
    table, has_row = np.zeros((n, len(names.tasks))), np.zeros(n, bool)
    has_row[[name in names.resources for name in names.processor_names]] = True
    if part.table != "none":
        tasks = [t.name for t in TASK_TYPES]
        built_in = dict(zip([p.name for p in PROCESSOR_TYPES], affinity_table.table_1(), strict=True))
        for code, name in enumerate(names.processor_names):
            if name in built_in:
                has_row[code] = True
                row = dict(zip(tasks, built_in[name], strict=True))
                table[code] = [row.get(task, 0.0) for task in names.task_names]
    return table, has_row


def padded(table: np.ndarray, n_types: int) -> np.ndarray:
    """Return a copy of a table by processor type with rows of 0 for the resources, which are the last types."""
    return np.pad(table, ((0, max(0, n_types - len(table))), (0, 0)))


def _affinity_row(
    source: YamlSource, path: tuple[str, ...], form: str, row: Mapping[str, float], names: Names
) -> np.ndarray:
    values = spread(source, path, row, names)
    given = np.nan_to_num(values)
    try:
        if form == "times":
            with np.errstate(over="ignore"):
                return affinity_table.from_times(given[None, :])[0]
        if form == "peak":
            if np.isnan(values[0]) or (ANY_TASK in row and names.task_names[0] not in row):
                first = names.task_names[0]
                source.add(path, f"{first}: the peak, operations per us", "none", f"The others are factors of {first}.")
                return given
            return affinity_table.from_peak(given[None, :])[0]
    except InputError:
        source.add(path, "finite operations per us", "a value out of range", "Check the unit.")
    return given


def table(
    source: YamlSource, name: str, part: Any, names: Names, must_have: np.ndarray | None = None
) -> np.ndarray | None:
    """Return a table [P, T] of power (W) or overhead (us); None if there is none or it is invalid.

    ``must_have`` [P, T] says where a value is required; elsewhere a missing value is 0.
    """
    if part is None:
        return None
    if part.file is not None:
        shape = (len(names.processors), len(names.tasks))
        return read(source, (name, "file"), names.folder / part.file, read_power, *shape)
    unknown_rows(source, (name,), part.rows, names)
    result = np.full((len(names.processors), len(names.tasks)), np.nan)
    for p, processor in enumerate(names.processor_names):
        if processor in part.rows:
            result[p] = spread(source, (name, processor), part.rows[processor], names)
    if must_have is not None:
        for code in np.flatnonzero((np.isnan(result) & must_have).any(axis=1)):
            missing = [names.task_names[t] for t in np.flatnonzero(np.isnan(result[code]) & must_have[code])]
            processor = names.processor_names[code]
            path = (name, processor) if processor in part.rows else (name,)
            source.add(path, f"a value of {processor} for {', '.join(missing)}", "none", "Or give one for all.")
    return np.nan_to_num(result)


def spread(source: YamlSource, path: tuple[str, ...], row: Mapping[str, float], names: Names) -> np.ndarray:
    """Return a row by name as [T]; NaN where it has no value."""
    values = np.full(len(names.tasks), row.get(ANY_TASK, np.nan))
    codes = codes_of(names.tasks)
    for task, value in row.items():
        if task in codes:
            values[codes[task]] = value
        elif task != ANY_TASK:
            source.add_unknown((*path, task), names.task_names, "a task type")
    return values


def check_task_types(source: YamlSource, parts: Sequence[ProcessorTypePart] | None, names: Names) -> None:
    """Report the task types of rates and of steps that do not exist."""
    for i, part in enumerate(parts or []):
        steps = () if part.batching is None else part.batching.step
        for place, named in ((("rates",), part.rates or ()), (("batching", "step"), steps)):
            for task_type in named:
                if task_type != ANY_TASK and task_type not in names.task_names:
                    source.add_unknown(("processor_types", i, *place, task_type), names.task_names, "a task type")


def consolidated(
    source: YamlSource, part: ConsolidatedTimesPart | None, names: Names, affinity: np.ndarray | None
) -> np.ndarray | None:
    """Return the times of consolidated tasks [P, T, B], NaN beyond the end of each table; None without tables.

    A row for any task type applies to those that the processor type can run.
    """
    if part is None:
        return None
    name = "consolidated_times"
    unknown_rows(source, (name,), part.rows, names)
    found: dict[tuple[int, int], np.ndarray] = {}
    for p, processor in enumerate(names.processor_names):
        for task, sizes in part.rows.get(processor, {}).items():
            if task not in names.task_names and task != ANY_TASK:
                source.add_unknown((name, processor, task), names.task_names, "a task type")
                continue
            times = times_of_sizes(sorted(sizes), [sizes[n] for n in sorted(sizes)], is_linear=part.between == "linear")
            for t, known in enumerate(names.task_names):
                may_run = affinity is None or affinity[p, t] > 0
                if task == known and not may_run:
                    source.add((name, processor, task), "a task type that it can run", "affinity 0")
                if task == known or (task == ANY_TASK and known not in part.rows[processor] and may_run):
                    found[p, t] = times
    largest = max((len(times) for times in found.values()), default=0)
    result = np.full((len(names.processors), len(names.tasks), largest), np.nan)
    for (p, t), times in found.items():
        result[p, t, : len(times)] = times
    return result if found else None
