"""The processor and task types of a scenario file by name and code, with prices; and the files that it names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vinesim.formats.papers.prices import read_prices
from vinesim.formats.scenario.declared import declared_by
from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.servers import SUFFIXES, resources_in, types_with_powers
from vinesim.formats.scenario.type_parts import PricesPart, ProcessorTypePart
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.catalog import (
    PROCESSOR_TYPES,
    SERVER_TASK_TYPES,
    SERVER_TYPES,
    TASK_TYPES,
    ProcessorType,
    TaskType,
    codes_of,
)
from vinesim.model.errors import InputError, Steps
from vinesim.workloads.registry import known_generator
from vinesim.workloads.spec import GeneratorSpec


@dataclass(frozen=True)
class Names:
    """The types by code, and the folder that file names are relative to."""

    processors: tuple[ProcessorType, ...]
    tasks: tuple[TaskType, ...]
    folder: Path
    resources: tuple[str, ...] = ()  # resources of nodes, such as memory: types that run nothing, at the end

    @property
    def processor_names(self) -> list[str]:
        """Names of the processor types, by code."""
        return [p.name for p in self.processors]

    @property
    def task_names(self) -> list[str]:
        """Names of the task types, by code."""
        return [t.name for t in self.tasks]


def names_of(source: YamlSource, document: ScenarioDocument, folder: Path) -> Names:
    """Return the types by code: those of the generator if it brings its own, otherwise those of the document."""
    names = Names(_processor_types(source, document), _task_types(source, document), folder)
    spec = generator_with_types(document, folder)
    if spec is not None:
        names = replace(names, processors=tuple(spec.processor_types or ()), tasks=tuple(spec.task_types or ()))
    names = _with_resources(names, document)
    file = None if document.datacenter is None else document.datacenter.file
    if file is not None and file.endswith(SUFFIXES):
        types = read(source, ("datacenter", "file"), names.folder / file, types_with_powers, names.processors)
        names = replace(names, processors=types or names.processors)
    return replace(names, processors=_priced(source, document.prices, names))


def _with_resources(names: Names, document: ScenarioDocument) -> Names:
    """Add a processor type for each resource of the nodes, unless the document lists one of that name."""
    listed = {part.name for part in document.processor_types or []}
    part = document.datacenter
    wanted = [] if part is None else part.resources
    if part is not None and part.file is not None and part.file.endswith(SUFFIXES):
        wanted += resources_in(names.folder / part.file)
    added = [name for name in wanted if name not in names.processor_names]
    resources = tuple(name for name in wanted if name in added or name in listed)
    return replace(names, processors=(*names.processors, *map(ProcessorType, added)), resources=resources)


def generator_with_types(document: ScenarioDocument, folder: Path) -> GeneratorSpec | None:
    """Return the generator whose types the scenario uses; None if it adds none or the document lists types."""
    part = document.workload
    spec = None if part is None or part.generator is None else known_generator(part.generator, folder)
    return spec if spec is not None and spec.processor_types and document.processor_types is None else None


def _processor_types(source: YamlSource, document: ScenarioDocument) -> tuple[ProcessorType, ...]:
    """Return the built-in types with the listed ones replacing them or added after them; codes follow this order."""
    parts = document.processor_types
    built_in = SERVER_TYPES if document.extends == "servers" else PROCESSOR_TYPES
    if parts is None:
        return built_in
    types = {} if document.extends == "none" else {p.name: p for p in built_in}
    _check_once(source, [(("processor_types", i, "name"), part.name) for i, part in enumerate(parts)])
    types.update({part.name: _processor_type(source, i, part) for i, part in enumerate(parts)})
    return tuple(types.values())


def _processor_type(source: YamlSource, i: int, part: ProcessorTypePart) -> ProcessorType:
    """Return the type that a part describes. Invalid speeds are left out, and their problems added."""
    given = declared_by(part, ProcessorType)
    given.pop("batching", None)  # with_batching adds it, once all types are known
    speeds = {name: given.pop(name) for name in ("parallelism", "rates") if name in given}
    plain = ProcessorType(**given)
    try:
        return replace(plain, **speeds)
    except InputError as error:
        source.adopt(error, ("processor_types", i, "rates"))
        return plain


def _task_types(source: YamlSource, document: ScenarioDocument) -> tuple[TaskType, ...]:
    """Return the built-in task types, then the listed ones."""
    names = document.task_types
    built_in = SERVER_TASK_TYPES if document.extends == "servers" else TASK_TYPES
    if names is None:
        return built_in
    types = {} if document.extends == "none" else {t.name: t for t in built_in}
    _check_once(source, [(("task_types", i), name) for i, name in enumerate(names)])
    for name in names:
        types.setdefault(name, TaskType(name))
    return tuple(types.values())


def _check_once(source: YamlSource, names: Sequence[tuple[Steps, str]]) -> None:
    """Add a problem for each repeated name; ``names`` have their places."""
    seen: set[str] = set()
    for place, name in names:
        if name in seen:
            source.add(place, "each type once", repr(name), "Keep one.")
        seen.add(name)


def _priced(source: YamlSource, part: PricesPart | None, names: Names) -> tuple[ProcessorType, ...]:
    """Return the processor types with the prices of the price list, which override their own."""
    if part is None:
        return names.processors
    if part.file is not None:
        by_code = read(source, ("prices", "file"), names.folder / part.file, read_prices, names.processors) or {}
    else:
        codes = codes_of(names.processors)
        by_code = {codes[name]: price for name, price in part.rows.items() if name in codes}
        unknown_rows(source, ("prices",), part.rows, names)
    return tuple(replace(p, price=by_code.get(code, p.price)) for code, p in enumerate(names.processors))


def read(source: YamlSource, path: Steps, file: Path, reader: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return a reader's result for a file; None, with the problems added, if it raises :class:`InputError`."""
    try:
        return reader(file, *args, **kwargs)
    except InputError as error:
        source.adopt(error, path, file)
        return None


def unknown_rows(source: YamlSource, path: tuple[str, ...], rows: Mapping[str, Any], names: Names) -> None:
    """Report the rows of a table whose name is not a processor type."""
    for name in rows:
        if name not in names.processor_names:
            source.add_unknown((*path, name), names.processor_names, "a processor type")
