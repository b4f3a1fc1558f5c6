"""Random failures of nodes: drawn times until a node goes down and until it is repaired, again and again."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from vinesim.model.attributes import ABOVE_0, TIME, attribute
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import Problem
from vinesim.model.outage import Running
from vinesim.model.scalars import as_found, is_0_or_more, is_above_0

Kind = Literal["exponential", "weibull", "constant"]


@dataclass(frozen=True)
class Times:
    """A distribution of times with a mean, us; ``shape`` is the Weibull distribution's."""

    # fmt: off
    mean_us: float = field(metadata=attribute("Its mean.", TIME))
    distribution: Kind = field(default="exponential", metadata=attribute("Its kind."))
    shape: float = field(default=1.0, metadata=attribute(
        "Shape of a Weibull distribution; below 1: failures come early.", ABOVE_0))
    # fmt: on

    def draw(self, random: np.random.Generator, n: int) -> np.ndarray:
        """[n] us."""
        if self.distribution == "exponential":
            return random.exponential(self.mean_us, n)
        if self.distribution == "weibull":
            return self.mean_us / math.gamma(1.0 + 1.0 / self.shape) * random.weibull(self.shape, n)
        return np.full(n, self.mean_us)


@dataclass(frozen=True)
class Failures:
    """Random failures of nodes. Each node fails independently of the others, and is as good as new once repaired.

    ``until`` is the time from the start of the run, or from the last repair, to the next failure; ``repair`` is how
    long the node is then down. Failures affect one node (rack, shelf), all nodes with a unit of one processor type, or
    all nodes. ``running`` is as for an outage.
    """

    # fmt: off
    until: Times = field(metadata=attribute("Time from the start, or the last repair, to the next failure of a node."))
    repair: Times = field(metadata=attribute("Time that the node is then down."))
    processor_type: str | None = None
    node: tuple[int, int] | None = None
    running: Running = field(default="requeue", metadata=attribute("As for an outage."))
    # fmt: on

    @property
    def is_random(self) -> bool:
        """Whether they depend on the seed."""
        return any(times.distribution != "constant" for times in (self.until, self.repair))

    def nodes(self, center: Datacenter) -> list[tuple[int, int]]:
        """Return the (rack, shelf) of the nodes that fail, in increasing order."""
        chosen = np.ones(center.n_units, bool)
        if self.processor_type is not None:
            names = [one.name for one in center.processor_types]
            chosen = center.unit_type == (names.index(self.processor_type) if self.processor_type in names else -1)
        places = set(zip(center.rack[chosen].tolist(), center.shelf[chosen].tolist(), strict=True))
        return sorted(places if self.node is None else places & {self.node})


def wrong_failures(failures: Sequence[Failures], center: Datacenter) -> Iterator[Problem]:
    """Yield what is wrong with them: distributions, and nodes that do not exist."""
    for i, one in enumerate(failures):
        where = ("failures", i)
        for name, times, least in (("until", one.until, "above 0"), ("repair", one.repair, "0 or more")):
            if not isinstance(times, Times):
                yield Problem((*where, name), "a distribution, such as Times(mean_us=1e9)", as_found(times))
                continue
            if not is_0_or_more(times.mean_us) or (name == "until" and times.mean_us == 0):
                yield Problem((*where, name, "mean"), f"a finite time, {least}", f"{as_found(times.mean_us)} us")
            if times.distribution not in get_args(Kind):
                yield Problem((*where, name, "distribution"), "one of " + ", ".join(get_args(Kind)), times.distribution)
            if not is_above_0(times.shape):
                yield Problem((*where, name, "shape"), "a number above 0", as_found(times.shape))
            elif times.shape != 1.0 and times.distribution != "weibull":
                found = f"{times.shape:g} for the distribution {times.distribution}"
                yield Problem((*where, name, "shape"), "none: only weibull has a shape", found)
        if one.running not in get_args(Running):
            yield Problem((*where, "running"), "one of " + ", ".join(get_args(Running)), repr(one.running))
        if not one.nodes(center):
            found = repr(one.processor_type if one.node is None else one.node)
            yield Problem(where, "a node, or a processor type, with a unit", found)
