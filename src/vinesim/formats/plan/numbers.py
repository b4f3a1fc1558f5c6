"""The names of numbers in a plan: those of a run, and those that the plan adds."""

from collections.abc import Collection

from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.study.document import is_number
from vinesim.model.errors import Problem
from vinesim.model.run_numbers import NUMBERS

OWN = {  # the numbers that a plan adds; all except those based on energy and tokens are known without a run
    "cost.purchase": "prices of all units that are not rented",
    "cost.rent": "what the rented units cost over the years of the section cost",
    "cost.electricity": "what electricity costs over these years, if they consist of such runs",
    "cost.carbon": "what the carbon dioxide of that electricity costs",
    "cost.total": "purchase, rent, and electricity and carbon where they have a price",
    "cost.per_million_tokens": "cost.total by million output tokens, if the years consist of such runs",
    "units.count": "units of the datacenter",
    "units.by_type": "units of a type: units.by_type.GPU",
    "racks.power_w": "largest power of a rack, if all its units are busy: racks.power_w.0",
}
_EXAMPLES = ["jobs.latency_us.mean", "jobs.latency_us.p99", "jobs.latency_us.p99_9", "deadlines.missed_pct"]


def is_own(name: str) -> bool:
    """Whether a plan adds the number."""
    return any(f"{name}.".startswith(f"{kind}.") for kind in OWN)


def wrong_number(name: str, functions: Collection[str] = ()) -> Problem | None:
    """Return a problem if neither VineSim nor a function that the plan records has a number with this name."""
    if is_own(name) or is_number(name) or name.partition(".")[0] in functions:
        return None
    expected = "a number of a run or of a plan, such as jobs.latency_us.p99, energy_j or cost.total"
    return Problem("", expected, repr(name)[:60], did_you_mean(name, [*functions, *OWN, *NUMBERS, *_EXAMPLES]))
