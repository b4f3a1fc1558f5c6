"""The scenario file's types and tables: affinity, power, overhead and prices by name, turned into arrays by code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity, read_power
from vinesim.formats.scenario.document import ANY_TASK, AffinityPart, PricesPart, ProcessorTypePart, ScenarioDocument
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model import affinity as affinity_table
from vinesim.model.catalog import (
    PROCESSOR_TYPES,
    SERVER_TASK_TYPES,
    SERVER_TYPES,
    TASK_TYPES,
    ProcessorType,
    TaskType,
)
from vinesim.model.errors import InputError

FORMS = ("absolute", "peak", "times")


@dataclass(frozen=True)
class Names:
    """The types by code, and the folder that file names are relative to."""

    processors: tuple[ProcessorType, ...]
    tasks: tuple[TaskType, ...]
    folder: Path

    @property
    def processor_names(self) -> list[str]:
        """Names of the processor types, by code."""
        return [p.name for p in self.processors]

    @property
    def task_names(self) -> list[str]:
        """Names of the task types, by code."""
        return [t.name for t in self.tasks]


def processor_types(source: YamlSource, document: ScenarioDocument) -> tuple[ProcessorType, ...]:
    """Return the built-in types with the listed ones replacing them or added after them; codes follow this order."""
    parts = document.processor_types
    built_in = SERVER_TYPES if document.extends == "servers" else PROCESSOR_TYPES
    if parts is None:
        return built_in
    types = {} if document.extends == "none" else {p.name: p for p in built_in}
    seen: set[str] = set()
    for i, part in enumerate(parts):
        if part.name in seen:
            source.add(("processor_types", i, "name"), "each type once", repr(part.name), "Keep one.")
        seen.add(part.name)
        types[part.name] = _processor_type(part)
    return tuple(types.values())


def _processor_type(part: ProcessorTypePart) -> ProcessorType:
    return ProcessorType(
        name=part.name,
        price=part.price,
        idle_power_w=part.idle_power,
        dynamic_power_w=part.dynamic_power,
        sleep_power_w=part.sleep_power,
        power_curve_w=None if part.power_curve is None else tuple(part.power_curve),
        capacity=part.capacity,
        parallelism=part.parallelism,
        attributes=part.attributes,
    )


def task_types(source: YamlSource, document: ScenarioDocument) -> tuple[TaskType, ...]:
    """Return the built-in task types, then the listed ones."""
    names = document.task_types
    built_in = SERVER_TASK_TYPES if document.extends == "servers" else TASK_TYPES
    if names is None:
        return built_in
    types = {} if document.extends == "none" else {t.name: t for t in built_in}
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            source.add(("task_types", i), "each type once", repr(name), "Keep one.")
        seen.add(name)
        types.setdefault(name, TaskType(name))
    return tuple(types.values())


def priced(source: YamlSource, part: PricesPart | None, names: Names) -> tuple[ProcessorType, ...]:
    """Return the processor types with the prices of the price list, which override their own."""
    if part is None:
        return names.processors
    if part.file is not None:
        by_code = read(source, ("prices", "file"), names.folder / part.file, read_prices, names.processors) or {}
    else:
        codes = {name: code for code, name in enumerate(names.processor_names)}
        by_code = {codes[name]: price for name, price in part.rows.items() if name in codes}
        _unknown_rows(source, ("prices",), part.rows, names)
    return tuple(replace(p, price=by_code.get(code, p.price)) for code, p in enumerate(names.processors))


def affinity(
    source: YamlSource, part: AffinityPart | None, names: Names, own: np.ndarray | None, used: Sequence[str]
) -> np.ndarray | None:
    """Return operations per us [P, T]; None if the section is wrong.

    ``own`` is the table of a generator that adds its own types; ``used`` are the processor types in the datacenter,
    each of which needs a row.
    """
    n_before = source.n_problems
    part = part or AffinityPart.model_validate({})
    if part.file is not None:
        shape = (len(names.processors), len(names.tasks))
        return read(source, ("affinity", "file"), names.folder / part.file, read_affinity, *shape)
    table, has_row = _base(part, names, own)
    for form in FORMS:
        rows = getattr(part, form) or {}
        _unknown_rows(source, ("affinity", form), rows, names)
        for name, row in rows.items():
            if name not in names.processor_names:
                spread(source, ("affinity", form, name), row, names)
            else:
                code = names.processor_names.index(name)
                others = [f for f in FORMS if f != form and name in (getattr(part, f) or {})]
                if others and form > others[0]:
                    source.add(("affinity", form, name), "each type in one of " + ", ".join(FORMS), "it in two of them")
                table[code] = _affinity_row(source, ("affinity", form, name), form, row, names)
                has_row[code] = True
    for name in used:
        if not has_row[names.processor_names.index(name)]:
            remedy = f"Give one, as {{absolute: {{{name}: {{{names.task_names[0]}: 1000}}}}}}; {{}} if it runs nothing."
            source.add(("affinity",), f"a row for the processor type {name}", "none", remedy)
    return table if source.n_problems == n_before else None


def _base(part: AffinityPart, names: Names, own: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the table before the document's rows are applied, and the types for which it has a row."""
    n = len(names.processors)
    if own is not None:
        return own.copy(), np.ones(n, bool)
    table, has_row = np.zeros((n, len(names.tasks))), np.zeros(n, bool)
    if part.table != "none":
        tasks = [t.name for t in TASK_TYPES]
        built_in = dict(zip([p.name for p in PROCESSOR_TYPES], affinity_table.table_1(), strict=True))
        for code, name in enumerate(names.processor_names):
            if name in built_in:
                has_row[code] = True
                row = dict(zip(tasks, built_in[name], strict=True))
                table[code] = [row.get(task, 0.0) for task in names.task_names]
    return table, has_row


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
    """Return a table [P, T] of power (W) or overhead (us); None if there is none or it is wrong.

    ``must_have`` [P, T] says where a value is required; elsewhere a missing value is 0.
    """
    if part is None:
        return None
    if part.file is not None:
        shape = (len(names.processors), len(names.tasks))
        return read(source, (name, "file"), names.folder / part.file, read_power, *shape)
    _unknown_rows(source, (name,), part.rows, names)
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
    for task, value in row.items():
        if task in names.task_names:
            values[names.task_names.index(task)] = value
        elif task != ANY_TASK:
            source.add_unknown((*path, task), names.task_names, "a task type")
    return values


def read(
    source: YamlSource, path: tuple[str | int, ...], file: Path, reader: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Return what the reader makes of a file; None, with the problems added, if it raises :class:`InputError`."""
    try:
        return reader(file, *args, **kwargs)
    except InputError as error:
        source.adopt(error, path, file)
        return None


def _unknown_rows(source: YamlSource, path: tuple[str, ...], rows: Mapping[str, Any], names: Names) -> None:
    for name in rows:
        if name not in names.processor_names:
            source.add_unknown((*path, name), names.processor_names, "a processor type")
