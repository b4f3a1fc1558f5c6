"""The scenario of a seed for any policy: of any kind that the policy can have, with numbers of any size."""

from dataclasses import replace
from typing import Any

import numpy as np

import vinesim as vs
from tests.requests_scenarios import request_scenario
from tests.strategies import Limits, SeededDice, seeded_scenario
from vinesim.model.accounting import Accounting
from vinesim.policies.contract import BatchPolicy, OnlinePolicy, Policy
from vinesim.policies.demands import check_policy
from vinesim.policies.registry import resolve

CURVE = (10.0, 22.0, 30.0, 36.0, 41.0, 45.0, 52.0, 60.0, 75.0, 90.0, 110.0)
PLANNED = Limits(units=4, jobs=4, tasks_of_job=2, demands="none", sharing=False, horizons=False)
BLIND = ("test_pile",)  # to nodes that are down
TIMES = (1.0, 1.0, 1.0, 2.0**-40, 1e9, 3e-7, 1e150)  # factors on all times
AMOUNTS = (1.0, 1.0, 2.0**30, 1e-6)  # the same of capacities and demands
LATE_US = (0.0, 0.0, 0.0, 2.0**45, 1e15 + 0.125)  # delays of all arrivals


def any_scenario(seed: int, policy: type[Policy], options: dict[str, Any]) -> vs.Scenario:
    """Return a small scenario that depends only on the seed, the policy and its options."""
    dice = SeededDice(seed + 2**41)
    if getattr(policy, "plans", False):
        return dressed(dice, seeded_scenario(seed, policy, options, PLANNED))
    share = 5 if is_for_requests(policy) else 0 if issubclass(policy, BatchPolicy) else 1
    if dice.integer(0, 9) < share:
        noise, gangs = bool(dice.integer(0, 1)), dice.integer(0, 3) == 3
        case = request_scenario(seed, policy, options, noise=noise, gangs=gangs, most_requests=30)
    else:
        case = seeded_scenario(seed, policy, options, limits_of(dice, policy))
    return tabled(seed, resized(dice, dressed(dice, suited(case)), policy))


def is_for_requests(policy: type[Policy]) -> bool:
    """Whether a policy, other than those of the tests, looks at what applications register."""
    return "application" in getattr(policy, "groups", ()) and not policy.name.startswith("test_")


def tabled(seed: int, case: vs.Scenario) -> vs.Scenario:
    """Now and then with times of consolidated tasks by their number for some types."""
    dice, work = SeededDice(seed + 2**42), case.workload
    if dice.integer(0, 4) < 4 or work.times_us is not None or not np.isfinite(work.operations).all():
        return case
    able = case.affinity > 0
    if not able.any():
        return case
    unit_us = float(np.mean(work.operations)) / float(np.median(case.affinity[able])) or 1.0
    table = np.full((*case.affinity.shape, 4), np.nan)
    for p, t in np.argwhere(able & np.array([[dice.integer(0, 1) for _ in row] for row in able], bool)):
        n = dice.integer(1, 4)
        table[p, t, :n] = np.cumsum([unit_us * dice.pick((1.0, 0.1, 0.3, 0.0)) for _ in range(n)])
    return replace(case, consolidated_us=table)


def limits_of(dice: SeededDice, policy: type[Policy]) -> Limits:
    """What the policy can have: what shares its speed cannot be moved, and only online policies have outages."""
    is_online = issubclass(policy, OnlinePolicy)
    is_shared = dice.integer(0, 2) > 0 and policy.name != "test_consolidate"
    return Limits(
        units=dice.pick((12, 6, 2)),
        jobs=8,
        tasks_of_job=4,
        demands=dice.pick(("any", "equal", "none")) if is_shared else "none",
        sharing=is_shared,
        slowdown=is_online or not policy.replaces_running,  # type: ignore[attr-defined]
        outages=is_online and policy.name not in BLIND and dice.integer(0, 3) == 3,
    )


def suited(case: vs.Scenario) -> vs.Scenario:
    """The scenario; its nodes are drained if its policy does not take tasks back."""
    try:
        check_policy(case, resolve(case.policy, case.options))
    except vs.InputError:
        return replace(case, outages=[replace(outage, running="finish") for outage in case.outages])
    return case


def dressed(dice: SeededDice, case: vs.Scenario) -> vs.Scenario:
    """Samples, and powers and accounts of other kinds, now and then."""
    more: dict[str, Any] = {}
    waits_long = 1e9 in case.options.values()  # there may be too many samples
    if dice.integer(0, 3) == 3 and not waits_long:
        more["sampling_us"] = dice.pick((3.7, 10.0, 1e6))
    kind = dice.pick(("linear", "linear", "none", "table", "curve"))
    types = case.datacenter.processor_types
    if kind in ("none", "table", "curve"):
        other = {"power_curve_w": CURVE, "idle_power_w": CURVE[0]} if kind == "curve" else {}
        plain = (replace(p, dynamic_power_w=None, **other) for p in types)
        if kind == "table":
            more["power_w"] = np.array([[dice.pick((5.0, 0.0, 9.5)) for _ in row] for row in case.affinity])
        if kind != "none" or not issubclass(case.policy, BatchPolicy):
            more["datacenter"] = replace(case.datacenter, processor_types=tuple(plain))
    more["accounting"] = Accounting(
        energy=dice.pick(("run_time", "eq1xT", "eq2")),
        slav=dice.pick(("incremental", "eq3")),
        wake_up_j=dice.pick((0.0, 0.5)),
        migration_j=dice.pick((0.0, 0.25)),
    )
    if getattr(case.policy, "needs_power", False):
        more.pop("datacenter", None)
        more.pop("power_w", None)
    return replace(case, **more)


def resized(dice: SeededDice, case: vs.Scenario, policy: type[Policy]) -> vs.Scenario:
    """All times longer or shorter, all capacities larger or smaller, everything later: huge and tiny numbers."""
    is_batch = issubclass(policy, BatchPolicy)
    time, amount, late_us = dice.pick(TIMES), dice.pick(AMOUNTS), dice.pick(LATE_US)
    if (is_batch and not policy.steady) or time != 1.0:  # type: ignore[attr-defined]
        late_us = 0.0
    if is_batch or policy.name == "test_on_the_hour":  # it has its own hour
        time = 1.0
    if policy.name == "test_repack":  # and this one a tolerance
        amount = 1.0
    work, center, network = case.workload, case.datacenter, case.network

    def times(values: Any, factor: float = time) -> Any:
        return None if values is None else values * factor

    types = tuple(
        replace(p, capacity=p.capacity * amount, parallelism=times(p.parallelism, amount))
        for p in center.processor_types
    )
    demand = work.demand
    if amount != 1.0:  # a slot stays what it was of its unit
        demand = np.full(work.n_tasks, np.nan) if demand is None else demand
        demand = np.where(np.isnan(demand), amount, demand * amount)
        if all(p.capacity == 1.0 for p in center.processor_types):
            demand = np.full(work.n_tasks, vs.WHOLE_UNIT)
    return replace(
        case,
        datacenter=replace(center, processor_types=types),
        workload=replace(
            work,
            arrival_us=work.arrival_us * time + late_us,
            operations=work.operations * time,
            data_bytes=work.data_bytes * time,
            times_us=times(work.times_us),
            estimate_us=times(work.estimate_us),
            deadline_us=None if work.deadline_us is None else work.deadline_us * time + late_us,
            demand=demand,
        ),
        overhead_us=times(case.overhead_us),
        network=replace(network, hop_latency_us=network.hop_latency_us * time),
        sampling_us=None if late_us or time < 1.0 else times(case.sampling_us),
        horizon_us=case.horizon_us * time + late_us,
        outages=[
            replace(outage, down_us=outage.down_us * time + late_us, up_us=outage.up_us * time + late_us)
            for outage in case.outages
        ],
    )
