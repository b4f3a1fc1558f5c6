"""The loop that all policies share: it does what a loop does that a policy is inlined into, and is compiled once."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

from benchmarks.cases import Case
from tests.properties.equivalence import any_scenario, every_policy, options_of, run, unlike
from vinesim.core import code, loops
from vinesim.core.code import SHARED_LOOP
from vinesim.engine.simulate import code_for
from vinesim.jit import machine_code
from vinesim.policies import OnlinePolicy
from vinesim.state.queries import first_free, nothing, oldest_pending, start

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


@pytest.mark.parametrize("name", ["high", "flat", "symphony", "test_consolidate", "bf"])
def test_both_loops_give_the_same(name, monkeypatch):
    policy = every_policy()[name]
    options = options_of(policy)
    cases = [any_scenario(seed, policy, options[seed % len(options)]) for seed in range(12)]
    for engine, some in (("compiled", cases[2:3]), ("interpreted", cases)):
        monkeypatch.setattr(code, "INLINED_FROM", math.inf)
        shared = [run(case, engine) for case in some]
        monkeypatch.setattr(code, "INLINED_FROM", 0)
        inlined = [run(case, engine) for case in some]
        assert [unlike(*pair) for pair in zip(inlined, shared, strict=True)] == [[]] * len(some)


@dataclass(frozen=True)
class One(OnlinePolicy):
    """The first unit for the oldest task."""

    name: ClassVar[str] = "test_one"

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class Other(One):
    """One with an option and an array, in another order."""

    scratch: ClassVar[dict[str, tuple[str, str]]] = {"started": ("i8", "one")}

    skips: int = 0

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        if unit < 0 or view.scratch.started[0] < view.options.skips:
            return nothing()
        view.scratch.started[0] += 1
        return start(task, unit)


def test_a_further_policy_compiles_no_loop(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    machine_code.folder.cache_clear()
    monkeypatch.setattr(loops, "_loops", {})  # other tests may have compiled the same code
    try:
        times = []
        for policy in (One, Other):
            run(any_scenario(3, policy, {}), "compiled")
            times.append([file.stat().st_mtime_ns for file in machine_code.folder().glob(f"*{SHARED_LOOP}*.nbc")])
        assert len(times[0]) == 1
        assert times[1] == times[0]
    finally:
        machine_code.folder.cache_clear()


def test_options_of_one_policy_are_not_read_as_those_of_another(monkeypatch):
    """The functions that find them are bound to each loop."""
    monkeypatch.setattr(code, "INLINED_FROM", 0)
    for policy in (One, Other, One):
        scenario = any_scenario(3, policy, {})
        assert unlike(run(scenario, "compiled"), run(scenario, "reference")) == []


def test_long_runs_take_the_loop_that_the_policy_is_inlined_into(monkeypatch):
    monkeypatch.setattr(loops, "_loops", {})
    monkeypatch.setattr(code, "is_kept", lambda source, digest: False)
    case = Case("small", 4, 4).scenario(One)
    of_case = code_for(case, One())
    assert loops.loop_for(of_case, code.INLINED_FROM - 1).policy is not None
    assert loops.loop_for(of_case, code.INLINED_FROM).policy is None
    assert loops.loop_for(of_case, 1).policy is not None  # the other one is not compiled yet
