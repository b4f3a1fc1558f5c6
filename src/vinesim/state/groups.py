"""Groups of tasks that a policy need not distinguish: the first pending task of each stands for all.

A policy declares by what groups differ. The pending tasks of a group are chained in the order of their numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vinesim.model.catalog import ANY_PROCESSOR
from vinesim.model.reservation import admission_of_jobs
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PREFERENCE
from vinesim.state.demand import demands
from vinesim.state.demand_classes import DemandClasses, coded, first_rows
from vinesim.state.gangs import gang_codes
from vinesim.state.partitions import Quotas

GROUP_KEYS = (
    "task_type",
    "preferred_type",
    "data_node",
    "data_rack",
    "application",
    "requests",
    "priority",
    "user",
    "demand",
)


def number_groups(
    scenario: Scenario,
    keys: Sequence[str],
    data_node: np.ndarray | None,
    classes: DemandClasses | None,
    quotas: Quotas | None,
) -> dict[str, np.ndarray]:
    """Number the groups of tasks that the keys distinguish, and chain the tasks of each.

    Returns the columns of the model; none by task if there is one group only. ``data_node`` is [N].
    """
    work, by = scenario.workload, {"gang", "account", "admission", *keys}

    def of_tasks(of_jobs: np.ndarray) -> np.ndarray:
        return np.repeat(of_jobs, np.diff(work.job_first))

    if unknown := set(keys) - set(GROUP_KEYS):
        raise ValueError(f"unknown group keys {sorted(unknown)}; known: {', '.join(GROUP_KEYS)}")
    wanted = _wanted_types(scenario) if "preferred_type" in by else None
    application = None if work.application is None or "application" not in by else of_tasks(work.application)
    requests = coded(list(work.requests.values())) if work.requests and "requests" in by else None
    admission = admission_of_jobs(scenario.reservations, work)
    columns: dict[str, Callable[[], Any]] = {
        "preferred_type": lambda: wanted,
        "data_node": lambda: data_node,
        "data_rack": lambda: None if data_node is None else work.data_rack,
        "application": lambda: application,
        "priority": lambda: None if work.priority is None else of_tasks(coded([work.priority])),
        "user": lambda: None if work.user is None else of_tasks(work.user),
        "demand": lambda: demands(work) if classes is None else None,
        "requests": lambda: requests,
        "gang": lambda: gang_codes(work, classes, requests),
        "account": lambda: None if quotas is None else of_tasks(quotas.columns["job_account"] + 1),
        "admission": lambda: of_tasks(admission) if len(admission) else None,
    }
    made = [make() for name, make in columns.items() if name in by]
    distinguishing = [column for column in made if column is not None]
    kinds = work.job_task_type if classes is None else classes.of_task
    is_by_job = classes is None and not distinguishing
    if classes is None and not is_by_job:
        kinds = of_tasks(kinds)
    group = coded([*reversed(distinguishing), kinds])
    first = first_rows(group)
    of_groups = {
        "group_task_type": kinds[first].astype(np.int32),
        "group_preferred": _of_first(wanted, first, NO_PREFERENCE),
        "group_application": _of_first(application, first, -1),
    }
    if len(first) == 1:
        return of_groups
    if is_by_job:
        group = of_tasks(group)
    return {"task_group": group, "task_next": _following(group, len(first)), **of_groups}


def _wanted_types(scenario: Scenario) -> np.ndarray:
    """[N] the processor type that each task prefers, or NO_PREFERENCE."""
    wanted = scenario.workload.preferred_type
    names = [p.name for p in scenario.datacenter.processor_types]
    if ANY_PROCESSOR not in names:
        return wanted
    return np.where(wanted == names.index(ANY_PROCESSOR), wanted.dtype.type(NO_PREFERENCE), wanted)


def _of_first(column: np.ndarray | None, first: np.ndarray, none: int) -> np.ndarray:
    """[G] int32: what the first task of each group has, or that it does not count."""
    return np.full(len(first), none, np.int32) if column is None else column[first].astype(np.int32)


def _following(group: np.ndarray, n_groups: int) -> np.ndarray:
    """[N] int32: the next task of each task's group, in the order of their numbers; N after the last one."""
    n_tasks = len(group)
    small = np.uint16 if n_groups < 2**16 else np.int32  # 16-bit keys are sorted by radix
    by_group = np.argsort(group.astype(small), kind="stable").astype(np.int32)
    following = np.full(n_tasks, n_tasks, np.int32)
    same = group[by_group[1:]] == group[by_group[:-1]]
    following[by_group[:-1][same]] = by_group[1:][same]
    return following
