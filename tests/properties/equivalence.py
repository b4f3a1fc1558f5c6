"""Run a scenario on both engines and compare everything bit for bit. Used by the tests and by ``verification``."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

import vinesim as vs
from tests.policies.kinds.choosy import Choosy
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.kinds.least_loaded_node import LeastLoadedNode
from tests.policies.kinds.on_the_hour import OnTheHour
from tests.policies.kinds.overcommit import Pile, PileInBatches
from tests.policies.kinds.periodic import PeriodicFirstFit
from tests.policies.kinds.repack import Repack
from tests.policies.kinds.round_robin import RoundRobin
from tests.policies.kinds.sharing import LeastLoaded
from tests.policies.kinds.slots import Slots
from tests.policies.kinds.witness import Witness
from tests.strategies import Limits, all_options, seeded_scenario
from vinesim.policies.contract import BatchPolicy, Policy
from vinesim.policies.registry import policies

ONLINE_KINDS: tuple[type[Policy], ...] = (
    Slots,
    LeastLoaded,
    Pile,
    RoundRobin,
    Consolidate,
    LeastLoadedNode,
    OnTheHour,
    Choosy,
    Witness,
)
BATCH_KINDS: tuple[type[Policy], ...] = (PileInBatches, PeriodicFirstFit, Repack)

LIMITS: dict[type[Policy], Limits] = {  # what shares its speed cannot be moved
    policy: Limits(slowdown=False)
    for policy in (Repack, *policies().values())
    if issubclass(policy, BatchPolicy) and policy.replaces_running
}


def every_policy() -> dict[str, type[Policy]]:
    """The registered policies and one test policy of each kind, by name; but for those that plan (test_optimal)."""
    registered = {name: policy for name, policy in policies().items() if not getattr(policy, "plans", False)}
    return {**registered, **{policy.name: policy for policy in ONLINE_KINDS + BATCH_KINDS}}


def options_of(policy: type[Policy]) -> list[dict[str, Any]]:
    """The combinations of options to try."""
    return all_options(policy)


def alike(a: Any, b: Any) -> bool:
    """Whether two things are the same to the bit, arrays and what holds arrays too."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)
    return bool(a == b)


def differences(scenario: vs.Scenario) -> list[str]:
    """What differs between the engines: nothing, if they mean the same."""
    compiled, reference = vs.simulate(scenario), vs.simulate(scenario, engine="reference")
    one, other = compiled.outcome, reference.outcome
    found = []
    for item in fields(one):
        a, b = getattr(one, item.name), getattr(other, item.name)
        if not alike(a, b):
            found.append(f"{item.name}: compiled {a}, reference {b}")
    return found


def check(seed: int, policy: type[Policy]) -> list[str]:
    """Compare the engines on the scenario of a seed; what differs, with what it takes to run it again."""
    choices = options_of(policy)
    options = choices[seed % len(choices)]
    scenario = seeded_scenario(seed, policy, options, LIMITS.get(policy, Limits()))
    return [f"seed {seed}, {policy.name} {options}: {text}" for text in differences(scenario)]


def run(n: int, first_seed: int = 0, per_policy: bool = False) -> Iterator[tuple[int, str, list[str]]]:
    """Compare the engines on n random scenarios, the policies taking turns, or on n for each policy. Yields (seed,
    policy, differences)."""
    chosen = list(every_policy().values())
    for i in range(n):
        for policy in chosen if per_policy else [chosen[i % len(chosen)]]:
            yield first_seed + i, policy.name, check(first_seed + i, policy)
