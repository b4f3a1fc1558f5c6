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
from vinesim.core.code import SHARED_LOOP, Code
from vinesim.core.loops import block_for
from vinesim.engine import attempt, blocks, engine_choice
from vinesim.engine.compiling import timing_compilation
from vinesim.engine.reference_run import ReferenceRun
from vinesim.engine.simulate import code_for
from vinesim.jit import machine_code
from vinesim.policies import OnlinePolicy
from vinesim.policies.online.high import High
from vinesim.policies.slurm.policy import Slurm
from vinesim.state import layout
from vinesim.state.queries import fastest_free, nothing, oldest_pending, start

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _real_time(monkeypatch):
    """As users have it."""
    monkeypatch.setattr(engine_choice, "time", time)


def quickstart(**changes):
    return vs.changed(vs.read_scenario(ROOT / "examples" / "quickstart.yaml"), **changes)


def chosen_for(policy):
    """The choice for a run of 100 tasks."""
    return engine_choice.EngineChoice("auto", policy(), code_for(quickstart(), policy()), 100, 200)


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


@dataclass(frozen=True)
class Thoughtful(OnlinePolicy):
    """A policy that takes a second or more for a decision in plain Python."""

    @staticmethod
    def decide(model, state, view):
        total = 0
        for i in range(20_000_000):
            total += i
        task = oldest_pending(model, state)
        unit = fastest_free(model, state, task)
        return start(task, unit) if unit >= 0 and total > 0 else nothing()


def test_a_small_run_loads_no_compiler():
    code = (
        "import math, sys, vinesim as vs\n"
        "from vinesim.engine import engine_choice\n"
        "engine_choice.PACE_S = math.inf\n"  # the machine may be busy
        "reported = vs.simulate(vs.read_scenario('examples/quickstart.yaml')).provenance\n"
        "print(reported['engine'], reported['engine_choice'], 'numba' in sys.modules, sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "reference|quick enough|False\n"


def test_an_engine_is_what_was_asked_for():
    for engine in ("compiled", "reference"):
        reported = vs.simulate(quickstart(), engine=engine).provenance
        assert (reported["engine"], reported["engine_choice"]) == (engine, "as asked for")
    with pytest.raises(vs.InputError, match="engine: expected auto or compiled or reference, found 'quick'"):
        vs.simulate(quickstart(), engine="quick")


def test_a_policy_in_plain_python_needs_no_word_about_it():
    reported = vs.simulate(quickstart(policy=Plain)).provenance
    assert (reported["engine"], reported["engine_choice"]) == ("reference", "the policy is plain Python")
    with pytest.raises(vs.InputError, match="expected reference or auto, as the policy high is plain Python"):
        vs.simulate(quickstart(policy=Plain), engine="compiled")


def test_code_that_is_loaded_is_used():
    vs.simulate(quickstart(), engine="compiled")
    reported = vs.simulate(quickstart()).provenance
    assert (reported["engine"], reported["engine_choice"]) == ("compiled", "its code is loaded")


def test_many_tasks_are_for_the_compiled_engine(monkeypatch):
    monkeypatch.setattr(Code, "is_loaded", False)
    kept, code = [], code_for(quickstart(), High())
    monkeypatch.setattr(Code, "is_on_disk", property(lambda code: bool(kept)))
    monkeypatch.setattr(engine_choice, "MANY_TASKS", 2_499)
    assert not engine_choice.is_worth_loading(code, 2_500)
    kept.append("the code")
    assert engine_choice.is_worth_loading(code, 2_500)
    assert not engine_choice.is_worth_loading(code, 2_499)
    kept.clear()
    monkeypatch.setattr(engine_choice, "TOO_MANY_TASKS", 2_499)
    assert engine_choice.is_worth_loading(code, 2_500)


def test_code_for_tasks_that_hold_one_unit_is_not_code_for_those_that_hold_several(tmp_path):
    code = (
        "import sys, vinesim as vs\n"
        "from tests.properties.test_real_nodes import plain\n"
        "from vinesim.engine.simulate import code_for\n"
        "from vinesim.policies.online.high import High\n"
        "several = plain('high', units=[2, 1, 1], lead_types=[0, -1, -1], lead_sets=(('GPU',),))\n"
        "cases = {'one': plain('high'), 'several': several}\n"
        "def are(reported): return [getattr(code_for(case, High()), reported) for case in cases.values()]\n"
        "vs.simulate(cases[sys.argv[1]], engine='compiled')\n"
        "print(are('is_on_disk'), are('is_loaded'))"
    )

    def reported(first):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / first)}
        command = [sys.executable, "-c", code, first]
        copy_loops(tmp_path / first)
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert reported("one") == "[True, False] [True, False]\n"
    assert reported("several") == "[False, True] [False, True]\n"


@pytest.mark.parametrize("times_as_long", [1, 10])
def test_a_further_policy_is_compiled_sooner_than_the_first_and_a_long_one_later(monkeypatch, tmp_path, times_as_long):
    if times_as_long > 1:
        monkeypatch.setattr(engine_choice, "FURTHER_BYTES", engine_choice.bytes_of(Mine.decide) / times_as_long)
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(machine_code, "folder", lambda: tmp_path)
    monkeypatch.setattr(engine_choice, "_took_s", {})

    def is_left_after(seconds):
        chosen = chosen_for(Mine)
        monkeypatch.setattr(chosen, "_begun", time.perf_counter() - seconds)
        return chosen.is_too_slow(200)

    assert not is_left_after(3.0)
    digest = code_for(quickstart(), Mine()).name(SHARED_LOOP)
    name = machine_code.name_of(SHARED_LOOP, digest)
    (tmp_path / f"loop.{name}-.{machine_code.PYTHON}.nbi").touch()
    assert is_left_after(3.0) == (times_as_long == 1)
    assert is_left_after(2.5 * times_as_long)


def test_slurm_takes_ten_times_as_long_to_compile_as_a_short_policy():
    assert engine_choice.bytes_of(High.decide) < engine_choice.FURTHER_BYTES
    assert 8 <= engine_choice.bytes_of(Slurm.decide) / engine_choice.FURTHER_BYTES <= 12


@pytest.fixture
def impatient(monkeypatch):
    """The reference engine is too slow after its first chunk, whatever it does."""
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(engine_choice, "_took_s", {})
    for name in ("PACE_S", "LOAD_S", "FURTHER_S", "COMPILE_S"):
        monkeypatch.setattr(engine_choice, name, 0.0)


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
    look = engine_choice.EngineChoice.is_too_slow
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(engine_choice.EngineChoice, "is_too_slow", lambda self, n: seen.append(n) or look(self, n))
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


def test_progress_is_reported_of_both(impatient):
    seen = []
    vs.simulate(quickstart(policy="pref"), on_progress=lambda progress: seen.append(progress.n_done))
    assert len(seen) >= 1


def test_what_a_policy_took_before_counts(monkeypatch):
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(Code, "is_on_disk", False)
    monkeypatch.setattr(Code, "is_loop_on_disk", False)
    monkeypatch.setattr(engine_choice, "_took_s", {})
    chosen = chosen_for(Mine)
    monkeypatch.setattr(chosen, "_begun", time.perf_counter() - 5.0)
    assert not chosen.is_too_slow(150)  # 5 s, and 2 to go
    chosen.record_time()
    again = chosen_for(Mine)
    monkeypatch.setattr(again, "_begun", time.perf_counter() - 4.0)
    assert again.is_too_slow(150)
    assert again.why == "the reference engine would have taken some 5 s"
    other = chosen_for(High)
    monkeypatch.setattr(other, "_begun", time.perf_counter() - 4.0)
    assert not other.is_too_slow(150)
    assert other.is_too_slow(50)  # 4 s, and 12 to go


def test_many_small_runs_one_by_one_get_the_compiled_engine(monkeypatch):
    kept = []
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(Code, "is_on_disk", property(lambda code: bool(kept)))
    monkeypatch.setattr(engine_choice, "_took_s", {})

    def small(took_s):
        chosen = chosen_for(Mine)
        monkeypatch.setattr(chosen, "_begun", time.perf_counter() - took_s)
        if chosen.first == "reference":
            assert not chosen.is_too_slow(150)
        chosen.record_time()
        return chosen.first, chosen.why

    assert [small(0.2) for _ in range(5)] == [("reference", "quick enough")] * 5
    kept.append("the code")
    assert small(0.2) == ("compiled", "many runs")
    kept.clear()
    assert small(0.2) == ("reference", "quick enough")
    for _ in range(34):
        small(0.2)
    assert small(0.2) == ("compiled", "many runs")
    chosen = chosen_for(Mine)
    chosen.cannot_compile()
    assert small(0.2) == ("reference", "quick enough")


def test_code_on_the_disk_is_fetched_sooner(monkeypatch):
    kept = []
    monkeypatch.setattr(Code, "is_loaded", False)
    monkeypatch.setattr(Code, "is_on_disk", property(lambda code: bool(kept)))
    chosen = chosen_for(Mine)
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
    assert "The run continues in plain Python." in said[-1]
    assert not unlike(done, vs.simulate(quickstart(policy=WithAList), engine="reference"))
    with pytest.raises(vs.PolicyError, match="it makes a list"):
        vs.simulate(quickstart(policy=WithAList), engine="compiled")


def test_many_small_runs_too(monkeypatch):
    monkeypatch.setattr(Code, "is_loaded", False)
    case, made = quickstart(policy=Mine), []
    monkeypatch.setattr(blocks, "block_for", lambda features: made.append(features) or block_for(features))
    few = vs.simulate_many(case, seeds=[0, 1])
    assert not made
    many = vs.simulate_many(case, seeds=[0, 1], engine="compiled")
    assert made
    plain = vs.simulate_many(case, seeds=[0, 1], engine="reference")
    for name in many:
        assert few[name].tobytes() == many[name].tobytes() == plain[name].tobytes()


def test_runs_left_over_are_done_together_once_that_is_worth_it(monkeypatch):
    case = quickstart(policy=Mine)
    asked = []
    monkeypatch.setattr(
        "vinesim.engine.many.is_worth_loading",
        lambda code, n_tasks: asked.append(n_tasks) or len(asked) > 2,
    )
    found = vs.simulate_many(case, seeds=[3, 4, 5, 6, 7])
    assert asked == [5 * 2500, 4 * 2500, 3 * 2500]
    whole = vs.simulate_many(case, seeds=[3, 4, 5, 6, 7], engine="compiled")
    for name in whole:
        assert found[name].tobytes() == whole[name].tobytes()


def test_many_runs_of_a_policy_that_the_compiler_refuses(monkeypatch):
    case = quickstart(policy=WithAList)
    plain = vs.simulate_many(case, seeds=[3, 4], engine="reference")
    monkeypatch.setattr("vinesim.engine.many.is_worth_loading", lambda *_: True)
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
    assert "has not returned" in done.provenance["reason"]
    assert (done.tasks["unit"] >= 0).sum() == N_STARTED


def test_the_digest_needs_no_compiler():
    code = (
        "import sys\n"
        "from vinesim.core.code import digest_of as of, fingerprint\n"
        "digest_of = lambda decide: of(frozenset(), fingerprint(decide))\n"
        "from vinesim.policies.resource_based.ljf_ocl import RbLjfOcl\n"
        "from vinesim.policies.online.high import High\n"
        "first = [digest_of(kind.decide) for kind in (High, RbLjfOcl)]\n"
        "assert 'numba' not in sys.modules\n"
        "import vinesim.core.loops\n"
        "print(first == [digest_of(kind.decide) for kind in (High, RbLjfOcl)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


class TookOver(Exception):
    """The compiled engine was to take over."""


@pytest.mark.parametrize("n_units", [999, 1000])
def test_with_many_units_it_takes_over_while_a_decision_lasts(monkeypatch, n_units):
    def run_engine(self, engine):
        if engine == "compiled":
            raise TookOver
        return run_for_real(self, engine)

    def advance(self, *arguments):
        ends.append(advance_for_real(self, *arguments))
        return ends[-1]

    ends, run_for_real, advance_for_real = [], attempt.Attempt._run_on, ReferenceRun.advance
    monkeypatch.setattr(attempt.Attempt, "_run_on", run_engine)
    monkeypatch.setattr(ReferenceRun, "advance", advance)
    monkeypatch.setattr(attempt, "FIRST_TRIED", 1)
    monkeypatch.setattr(engine_choice, "PACE_S", 0.1)
    monkeypatch.setattr(engine_choice.EngineChoice, "_is_worth_it", lambda self, seconds: True)
    monkeypatch.setattr(Thoughtful, "__module__", "vinesim.tests")
    monkeypatch.setattr(Thoughtful.decide, "__module__", "vinesim.tests")
    work = vs.Workload([0], [0, 1], [0.0], [1.0], *[[0.0]] * 3, [-1], task_types=(vs.TaskType("T"),))
    zeros = [0] * n_units
    center = vs.Datacenter(zeros, zeros, range(n_units), (vs.ProcessorType("P"),))
    with pytest.raises(TookOver):
        vs.simulate(vs.Scenario(center, work, Thoughtful, affinity=[[1.0]]))
    assert (ends[-1] == layout.ABANDONED) == (n_units >= attempt.MANY_UNITS)
