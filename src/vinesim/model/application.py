"""Client-server applications: what each registers with the scheduler, and the resulting deadlines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vinesim.model.arrays import distinct
from vinesim.model.attributes import ABOVE_0, Rule, attribute, wrong_attributes
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.scalars import is_number
from vinesim.model.workload import Workload

AT_LEAST_1 = Rule("a whole number, 1 or more", lambda value: is_number(value) and 1 <= value < 2**31 and value % 1 == 0)


@dataclass(frozen=True)
class Application:
    """An application as it registers: its requests are the jobs of the workload with its name.

    Source: Symphony paper, Table I (newAppRegistration).
    """

    # fmt: off
    name: str = field(metadata=attribute("Its name in the workload."))
    relative_deadline_us: float = field(metadata=attribute("A request is due this long after its arrival.", ABOVE_0))
    per_size: bool = field(default=False, metadata=attribute(
        "Whether relative_deadline is per unit of size (operations)."))
    average_load: float = field(default=1.0, metadata=attribute("Requests per second that it expects.", ABOVE_0))
    max_consolidated: int = field(default=1, metadata=attribute("Requests that it can consolidate: MAX_A.", AT_LEAST_1))
    nodes: Sequence[tuple[int, int]] = field(default=(), metadata=attribute(  # (rack, shelf)
        "Nodes that hold its data; by default all."))
    gang_size: int = field(default=1, metadata=attribute(
        "Nodes that a request needs at once: it has this many tasks, on one processor type.", AT_LEAST_1))
    # fmt: on

    def __post_init__(self) -> None:
        where = ("applications", self.name)
        problems = wrong_attributes(where, self)
        nodes = tuple((int(rack), int(shelf)) for rack, shelf in self.nodes)
        if len(set(nodes)) < len(nodes):
            problems.append(Problem((*where, "nodes"), "each node once", f"{len(nodes) - len(set(nodes))} again"))
        if not problems and nodes and len(nodes) < self.gang_size:
            problems.append(Problem((*where, "nodes"), f"{self.gang_size} or more, one per task", f"{len(nodes)}"))
        if problems:
            raise InputError(problems)
        object.__setattr__(self, "nodes", nodes)


def with_deadlines(work: Workload, applications: Sequence[Application]) -> Workload:
    """The workload with the deadlines of its applications; unchanged if it has its own deadlines.

    The size of a request is the operations of its largest task. Jobs of an application that is not listed have none.
    """
    if work.deadline_us is not None or not applications or work.application is None:
        return work
    listed = listed_by_code(work, applications)
    response = np.array([math.inf if a is None else a.relative_deadline_us for a in listed])
    per_size = np.array([a is not None and a.per_size for a in listed])
    is_single = work.n_jobs == work.n_tasks
    size = work.operations if is_single else np.maximum.reduceat(work.operations, work.job_first[:-1])
    due = due_us(work.arrival_us, response[work.application], per_size[work.application], size)
    return replace(work, deadline_us=due)


def due_us(arrival_us: Any, relative_deadline_us: Any, per_size: Any, size: Any) -> Any:
    """Return when requests are due: a time after they arrive, or a time per unit of size. Numbers or arrays, us."""
    return arrival_us + relative_deadline_us * np.where(per_size, size, 1.0)


def listed_by_code(work: Workload, applications: Sequence[Application]) -> list[Application | None]:
    """The application of each of the workload's codes; None where it is not listed."""
    by_name = {a.name: a for a in applications}
    return [by_name.get(name) for name in application_names(work)]


def requests_on_nodes(work: Workload, applications: Sequence[Application], groups: Sequence[str]) -> np.ndarray | None:
    """[J] bool: the requests on several nodes that are gangs; None if there are none. They are gangs for a policy whose
    ``groups`` name ``application``, and jobs like others for the rest."""
    if "application" not in groups or work.application is None or not applications:
        return None
    is_on_several = [a is not None and a.gang_size > 1 for a in listed_by_code(work, applications)]
    found = np.array(is_on_several, bool)[work.application]
    return found if found.any() else None


def application_names(work: Workload) -> list[str]:
    """The name of each of the workload's application codes."""
    if work.application is None:
        return list(work.application_names)
    n = max(len(work.application_names), int(work.application.max()) + 1)
    return [*work.application_names, *map(str, range(len(work.application_names), n))]


def nodes_by_type(center: Datacenter, application: Application | None) -> np.ndarray:
    """[P] how many of the application's nodes have a unit of each processor type."""
    place = center.rack.astype(np.int64) * center.n_shelves + center.shelf
    kind = center.unit_type
    if application is not None and application.nodes:
        inside = np.isin(place, [rack * center.n_shelves + shelf for rack, shelf in application.nodes])
        place, kind = place[inside], kind[inside]
    n_types = len(center.processor_types)
    return np.bincount(distinct(place * n_types + kind) % n_types, minlength=n_types)


def wrong_applications(
    work: Workload, applications: Sequence[Application], center: Datacenter, affinity: np.ndarray
) -> list[Problem]:
    """What is wrong with applications for a workload, a datacenter and the affinities [P, T]."""
    problems, names = [], [a.name for a in applications]
    are_named = any(application.nodes for application in applications)
    places = set(zip(center.rack.tolist(), center.shelf.tolist(), strict=True)) if are_named else set()
    for i, application in enumerate(applications):
        if application.name in names[:i]:
            problems.append(Problem(("applications", i), "each application once", repr(application.name)))
        for rack, shelf in application.nodes:
            if (rack, shelf) not in places:
                expected = "a node of the datacenter with a unit"
                problems.append(Problem(("applications", i, "nodes"), expected, f"rack {rack}, shelf {shelf}"))
    if work.application is None:
        problems.append(Problem(("applications",), "a workload whose jobs have applications", "none has one"))
        return problems
    n_types = len(work.task_types)
    found = np.bincount(work.application * np.int64(n_types) + work.job_task_type)
    kinds = np.pad(found, (0, -len(found) % n_types)).reshape(-1, n_types) > 0  # [A, T]
    tasks = np.diff(work.job_first)
    listed = listed_by_code(work, applications)
    for code, name in enumerate(application_names(work)):
        one = listed[code]
        if code >= len(kinds) or not kinds[code].any():
            continue
        if one is None:
            problems.append(Problem(("applications",), f"an entry for {name!r}, which the workload has", "none"))
            continue
        if kinds[code].sum() > 1:
            problems.append(Problem(("applications", name), "requests of one task type", "several"))
        able = affinity[:, kinds[code]].min(axis=1) > 0
        n_nodes = nodes_by_type(center, one)[able].max(initial=0)
        if n_nodes < one.gang_size:
            expected = f"{one.gang_size} of its nodes with a unit of one type that can run it"
            problems.append(Problem(("applications", name), expected, f"{n_nodes}"))
        if one.gang_size > 1:
            n = distinct(tasks[work.application == code])
            if (n != one.gang_size).any():
                expected = f"requests of {one.gang_size} tasks, one a node"
                problems.append(Problem(("applications", name), expected, ", ".join(map(str, n[:5]))))
    return problems
