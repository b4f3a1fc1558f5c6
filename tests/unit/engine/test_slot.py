"""The loop that all policies share: it does what a loop does that a policy is inlined into, and is compiled once."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tests.properties.equivalence import any_scenario, every_policy, options_of, run, unlike
from vinesim.engine import binding
from vinesim.engine.binding import InSlot, bound, bound_for
from vinesim.engine.machine_code import FOR_ALL, LOOP
from vinesim.policies import OnlinePolicy
from vinesim.policies.online.high import High
from vinesim.state import machine_code
from vinesim.state.queries import first_free, nothing, oldest_pending, start

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")


@pytest.mark.parametrize("name", ["high", "flat", "symphony", "las", "test_consolidate"])
def test_both_loops_give_the_same(name, monkeypatch):
    policy = every_policy()[name]
    options = options_of(policy)
    cases = [any_scenario(seed, policy, options[seed % len(options)]) for seed in range(12)]
    monkeypatch.setattr(binding, "INLINED_FROM", math.inf)
    shared = [run(case, "compiled") for case in cases]
    monkeypatch.setattr(binding, "INLINED_FROM", 0)
    inlined = [run(case, "compiled") for case in cases]
    assert [unlike(*pair) for pair in zip(inlined, shared, strict=True)] == [[]] * len(cases)


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
    binding._address_for_all.cache_clear()
    monkeypatch.setattr(binding, "_loops", {})  # other tests may have compiled the same code
    monkeypatch.setattr(binding, "_loops_for_all", {})
    try:
        case = any_scenario(3, One, {})
        loops = []
        for policy in (One, Other):
            run(any_scenario(3, policy, {}), "compiled")
            assert isinstance(bound_for(policy.decide, LOOP, case.workload.n_tasks).loop, InSlot)
            loops.append([file.stat().st_mtime_ns for file in machine_code.folder().glob(f"*{FOR_ALL[LOOP]}*.nbc")])
        assert len(loops[0]) == 1
        assert loops[1] == loops[0]
    finally:
        machine_code.folder.cache_clear()
        binding._address_for_all.cache_clear()


def test_long_runs_and_those_whose_loop_is_there_take_the_loop_that_the_policy_is_inlined_into(monkeypatch):
    monkeypatch.setattr(binding, "_loops", {})
    monkeypatch.setattr(binding, "is_kept", lambda source, digest: False)
    assert isinstance(bound_for(High.decide, LOOP, binding.INLINED_FROM - 1).loop, InSlot)
    long = bound_for(High.decide, LOOP, binding.INLINED_FROM)
    assert long is bound(High.decide)
    assert isinstance(bound_for(High.decide, LOOP, 1).loop, InSlot)  # it is not compiled yet
    monkeypatch.setattr(binding, "is_kept", lambda source, digest: source == LOOP)
    assert bound_for(High.decide, LOOP, 1) is long
