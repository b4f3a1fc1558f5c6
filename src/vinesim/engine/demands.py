"""Which policies can run a scenario whose tasks hold several units or start together, or whose units have capacities of
their own."""

from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy, title_of


def check_demands(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that looks at units in a way that the scenario does not allow."""
    problems, name, remedy = [], title_of(policy), _remedy(policy)
    moves = isinstance(policy, BatchPolicy) and policy.replaces_running
    if scenario.workload.has_vectors and (not policy.takes_vectors or moves):
        expected = f"tasks that hold one unit each, of any type, for the policy {name}"
        work = scenario.workload
        names = ("units", "companions", "lead_types", "partition")
        found = ", ".join(column for column in names if getattr(work, column) is not None)
        problems.append(Problem("workload", expected, found, remedy))
    elif scenario.workload.partition is not None and policy.may_overcommit:
        expected = f"jobs without partitions, for the policy {name}, which may load units beyond their capacity"
        problems.append(Problem("workload.partition", expected, "partitions", remedy))
    by_type = isinstance(policy, BatchPolicy) or not policy.takes_vectors
    if scenario.datacenter.capacity is not None and by_type:
        expected = f"units with the capacity of their type, for the policy {name}"
        problems.append(Problem("datacenter.capacity", expected, "capacities of their own", "Define a type for each."))
    if policy.may_overcommit and isinstance(policy, OnlinePolicy) and "application" in policy.groups:
        expected = f"requests on one node, for the policy {name}, which may load units beyond their capacity"
        for application in scenario.applications:
            if application.gang_size > 1:
                where, found = f"applications: {application.name}", f"a gang_size of {application.gang_size}"
                problems.append(Problem(where, expected, found, remedy))
    if scenario.workload.gang_within is not None:
        problems += _against_gangs(scenario, policy)
    if problems:
        raise InputError(problems)


def _remedy(policy: Policy) -> str:
    """Say why a policy takes single units only, and what to do."""
    others = "Choose another policy, such as high, fcfs or easy_backfill."
    return f"{policy.why_single[0].upper()}{policy.why_single[1:]}. {others}" if policy.why_single else others


def _may_share(scenario: Scenario) -> bool:
    """Whether a unit can have room for two tasks."""
    return scenario.workload.demand is not None or bool((scenario.datacenter.unit_capacity > 1.0).any())


def _against_gangs(scenario: Scenario, policy: Policy) -> list[Problem]:
    """Find what does not go with jobs whose tasks start together."""
    problems, remedy = [], _remedy(policy)
    is_online = isinstance(policy, OnlinePolicy) and policy.takes_gangs and not policy.plans
    if not is_online or policy.may_overcommit:
        expected = f"tasks that start one by one, for the policy {title_of(policy)}"
        problems.append(Problem("workload.gang_within", expected, "gangs", remedy))
    elif isinstance(policy, OnlinePolicy) and policy.is_exclusive and _may_share(scenario):
        expected = f"tasks of gangs that take whole units, for the policy {title_of(policy)}, whose tasks share none"
        problems.append(Problem("workload.gang_within", expected, "units with room for several", "Set sharing=yes."))
    for application in scenario.applications:
        if application.gang_size > 1 or application.max_consolidated > 1 or application.nodes:
            expected = "applications without gangs, consolidation and nodes of their own, as jobs are gangs already"
            problems.append(Problem(f"applications: {application.name}", expected, "one of them"))
    return problems
