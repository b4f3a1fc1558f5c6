"""The loop that all policies share: it does what a loop does that a policy is inlined into, and is compiled once."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from numba.core.errors import TypingError

import vinesim as vs
from benchmarks import engine
from benchmarks.cases import Case
from tests.properties.equivalence import any_scenario, every_policy, options_of, run, unlike
from vinesim.engine import binding, slot
from vinesim.engine.binding import InSlot, bound, bound_for, bound_in_slot
from vinesim.engine.machine_code import FOR_ALL, LOOP
from vinesim.policies import OnlinePolicy
from vinesim.policies.online.high import High
from vinesim.state import kernel, machine_code
from vinesim.state.build import build_model
from vinesim.state.by_reference import Arrays
from vinesim.state.initial import build_state
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


def test_a_policy_is_compiled_once_whether_segments_may_end_early_or_not(monkeypatch):
    monkeypatch.setattr(binding, "_loops", {})
    plain = Case("small", 4, 4).scenario(Other)
    limited = replace(plain, workload=replace(plain.workload, limit_us=np.full(4, 1e9)))
    assert [run(one, "compiled").exit_reason for one in (plain, limited)] == ["ALL_DONE"] * 2
    assert len(bound_in_slot(Other.decide, LOOP).loop.signatures) == 1


def test_its_code_cannot_ask_which_it_is():
    state = build_state(build_model(Case("small", 4, 4).scenario(One), ()), 0, ends_early=True)
    assert kernel.ends_early(None, Arrays(state)._numba_type_)
    with pytest.raises(TypingError, match="the same whether segments may end early"):
        kernel.ends_early(None, slot.Seen(state)._numba_type_)


def test_long_runs_take_the_loop_that_the_policy_is_inlined_into(monkeypatch):
    monkeypatch.setattr(binding, "_loops", {})
    monkeypatch.setattr(binding, "is_kept", lambda source, digest: False)
    assert isinstance(bound_for(High.decide, LOOP, binding.INLINED_FROM - 1).loop, InSlot)
    assert bound_for(High.decide, LOOP, binding.INLINED_FROM) is bound(High.decide)
    assert isinstance(bound_for(High.decide, LOOP, 1).loop, InSlot)  # it is not compiled yet


@pytest.fixture
def loop_of_run(monkeypatch):
    """Give the loop that a short run takes."""
    made, bind = [], bound_for
    monkeypatch.setattr(binding, "bound_for", lambda *which, **more: made.append(bind(*which, **more)) or made[-1])

    def loop(scenario):
        vs.simulate(scenario, engine="compiled")
        return getattr(made[-1].loop, "chosen", made[-1].loop)

    return loop


def test_a_short_run_takes_that_loop_too_where_it_is_there_for_such_arrays(loop_of_run):
    """A loop is compiled for types of arrays: those of runs with limits are other ones."""
    plain = Case("small", 4, 4).scenario(One)
    engine.built(plain)
    inlined = bound(One.decide).loop
    n_before = len(inlined.signatures)
    assert loop_of_run(plain) is inlined
    limited = replace(plain, workload=replace(plain.workload, limit_us=np.full(4, 1e9)))
    assert isinstance(loop_of_run(limited), InSlot)
    assert len(inlined.signatures) == n_before


def test_a_short_run_takes_the_inlined_loop_from_the_disk(loop_of_run, monkeypatch):
    plain = Case("small", 4, 4).scenario(One)
    engine.built(plain)
    monkeypatch.setattr(binding, "_loops", {})
    assert loop_of_run(plain) is bound(One.decide).loop
