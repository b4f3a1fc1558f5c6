"""Run a scenario on both engines and compare everything bit for bit. Used by the tests and by ``verification``."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pytest

import vinesim as vs
from tests.interpreted import simulate
from tests.invariants import violations
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
from tests.properties.any_scenario import any_scenario
from tests.strategies import Limits, all_options
from vinesim.formats.results.folder import TABLES
from vinesim.policies.contract import BatchPolicy, Policy
from vinesim.policies.registry import policies, resolve

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

TOOK = ("wall_s", "compile_s", "plan_s")  # times of this machine
LIMITS: dict[type[Policy], Limits] = {  # what shares its speed cannot be moved
    policy: Limits(slowdown=False)
    for policy in (Repack, *policies().values())
    if issubclass(policy, BatchPolicy) and policy.replaces_running
}


def every_policy() -> dict[str, type[Policy]]:
    """The registered policies and one test policy of each kind, by name."""
    built_in = {name: policy for name, policy in policies().items() if name != "slurm"}  # which takes sites only
    return {**built_in, **{policy.name: policy for policy in ONLINE_KINDS + BATCH_KINDS}}


def without_plans() -> dict[str, type[Policy]]:
    """The same without those that plan, which take small scenarios only (test_optimal)."""
    return {name: policy for name, policy in every_policy().items() if not getattr(policy, "plans", False)}


def options_of(policy: type[Policy]) -> list[dict[str, Any]]:
    """The combinations of options to try."""
    if policy.name == "optimal":
        found = itertools.product(("makespan", "sum_finish"), ("strict", "relaxed"), (0.0, 20.0))
        names = ("objective", "requests", "time_limit_s")
        return [{**dict(zip(names, values, strict=True)), "workers": 1} for values in found]
    return all_options(policy)


def alike(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit, including arrays and containers of arrays."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)
    return bool(a == b)


class Refused(NamedTuple):
    """The error of a run that gave no result."""

    words: str


def run(scenario: vs.Scenario, engine: Any) -> vs.Result | Refused:
    """Return the result of an engine, by its name or as in ``tests/interpreted.py``, or the error."""
    try:
        return simulate(scenario, engine)
    except vs.InputError as wrong:
        return Refused(str(wrong))


def contents(result: vs.Result | Refused) -> dict[str, Any]:
    """Return everything in a result except the engine's name and wall times."""
    if isinstance(result, Refused):
        return {"refused": result.words}
    tables = {name: getattr(result, name) for name in TABLES}
    summary = {name: part for name, part in result.summary.items() if name != "provenance"}
    kept = {name: text for name, text in result.provenance.items() if name not in ("engine", "engine_choice", *TOOK)}
    outcome = {item.name: getattr(result.outcome, item.name) for item in fields(result.outcome)}
    return {**outcome, **tables, "summary": repr(summary), "provenance": repr(kept)}


def differences(scenario: vs.Scenario, engine: str = "compiled") -> list[str]:
    """Return the differences between an engine and the reference; empty if they agree."""
    return unlike(run(scenario, engine), run(scenario, "reference"))


def unlike(compiled: vs.Result | Refused, reference: vs.Result | Refused) -> list[str]:
    """Return the differences between the results of the engines."""
    one, other = contents(compiled), contents(reference)
    if one.keys() != other.keys():
        return [f"compiled {one.get('refused', 'ended')}, reference {other.get('refused', 'ended')}"]
    return [
        f"{name}: compiled {one[name]}, reference {other[name]}" for name in one if not alike(one[name], other[name])
    ]


class Checked(NamedTuple):
    """The outcome of the check of one scenario."""

    options: dict[str, Any]
    end: str  # how the run ended, or "refused"
    differences: list[str]  # between the engines
    violations: list[str]  # of the rules

    @property
    def all(self) -> list[str]:
        """All differences and violations."""
        return self.differences + self.violations


def check(seed: int, policy: type[Policy], engine: str = "compiled") -> Checked:
    """Run any scenario of a seed on an engine and the reference, compare them, and check their results."""
    choices = options_of(policy)
    options = choices[seed % len(choices)]
    return checked(any_scenario(seed, policy, options), options, engine)


def checked(scenario: vs.Scenario, options: dict[str, Any], engine: str = "compiled") -> Checked:
    """Run a scenario on an engine and the reference, compare them, and check their results."""
    compiled, reference = run(scenario, engine), run(scenario, "reference")
    differ = unlike(compiled, reference)
    if isinstance(compiled, Refused):
        return Checked(options, "refused", differ, [])
    found = violations(scenario, compiled, resolve(scenario.policy, scenario.options))
    return Checked(options, str(compiled.exit_reason), differ, found)


def is_slow(policy: type[Policy]) -> bool:
    """Whether a run takes many times as long as another: Python is called every period, or a solver before the run."""
    return issubclass(policy, BatchPolicy) or getattr(policy, "plans", False)


def shares(n: int) -> dict[str, int]:
    """How many of n scenarios each policy gets: slow ones a quarter of the others, one that plans less."""
    weight = {
        name: 0.05 if getattr(policy, "plans", False) else 0.25 if is_slow(policy) else 1.0
        for name, policy in every_policy().items()
    }
    return {name: math.ceil(n * share / sum(weight.values())) for name, share in weight.items()}


def mostly_interpreted(names, default):
    """Parameters (name, engine) of a test: those in ``default`` without a compiler, and all as machine code, slow."""
    return [(name, "interpreted") for name in default] + [
        pytest.param(name, "compiled", marks=pytest.mark.slow) for name in names
    ]


def mostly_slow(names, default):
    """Parameters of a test that compiles one policy after another: those in ``default``, and the others marked slow."""
    return [name if name in default else pytest.param(name, marks=pytest.mark.slow) for name in names]
