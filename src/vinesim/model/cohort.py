"""Cohorts: partitions that lend each other what they do not use of their quotas.

Source: Kueue's ClusterQueues (nominalQuota, borrowingLimit, lendingLimit, fairSharing.weight); KEP-1224.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from vinesim.model.errors import Problem
from vinesim.model.scalars import as_found

COHORT_FIELDS = ("cohort", "borrowing_limit", "lending_limit", "weight")  # of a partition
LIMITS = ("borrowing_limit", "lending_limit")


def types_of(quota: str) -> list[str]:
    """Return the processor types that count together."""
    return quota.split("|")


def kept_of(one: Any, types: str) -> float:
    """Return what a partition never lends of a quota: all of it without a cohort."""
    nominal = float(one.quota[types])
    return nominal if one.cohort is None else max(0.0, nominal - (one.lending_limit or {}).get(types, math.inf))


def wrong_cohorts(partitions: Sequence[Any]) -> Iterator[Problem]:
    """Yield what is wrong with the cohorts of partitions, and with the quotas that these share."""
    for i, one in enumerate(partitions):
        where = ("partitions", i)
        if one.cohort is None:
            given = [name for name in LIMITS if getattr(one, name)] + ["weight"] * (one.weight != 1.0)
            if given:
                yield Problem((*where, given[0]), "a partition with a cohort", "none", "Name its cohort.")
            continue
        if not (isinstance(one.weight, float) and 0 <= one.weight < math.inf):
            yield Problem((*where, "weight"), "a finite number, 0 or more", as_found(one.weight))
        for name in LIMITS:
            for types, most in (getattr(one, name) or {}).items():
                if types not in one.quota:
                    expected = "names of the partition's quota: " + (", ".join(one.quota) or "none")
                    yield Problem((*where, name), expected, repr(types))
                elif not (isinstance(most, float) and 0 <= most < math.inf):
                    yield Problem((*where, name, types), "a finite number, 0 or more", as_found(most))
                elif name == "lending_limit" and isinstance(one.quota[types], float) and most > one.quota[types]:
                    yield Problem((*where, name, types), f"at most its quota, {one.quota[types]:g}", f"{most:g}")
        for types in one.quota:
            for j, other in enumerate(partitions[:i]):
                for others in other.quota if other.cohort == one.cohort else ():
                    mine, theirs = set(types_of(types)), set(types_of(others))
                    if mine & theirs and mine != theirs:
                        expected = f"{others}, as partitions[{j}] of the same cohort, or types that it does not count"
                        yield Problem((*where, "quota"), expected, types)
