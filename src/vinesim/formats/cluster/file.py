"""Convert a cluster file (YAML) to a :class:`~vinesim.model.cluster.Cluster`, or report everything wrong with it."""

import importlib.util
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from vinesim.formats.cluster.document import NODE_NAME, NODE_NAME_IN_WORDS, REQUIRED, ClusterDocument
from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.names import Names, names_of
from vinesim.formats.scenario.policy_name import Check, policy_name
from vinesim.formats.scenario.tables import affinity, table
from vinesim.formats.source.document import checked, refuse_another
from vinesim.formats.source.quantities import size_bytes
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.cluster import Cluster, Limits, LiveApplication, NodeSpec
from vinesim.model.errors import InputError
from vinesim.model.workload import ONE_SLOT, WHOLE_UNIT

OF_PROGRAMS = ("manager", "supervisor")  # reserved: the names of logs
CheckPolicy = Callable[..., object]  # checks a policy, its options and the engine


def read_cluster(
    path: str | os.PathLike[str],
    check_policy: CheckPolicy | None = None,
    folder: Path | None = None,
) -> Cluster:
    """Read a cluster file. Its file names start from ``folder``, by default its own.

    ``check_policy(policy, options, engine)`` adds its problems. Raises :class:`InputError`.
    """
    source = YamlSource(path, what="a cluster")
    refuse_another(path, source.data, "a cluster")
    document, bad = checked(source, ClusterDocument, REQUIRED)
    folder = Path(path).parent if folder is None else folder
    names = _names(source, document, bad, folder)
    nodes = _nodes(source, document, names)
    limits = _limits(source, document)
    applications = _applications(source, document, names)
    known = [] if names is None else names.processor_names
    used = sorted({kind for node in nodes for kind in node.units if kind in known})
    speeds = None if names is None or "affinity" in bad else affinity(source, document.affinity, names, None, used)
    overhead = None if names is None else table(source, "overhead", document.overhead, names)
    check: Check | None = None
    if check_policy is not None and not {"policy", "options", "engine"} & bad:
        check = partial(check_policy, engine=document.engine)
    policy = policy_name(source, document.policy, document.options, folder.resolve(), check)
    kernels = _kernels(source, document, folder)
    source.raise_if_any()
    assert names is not None
    assert speeds is not None
    return Cluster(
        processor_types=names.processors,
        task_types=names.tasks,
        affinity=speeds,
        overhead_us=overhead,
        nodes=nodes,
        applications=applications,
        kernels=kernels,
        policy=policy,
        options=document.options,
        engine=document.engine,
        limits=limits,
        seed=document.seed,
        host=document.host,
        address=document.address,
    )


def _names(source: YamlSource, document: ClusterDocument, bad: set[str], folder: Path) -> Names | None:
    """Return the types by code, read like those of a scenario file."""
    if {"processor_types", "task_types"} & bad:
        return None
    tasks = document.task_types or list(dict.fromkeys(a.task_type or a.name for a in document.applications))
    if not tasks:
        source.add(("task_types",), "at least one task type, or an application", "nothing", "Add task_types:.")
        return None
    for i, part in enumerate(document.processor_types or []):
        if part.batching is not None:
            expected = "none: a live scheduler starts tasks on units; a serving engine schedules its requests itself"
            source.add(("processor_types", i, "batching"), expected, "batching", "Give it a capacity instead.")
    sections = {"extends": "none", "processor_types": document.processor_types, "task_types": tasks}
    types = ScenarioDocument.model_validate(sections)
    return names_of(source, types, folder)


def _nodes(source: YamlSource, document: ClusterDocument, names: Names | None) -> tuple[NodeSpec, ...]:
    found: list[NodeSpec] = []
    for i, part in enumerate(document.nodes or []):
        if names is not None:
            for kind in part.units:
                if kind not in names.processor_names:
                    source.add_unknown(("nodes", i, "units", kind), names.processor_names, "a processor type")
        shelf = i if part.shelf is None else part.shelf
        if any(one.name == part.name for one in found):
            source.add(("nodes", i, "name"), "each name once", f"{part.name!r} again")
        if (expected := expected_name(part.name)) is not None:
            source.add(("nodes", i, "name"), expected, repr(part.name))
        if any((one.rack, one.shelf) == (part.rack, shelf) for one in found):
            source.add(("nodes", i), "each rack and shelf once", f"rack {part.rack}, shelf {shelf} again")
        units = tuple(kind for kind, n in part.units.items() for _ in range(n))
        for kind, gpus in part.gpus.items():
            if kind not in part.units:
                source.add_unknown(("nodes", i, "gpus", kind), list(part.units), "a type of the node's units")
            elif len(gpus) != part.units[kind]:
                source.add(("nodes", i, "gpus", kind), f"one for each of {part.units[kind]} units", f"{len(gpus)}")
        all_gpus = tuple(str(one) for kind, n in part.units.items() for one in part.gpus.get(kind, [""] * n))
        found.append(NodeSpec(part.name, part.rack, shelf, units, part.removed, all_gpus))
    return tuple(found)


def expected_name(name: str) -> str | None:
    """Return what a node's name must be, in words; None if it is valid."""
    if not re.fullmatch(NODE_NAME, name):
        return NODE_NAME_IN_WORDS
    return f"a name other than {' and '.join(OF_PROGRAMS)}" if name in OF_PROGRAMS else None


def _applications(source: YamlSource, document: ClusterDocument, names: Names | None) -> tuple[LiveApplication, ...]:
    found: list[LiveApplication] = []
    for i, part in enumerate(document.applications):
        kind = part.task_type or part.name
        if names is not None and kind not in names.task_names:
            key = "name" if part.task_type is None else "task_type"
            source.add_unknown(("applications", i, key), names.task_names, "a task type", value=kind)
        if any(one.application.name == part.name for one in found):
            source.add(("applications", i, "name"), "each name once", f"{part.name!r} again")
        try:
            demand = WHOLE_UNIT if part.demand == "whole" else float(part.demand) if part.demand != 1.0 else ONE_SLOT
            found.append(LiveApplication(part.application(), part.kernel or part.name.lower(), kind, demand))
        except InputError as error:
            source.adopt(error, ("applications", i))
    return tuple(found)


def _limits(source: YamlSource, document: ClusterDocument) -> Limits:
    part = document.limits
    given: dict[str, Any] = {"lease_us": document.lease, "grace_us": document.grace}
    if part.payload is not None:
        try:
            given["payload_bytes"] = int(size_bytes(part.payload))
        except InputError as error:
            (problem,) = error.problems
            source.add(("limits", "payload"), problem.expected, problem.found, problem.remedy)
    given |= {name: getattr(part, name) for name in ("pending", "attempts") if getattr(part, name) is not None}
    if part.kernel is not None:
        given["kernel_us"] = part.kernel
    return Limits(**given)


def _kernels(source: YamlSource, document: ClusterDocument, folder: Path) -> str:
    name = document.kernels or ""
    if name.endswith(".py"):
        if not (folder / name).is_file():
            source.add(("kernels",), "a Python file", f"no file {folder / name}", "Start at the cluster file's folder.")
        return str((folder / name).resolve())
    try:
        is_there = not name or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        is_there = False
    if not is_there:
        source.add(("kernels",), "a Python file (name.py) or a module that can be imported", repr(name))
    return name
