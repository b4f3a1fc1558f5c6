"""Whether a cluster can ever start a job as its submission says."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.live.decider import usable
from vinesim.live.manager.refusal import Refusal
from vinesim.live.registration import Cluster as Parts
from vinesim.live.registration import one_request_each, registration
from vinesim.model.application import Application
from vinesim.model.catalog import ProcessorType
from vinesim.model.cluster import Cluster
from vinesim.model.errors import PolicyError
from vinesim.model.result import ExitReason
from vinesim.policies.contract import title_of
from vinesim.policies.declarations import functions_of
from vinesim.policies.registry import resolve
from vinesim.state import queries

NO_DEADLINE_US = 1e15
READ_REQUESTS = {queries.meets, queries.meets_on_type}  # what a policy calls that looks at requests


class JobCheck:
    """Checks the jobs of one cluster."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        self._starts = lru_cache(1000)(partial(_starts, cluster))  # a simulation for each kind of job, not for each job

    def check(self, spec: dict[str, Any]) -> None:
        """Raise :class:`Refusal`, with all that is wrong, for a job that cannot be started, or not as it asks."""
        cluster = self._cluster
        wrong = _wrong_work(spec) + _wrong_type(cluster, spec) + _wrong_requests(cluster, spec)
        if not wrong:
            wrong = _wrong_place(cluster, spec) or self._never_starts(spec)
        if wrong:
            raise Refusal("wrong", "; ".join(wrong))

    def _never_starts(self, spec: dict[str, Any]) -> list[str]:
        """Find out whether the policy starts such a job on the free cluster, if only without its requests: it may want
        another type for it than those that provide them."""
        kind, demand, requests = spec["task_type"], spec["demand"], tuple(sorted(spec["requests"].items()))
        if all(_provides(one, spec["requests"]) for one in _able(self._cluster, spec)):
            return []
        if self._starts(kind, demand, requests) or not self._starts(kind, demand, ()):
            return []
        words, policy = _in_words(spec["requests"]), resolve(self._cluster.policy, self._cluster.options)
        remedy = "Ask for less, or give the job a type that runs only where this is provided"
        return [f"requests: the policy {title_of(policy)} starts no job with {words}, even on a free cluster. {remedy}"]


def _wrong_work(spec: dict[str, Any]) -> list[str]:
    if bool(spec["kernel"]) == bool(spec["commands"]):
        return ["expected a command or a kernel, found both" if spec["kernel"] else "expected a command or a kernel"]
    empty = [on for on, words in spec["commands"].items() if not words]
    return [f"the command for {on}: expected a program, found none" for on in empty]


def _wrong_type(cluster: Cluster, spec: dict[str, Any]) -> list[str]:
    types = [one.name for one in cluster.task_types]
    known = {one.name for one in cluster.processor_types}
    wrong = []
    if spec["task_type"] not in types:
        wrong.append(f"the job's type: expected one of {', '.join(types)}, found {spec['task_type']!r}")
    if unknown := sorted(set(spec["commands"]) - known - {"*"}):
        wrong.append(f"commands: expected the processor types {', '.join(sorted(known))}, found {', '.join(unknown)}")
    return wrong


def _wrong_requests(cluster: Cluster, spec: dict[str, Any]) -> list[str]:
    if not spec["requests"]:
        return []
    known = {name for one in cluster.processor_types for name in one.attributes}
    if unknown := sorted(set(spec["requests"]) - known):
        names = ", ".join(sorted(known)) or "none, as the processor types have no attributes"
        return [f"requests: expected attributes of the processor types ({names}), found {', '.join(unknown)}"]
    policy = resolve(cluster.policy, cluster.options)
    if not looks_at_requests(policy):
        remedy = "Leave them out, or start the cluster with one that does, such as rb_ljf or easy_backfill"
        return [f"requests: the policy {title_of(policy)} does not look at them. {remedy}"]
    return []


def looks_at_requests(policy: Any) -> bool:
    """Whether a policy looks at what tasks request of a processor type."""
    decide = getattr(policy, "decide", None)
    return decide is not None and not READ_REQUESTS.isdisjoint(functions_of(decide))


def _wrong_place(cluster: Cluster, spec: dict[str, Any]) -> list[str]:
    """Find what no node that is there provides."""
    able = _able(cluster, spec)
    if not able:
        return [f"the job's type: no unit of the cluster runs {spec['task_type']}"]
    wrong = []
    if not any(_provides(one, spec["requests"]) for one in able):
        words = _in_words(spec["requests"])
        found = "; ".join(f"{one.name}: {', '.join(f'{k}={v:g}' for k, v in one.attributes.items())}" for one in able)
        wrong.append(f"requests: no unit has {words}. There are {found}")
    largest = max(one.capacity for one in able)
    if spec["demand"] > largest:
        wrong.append(f"demand: expected at most {largest:g}, the largest unit's capacity, found {spec['demand']:g}")
    return wrong + _wrong_commands(cluster, spec)


def _able(cluster: Cluster, spec: dict[str, Any]) -> list[ProcessorType]:
    """Return the types of the nodes that are there which run such a job."""
    kind = _kind_of(cluster, spec)
    there = {name for node in cluster.nodes if not node.is_removed for name in node.units}
    return [
        one
        for p, one in enumerate(cluster.processor_types)
        if one.name in there and np.asarray(cluster.affinity)[p, kind] > 0
    ]


def _kind_of(cluster: Cluster, spec: dict[str, Any]) -> int:
    return [one.name for one in cluster.task_types].index(spec["task_type"])


def _wrong_commands(cluster: Cluster, spec: dict[str, Any]) -> list[str]:
    """Find the types without a command where the policy may start the job, also those of nodes that come later."""
    if not spec["commands"] or "*" in spec["commands"]:
        return []
    kind = _kind_of(cluster, spec)
    lacking = [
        one.name
        for p, one in enumerate(cluster.processor_types)
        if np.asarray(cluster.affinity)[p, kind] > 0
        and _provides(one, spec["requests"])
        and one.name not in spec["commands"]
    ]
    if not lacking:
        return []
    remedy = f"Give one, or give the job a type that runs on {' and '.join(sorted(spec['commands']))} only"
    return [f"commands: expected one for {' and '.join(lacking)} too, where the policy may start it. {remedy}"]


def _starts(cluster: Cluster, kind: str, demand: float, requests: tuple[tuple[str, float], ...]) -> bool:
    """Whether the policy starts such a job on the free cluster; a policy that fails says so where it decides."""
    nodes = [node for node in cluster.nodes if not node.is_removed]
    center = replace(cluster, nodes=tuple(nodes)).datacenter
    parts = Parts(center, cluster.task_types, cluster.affinity, cluster.overhead_us, cluster.seed)
    policy, application = usable(resolve(cluster.policy, cluster.options)), Application("job", NO_DEADLINE_US)
    job = registration(parts, policy, application, kind, demand, dict(requests))
    try:
        done = simulate(one_request_each(parts, [job], policy), engine="reference")
    except PolicyError:
        return True
    return done.exit_reason == ExitReason.ALL_DONE


def _provides(one: ProcessorType, requests: Mapping[str, float]) -> bool:
    """Whether a type provides all of it; as for policies, what it does not have at all does not count."""
    return all(least <= one.attributes.get(name, least) for name, least in requests.items())


def _in_words(requests: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={least:g}" for name, least in requests.items())
