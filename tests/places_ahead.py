"""Random scenarios of units that take tasks ahead: data, consolidation, withdrawals, jobs that wait for others."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.properties.any_scenario import is_for_requests, tabled
from tests.requests_scenarios import request_scenario
from tests.strategies import Limits, SeededDice, seeded_scenario, with_after


def scenario_ahead(seed: int, policy: Any, options: Any = None, after: bool = False) -> vs.Scenario:
    """The scenario of a seed; some of its types take tasks ahead, of which each task takes the whole unit."""
    dice = SeededDice(seed + 2**43)
    if is_for_requests(policy) and dice.integer(0, 1):
        case = request_scenario(seed, policy, options, gangs=False, most_requests=40)
    else:
        case = seeded_scenario(seed, policy, options, Limits(demands="none", sharing=False))
    case = tabled(seed, case)
    if after and dice.integer(0, 1):
        case = with_after(dice, case)
    work = case.workload
    if dice.integer(0, 2) == 0:
        late = [time + dice.pick((np.inf, 0.0, 3.0, 8.5)) for time in work.arrival_us]
        case = replace(case, workload=replace(work, withdraw_us=late))
    return with_ahead(case, seed)


def with_ahead(case: vs.Scenario, seed: int) -> vs.Scenario:
    """The scenario; some of its types whose units have room for one task take tasks ahead."""
    dice, center = SeededDice(seed + 2**44), case.datacenter
    types = tuple(
        replace(one, ahead=0 if one.capacity != 1.0 else dice.pick((1, 1, 2, 3, 0))) for one in center.processor_types
    )
    return replace(case, datacenter=replace(center, processor_types=types))
