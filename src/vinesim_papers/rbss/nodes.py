"""The nodes of a scenario as the tables of RBSS print them, and what they provide."""

from itertools import groupby
from pathlib import Path

import numpy as np

from vinesim.model.scenario import Scenario
from vinesim.reproduction.item import Changes
from vinesim.reproduction.single import scenario

SYSTEM_1, SYSTEM_2 = Path(__file__).with_name("group_a.yaml"), Path(__file__).with_name("group_b.yaml")
SHOWN = {  # names of the devices in the tables
    "PHENOM_6C": "6 cores AMD Phenom II",
    "XEON_12C": "12 cores Intel Xeon",
    "XEON_16C": "16 cores Intel Xeon",
    "GTX460": "GeForce GTX 460",
    "K20": "Tesla K20",
    "K40": "Tesla K40",
}
ROWS = {
    "nodes 1-8": "6 cores AMD Phenom II, GeForce GTX 460, Tesla K20",
    "nodes 9-16": "12 cores Intel Xeon, Tesla K20, Tesla K40",
    "nodes 17-24": "16 cores Intel Xeon, GeForce GTX 460, Tesla K40",
}
REQUESTED = ("cores", "sms")


def table(study: Path, changes: Changes) -> dict[str, str]:
    """The devices of each range of equal nodes, the CPU first."""
    found, first = {}, 1
    for devices, equal in groupby(_devices(scenario(study, changes))):
        last = first + len(list(equal)) - 1
        found[f"nodes {first}-{last}"] = ", ".join(devices)
        first = last + 1
    return found


def _devices(given: Scenario) -> list[tuple[str, ...]]:
    """Return the devices of each node, by its shelf."""
    centre = given.datacenter
    names = [SHOWN.get(p.name, p.name) for p in centre.processor_types]
    by_node = [np.flatnonzero(centre.shelf == shelf) for shelf in np.unique(centre.shelf)]
    return [tuple(sorted((names[code] for code in centre.unit_type[units]), key=_place)) for units in by_node]


def _place(name: str) -> int:
    known = list(SHOWN.values())
    return known.index(name) if name in known else len(known)


def cores(study: Path, changes: Changes) -> dict[str, float]:
    """What each type of CPU in use provides."""
    centre = scenario(study, changes).datacenter
    used = [centre.processor_types[code] for code in np.unique(centre.unit_type)]
    return {SHOWN.get(p.name, p.name): p.attributes["cores"] for p in used if "cores" in p.attributes}


def is_cpu(given: Scenario) -> np.ndarray:
    """[P] bool: which processor types are CPUs."""
    return np.array(["cores" in p.attributes for p in given.datacenter.processor_types])


def is_for_cpus(given: Scenario) -> np.ndarray:
    """[J] bool: the jobs whose fastest device is a CPU."""
    times, used = given.workload.times_us, np.unique(given.datacenter.unit_type)
    assert times is not None
    return np.asarray(is_cpu(given)[used[times[:, used].argmin(axis=1)]])


def provided(study: Path, changes: Changes, *, most: bool) -> dict[str, float]:
    """Cores and SMs of the strongest, or the weakest, devices in use."""
    centre = scenario(study, changes).datacenter
    attributes = [centre.processor_types[code].attributes for code in np.unique(centre.unit_type)]
    choose = max if most else min
    return {name: choose(a[name] for a in attributes if name in a) for name in REQUESTED}


def requested(study: Path, changes: Changes) -> dict[str, float]:
    """Cores and SMs that the jobs request; NaN where they do not agree."""
    requests = scenario(study, changes).workload.requests or {}
    return {name: float(of[0]) if len(np.unique(of)) == 1 else np.nan for name, of in requests.items()}
