"""Which engine does a run when that is left to VineSim, and that the result does not depend on it."""

import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import vinesim as vs
from tests.loops import copy_loops
from tests.properties.equivalence import unlike
from vinesim.engine import attempt, tier
from vinesim.engine.binding import is_bound
from vinesim.engine.compiling import timing_compilation
from vinesim.engine.machine_code import BLOCK, IN_SLOT, LOOP, digest_of, loop_for_all
from vinesim.policies import OnlinePolicy
from vinesim.policies.online.high import High
from vinesim.state import machine_code
from vinesim.state.queries import fastest_free, nothing, oldest_pending, start

ROOT = Path(__file__).parents[3]


def quickstart(**changes):
    return vs.changed(vs.read_scenario(ROOT / "examples" / "quickstart.yaml"), **changes)


@dataclass(frozen=True)
class Mine(OnlinePolicy):
    """A policy whose loop no other test compiles."""

    name: ClassVar[str] = "test_mine"

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = fastest_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()


@dataclass(frozen=True)
class WithAList(OnlinePolicy):
    """A policy that the compiler refuses."""

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        for unit in [int(one) for one in range(len(model.unit_type))]:
            if task >= 0 and state.unit_load[unit] == 0.0:
                return start(task, unit)
        return nothing()


@dataclass(frozen=True)
class Plain(High):
    compiled: ClassVar[bool] = False


def test_a_small_run_loads_no_compiler():
    code = (
        "import sys, vinesim as vs\n"
        "told = vs.simulate(vs.read_scenario('examples/quickstart.yaml')).provenance\n"
        "print(told['engine'], told['engine_choice'], 'numba' in sys.modules, sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "reference|quick enough|False\n"


def test_an_engine_is_what_was_asked_for():
    for engine in ("compiled", "reference"):
        told = vs.simulate(quickstart(), engine=engine).provenance
        assert (told["engine"], told["engine_choice"]) == (engine, "as asked for")
    with pytest.raises(vs.InputError, match="engine: expected auto or compiled or reference, found 'quick'"):
        vs.simulate(quickstart(), engine="quick")


def test_a_policy_in_plain_python_needs_no_word_about_it():
    told = vs.simulate(quickstart(policy=Plain)).provenance
    assert (told["engine"], told["engine_choice"]) == ("reference", "the policy is plain Python")
    with pytest.raises(vs.InputError, match="expected reference or auto, as the policy high is plain Python"):
        vs.simulate(quickstart(policy=Plain), engine="compiled")


def test_code_that_is_loaded_is_used():
    vs.simulate(quickstart(), engine="compiled")
    told = vs.simulate(quickstart()).provenance
    assert (told["engine"], told["engine_choice"]) == ("compiled", "its code is loaded")


def test_many_tasks_are_for_the_compiled_engine(monkeypatch):
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    kept = []
    monkeypatch.setattr(tier, "is_on_disk", lambda decide, kernel: kept)
    monkeypatch.setattr(tier, "MANY_TASKS", 2_499)
    assert not tier.is_worth_compiling(High.decide, 2_500)
    kept.append("the code")
    assert tier.is_worth_compiling(High.decide, 2_500)
    assert not tier.is_worth_compiling(High.decide, 2_499)
    kept.clear()
    monkeypatch.setattr(tier, "TOO_MANY_TASKS", 2_499)
    assert tier.is_worth_compiling(High.decide, 2_500)


def test_code_for_tasks_that_hold_one_unit_is_not_code_for_those_that_hold_several(tmp_path):
    code = (
        "import sys, vinesim as vs\n"
        "from tests.properties.test_real_nodes import plain\n"
        "from vinesim.engine.machine_code import LOOP, LOOP_OF_SEVERAL, is_on_disk\n"
        "from vinesim.engine.tier import is_loaded\n"
        "from vinesim.policies.online.high import High\n"
        "def are(told): return [told(High.decide, name) for name in (LOOP, LOOP_OF_SEVERAL)]\n"
        "several = dict(units=[2, 1, 1], lead_types=[0, -1, -1], lead_sets=(('GPU',),))\n"
        "for columns in ({}, several) if sys.argv[1] == 'one' else (several,):\n"
        "    vs.simulate(plain('high', **columns), engine='compiled')\n"
        "    print(are(is_on_disk), are(is_loaded))"
    )

    def told(first):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", code, first]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    copy_loops(tmp_path)
    assert told("one") == "[True, False] [True, False]\n[True, True] [True, True]\n"
    for file in tmp_path.rglob(f"*{machine_code.name_of(IN_SLOT[LOOP], digest_of(High.decide))}*"):
        file.unlink()
    assert told("several") == "[False, True] [False, True]\n"


def test_a_further_policy_is_compiled_sooner_than_the_first(monkeypatch, tmp_path):
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(machine_code, "folder", lambda: tmp_path)
    monkeypatch.setattr(tier, "_took_s", {})

    def is_left_after_3_s():
        chosen = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
        monkeypatch.setattr(chosen, "_begun", time.perf_counter() - 3.0)
        return chosen.is_too_slow(100)

    assert not is_left_after_3_s()
    title, digest = loop_for_all(LOOP, preempts=True)
    (tmp_path / f"loop.{machine_code.name_of(title, digest)}-.{machine_code.PYTHON}.nbi").touch()
    assert not is_left_after_3_s()  # it is for other policies
    title, digest = loop_for_all(LOOP, preempts=False)
    (tmp_path / f"loop.{machine_code.name_of(title, digest)}-.{machine_code.PYTHON}.nbi").touch()
    assert is_left_after_3_s()


@pytest.fixture
def impatient(monkeypatch):
    """The reference engine is too slow after its first chunk, whatever it does."""
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "_took_s", {})
    for name in ("PACE_S", "LOAD_S", "FURTHER_S", "COMPILE_S"):
        monkeypatch.setattr(tier, name, 0.0)


CASES = {
    "online": ("quickstart.yaml", []),
    "random": ("quickstart.yaml", ["policy=flat"]),
    "outages": ("quickstart.yaml", ["outages=[{rack: 0, shelf: 0, down: 100 us, up: 300 us}]"]),
    "batch, moving": ("energy.yaml", ["workload.options.tasks_per_batch=20"]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_that_changes_engines_gives_the_same(name, impatient):
    file, changes = CASES[name]
    case = vs.read_scenario(ROOT / "examples" / file, changes)
    changed, alone = vs.simulate(case), vs.simulate(case, engine="reference")
    assert changed.provenance["engine"] == "compiled"
    assert "the reference engine would have taken" in changed.provenance["engine_choice"]
    assert not unlike(changed, alone)


def test_the_reference_engine_is_looked_at_after_a_few_events(monkeypatch):
    """On a large cluster each of them may take it a second."""
    seen = []
    look = tier.Tier.is_too_slow
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(tier.Tier, "is_too_slow", lambda self, n: seen.append(n) or look(self, n))
    vs.simulate(quickstart(policy="pref"))
    assert seen[0] <= 8
    assert seen[-1] > 256  # later at longer intervals
    assert len(seen) < 20


def test_compiling_is_timed_on_this_thread():
    numba = pytest.importorskip("numba")
    with timing_compilation() as compiled_s:
        assert compiled_s() == 0.0
        numba.njit(lambda x: x + 1)(1)
        here_s = compiled_s()
        assert here_s > 0.0
        other = threading.Thread(target=lambda: numba.njit(lambda x: x + 2)(1))
        other.start()
        other.join()
        assert compiled_s() == here_s


def test_what_is_compiled_during_a_run_is_no_time_of_the_run(monkeypatch):
    times = iter([0.0, 1000.0])  # before the first event, and at the end
    monkeypatch.setattr(attempt, "timing_compilation", lambda: nullcontext(lambda: next(times)))
    assert vs.simulate(quickstart(), engine="compiled").provenance["compile_s"] > 999.0


def test_progress_is_told_of_both(impatient):
    seen = []
    vs.simulate(quickstart(policy="pref"), on_progress=lambda progress: seen.append(progress.n_done))
    assert len(seen) >= 1


def test_what_a_policy_took_before_counts(monkeypatch):
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "is_on_disk", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "is_loop_on_disk", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "_took_s", {})
    chosen = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
    monkeypatch.setattr(chosen, "_begun", time.perf_counter() - 5.0)
    assert not chosen.is_too_slow(150)  # 5 s, and 2 to go
    chosen.took()
    again = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
    monkeypatch.setattr(again, "_begun", time.perf_counter() - 4.0)
    assert again.is_too_slow(150)
    assert again.why == "the reference engine would have taken some 5 s"
    other = tier.Tier("auto", High(), High.decide, 100, 200)
    monkeypatch.setattr(other, "_begun", time.perf_counter() - 4.0)
    assert not other.is_too_slow(150)
    assert other.is_too_slow(50)  # 4 s, and 12 to go


def test_many_small_runs_one_by_one_get_the_compiled_engine(monkeypatch):
    kept = []
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "is_on_disk", lambda decide, kernel: kept)
    monkeypatch.setattr(tier, "_took_s", {})

    def small(took_s):
        chosen = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
        monkeypatch.setattr(chosen, "_begun", time.perf_counter() - took_s)
        if chosen.first == "reference":
            assert not chosen.is_too_slow(150)
        chosen.took()
        return chosen.first, chosen.why

    assert [small(0.2) for _ in range(5)] == [("reference", "quick enough")] * 5
    kept.append("the code")
    assert small(0.2) == ("compiled", "many runs")
    kept.clear()
    assert small(0.2) == ("reference", "quick enough")
    for _ in range(34):
        small(0.2)
    assert small(0.2) == ("compiled", "many runs")
    chosen = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
    chosen.cannot_compile()
    assert small(0.2) == ("reference", "quick enough")


def test_code_on_the_disk_is_fetched_sooner(monkeypatch):
    kept = []
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    monkeypatch.setattr(tier, "is_on_disk", lambda decide, kernel: kept)
    chosen = tier.Tier("auto", Mine(), Mine.decide, 100, 200)
    monkeypatch.setattr(chosen, "_begun", time.perf_counter() - 1.0)
    assert not chosen.is_too_slow(150)
    kept.append("the code")
    assert chosen.is_too_slow(150)


def test_a_policy_that_the_compiler_refuses_goes_on_in_python(impatient):
    said = []
    done = vs.simulate(quickstart(policy=WithAList), on_message=said.append)
    assert (done.provenance["engine"], done.provenance["engine_choice"]) == (
        "reference",
        "the policy cannot be compiled",
    )
    assert "it makes a list" in said[-1]
    assert "It goes on in plain Python." in said[-1]
    assert not unlike(done, vs.simulate(quickstart(policy=WithAList), engine="reference"))
    with pytest.raises(vs.PolicyError, match="it makes a list"):
        vs.simulate(quickstart(policy=WithAList), engine="compiled")


def test_many_small_runs_too(monkeypatch):
    monkeypatch.setattr(tier, "is_loaded", lambda decide, kernel: False)
    case = quickstart(policy=Mine)
    few = vs.simulate_many(case, seeds=[0, 1])
    assert not is_bound(Mine.decide, BLOCK)
    many = vs.simulate_many(case, seeds=[0, 1], engine="compiled")
    assert is_bound(Mine.decide, BLOCK)
    plain = vs.simulate_many(case, seeds=[0, 1], engine="reference")
    for name in many:
        assert few[name].tobytes() == many[name].tobytes() == plain[name].tobytes()


def test_runs_left_over_are_done_together_once_that_is_worth_it(monkeypatch):
    case = quickstart(policy=Mine)
    asked = []
    monkeypatch.setattr(
        "vinesim.engine.many.is_worth_compiling",
        lambda decide, n_tasks, kernel: asked.append(n_tasks) or len(asked) > 2,
    )
    found = vs.simulate_many(case, seeds=[3, 4, 5, 6, 7])
    assert asked == [5 * 2500, 4 * 2500, 3 * 2500]
    whole = vs.simulate_many(case, seeds=[3, 4, 5, 6, 7], engine="compiled")
    for name in whole:
        assert found[name].tobytes() == whole[name].tobytes()


def test_many_runs_of_a_policy_that_the_compiler_refuses(monkeypatch):
    case = quickstart(policy=WithAList)
    plain = vs.simulate_many(case, seeds=[3, 4], engine="reference")
    monkeypatch.setattr("vinesim.engine.many.is_worth_compiling", lambda *_: True)
    found = vs.simulate_many(case, seeds=[3, 4])
    assert all(found[name].tobytes() == plain[name].tobytes() for name in plain)
    with pytest.raises(vs.PolicyError, match="it makes a list"):
        vs.simulate_many(case, seeds=[3, 4], engine="compiled")
    with pytest.raises(vs.InputError, match="engine: expected auto or compiled or reference, found 'quick'"):
        vs.simulate_many(case, seeds=[3, 4], engine="quick")


def test_a_policy_that_never_answers_is_left_on_the_reference_engine_too():
    from tests.policies.kinds.endless import N_STARTED, Endless

    case = quickstart(policy=Endless)
    done = vs.simulate(case, engine="reference", on_progress=lambda progress: progress.n_events > 0)
    assert done.exit_reason == "INTERRUPTED"
    assert "has not answered" in done.provenance["reason"]
    assert (done.tasks["unit"] >= 0).sum() == N_STARTED


def test_the_digest_needs_no_compiler():
    code = (
        "import sys\n"
        "from vinesim.engine.machine_code import digest_of\n"
        "from vinesim.policies.resource_based.ljf_ocl import RbLjfOcl\n"
        "from vinesim.policies.online.high import High\n"
        "first = [digest_of(kind.decide) for kind in (High, RbLjfOcl)]\n"
        "assert 'numba' not in sys.modules\n"
        "import vinesim.engine.binding\n"
        "print(first == [digest_of(kind.decide) for kind in (High, RbLjfOcl)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
