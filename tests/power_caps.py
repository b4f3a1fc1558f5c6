"""Random scenarios with power caps: gangs, requests, quotas, tasks of several units, outages, any power model."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.gangs import gang_scenario
from tests.partitions import partition_scenario
from tests.properties.any_scenario import any_scenario, is_for_requests
from tests.requests_scenarios import request_scenario, with_gangs
from tests.strategies import SeededDice
from vinesim.policies.registry import policies
from vinesim.state.build import build_model

IDLE_W = (0.0, 5.0, 40.0)
DYNAMIC_W = (3.0, 30.0, 100.0)
TABLE_W = (0.0, 10.0, 90.0, 200.0)
CURVES = ((10.0, 20.0, 35.0, 45.0, 52.0, 60.0, 66.0, 71.0, 75.0, 78.0, 80.0), (30.0, 5.0, *[40.0] * 9))
ROOM = (0.05, 0.15, 0.3, 0.6, 1.0)  # of what busy units draw beyond idle ones


def capped_scenario(seed: int, policy: Any = "high", options: Any = None, early: bool = False) -> vs.Scenario:
    """Return the scenario of a seed, with power caps."""
    dice = SeededDice(seed + 30_000)
    kind, of_class = dice.integer(0, 2), policies()[policy] if isinstance(policy, str) else policy
    if is_for_requests(of_class) and kind < 2:
        case = with_gangs(request_scenario(seed, policy, options, gangs=False), seed, early)
    elif kind == 0:
        case = any_scenario(seed, of_class, options or {})
    else:
        case = (partition_scenario if kind == 1 else gang_scenario)(seed, policy, options, early)
    return with_caps(with_powers(case, dice), dice)


def with_powers(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with powers of its types, by one or two of the three models."""
    center, is_linear = case.datacenter, dice.integer(0, 2) == 0
    types = []
    for code, one in enumerate(center.processor_types):
        powers: dict[str, Any] = {"dynamic_power_w": None, "power_curve_w": None}
        powers["sleep_power_w"] = dice.pick((None, None, 2.0))
        if is_linear and case.affinity[code].any():
            powers["dynamic_power_w"] = dice.pick(DYNAMIC_W)
        elif not is_linear and dice.integer(0, 1):
            powers["power_curve_w"] = dice.pick(CURVES)
        powers["idle_power_w"] = 0.0 if powers["power_curve_w"] else dice.pick(IDLE_W)
        types.append(replace(one, **powers))
    table = None
    if not is_linear:
        table = np.array([[dice.pick(TABLE_W) for _ in case.affinity[0]] for _ in case.affinity])
    center = replace(center, processor_types=tuple(types))
    return replace(case, datacenter=center, power_w=table)


def with_caps(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with caps on racks, the datacenter, or both; without any if a task would never start."""
    center = case.datacenter
    low, high = np.zeros(center.n_racks), np.zeros(center.n_racks)
    for code, rack, size in zip(center.unit_type, center.rack, center.unit_capacity, strict=True):
        one = center.processor_types[code]
        low[rack] += one.idle_power_w if one.sleep_power_w is None else one.sleep_power_w
        busy = one.idle_power_w if case.power_w is None else max(one.idle_power_w, case.power_w[code].max())
        if one.dynamic_power_w is not None:
            busy = one.idle_power_w + one.dynamic_power_w * size
        high[rack] += max(busy, max(one.power_curve_w or (0.0,)))
    for more in ROOM[dice.integer(0, 3) :]:
        of_racks = low + more * np.maximum(1.0, high - low)
        of_racks[np.array([dice.integer(0, 3) == 0 for _ in of_racks])] = np.inf
        of_all = low.sum() + dice.pick(ROOM) * max(1.0, (high - low).sum())
        caps = {"power_cap_w": dice.pick((None, float(of_all)))}
        caps["rack_power_cap_w"] = None if caps["power_cap_w"] and dice.integer(0, 1) else of_racks
        found = replace(case, datacenter=replace(center, **caps))
        try:
            build_model(found)
            return found
        except vs.InputError as wrong:
            if not all("cap" in problem.expected for problem in wrong.problems):
                raise
    return case
