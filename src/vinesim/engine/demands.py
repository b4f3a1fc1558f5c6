"""Which policies can run a scenario whose tasks hold several units, or whose units have capacities of their own."""

from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy, Policy, title_of


def check_demands(scenario: Scenario, policy: Policy) -> None:
    """Raise :class:`InputError` for a policy that looks at units in a way that the scenario does not allow."""
    problems, name = [], title_of(policy)
    moves = isinstance(policy, BatchPolicy) and policy.replaces_running
    if scenario.workload.has_vectors and (not policy.takes_vectors or moves):
        expected = f"tasks that hold one unit each, of any type, for the policy {name}"
        work = scenario.workload
        columns = {"units": work.units, "companions": work.companions, "lead_types": work.lead_types}
        found = ", ".join(column for column, given in columns.items() if given is not None)
        problems.append(Problem("workload", expected, found, "Choose another policy, such as high, flat or fcfs."))
    by_type = isinstance(policy, BatchPolicy) or not policy.takes_vectors
    if scenario.datacenter.capacity is not None and by_type:
        expected = f"units with the capacity of their type, for the policy {name}"
        problems.append(Problem("datacenter.capacity", expected, "capacities of their own", "Define a type for each."))
    if problems:
        raise InputError(problems)
