"""Units that accept tasks while they compute another one: what cannot be combined with them."""

import numpy as np

from vinesim.model.errors import Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import OnlinePolicy, Policy, title_of
from vinesim.state.demand import amounts, demands

LEAVE_OUT = "Leave ahead out."


def against_ahead(scenario: Scenario, policy: Policy) -> list[Problem]:
    """Find what is not modelled of units that take tasks ahead."""
    center, work, problems = scenario.datacenter, scenario.workload, []
    type_of_task = np.repeat(work.job_task_type, np.diff(work.job_first))
    for code, one in enumerate(center.processor_types):
        sizes = np.unique(center.unit_capacity[center.unit_type == code])
        if one.ahead == 0 or len(sizes) == 0:
            continue
        where, demand = ("processor_types", one.name, "ahead"), demands(work)[scenario.affinity[code, type_of_task] > 0]
        if one.is_shared:
            problems.append(Problem(where, "0, as its tasks share its speed", str(one.ahead), LEAVE_OUT))
        elif not all((amounts(demand, size) == size).all() for size in sizes):
            remedy = "Let each task take all of it."
            problems.append(Problem(where, "0, as its tasks take parts of a unit", str(one.ahead), remedy))
    others = (
        (("workload",), "tasks that hold several units", work.has_vectors),
        (("workload", "gang_within"), "gangs", work.gang_within is not None),
        (("applications",), "a gang_size above 1", any(one.gang_size > 1 for one in scenario.applications)),
        (("workload", "limit"), "limits", work.limit_us is not None),
        (("workload", "operations"), "tasks without end", bool(np.isinf(work.operations).any())),
        (("outages",), "outages", bool(scenario.outages)),
        (("failures",), "failures", bool(scenario.failures)),
        (("reservations",), "reservations", bool(scenario.reservations)),
        (("datacenter", "power_cap"), "a power cap", center.has_power_caps),
        (("processor_types",), "serving engines", len(scenario.engine_types) > 0),
    )
    problems += [Problem(w, "none, as units take tasks ahead", found, LEAVE_OUT) for w, found, is_so in others if is_so]
    if why := why_not_ahead(policy):
        expected = f"no type with ahead, for the policy {title_of(policy)}, which {why}"
        problems.append(Problem(("processor_types",), expected, "one", "Leave ahead out, or choose another policy."))
    return problems


def why_not_ahead(policy: Policy) -> str:
    """Say why a policy cannot give units tasks while they compute others; "" if it can."""
    if not isinstance(policy, OnlinePolicy):
        return "is a batch policy"
    known = (
        (policy.plans, "plans before the run"),
        (policy.preempts, "preempts tasks"),
        (bool(policy.reserves), "reserves units for when the tasks on them end"),
        (policy.may_overcommit, "may load units beyond their capacity"),
        (not policy.supports_multi_unit_tasks, "does not ask what fits before it starts a task"),
    )
    return next((why for holds, why in known if holds), "")
