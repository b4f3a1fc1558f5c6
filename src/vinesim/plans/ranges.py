"""The range of each number of a run, to which bounds of objectives and intervals are cut."""

import math

from vinesim.model.expression import ANYTHING, Range
from vinesim.model.titles import number_title

POSITIVE = Range(0.0, math.inf)
PERCENT = Range(0.0, 100.0)
NEVER_NEGATIVE = (
    *(
        "jobs.",
        "tasks.",
        "deadlines.",
        "applications.",
        "serving.",
        "utilization.",
        "makespan_us",
        "outages.",
        "early_ends",
    ),
    *("energy_j", "energy.by_", "energy.kwh", "energy.carbon_g", "units.", "racks."),
)


def range_of(name: str) -> Range:
    """Return all values that a number may have; costs may be negative, as prices of electricity may."""
    if not name.startswith(NEVER_NEGATIVE):
        return ANYTHING
    return PERCENT if number_title(name).unit == "%" else POSITIVE
