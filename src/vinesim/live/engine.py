"""Which decision component serves a cluster: compiled where the policy allows it, else the plain one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.live.decider import usable
from vinesim.live.decisions import Decisions, SchedulerDecisions
from vinesim.live.registration import Cluster
from vinesim.model.cluster import Cluster as ClusterFile
from vinesim.model.cluster import LiveEngine
from vinesim.model.errors import InputError, Problem
from vinesim.policies.contract import OnlinePolicy, title_of
from vinesim.policies.registry import resolve
from vinesim.state.scratch import FACTOR


def check_policy(policy: Any, options: Mapping[str, Any], engine: LiveEngine) -> None:
    """Raise :class:`InputError` for a policy that is unknown, that cannot decide without knowing the workload, or that
    does not run in this engine."""
    chosen = usable(resolve(policy, options))
    why = why_plain(chosen)
    if engine == "compiled" and why:
        remedy = "Leave engine: out, then the manager runs it as plain Python."
        raise InputError([Problem(("engine",), "a policy that a live scheduler can compile", why, remedy)])


def component(file: ClusterFile) -> Decisions:
    """Return the decision component of a cluster. A policy is compiled here, not while requests wait."""
    policy = usable(resolve(file.policy, file.options))
    cluster = Cluster(file.datacenter, file.task_types, file.affinity, file.overhead_us, file.seed)
    why = "the cluster file says so" if file.engine == "reference" else why_plain(policy)
    if why:
        return SchedulerDecisions(cluster, policy, why)
    from vinesim.live.compiled import CompiledDecisions  # loads the compiler

    return CompiledDecisions(cluster, policy)


def why_plain(policy: OnlinePolicy) -> str:
    """Return why a policy cannot be compiled for a stream without end; empty if it can."""
    name = title_of(policy)
    if not policy.compiled:
        return f"{name} declares compiled = False"
    products = [array for array, (_, size) in policy.scratch.items() if not can_move(size)]
    if products:
        return f"{name} has scratch of a size that is not a fixed number for each task: {', '.join(products)}"
    if policy.task_numbers is None:
        unsaid = [array for array, (dtype, _) in policy.scratch.items() if np.dtype(dtype).kind in "iu"]
        if unsaid:
            return f"{name} does not declare task_numbers, and its scratch has whole numbers: {', '.join(unsaid)}"
    return ""


def can_move(size: str) -> bool:
    """Whether scratch of that size can be moved to other numbers of tasks: ``tasks`` first, then plain numbers."""
    first, *others = size.split(FACTOR)
    if first in ("tasks", "jobs"):
        return all(other.isdecimal() for other in others)
    return size in ("queue", "held") or {"tasks", "jobs", "queue", "held"}.isdisjoint(others)
