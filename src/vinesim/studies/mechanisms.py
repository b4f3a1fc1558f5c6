"""The mechanisms of a cluster's model as switches: each returns the scenario without one mechanism.

Switching a mechanism off shows what it contributes to a prediction. Those of the policy ``slurm`` are in its options
and in the attributes of a site's jobs; any scenario may have the others.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vinesim.model.scenario import Scenario

SELDOM_S = 86400.0  # so long between backfill cycles that backfill is off in effect
WEIGHTS = ("assoc", "job_size", "partition", "qos")
LIMITS = re.compile(r"(grp|max)_")
NO_NORMAL = {f"no_normal_{name}": False for name in ("assoc", "part", "qos", "tres")}
Options = Mapping[str, Any]


def without_each(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the scenario without each mechanism that it has, with its name."""
    for name, switch in SWITCHES.items():
        changed = switch(scenario)
        if changed is not None:
            yield name, changed


def without_all(scenario: Scenario) -> Scenario:
    """Return the scenario without any of these mechanisms."""
    for switch in SWITCHES.values():
        scenario = switch(scenario) or scenario
    return scenario


def _options(change: Callable[[Options], Options]) -> Callable[[Scenario], Scenario | None]:
    """Return a switch that changes options of the policy ``slurm``. The switch returns None if nothing changes."""

    def switch(scenario: Scenario) -> Scenario | None:
        if scenario.policy != "slurm":
            return None
        options = dict(scenario.options or {})
        changed = {**options, **change(options)}
        return None if changed == options else replace(scenario, options=changed)

    return switch


def _set(**values: Any) -> Callable[[Scenario], Scenario | None]:
    """Return a switch that sets options that the scenario gives with other values."""
    return _options(lambda options: {name: value for name, value in values.items() if name in options})


def _attributes(*names: str) -> Callable[[Scenario], Scenario | None]:
    """Return a switch that removes attributes from jobs. The switch returns None if no job has them."""

    def switch(scenario: Scenario) -> Scenario | None:
        work = scenario.workload
        found = work.attributes or {}
        if scenario.policy != "slurm" or not any((found[name] >= 0).any() for name in names if name in found):
            return None
        left = {name: np.full_like(codes, -1) if name in names else codes for name, codes in found.items()}
        return replace(scenario, workload=replace(work, attributes=left))

    return switch


def _without(outer: str, *keys: str) -> Callable[[Options], Options]:
    """Return a change that removes keys from each entry of the mapping ``outer``, such as tiers from partitions."""
    return lambda options: {
        outer: {
            name: {word: value for word, value in one.items() if word not in keys}
            for name, one in options.get(outer, {}).items()
        }
    }


def _no_limits(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    return {name: _no_limits(value) for name, value in given.items() if not LIMITS.match(name)}


def _without_limits(outer: str) -> Callable[[Options], Options]:
    return lambda options: {outer: _no_limits(options[outer])} if outer in options else {}


def _outages(scenario: Scenario) -> Scenario | None:
    return replace(scenario, outages=()) if scenario.outages else None


def _cancellations(scenario: Scenario) -> Scenario | None:
    work = scenario.workload
    return None if work.withdraw_us is None else replace(scenario, workload=replace(work, withdraw_us=None))


def _requests(names: str) -> Callable[[Scenario], Scenario | None]:
    """Return a switch that removes the words ``a|b`` from job requests. The switch returns None if no job has them."""

    def switch(scenario: Scenario) -> Scenario | None:
        work = scenario.workload
        words = (work.attribute_words or {}).get("request", ())
        plain = tuple(re.sub(rf" ?\b({names})=\S+", "", word) for word in words)
        if scenario.policy != "slurm" or plain == tuple(words):
            return None
        distinct = tuple(sorted(set(plain)))
        number = np.array([distinct.index(word) for word in plain], np.int32)
        codes = (work.attributes or {})["request"]
        attributes = {**(work.attributes or {}), "request": np.where(codes >= 0, number[codes], -1).astype(np.int32)}
        left = {**(work.attribute_words or {}), "request": distinct}
        return replace(scenario, workload=replace(work, attributes=attributes, attribute_words=left))

    return switch


def _weights(options: Options) -> Options:
    given = {name: 0.0 for kind in WEIGHTS if options.get(name := f"priority_weight_{kind}")}
    return {**given, **({"priority_weight_tres": {}} if options.get("priority_weight_tres") else {})}


SWITCHES: dict[str, Callable[[Scenario], Scenario | None]] = {
    "backfill": _options(lambda options: {"bf_interval": SELDOM_S} if options.get("bf_interval", 1) > 0 else {}),
    "limits on backfill (bf_max_*)": _set(
        bf_max_job_user=0, bf_max_job_part=0, bf_max_job_start=0, bf_max_job_user_part=0, bf_max_job_assoc=0
    ),
    "jobs that keep nothing from others (bf_*_reserve)": _set(
        bf_min_age_reserve=0, bf_min_prio_reserve=0, bf_job_part_count_reserve=0, bf_one_resv_per_job=False
    ),
    "limits on main runs": _set(partition_job_depth=0, sched_max_job_start=0),
    "components tried together (bf_hetjob_prio)": _set(bf_hetjob_prio="off"),
    "age": _set(priority_weight_age=0.0),
    "fair share": _set(priority_weight_fair_share=0.0),
    "billing weights (TRESBillingWeights)": _options(_without("partitions", "tres_billing_weights")),
    "usage factors of QOS": _options(_without("qos", "usage_factor")),
    "other weights of priorities": _options(_weights),
    "flags of priorities (PriorityFlags)": _set(max_tres=False, accrue_always=False, incr_only=False, **NO_NORMAL),
    "nice": _attributes("nice"),
    "tiers of partitions": _options(_without("partitions", "priority_tier")),
    "preemption": _set(preempt_type="none"),
    "grace of preempted jobs": _options(
        lambda options: {**_without("partitions", "grace_time")(options), **_without("qos", "grace_time")(options)}
    ),
    "limits of associations": _options(_without_limits("accounts")),
    "limits of QOS": _options(_without_limits("qos")),
    "QOS of partitions": _options(_without("partitions", "qos")),
    "time limits of partitions": _options(_without("partitions", "max_time")),
    "limits on nodes of partitions": _options(_without("partitions", "min_nodes", "max_nodes", "max_cpus_per_node")),
    "reservations": _options(lambda options: {"reservations": {}} if options.get("reservations") else {}),
    "features": _requests("constraint"),
    "named and excluded nodes": _requests("nodelist|exclude"),
    "least loaded nodes first (LLN)": _options(_without("partitions", "lln")),
    "node weights": _options(_without("nodes", "weight")),
    "heterogeneous jobs": _attributes("component"),
    "dependencies": _attributes("dependency"),
    "limits of arrays (%)": _attributes("throttle"),
    "begin times and holds": _attributes("begin_s"),
    "cancelled jobs": _cancellations,
    "nodes that are down or drained": _outages,
}
