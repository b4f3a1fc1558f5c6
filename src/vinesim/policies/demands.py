"""Whether a policy can run a scenario: what its tasks hold, the capacities of units, and events between decisions."""

from collections.abc import Iterable

from vinesim.model.arrays import distinct
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy, title_of
from vinesim.policies.declarations import functions_of
from vinesim.policies.places_ahead import against_ahead
from vinesim.state import queries
from vinesim.state.demand_classes import shares_speed


def check_demands(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that looks at units in a way that the scenario does not allow."""
    problems, name, remedy = [], title_of(policy), _remedy(policy)
    moves = isinstance(policy, BatchPolicy) and policy.replaces_running
    if scenario.workload.has_vectors and (not policy.supports_multi_unit_tasks or moves):
        expected = f"tasks that hold one unit each, of any type, for the policy {name}"
        work = scenario.workload
        names = ("units", "companions", "lead_types", "partition")
        found = ", ".join(column for column in names if getattr(work, column) is not None)
        problems.append(Problem(("workload",), expected, found, remedy))
    elif scenario.workload.partition is not None and policy.may_overcommit:
        expected = f"jobs without partitions, for the policy {name}, which may load units beyond their capacity"
        problems.append(Problem(("workload", "partition"), expected, "partitions", remedy))
    if not policy.supports_multi_unit_tasks or policy.may_overcommit:
        expected = f"none, for the policy {name}, which does not ask what fits before it starts a task"
        asked = (
            (("datacenter", "power_cap"), "a power cap", scenario.datacenter.has_power_caps),
            (("reservations",), "reservations", bool(scenario.reservations)),
        )
        problems += [Problem(where, expected, found, remedy) for where, found, is_there in asked if is_there]
    by_type = isinstance(policy, BatchPolicy) or not policy.supports_multi_unit_tasks
    if scenario.datacenter.capacity is not None and by_type:
        expected = f"units with the capacity of their type, for the policy {name}"
        problems.append(
            Problem(("datacenter", "capacity"), expected, "their own capacities", "Define a type for each.")
        )
    if policy.may_overcommit and isinstance(policy, OnlinePolicy) and "application" in policy.groups:
        expected = f"requests on one node, for the policy {name}, which may load units beyond their capacity"
        for application in scenario.applications:
            if application.gang_size > 1:
                where, found = ("applications", application.name), f"a gang_size of {application.gang_size}"
                problems.append(Problem(where, expected, found, remedy))
    if scenario.workload.gang_within is not None:
        problems += _against_gangs(scenario, policy)
    if scenario.datacenter.takes_ahead:
        problems += against_ahead(scenario, policy)
    if isinstance(policy, BatchPolicy):
        problems += _against_batch(scenario, policy)
    problems += policy.wrong_scenario(scenario)
    if problems:
        raise InputError(problems)


def _remedy(policy: Policy) -> str:
    """Say why a policy takes single units only, and what to do."""
    others = "Choose another policy, such as high, fcfs or easy_backfill."
    why = policy.unsupported_because
    return f"{why[0].upper()}{why[1:]}. {others}" if why else others


def _may_share(scenario: Scenario) -> bool:
    """Whether a unit can have room for two tasks."""
    return scenario.workload.demand is not None or bool((scenario.datacenter.unit_capacity > 1.0).any())


def _against_gangs(scenario: Scenario, policy: Policy) -> list[Problem]:
    """Find what cannot be combined with jobs whose tasks start together."""
    problems, remedy = [], _remedy(policy)
    is_online = isinstance(policy, OnlinePolicy) and policy.takes_gangs and not policy.plans
    if not is_online or policy.may_overcommit:
        expected = f"tasks that start one by one, for the policy {title_of(policy)}"
        problems.append(Problem(("workload", "gang_within"), expected, "gangs", remedy))
    elif isinstance(policy, OnlinePolicy) and policy.is_exclusive and _may_share(scenario):
        expected = f"tasks of gangs that take whole units, for the policy {title_of(policy)}, whose tasks share none"
        problems.append(
            Problem(("workload", "gang_within"), expected, "units with room for several", "Set sharing=yes.")
        )
    for application in scenario.applications:
        if application.gang_size > 1 or application.max_consolidated > 1 or application.nodes:
            expected = "applications without gangs, consolidation and separate nodes, as jobs are gangs already"
            problems.append(Problem(("applications", application.name), expected, "one of them"))
    return problems


def against_shared_speed(center: Datacenter, types: Iterable[int], whose: str, remedy: str) -> list[Problem]:
    """Find the types whose tasks share a unit's speed, for a policy that does not support this."""
    expected = f"tasks that do not share a unit's speed, for the policy {whose}"
    return [
        Problem(("processor_types", center.processor_types[p].name), expected, "tasks that do", remedy)
        for p in types
        if shares_speed(center, p)
    ]


def _against_batch(scenario: Scenario, policy: BatchPolicy) -> list[Problem]:
    """Find what cannot be combined with the powers of units that a batch policy, or the energy of its periods, uses."""
    center, problems = scenario.datacenter, []
    used = distinct(center.unit_type).tolist()
    unknown = [p.name for p in (center.processor_types[code] for code in used) if p.dynamic_power_w is None]
    if policy.needs_power and unknown:
        expected = f"a dynamic_power of each type of unit, for the policy {title_of(policy)}"
        remedy = "Give it, in W per unit of demand."
        problems.append(Problem(("processor_types",), expected, f"none of {', '.join(unknown)}", remedy))
    if scenario.accounting.energy == "eq2" and not unknown and any(shares_speed(center, code) for code in used):
        expected = "run_time or eq1xT: the remaining time of tasks that share a unit's speed is unknown"
        problems.append(Problem(("accounting", "energy"), expected, "'eq2'"))
    return problems


def _why_not_on_engines(policy: Policy) -> str:
    """Say what a policy does that serving engines do not model; empty if nothing."""
    if not isinstance(policy, OnlinePolicy):
        return "is a batch policy, which places tasks by their demands"
    if policy.plans:
        return "plans before the run, by times that tasks take alone"
    if policy.preempts:
        return "takes running tasks from their units, and a request stays on its engine"
    return ""


def _why_not_with_roles(policy: Policy) -> str:
    """Say what a policy does that cannot be combined with engines that only prefill or decode; empty if nothing."""
    if isinstance(policy, OnlinePolicy):
        if policy.keeps_tasks:
            return "keeps tasks in its scratch, and a request that was prefilled is pending again"
        if {queries.best_node, queries.random_node} & functions_of(policy.decide):
            return "scores nodes, where engines of other roles may be"
    return ""


def check_policy(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that does not support what happens in the scenario between its events."""
    name, work = title_of(policy), scenario.workload
    known = (
        (("outages",), "outages", bool(scenario.outages)),
        (("failures",), "failures", bool(scenario.failures)),
        (("reservations",), "reservations", bool(scenario.reservations)),
        (("workload", "withdraw"), "jobs that are withdrawn", work.withdraw_us is not None),
        (("workload", "placed"), "tasks that run from the beginning", work.placed is not None),
    )
    requeues: dict[tuple[str, ...], bool] = {
        ("outages",): any(one.running == "requeue" for one in scenario.outages),
        ("failures",): any(one.running == "requeue" for one in scenario.failures),
        ("reservations",): any(one.interrupts for one in scenario.reservations),
    }
    has_limits = work.limit_us is not None
    is_fixed = isinstance(policy, OnlinePolicy) and policy.plans and not policy.takes_back  # its plan is the schedule
    problems = []
    for what, words in ((what, words) for what, words, is_there in known if is_there):
        if not isinstance(policy, OnlinePolicy):
            problems.append(Problem(what, f"an online policy; {name} is a batch policy", words))
        elif is_fixed:
            problems.append(Problem(what, f"none; {name} plans before the run", words))
        elif requeues.get(what) and not policy.can_requeue:
            expected = f"{words} with running: finish; {name} keeps tasks in its scratch and does not take them back"
            remedy = "Or choose another policy. A custom policy declares keeps_tasks and takes_back."
            problems.append(Problem(what, expected, "requeue", remedy))
        elif what == ("workload", "withdraw") and not policy.can_withdraw:
            expected = f"none; {name} keeps tasks in its scratch and does not forget those of withdrawn jobs"
            remedy = "Choose another policy. A custom policy declares keeps_tasks and takes_withdrawals."
            problems.append(Problem(what, expected, words, remedy))
        elif what == ("workload", "placed") and policy.keeps_tasks:
            expected = f"none; {name} keeps tasks in its scratch and must see each of them arrive and end"
            problems.append(Problem(what, expected, words, "Choose another policy, such as high or priority."))
    if work.after is not None and isinstance(policy, OnlinePolicy) and (policy.plans or not policy.can_follow):
        why = "plans before the run" if policy.plans else "keeps tasks, and expects them in the order of their numbers"
        remedy = "Choose another policy. A custom policy declares takes_dependencies."
        problems.append(Problem(("workload", "after"), f"none; {name} {why}", "jobs that wait for others", remedy))
    if len(scenario.engine_types) and (why := _why_not_on_engines(policy)):
        remedy = "Choose another policy, such as high."
        problems.append(Problem(("processor_types",), f"no batching; {name} {why}", "batching", remedy))
    if scenario.is_disaggregated and (why := _why_not_with_roles(policy)):
        remedy = "Choose another policy, such as least_requests."
        problems.append(Problem(("processor_types",), f"no engines with role: prefill; {name} {why}", "one", remedy))
    if has_limits and is_fixed:
        problems.append(Problem(("workload", "limit"), f"none; {name} plans before the run", "limits"))
    if problems:
        raise InputError(problems)
