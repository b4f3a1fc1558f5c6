"""Backfilling in an order of its own: the shortest expected jobs first, or the longest."""

from dataclasses import dataclass
from typing import Any, ClassVar

from vinesim.policies import estimate_us
from vinesim.policies.backfill.conservative import ConservativeBackfill
from vinesim.policies.backfill.easy import EasyBackfill


def shortest(model: Any, state: Any, view: Any, task: int) -> float:
    """The expected time, or the same with the other sign: the lowest rank comes first."""
    own_us = estimate_us(model, state, task)
    return -own_us if view.options.is_reversed else own_us


@dataclass(frozen=True)
class EasyShortest(EasyBackfill):
    name: ClassVar[str] = "test_easy_shortest"
    rank = staticmethod(shortest)

    is_reversed: bool = False


@dataclass(frozen=True)
class ConservativeShortest(ConservativeBackfill):
    name: ClassVar[str] = "test_conservative_shortest"
    rank = staticmethod(shortest)

    is_reversed: bool = False
