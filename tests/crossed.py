"""Random scenarios that combine the features of the other random scenarios, each where it is compatible."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.gangs import gang_scenario, with_gangs
from tests.partitions import partition_scenario, with_partitions
from tests.places_ahead import scenario_ahead, with_ahead
from tests.power_caps import with_caps, with_powers
from tests.properties.any_scenario import BLIND, dressed, is_for_requests, tabled
from tests.real_nodes import real_scenario
from tests.requests_scenarios import request_scenario
from tests.reservations import with_reservations
from tests.serving import disaggregated, serving_scenario
from tests.strategies import (
    BYTES,
    NETWORKS,
    Limits,
    SeededDice,
    build_scenario,
    outages_of,
    with_after,
    with_early_ends,
)
from vinesim.model.electricity import Electricity, Series
from vinesim.policies.contract import Policy
from vinesim.policies.demands import check_demands, check_policy
from vinesim.policies.places_ahead import why_not_ahead
from vinesim.policies.registry import resolve
from vinesim.state.build import build_model


def crossed_scenario(seed: int, policy: type[Policy], options: Any, limits: Limits) -> vs.Scenario:
    """The scenario of a seed; within ``limits``, if the policy can have nothing more."""
    dice = SeededDice(seed + 2**45)
    found = base_scenario(seed, dice, policy, options)
    for single in (limits, replace(limits, demands="none", sharing=False)):
        if not is_possible(found):
            found = build_scenario(SeededDice(seed), single, policy, options)
    parts: list[Callable[[vs.Scenario], vs.Scenario]] = [
        lambda case: with_after(dice, case),
        lambda case: with_gangs(case, dice) if case.workload.partition is None else case,
        lambda case: with_caps(with_powers(case, dice), dice),
        lambda case: with_reservations(case, dice),
        lambda case: with_ahead(case, seed),
        lambda case: tabled(seed, case),
        lambda case: dressed(dice, case),
        lambda case: with_priorities(case, dice),
        lambda case: with_early_ends(dice, Limits(outages=True), case),
        lambda case: replace(case, outages=outages_of(dice, case.datacenter)),
        lambda case: with_partitions(case, seed) if case.workload.partition is None else case,
        lambda case: with_data(case, dice),
        lambda case: with_guesses(case, dice),
        lambda case: with_due_times(case, dice),
        lambda case: with_minimums(case, dice),
        lambda case: with_an_end(case, dice),
        lambda case: with_bills(case, dice),
    ]
    for i in range(len(parts)):
        j = dice.integer(i, len(parts) - 1)
        parts[i], parts[j] = parts[j], parts[i]
    for part in parts:
        if dice.integer(0, 2) == 0:
            continue
        try:
            more = part(found)
        except vs.InputError:  # the scenario itself rejects it
            continue
        found = more if is_possible(more) else found
    labelled = with_labels(found, SeededDice(seed + 2**50))
    return labelled if is_possible(labelled) else found


def base_scenario(seed: int, dice: SeededDice, policy: type[Policy], options: Any) -> vs.Scenario:
    """Return the scenario to which other features are added: requests, partitions, gangs, real nodes, serving engines,
    units that take tasks ahead, or single units, with or without early ends."""
    early, kind = dice.integer(0, 2) > 0, dice.integer(0, 6)
    if kind == 5 and policy.name not in ("test_consolidate", *BLIND):  # these ignore the roles of engines
        served = (serving_scenario, disaggregated)[dice.integer(0, 1)]
        return served(SeededDice(seed), policy, **options)
    if kind == 6 and not why_not_ahead(resolve(policy, options)):
        return scenario_ahead(seed, policy, options, after=True)
    if is_for_requests(policy) and dice.integer(0, 1):
        return request_scenario(seed, policy, options, gangs=dice.integer(0, 1) > 0, most_requests=30)
    if kind <= 1:
        return partition_scenario(seed, policy, options, early, has_rates=True)
    if kind == 2:
        return gang_scenario(seed, policy, options, early, has_rates=True)
    if kind == 3:
        return real_scenario(seed, policy, dice.integer(0, 1) > 0, early, options, has_rates=True)
    return build_scenario(SeededDice(seed), Limits(outages=early, early=early), policy, options)


def with_priorities(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with priorities of jobs."""
    priority = np.array([dice.pick((0.0, 1.0, 2.5, -1.0)) for _ in range(case.workload.n_jobs)])
    return replace(case, workload=replace(case.workload, priority=priority))


def with_labels(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """The scenario, whose jobs are of users and accounts, some without a name or of nobody."""
    work, columns = case.workload, dict[str, Any]()
    jobs = range(work.n_jobs)
    if work.user is None and dice.integer(0, 1):
        names = dice.pick((("ann", "bob"), ("ann", ""), ('a, "b"; c', "-", "1")))
        columns |= {"user": [dice.integer(0, len(names) - 1) for _ in jobs], "user_names": names}
    if work.attributes is None and dice.integer(0, 1):
        kinds = ("account", "qos", "Project")[: dice.integer(1, 3)]
        columns["attributes"] = {kind: np.array([dice.integer(-1, 1) for _ in jobs]) for kind in kinds}
        columns["attribute_words"] = dict.fromkeys(kinds, ("x", "y"))
    return replace(case, workload=replace(work, **columns))


def with_data(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with data of tasks on nodes."""
    work, center = case.workload, case.datacenter
    columns = {
        "data_bytes": [dice.pick(BYTES) for _ in range(work.n_tasks)],
        "data_rack": [dice.integer(0, center.n_racks - 1) for _ in range(work.n_tasks)],
        "data_shelf": [dice.integer(0, center.n_shelves - 1) for _ in range(work.n_tasks)],
    }
    return replace(case, workload=replace(work, **columns), network=dice.pick(NETWORKS))


def with_guesses(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with estimates, or without times that the scheduler knows."""
    n, columns = case.workload.n_tasks, {}
    if dice.integer(0, 1):
        columns["estimate_us"] = [dice.pick((1.0, 2.0, 8.0, 0.0)) for _ in range(n)]
    if dice.integer(0, 1):
        columns["time_factor"] = [dice.pick((1.0, 0.5, 1.75)) for _ in range(n)]
    return replace(case, workload=replace(case.workload, **columns))


def with_due_times(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with deadlines of some jobs, and limits on some token times."""
    work = case.workload
    columns: dict[str, Any] = {"deadline_us": [time + dice.pick((3.0, math.inf, 9.0)) for time in work.arrival_us]}
    if work.output_tokens is not None:
        for name in ("first_token_within_us", "token_within_us"):
            columns[name] = [dice.pick((2.0, math.inf, 7.5)) for _ in range(work.n_tasks)]
    return replace(case, workload=replace(work, **columns))


def with_minimums(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with requests of tasks for types with enough of a resource."""
    types = tuple(
        replace(one, attributes={"cores": dice.pick((4.0, 1.0, 8.0))}) for one in case.datacenter.processor_types
    )
    asked = {"cores": [dice.pick((0.0, 1.0, 4.0, 6.0)) for _ in range(case.workload.n_tasks)]}
    center = replace(case.datacenter, processor_types=types)
    return replace(case, datacenter=center, workload=replace(case.workload, requests=asked))


def with_an_end(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario, sometimes with a horizon."""
    return replace(case, horizon_us=min(case.horizon_us, dice.pick((math.inf, math.inf, math.inf, 11.5, 30.0))))


def with_bills(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with prices of units, and a changing price and emissions of electricity."""
    center = case.datacenter
    types = tuple(replace(one, price=dice.pick((None, 10.0, 0.0))) for one in center.processor_types)
    n = dice.integer(1, 3)
    series = Series(
        np.arange(n) * 3.0, [dice.pick((0.1, 5.0, -2.0)) for _ in range(n)], 3.0 * n + dice.integer(0, 7), 1.5
    )
    grid = Electricity(dice.pick((series, 0.3, None)), dice.pick((400.0, None)), dice.pick((1.0, 1.25)))
    return replace(case, datacenter=replace(center, processor_types=types), electricity=grid)


def is_possible(case: vs.Scenario) -> bool:
    """Whether the scenario can and should run under its policy."""
    if resolve(case.policy, case.options).name in BLIND and (case.has_changes or case.workload.has_vectors):
        return False
    try:
        policy = resolve(case.policy, case.options)
        build_model(case)
        check_demands(case, policy)
        check_policy(case, policy)
    except vs.InputError:
        return False
    return True
