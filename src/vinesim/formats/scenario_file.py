"""The scenario file (YAML): from its text to a :class:`~vinesim.model.scenario.Scenario`, or all that is wrong with it.

What may stand in it is declared in ``scenario_document``; ``scenario_schema`` is that as JSON Schema, for editors.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from vinesim.formats.network import read_network
from vinesim.formats.scenario_datacenter import data_nodes, datacenter
from vinesim.formats.scenario_document import REQUIRED, NetworkPart, ScenarioDocument, scenario_schema
from vinesim.formats.scenario_tables import Names, affinity, priced, processor_types, read, table, task_types
from vinesim.formats.scenario_workload import Workloads
from vinesim.formats.yaml_source import YamlSource, shown
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError
from vinesim.model.network import PAPER, PRESETS, Network
from vinesim.model.scenario import Scenario

__all__ = ["read_scenario", "scenario_schema"]

_EXPECTED = {
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
    "too_short": "at least one",
}
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_SECTIONS = {"sampling_us": "sampling", "horizon_us": "horizon", "overhead_us": "overhead", "power_w": "power"}


def read_scenario(
    path: str | os.PathLike[str],
    overrides: Iterable[str] = (),
    *,
    check_policy: Callable[[Any, Mapping[str, Any]], object] | None = None,
) -> Scenario:
    """The scenario of a YAML file; file names in it start from its folder.

    ``overrides`` are ``key=value`` changes, as ``arrivals.iat=5`` or ``datacenter.racks[0].units.GPU=30``, the value in
    YAML. ``check_policy(policy, options)`` is called too, so that its :class:`InputError` comes with the others.
    Raises :class:`InputError` with file, line and column of every problem.
    """
    source = YamlSource(path, overrides)
    document, bad = _document(source)
    builder = _Builder(source, document, bad, Path(path).parent)
    scenario = builder.scenario(check_policy)
    source.raise_if_any()
    assert scenario is not None
    return scenario


def _document(source: YamlSource) -> tuple[ScenarioDocument, set[str]]:
    """The document without its wrong sections, and the names of those."""
    if not isinstance(source.data, dict):
        source.add((), "a mapping of " + ", ".join(REQUIRED) + " and more", shown(source.data))
        source.raise_if_any()
    data, bad = dict(source.data), set()
    for name in REQUIRED:
        if data.get(name) is None:
            source.add((name,), _meaning(ScenarioDocument, name), "nothing", f"Add {name}:.")
            bad.add(name)
            data.pop(name, None)
    try:
        return ScenarioDocument.model_validate(data), bad
    except ValidationError as errors:
        for error in errors.errors(include_url=False):
            _explain(source, error)
            bad.add(str(error["loc"][0]))
    return ScenarioDocument.model_validate({k: v for k, v in data.items() if k not in bad}), bad


def _explain(source: YamlSource, error: Any) -> None:
    """Note what pydantic found, in the words of the document."""
    kind, context, path = error["type"], error.get("ctx", {}), _existing(source.data, error["loc"])
    if kind == "extra_forbidden":
        part = _part_at(error["loc"][:-1])
        source.add_unknown(path, part.model_fields if part else (), "a key")
    elif kind == "missing":
        part = _part_at(error["loc"][:-1])
        name = str(error["loc"][-1])
        source.add((*path, name), _meaning(part, name) if part else "a value", "nothing", f"Add {name}:.")
    elif kind == "problem":
        source.add(path, context["expected"], context["found"], context["remedy"])
    elif kind == "literal_error":
        names = [name.strip("'") for name in context["expected"].replace(" or ", ", ").split(", ")]
        source.add(path, "one of " + ", ".join(names), shown(error["input"]))
    else:
        limits = [f"{words} {context[key]:g}" for key, words in _LIMITS.items() if key in context]
        source.add(path, _EXPECTED.get(kind) or " ".join(limits) or error["msg"], shown(error["input"]))


def _meaning(part: type[BaseModel], name: str) -> str:
    text = str(part.model_fields[name].description).rstrip(".")
    return text[:1].lower() + text[1:]


def _existing(data: Any, location: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The part of pydantic's location that is in the data; the rest are names of its own."""
    path: list[str | int] = []
    for step in location:
        is_item = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if not (is_item or (isinstance(data, dict) and step in data)):
            break
        data = data[step]
        path.append(step)
    return tuple(path)


def _part_at(location: tuple[str | int, ...]) -> type[BaseModel] | None:
    """The class of the mapping at a location of the document."""
    part: Any = ScenarioDocument
    for step in location:
        if isinstance(step, int):
            continue
        if not (isinstance(part, type) and issubclass(part, BaseModel) and step in part.model_fields):
            return None
        part = next(iter(_parts_in(part.model_fields[step].annotation)), None)
    return part


def _parts_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [part for argument in get_args(annotation) for part in _parts_in(argument)]


class _Builder:
    """Builds the scenario section by section; a section that needs a wrong one is left out."""

    def __init__(self, source: YamlSource, document: ScenarioDocument, bad: set[str], folder: Path):
        self.source, self.document, self.bad, self.folder = source, document, bad, folder

    def scenario(self, check_policy: Callable[[Any, Mapping[str, Any]], object] | None) -> Scenario | None:
        """The scenario; None when there are problems."""
        source, document = self.source, self.document
        policy = self._policy(check_policy)
        network = self._network()
        if {"processor_types", "task_types", "extends"} & self.bad:  # whatever names one cannot be checked
            Workloads(source, document, self.bad, Names((), (), self.folder)).check_options()
            return None
        names = Names(processor_types(source, document), task_types(source, document), self.folder)
        workloads = Workloads(source, document, self.bad, names)
        names = workloads.names  # with the types that a generator brings
        names = replace(names, processors=priced(source, document.prices, names))
        center = None if document.datacenter is None else datacenter(source, document.datacenter, names)
        workloads.build(None if center is None else data_nodes(center))
        names = replace(workloads.names, processors=names.processors)
        used = [] if center is None else list(center.count_by_type())
        fits = None
        if "affinity" not in self.bad and workloads.types_are_known:
            fits = affinity(source, document.affinity, names, workloads.affinity, used)
        work = workloads.finished(center, fits)
        must_have = None
        if center is not None and work is not None and fits is not None:
            must_have = _in_use(center, work.job_task_type, fits)
        power = table(source, "power", document.power, names, must_have)
        overhead = table(source, "overhead", document.overhead, names)
        if source.n_problems or center is None or work is None or fits is None:
            return None
        try:
            return Scenario(
                datacenter=center,
                workload=work,
                policy=policy,
                options=document.options,
                affinity=fits,
                overhead_us=overhead,
                power_w=power,
                network=network,
                sampling_us=document.sampling,
                horizon_us=float("inf") if document.horizon is None else document.horizon,
                seed=document.seed,
            )
        except InputError as error:
            self._adopt(error)
            return None

    def _policy(self, check: Callable[[Any, Mapping[str, Any]], object] | None) -> str:
        name = self.document.policy
        file, colon, cls = name.rpartition(":") if ".py:" in name else (name, "", "")
        if file.endswith(".py"):
            path = self.folder / file
            name = f"{path}{colon}{cls}"
            if not path.is_file():
                self.source.add(("policy",), "a Python file", f"no file {path}", "Names start at the scenario file.")
                return name
        if check is not None and not {"policy", "options"} & self.bad:
            try:
                check(name, self.document.options)
            except InputError as error:
                for problem in error.problems:
                    option = problem.where.removeprefix("policy.options.")
                    steps = ("options", option) if option in self.document.options else ("policy",)
                    self.source.add(steps, problem.expected, problem.found, problem.remedy)
        return name

    def _network(self) -> Network:
        part: NetworkPart | None = self.document.network
        if part is None:
            return PAPER
        if part.file is not None:
            path = self.folder / part.file
            network = read(self.source, ("network", "file"), path, lambda p: read_network(Path(os.path.abspath(p))))
            network = network or PAPER
        else:
            given = part.model_fields_set - {"preset", "file"}
            values = {"hop_latency_us" if name == "hop_latency" else name: getattr(part, name) for name in given}
            for name in ("hop_latency", "hops_intra", "hops_inter"):
                if name in given and getattr(part, name) is None:
                    self.source.add(("network", name), "a number", "nothing", "Leave the key out for the preset's.")
                    return PAPER
            network = replace(PRESETS[part.preset], **values)
        return network

    def _adopt(self, error: InputError) -> None:
        """Pass on what the model found in the parts together, at the section that it is about."""
        for problem in error.problems:
            name = problem.where.split(".")[0].split("[")[0]
            section = _SECTIONS.get(name, name)
            self.source.adopt(InputError([problem]), (section,))


def _in_use(center: Datacenter, job_task_type: np.ndarray, fits: np.ndarray) -> np.ndarray:
    """Whether a unit of the type may run a task of the type in this scenario, [P, T]."""
    result = np.zeros(fits.shape, bool)
    result[np.ix_(np.unique(center.unit_type), np.unique(job_task_type))] = True
    return result & (fits > 0)
