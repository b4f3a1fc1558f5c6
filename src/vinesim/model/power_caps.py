"""Power caps: the most that a rack, or the datacenter, may draw."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.model.catalog import ProcessorType
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import Problem, Steps

if TYPE_CHECKING:
    from vinesim.model.scenario import Scenario

ADDS, REPLACES, BY_CURVE = range(3)  # a level adds to the idle power, is the power itself, or is put into a curve
WHOLE_LEVEL = 2.0**32  # the level of a utilisation of 1
MW_PER_W = 1000.0
UNCAPPED = 2**62  # mW, as a cap


def caps_w(center: Datacenter) -> np.ndarray:
    """[R + 1] the cap of each rack, then of the datacenter, W; infinite where there is none."""
    racks = np.full(center.n_racks, np.inf) if center.rack_power_cap_w is None else center.rack_power_cap_w
    return np.append(racks, np.inf if center.power_cap_w is None else center.power_cap_w)


def empty_w(types: Sequence[ProcessorType]) -> np.ndarray:
    """[P] what a unit draws while nothing is held of it: its sleep power, or its idle power if it never sleeps."""
    return np.array([p.idle_power_w if p.sleep_power_w is None else p.sleep_power_w for p in types])


def pool_words(center: Datacenter, pool: int) -> str:
    """Return what messages call the pool of a rack, or of the datacenter after the last rack."""
    if pool == center.n_racks:
        return "the datacenter"
    return f"rack {center.rack_names[pool] if center.rack_names else pool}"


def cap_columns(scenario: "Scenario", task_type: np.ndarray | None = None) -> dict[str, Any]:
    """Return the columns of the model about caps; nothing if there are none. ``task_type`` is that of each class of
    demands, None if there are no classes."""
    center = scenario.datacenter
    if not center.has_power_caps:
        return {}
    types, n_task_types = center.processor_types, len(scenario.workload.task_types)
    law = np.full(len(types), REPLACES, np.int8)
    each = np.zeros((len(types), n_task_types)) if scenario.power_w is None else scenario.power_w * MW_PER_W
    curve = np.zeros((len(types), 11))
    held_w = np.array([p.idle_power_w for p in types])
    for code, one in enumerate(types):
        if one.dynamic_power_w is not None:
            law[code], each[code] = ADDS, one.dynamic_power_w * MW_PER_W
        elif one.power_curve_w is not None:
            law[code], each[code] = BY_CURVE, WHOLE_LEVEL
            curve[code] = np.maximum.accumulate(one.power_curve_w) * MW_PER_W  # one more task never draws less
    empty = empty_w(types)
    caps = caps_w(center) * MW_PER_W
    return {
        "cap_mw": np.where(caps < UNCAPPED, np.floor(np.minimum(caps, UNCAPPED)), UNCAPPED).astype(np.int64),
        "power_law": law,
        "power_each": each if task_type is None else each[:, task_type],
        "power_empty_mw": np.rint(empty * MW_PER_W).astype(np.int64),
        "power_held_mw": np.rint(np.maximum(empty, held_w) * MW_PER_W).astype(np.int64),
        "power_curve_mw": curve,
    }


def wrong_power_caps(scenario: "Scenario") -> Iterator[Problem]:
    """Yield what is wrong with the caps that there are: types without power figures, caps that idle units exceed."""
    center = scenario.datacenter
    types = center.processor_types
    where = ("datacenter", "power_cap")
    if scenario.power_w is None:
        for code in scenario.running_types:
            if not types[code].has_own_power:
                remedy = "Give a power table, or the type a power_curve or a dynamic_power."
                yield Problem(where, f"the power of {types[code].name}, which runs tasks", "none", remedy)
    of_unit = empty_w(types)[center.unit_type]
    idle_w = np.append(np.bincount(center.rack, of_unit, minlength=center.n_racks), of_unit.sum())
    for pool in np.flatnonzero(caps_w(center) < idle_w * (1 - 1e-12))[:10]:
        at: Steps = where if pool == center.n_racks else ("datacenter", "rack_power_cap", int(pool))
        expected = f"at least {idle_w[pool]:g} W, which the units of {pool_words(center, int(pool))} draw while idle"
        yield Problem(at, expected, f"{caps_w(center)[pool]:g} W", "Raise the cap.")
