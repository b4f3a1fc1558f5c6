"""What is known about the points of a space before any run: which cannot work, what they cost, and bounds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vinesim.metrics.numbers import shown_limit
from vinesim.model.batching_rules import missing_partners
from vinesim.model.electricity import Series
from vinesim.model.expression import ANYTHING, Range
from vinesim.model.plan import Costs, Plan
from vinesim.model.scenario import Scenario
from vinesim.model.time import US_PER_S
from vinesim.plans.bases import Base, Bases
from vinesim.plans.fluid import Loads, least_watts
from vinesim.plans.hardware import HOURS_PER_YEAR, Hardware, Hardwares, known_numbers
from vinesim.plans.longer import longer_settings
from vinesim.plans.ranges import POSITIVE, range_of
from vinesim.plans.space import Space
from vinesim.plans.verdicts import Verdict, judged

OVERLOADED = "overloaded: more work arrives than can be done"
SLOW = (
    "jobs.",
    "tasks.",
    "deadlines.",
    "applications.",
    "serving.",
)  # numbers that grow without end at a load of 1 or more


@dataclass(frozen=True, eq=False)
class Screened:
    """The points of a space before any run, [n] each.

    ``why`` says why a point is left out; ``known`` are the numbers that need no run, by point; ``load`` is that of the
    fluid model; ``bound`` [n, objectives] is a value that each objective (made smaller-is-better) cannot go below.
    """

    why: Mapping[int, str]
    known: list[dict[str, float]]
    load: np.ndarray
    bound: np.ndarray
    is_random: np.ndarray  # whether runs depend on the seed
    prices: Mapping[str, float]  # of one unit of each type that a point has

    @property
    def left(self) -> np.ndarray:
        """The points that are not left out."""
        return np.array([i for i in range(len(self.load)) if i not in self.why], np.int64)


def screened(plan: Plan, space: Space) -> Screened:
    """Screen all points. Raises :class:`InputError` if the scenario is wrong everywhere."""
    n = space.n
    bases, hardwares = Bases(plan, space), Hardwares(plan)
    why: dict[int, str] = {}
    known: list[dict[str, float]] = [{} for _ in range(n)]
    load, is_random = np.zeros(n), np.ones(n, bool)
    bound = np.full((n, len(plan.objectives)), -np.inf)
    prices: dict[str, float] = {}
    alike: dict[tuple[int, bytes], tuple[Base, list[int], list[Hardware]]] = {}
    for number in range(n):
        settings = space.settings(number)
        base = bases.of(settings)
        if isinstance(base, str):
            why[number] = base
            continue
        found = hardwares.of(settings, base.scenario)
        if isinstance(found, str):
            why[number] = found
            continue
        if lonely := _without_partner(base.scenario, found):
            why[number] = lonely
            continue
        known[number] = known_numbers(found, base.scenario, plan.costs)
        prices |= _prices(base.scenario, found)
        is_random[number] = bases.is_random(settings, base)
        _, members, mine = alike.setdefault((id(base), found.smallest.tobytes()), (base, [], []))
        members.append(number)
        mine.append(found)
    for base, members, mine in alike.values():
        numbers, capacity = np.array(members), np.array([found.capacity for found in mine])
        load[numbers] = Loads(base.work, mine[0].smallest).of(capacity) if base.work.fits else 0.0
        idle_w = _idle_w(base.scenario)
        for number, found in zip(members, mine, strict=True):
            ranges = _ranges(plan, base, known[number], found, idle_w)
            for k, objective in enumerate(plan.objectives):
                low, high = objective.expression.range(ranges)
                bound[number, k] = -high if objective.is_maximized else low
            is_rate = base.is_random or bool(longer_settings(plan, space.settings(number)))
            if reason := _reason(plan, float(load[number]), known[number], is_rate):
                why[number] = reason
    return Screened(why, known, load, bound, is_random, prices)


def _without_partner(scenario: Scenario, hardware: Hardware) -> str:
    """Return why the engines of a point cannot serve together; empty if they can."""
    types = scenario.datacenter.processor_types
    present = [p for p, one in enumerate(types) if one.batching is not None and hardware.count[p] > 0]
    missing = (expected for p in present for expected in missing_partners(scenario, p, present))
    return next((f"it lacks {expected}" for expected in missing), "")


def _reason(plan: Plan, load: float, known: Mapping[str, float], is_rate: bool) -> str:
    """Return why a point cannot keep the limits; empty if it may.

    A load of 1 or more matters only for arrivals that go on: of a log that ends, a run shows all there is.
    """
    for limit in plan.limits:
        if limit.number in known:
            judgement = judged(limit, np.array([known[limit.number]]), 1, is_random=False)
            if judgement.verdict is not Verdict.HOLDS:
                return f"misses {shown_limit(limit.number, limit.side, limit.value)}"
    if np.isinf(load):
        return "no unit can run one of the task types"
    names = plan.names
    if plan.screen and is_rate and load >= 1 and any(name.startswith(SLOW) for name in names):
        return OVERLOADED
    return ""


def _prices(scenario: Scenario, hardware: Hardware) -> dict[str, float]:
    """Return the known prices of the types with units."""
    types = zip(scenario.datacenter.processor_types, hardware.count, scenario.prices, strict=True)
    return {kind.name: float(price) for kind, n, price in types if n and not np.isnan(price)}


def _idle_w(scenario: Scenario) -> np.ndarray:
    types = scenario.datacenter.processor_types
    return np.array(
        [p.idle_power_w if p.sleep_power_w is None else min(p.idle_power_w, p.sleep_power_w) for p in types]
    )


def _ranges(
    plan: Plan, base: Base, known: Mapping[str, float], hardware: Hardware, idle_w: np.ndarray
) -> dict[str, Range]:
    """Return bounds on the numbers of a point."""
    costs, electricity = plan.costs or Costs(), base.scenario.electricity
    found = {name: range_of(name) for name in plan.names}
    found |= {name: Range(value, value) for name, value in known.items()}
    if base.work.fits and not base.is_random:
        span_s = float(base.scenario.workload.arrival_us[-1]) / US_PER_S
        found["energy_j"] = Range(least_watts(base.work, hardware, idle_w) * span_s, np.inf)
    price = electricity.price_per_kwh
    paid = known["cost.purchase"] + known["cost.rent"]
    idle_kwh = float((hardware.count * idle_w).sum()) / 1000 * costs.years * HOURS_PER_YEAR * electricity.pue
    if isinstance(price, Series) or (price is not None and price < 0):
        bill = ANYTHING
    else:
        bill = Range(idle_kwh * (price or 0.0), np.inf if price is not None else 0.0)
    found["cost.electricity"], found["cost.carbon"] = bill, POSITIVE
    found["cost.total"] = Range(paid + bill.low, np.inf if costs.carbon_per_tonne > 0 else paid + bill.high)
    found["cost.per_million_tokens"] = POSITIVE if found["cost.total"].low >= 0 else ANYTHING
    return found
