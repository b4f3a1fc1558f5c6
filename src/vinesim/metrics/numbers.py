"""The numbers of a run, each under one name: summary.json, flattened."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vinesim.formats.source.quantities import format_time_us
from vinesim.metrics.record import Record
from vinesim.model.run_numbers import QUANTILES
from vinesim.model.titles import number_title

Numbers = dict[str, float | str]
MOST_WRITTEN = 1e15  # beyond it a number is written with an exponent
SAME = 1e-9  # tolerance on shares: rounding differences between equal values
UNDONE = {  # numbers of jobs that did not finish
    "killed": "killed by their limit",
    "withdrawn": "withdrawn",
    "refused": "refused by the policy",
    "ended": "ended by the policy",
}
_NOT_NUMBERS = ("provenance", "jobs.warm_up.rule")  # wall times, and text that is in the study


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
    """Return the key that sorts names of numbers: of one thing, its mean comes first, then its quantiles, then the
    rest; the maximum is the last."""
    stem, _, last = name.rpartition(".")
    places = ("mean", *QUANTILES)
    return stem, places.index(last) if last in places else len(places) + (last == "max"), last


def differ(utilization: Mapping[str, Any]) -> bool:
    """Whether the allocated share differs from the share of active time, in a summary's utilisation."""
    first, second = ({"": of["overall"], **of["by_type"]} for of in (utilization, utilization["active"]))
    return any(abs(share - second[name]) > SAME for name, share in first.items())


def not_finished(jobs: Mapping[str, Any], others: str) -> dict[str, int]:
    """Return how many jobs were not finished, by the reason in words, from the numbers of jobs of a summary; ``others``
    is the word for those without one."""
    found = {words: jobs.get(name, 0) for name, words in UNDONE.items()}
    return {**found, others: jobs["count"] - jobs["finished"] - sum(found.values())}


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the contents of a summary by dotted names."""
    for key, value in values.items():
        name = before + key
        if name in _NOT_NUMBERS:
            continue
        if not isinstance(value, float | int | str) and isinstance(value, Mapping):  # which takes longer to ask
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def shown_number(name: str, value: float) -> str:
    """Write a number of a run for a table: with its unit, times in three digits, shares as percent."""
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
    """Write an energy of a run: to the mJ, or to the J where that is more than anybody reads."""
    return f"{written(value, 3 if abs(value) < 1e5 else 0)} J"


def written(value: float, decimals: int = 0) -> str:
    """Write a number with commas, as ``154,348.526``; one with more digits than anybody reads as ``1e+300``."""
    return f"{value:,.{decimals}f}" if abs(value) < MOST_WRITTEN else f"{value:.6g}"


def shown_limit(name: str, side: str, value: float) -> str:
    """Write a limit of a number, below or above a value."""
    return f"{name} {side} {shown_number(name, value)}"
