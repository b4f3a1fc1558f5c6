"""Partitions: sets of nodes for certain jobs, and quotas of what these jobs hold at once.

Source: Slurm's partitions, GrpTRES and MaxTRESPerUser; Kubernetes' ResourceQuota; Kueue's ClusterQueue.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vinesim.model.arrays import as_column
from vinesim.model.attributes import NUMBER, attribute
from vinesim.model.cohort import types_of, wrong_cohorts
from vinesim.model.datacenter import Datacenter
from vinesim.model.digest import IF_GIVEN
from vinesim.model.errors import InputError, Problem, Steps
from vinesim.model.scalars import as_found
from vinesim.model.workload import NO_PARTITION, Workload

SEVERAL = "partitions"  # the attribute of jobs that may run in several, of which the policy chooses one


def _as_float(value: Any) -> Any:
    """Return a number, or a text that is one, as a float; anything else as it is."""
    with suppress(TypeError, ValueError, OverflowError):
        return float(value)
    return value


@dataclass(frozen=True, eq=False)
class Partition:
    """A set of nodes with quotas. Jobs of the partition run only on these nodes, and never hold more than its quotas.

    A quota maps a processor type to an amount. Several types, as in A100|T4, count together. Partitions of one cohort
    lend each other the part of ``quota`` that they do not use.
    """

    # fmt: off
    name: str = field(metadata=attribute("Its name, as in the column partition of the workload."))
    nodes: np.ndarray | None = None  # [n, 2] int32: rack, shelf; None: all nodes
    quota: Mapping[str, float] = field(default_factory=dict, metadata=attribute(
        "The most that all its jobs hold at once, by processor type: {A100: 16, memory: 2 TiB}. A name "
        "such as A100|T4 counts several types together."))
    user_quota: Mapping[str, float] = field(default_factory=dict, metadata=attribute(
        "The same of the jobs of each user: the column user of the workload."))
    cohort: str | None = field(default=None, metadata=IF_GIVEN | attribute(
        "Partitions of a cohort lend each other what they do not use of their quota."))
    borrowing_limit: Mapping[str, float] | None = field(default=None, metadata=IF_GIVEN | attribute(
        "The most that its jobs hold above its quota, by the same names. Default: no limit."))
    lending_limit: Mapping[str, float] | None = field(default=None, metadata=IF_GIVEN | attribute(
        "The most of its quota that others of the cohort use. Default: all of it."))
    weight: float = field(default=1.0, metadata=IF_GIVEN | attribute(
        "Of its fair share of what the cohort lends, for the policy kueue.", NUMBER))
    # fmt: on

    def __post_init__(self) -> None:
        if self.nodes is not None:
            problems: list[Problem] = []
            flat = as_column(("nodes",), np.asarray(self.nodes).reshape(-1), np.int32, None, problems)
            if problems or len(flat) % 2:
                found = problems[0].found if problems else f"{len(flat)} numbers"
                raise InputError([Problem(("partitions", self.name, "nodes"), "rows of rack and shelf", found)])
            object.__setattr__(self, "nodes", flat.reshape(-1, 2))
        for name in ("quota", "user_quota", "borrowing_limit", "lending_limit"):
            quotas = getattr(self, name)
            if quotas is not None:
                object.__setattr__(self, name, {types: _as_float(most) for types, most in quotas.items()})
        if not isinstance(self.weight, float):
            object.__setattr__(self, "weight", _as_float(self.weight))

    def has(self, rack: np.ndarray, shelf: np.ndarray) -> np.ndarray:
        """[n] bool: which of these places are nodes of the partition."""
        if self.nodes is None:
            return np.ones(len(rack), bool)
        width = 1 + max(int(shelf.max(initial=0)), int(self.nodes[:, 1].max(initial=0)))
        own = self.nodes[:, 0] * np.int64(width) + self.nodes[:, 1]
        return np.isin(rack * np.int64(width) + shelf, own)


def user_words(name: str) -> str:
    """Return what messages call a user: jobs may have one without a name."""
    return f"user {name}" if name else "the user without a name"


def wrong_partitions(partitions: Sequence[Partition], center: Datacenter, work: Workload) -> Iterator[Problem]:
    """Yield what is wrong with partitions: nodes and processor types that do not exist, and jobs of no partition."""
    names = [one.name for one in partitions]
    units = set(zip(center.rack.tolist(), center.shelf.tolist(), strict=True))
    for i, one in enumerate(partitions):
        where = ("partitions", i)
        if one.name in names[:i]:
            yield Problem((*where, "name"), "a name that no other partition has", repr(one.name))
        if one.nodes is not None and not len(one.nodes):
            yield Problem(where, "a node", "none")
        for rack, shelf in [place for place in ([] if one.nodes is None else one.nodes.tolist())
                            if tuple(place) not in units][:5]:  # fmt: skip
            yield Problem(where, "nodes of the datacenter", f"rack {rack}, shelf {shelf}, which has no unit")
        yield from _wrong_quotas(where, one, center, work)
    yield from wrong_cohorts(partitions)
    if work.partition is None:
        has_quotas = any(one.quota or one.user_quota for one in partitions)
        if partitions and (has_quotas or SEVERAL not in (work.attributes or {})):
            remedy = "Give the jobs a column partition, or leave the partitions out."
            yield Problem(("partitions",), "jobs of them", "none: the workload names no partition", remedy)
        return
    expected = "one of " + ", ".join(names) if names else "none, as the scenario has no partitions"
    is_known = np.array([name in names for name in work.partition_names])
    of_none = (work.partition != NO_PARTITION) & ~is_known[work.partition]
    for job in np.flatnonzero(of_none)[:5]:
        found = repr(work.partition_names[work.partition[job]])
        yield Problem(("workload", "partition", job), expected, found, "List it under partitions.")


def _wrong_quotas(where: Steps, one: Partition, center: Datacenter, work: Workload) -> Iterator[Problem]:
    """Yield what is wrong with the quotas of a partition."""
    known = center.count_by_type()
    for kind, quotas in (("quota", one.quota), ("user_quota", one.user_quota)):
        for types, most in quotas.items():
            unknown = [name for name in types_of(types) if name not in known]
            if unknown:
                expected = "processor types of the datacenter: " + ", ".join(known)
                yield Problem((*where, kind), expected, repr(unknown[0]))
            may_be_none = kind == "quota" and one.cohort is not None  # it has only what others lend
            if not (isinstance(most, float) and 0 <= most < math.inf and (may_be_none or most > 0)):
                expected = "a finite number, 0 or more" if may_be_none else "a finite number above 0"
                yield Problem((*where, kind, types), expected, as_found(most))
    if one.user_quota and work.user is None:
        yield Problem((*where, "user_quota"), "jobs with users", "none", "Give the jobs a column user.")
