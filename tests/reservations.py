"""Random scenarios with reservations: gangs, quotas, caps, tasks of several units, outages, users."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.gangs import gang_scenario
from tests.partitions import partition_scenario
from tests.properties.any_scenario import any_scenario
from tests.strategies import SeededDice
from vinesim.model.reservation import Reservation
from vinesim.policies.registry import policies


def reserved_scenario(seed: int, policy: Any = "high", options: Any = None, early: bool = False) -> vs.Scenario:
    """The scenario of a seed, with up to three reservations."""
    dice = SeededDice(seed + 50_000)
    kind = dice.integer(0, 2)
    if kind == 0:
        case = any_scenario(seed, policies()[policy], options or {})
    else:
        case = (partition_scenario if kind == 1 else gang_scenario)(seed, policy, options, early)
    return with_reservations(case, dice)


def with_reservations(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """The scenario with reservations of times at which something happens in it."""
    center, work = case.datacenter, case.workload
    if work.user is None and dice.integer(0, 1):
        work = replace(work, user=np.array([dice.integer(0, 1) for _ in range(work.n_jobs)]), user_names=("a", "b"))
    places = np.unique(np.stack([center.rack, center.shelf], axis=1), axis=0)
    done = vs.simulate(replace(case, policy="high", options={}), engine="reference").tasks
    times = [0.0, *(t for name in ("init_us", "finish_us") for t in done[name].tolist() if np.isfinite(t))]
    found = []
    for number in range(dice.integer(1, 3)):
        start, end = sorted((dice.pick(times), dice.pick(times) + dice.pick((1.0, 7.0, 50.0))))
        chosen = places[[dice.integer(0, 1) > 0 for _ in places]]
        users = (dice.pick(work.user_names),) if work.user is not None and dice.integer(0, 1) else ()
        if len(chosen) and start < end:
            running = None if users else dice.pick((None, "finish"))
            nodes = None if dice.integer(0, 3) == 0 else chosen
            found.append(Reservation(f"r{number}", start, end, nodes, users, running))
    return replace(case, workload=work, reservations=found)
