"""Random scenarios with gangs: jobs whose tasks start together, on real nodes or on single units."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.rates import every_second_with_rates
from tests.real_nodes import real_scenario
from tests.strategies import Limits, SeededDice, build_scenario
from vinesim.model.workload import ANYWHERE, NO_GANG, NODE, RACK
from vinesim.state.build import build_model


def gang_scenario(
    seed: int, policy: Any = "high", options: Any = None, early: bool = False, has_rates: bool = False
) -> vs.Scenario:
    """Return the scenario of a seed. Jobs too large for the datacenter are not gangs. Rates as in ``real_scenario``."""
    dice = SeededDice(seed + 10_000)
    if dice.integer(0, 1):
        case = real_scenario(seed, policy, has_outages=early, has_rates=has_rates)
        case = replace(case, options=dict(options or {}))
    else:
        case = build_scenario(SeededDice(seed), Limits(units=12, jobs=12, outages=early, early=early), policy, options)
        case = replace(case, applications=())
        case = every_second_with_rates(case, seed) if has_rates else case
    return with_gangs(case, dice)


def with_gangs(case: vs.Scenario, dice: SeededDice) -> vs.Scenario:
    """Return the scenario with some jobs as gangs, unless they are too large for the empty datacenter."""
    work, n_jobs = case.workload, case.workload.n_jobs
    if case.applications:
        case = replace(case, applications=())
    columns: dict[str, Any] = {
        "gang_within": np.array([dice.pick((NO_GANG, NODE, RACK, ANYWHERE, ANYWHERE)) for _ in range(n_jobs)]),
        "gang_spread": np.array([dice.integer(0, 1) for _ in range(n_jobs)], bool),
        "tasks_per_node": np.array([dice.pick((0, 0, 1, 2, 3)) for _ in range(n_jobs)]),
        "placed": None,
    }
    counts, per_node = np.diff(work.job_first), columns["tasks_per_node"]
    is_divided = (per_node > 0) & (counts % np.maximum(per_node, 1) == 0)
    is_divided &= (columns["gang_within"] != NODE) | (counts == per_node)
    columns["gang_nodes"] = np.where(is_divided & (dice.integer(0, 1) == 1), counts // np.maximum(per_node, 1), 0)
    while True:
        single = columns["gang_within"] == NO_GANG
        for name in ("gang_spread", "tasks_per_node", "gang_nodes"):
            columns[name][single] = 0
        found = replace(case, workload=replace(work, **columns))
        try:
            build_model(found)
            return found
        except vs.InputError as wrong:
            jobs = [int(p.found.split()[-1]) for p in wrong.problems if p.found.startswith("a gang of")]
            if not jobs:
                raise
            columns["gang_within"][jobs] = NO_GANG
