"""Random scenarios of many features at once: those of the other random scenarios, each where it goes with the rest."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.gangs import gang_scenario, with_gangs
from tests.partitions import partition_scenario
from tests.places_ahead import with_ahead
from tests.power_caps import with_caps, with_powers
from tests.properties.any_scenario import dressed, is_for_requests, tabled
from tests.real_nodes import real_scenario
from tests.requests_scenarios import request_scenario
from tests.reservations import with_reservations
from tests.strategies import Limits, SeededDice, build_scenario, with_after
from vinesim.policies.contract import Policy
from vinesim.policies.demands import check_demands, check_policy
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
    ]
    for i in range(len(parts)):
        j = dice.integer(i, len(parts) - 1)
        parts[i], parts[j] = parts[j], parts[i]
    for part in parts:
        if dice.integer(0, 2) == 0:
            continue
        try:
            more = part(found)
        except vs.InputError:  # refused by the scenario itself
            continue
        found = more if is_possible(more) else found
    return found


def base_scenario(seed: int, dice: SeededDice, policy: type[Policy], options: Any) -> vs.Scenario:
    """What the others are added to: requests, partitions, gangs, real nodes or single units, with early ends or
    without."""
    early, kind = dice.integer(0, 2) > 0, dice.integer(0, 4)
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
    """The scenario, whose jobs have priorities."""
    priority = np.array([dice.pick((0.0, 1.0, 2.5, -1.0)) for _ in range(case.workload.n_jobs)])
    return replace(case, workload=replace(case.workload, priority=priority))


def is_possible(case: vs.Scenario) -> bool:
    """Whether it can be run under its policy."""
    try:
        policy = resolve(case.policy, case.options)
        build_model(case)
        check_demands(case, policy)
        check_policy(case, policy)
    except vs.InputError:
        return False
    return True
