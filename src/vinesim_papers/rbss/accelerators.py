"""What accelerators save, called significant in the abstract and section 6: system 1 with and without its GPUs."""

from pathlib import Path

from vinesim.formats.study.file import read_study
from vinesim.reproduction.claim import Claim
from vinesim.reproduction.criteria import Above, Each
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Changes, Item
from vinesim.reproduction.single import run
from vinesim_papers.rbss.measures import ENERGY, TIME, in_part
from vinesim_papers.rbss.nodes import SYSTEM_1
from vinesim_papers.rbss.order import POLICIES

GROUP_A = Path(__file__).with_name("group_a.yaml")
CPUS_ONLY = {
    "datacenter.racks[0].nodes": [{"units": {cpu: 1}, "count": 8} for cpu in ("PHENOM_6C", "XEON_12C", "XEON_16C")]
}
SIGNIFICANT = 25.0  # percent
NOT_ALWAYS = (
    "one workload each. About a third, where GPUs are the faster devices for most jobs and enough jobs wait; nothing "
    "where CPUs are as fast"
)
POWERS_ASSUMED = (
    "powers are assumed, also of GPUs that wait. With its GPUs a node at work draws about three times the power, and "
    "the work takes a third less time, so that it takes more energy"
)


def saved(changes: Changes) -> dict[str, dict[str, float]]:
    """Return the percent of time and energy that the GPUs save, for each heuristic under each set of assumptions."""
    (axis,) = (axis for axis in read_study(GROUP_A).axes if axis.columns == ("assumptions",))
    found: dict[str, dict[str, float]] = {TIME: {}, ENERGY: {}}
    for name, policy in POLICIES.items():
        for (label,), setting in zip(axis.labels, axis.settings, strict=True):
            settings = ({"policy": policy}, setting, changes)
            with_gpus, without = (run(SYSTEM_1, *settings, nodes).summary for nodes in ({}, CPUS_ONLY))
            for number, values in found.items():
                values[f"{name}, {label}"] = 100 * (1 - with_gpus[number] / without[number])
    return found


def _claim(name: str, number: str, what: str, note: str) -> Claim:
    return Claim(
        id=name,
        source="abstract, section 6",
        statement=f"Support for accelerators saves {what} significantly",
        expected=f"{SIGNIFICANT:g} % or more, for each heuristic under all assumptions",
        measure=lambda data: _saved(data, number),
        judge=Each(Above(SIGNIFICANT)),
        partly=in_part(Above(SIGNIFICANT)),
        unit="%",
        note=note,
    )


def _saved(data: Data, number: str) -> dict[str, float]:
    found: dict[str, float] = data.result("saved")[number]
    return found


ITEM = Item(
    id="rbss-accelerators",
    title="System 1 with its GPUs, and without",
    source="abstract, section 6",
    runs={"saved": saved},
    claims=(
        _claim("RTX.10", TIME, "execution time", NOT_ALWAYS),
        _claim("RTX.11", ENERGY, "energy", POWERS_ASSUMED),
    ),
)
