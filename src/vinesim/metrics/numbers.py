"""The numbers of a run, each under one name: summary.json, flattened."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vinesim.formats.source.quantities import format_time_us
from vinesim.metrics.record import Record
from vinesim.model.run_numbers import QUANTILES
from vinesim.model.titles import number_title

Numbers = dict[str, float | str]
MOST_WRITTEN = 1e15  # larger numbers are written with an exponent
SAME = 1e-9  # tolerance on shares: rounding differences between equal values
UNDONE = {  # numbers of jobs that did not finish
    "killed": "killed by their limit",
    "withdrawn": "withdrawn",
    "refused": "refused by the policy",
    "ended": "ended by the policy",
}
_NOT_NUMBERS = ("provenance", "jobs.warm_up.rule")  # provenance: wall times, and text that the study has already


def numbers(summary: Mapping[str, Any], record: Sequence[str] = ()) -> Numbers:
    """Return the summary's numbers by dotted name, such as ``jobs.latency_us.mean``; unknown ones are NaN.

    ``record`` selects numbers by the start of their names; by default all are returned. The text ``exit_reason`` is
    always returned, because the other numbers depend on it. Provenance, which holds wall times, is left out.
    """
    wanted = Record(record)
    return {
        name: value if isinstance(value, str) else float("nan" if value is None else value)
        for name, value in flat(summary)
        if wanted(name) or name == "exit_reason"
    }


def in_order(name: str) -> tuple[str, int, str]:
    """Return the sort key of a number's name: within a group the mean comes first, then quantiles, other numbers, and
    the maximum."""
    stem, _, last = name.rpartition(".")
    places = ("mean", *QUANTILES)
    return stem, places.index(last) if last in places else len(places) + (last == "max"), last


def differ(utilization: Mapping[str, Any]) -> bool:
    """Whether the allocated share differs from the share of active time, in a summary's utilisation."""
    first, second = ({"": of["overall"], **of["by_type"]} for of in (utilization, utilization["active"]))
    return any(abs(share - second[name]) > SAME for name, share in first.items())


def not_finished(jobs: Mapping[str, Any], others: str) -> dict[str, int]:
    """Return how many jobs did not finish, by reason in words, from a summary's job numbers.

    ``others`` is the word for jobs without a known reason.
    """
    found = {words: jobs.get(name, 0) for name, words in UNDONE.items()}
    return {**found, others: jobs["count"] - jobs["finished"] - sum(found.values())}


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the contents of a summary by dotted names."""
    for key, value in values.items():
        name = before + key
        if name in _NOT_NUMBERS:
            continue
        if not isinstance(value, float | int | str) and isinstance(value, Mapping):  # the second check is slow
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def shown_number(name: str, value: float) -> str:
    """Format a number of a run for a table: with its unit, times to three digits, shares as percent."""
    if math.isnan(value):
        return "-"
    unit = number_title(name).unit
    if unit == "us":
        return format_time_us(value)
    if unit == "share":
        return f"{value:.1%}"
    text = written(value) if abs(value) >= 1000 else f"{value:.4g}"
    return f"{text} {unit}".rstrip()


def joules(value: float) -> str:
    """Format an energy: to the mJ, or to the J if it is large."""
    return f"{written(value, 3 if abs(value) < 1e5 else 0)} J"


def written(value: float, decimals: int = 0) -> str:
    """Format a number with commas, such as ``154,348.526``; very large ones with an exponent, such as ``1e+300``."""
    return f"{value:,.{decimals}f}" if abs(value) < MOST_WRITTEN else f"{value:.6g}"


def shown_limit(name: str, side: str, value: float) -> str:
    """Format a limit on a number, such as ``<= 5 s``."""
    return f"{name} {side} {shown_number(name, value)}"
