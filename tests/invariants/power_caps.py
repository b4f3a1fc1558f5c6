"""Power caps: the power of racks and of the datacenter by the holds in the tables, in plain loops."""

from collections.abc import Iterator

import numpy as np

from tests.invariants.facts import Facts

ROUNDED = 1e-3  # W, of each task and each unit


def caps_are_kept(facts: Facts) -> Iterator[str]:
    """At no time does a rack, or the datacenter, draw more than its cap."""
    center = facts.scenario.datacenter
    caps = {} if center.power_cap_w is None else {"the datacenter": (center.power_cap_w, range(facts.n_units))}
    for rack, cap in enumerate([] if center.rack_power_cap_w is None else center.rack_power_cap_w):
        caps[f"rack {rack}"] = (cap, [unit for unit in range(facts.n_units) if facts.place[unit][0] == rack])
    for time in facts.moments if caps else ():
        for name, (cap, units) in caps.items():
            drawn = sum(draw_at(facts, unit, time) for unit in units)
            if drawn > cap + ROUNDED * (len(units) + len(facts.folder.holds)):
                yield f"at {time} {name} draws {drawn} W, of {cap}"


def draw_at(facts: Facts, unit: int, time: float) -> float:
    """Return the power that counts for the unit right after a time, W; a task counts once it holds the unit."""
    kind, here = facts.types[facts.unit_type[unit]], [h for h in facts.holds_on[unit] if h.begin <= time < h.end]
    asleep = kind.idle_power_w if kind.sleep_power_w is None else kind.sleep_power_w
    if not any(hold.amount > 0 for hold in here):
        return asleep
    idle, amount = max(asleep, kind.idle_power_w), sum(hold.amount for hold in here)
    if kind.dynamic_power_w is not None:
        return idle + kind.dynamic_power_w * amount
    if kind.power_curve_w is not None:
        curve = [max(kind.power_curve_w[: i + 1]) for i in range(11)]
        return float(np.interp(amount / facts.capacity(unit), [i / 10 for i in range(11)], curve))
    table = facts.scenario.power_w
    if table is None:
        return idle
    row = table[facts.unit_type[unit]]
    return max(idle, sum(float(row[facts.kind[hold.task]]) * hold.amount / facts.capacity(unit) for hold in here))
