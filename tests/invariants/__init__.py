"""Rules that every result must satisfy under any policy, checked from only the tables and the scenario.

``violations`` reads the tables of a result and recomputes everything in plain loops. Each rule is a function of
:class:`~tests.invariants.facts.Facts` that yields the violations.
"""

from collections.abc import Callable, Iterator
from typing import Any

import vinesim as vs
from tests.invariants import (
    applications,
    energy,
    numbers,
    partitions,
    power_caps,
    progress,
    promises,
    reservations,
    room,
    serving,
    tables,
    times,
)
from tests.invariants.facts import Facts
from tests.properties.held_plainly import Folder

Rule = Callable[[Facts], Iterator[str]]
RULES: tuple[Rule, ...] = (
    tables.columns_are_as_declared,
    tables.every_task_once,
    tables.jobs_are_their_tasks,
    tables.exit_reason,
    times.times_in_order,
    times.nothing_starts_before_it_may,
    times.segments_follow_one_another,
    times.service_time,
    progress.work_done_is_work_asked,
    progress.limits_are_kept,
    times.nothing_on_a_node_that_is_down,
    room.amounts_are_the_demands,
    room.units_can_run_their_tasks,
    room.no_unit_over_its_capacity,
    partitions.jobs_stay_on_the_nodes_of_their_partition,
    partitions.quotas_are_kept,
    partitions.cohorts_lend_no_more_than_they_have,
    power_caps.caps_are_kept,
    reservations.nothing_runs_into_reservations,
    room.active_time_is_the_union_of_intervals,
    room.samples_are_the_shares,
    numbers.counts_of_the_summary,
    numbers.types_that_run_nothing_are_named,
    numbers.latencies_of_the_summary,
    numbers.utilization_of_the_summary,
    numbers.deadlines_that_were_missed,
    applications.the_table_is_its_requests,
    applications.consolidation_within_the_limit,
    applications.gangs_start_at_once,
    applications.applications_stay_on_their_nodes,
    energy.energy_is_the_integral_of_power,
    energy.energy_adds_up,
    energy.bills_are_those_of_the_energy,
    energy.periods_are_those_of_the_run,
    serving.tokens_come_in_order,
    serving.roles_are_kept,
    serving.memories_hold_what_fits,
    promises.in_order_of_arrival,
    promises.order_within_an_application,
    promises.no_unit_idles_while_a_task_waits,
    promises.requests_are_met,
)


def violations(scenario: vs.Scenario, reported: vs.Result | Folder, policy: Any) -> list[str]:
    """Return the violations of a result, each with its rule's name and place. ``policy`` is the bound one."""
    facts = Facts(scenario, reported if isinstance(reported, Folder) else Folder.of(reported), policy)
    return [f"{rule.__name__}: {text}" for rule in RULES for text in rule(facts)]
