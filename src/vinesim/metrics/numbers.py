"""The numbers of a run by one name each: summary.json without its levels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vinesim.metrics.record import Record

Numbers = dict[str, float | str]
SAME = 1e-9  # of all: what rounding makes of equal shares
_NOT_NUMBERS = ("provenance", "jobs.warm_up.rule")  # wall times, and texts that the study tells


def numbers(summary: Mapping[str, Any], record: Sequence[str] = ()) -> Numbers:
    """The summary's numbers by their dotted names, as ``jobs.latency_us.mean``; unknown ones are NaN.

    ``record`` names those kept, by how their names begin; without it all. ``exit_reason``, a text, is always kept: it
    tells whether the others count. Provenance, which holds wall times, is left out.
    """
    wanted = Record(record)
    return {
        name: value if isinstance(value, str) else float("nan" if value is None else value)
        for name, value in flat(summary)
        if wanted(name) or name == "exit_reason"
    }


def differ(utilization: Mapping[str, Any]) -> bool:
    """Whether what was allocated and for how long units were active are two things, by a summary's utilisation."""
    first, second = ({"": of["overall"], **of["by_type"]} for of in (utilization, utilization["active"]))
    return any(abs(share - second[name]) > SAME for name, share in first.items())


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """What is inside a summary, by dotted names."""
    for key, value in values.items():
        name = before + key
        if name in _NOT_NUMBERS:
            continue
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        else:
            yield name, value
