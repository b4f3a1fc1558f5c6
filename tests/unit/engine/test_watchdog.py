"""Kernels on other threads than the main one: results, errors, and work that is abandoned."""

import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.policies.kinds.endless import N_STARTED, Endless
from vinesim.engine import attempt, compiled, engine_choice, run
from vinesim.engine.run import LOOK_S, Abandoned, abandoned_when, run_interruptibly


def test_work_is_done_on_other_threads_and_its_results_come_in_order():
    assert run_interruptibly([threading.current_thread]) != [threading.current_thread()]
    barrier = threading.Barrier(3)  # all at once
    assert run_interruptibly([lambda i=i: (barrier.wait(), i)[1] for i in range(3)]) == [0, 1, 2]
    assert len({*run_interruptibly([threading.get_ident] * 3)}) <= 3


def test_threads_are_used_again():
    before = run_interruptibly([threading.get_ident])
    assert run_interruptibly([threading.get_ident]) == before


def test_an_error_of_the_work_is_the_callers():
    def fail():
        raise ValueError("no")

    done = []
    with pytest.raises(ValueError, match="no"):
        run_interruptibly([fail, lambda: done.append(1)])
    assert done == [1]
    assert run_interruptibly([lambda: 5]) == [5]


def test_a_thread_that_handles_no_signals_does_it_itself():
    found = []
    thread = threading.Thread(
        target=lambda: found.extend([*run_interruptibly([threading.get_ident]), threading.get_ident()])
    )
    thread.start()
    thread.join()
    assert found[0] == found[1]


@pytest.mark.parametrize("wrong", [Abandoned, KeyboardInterrupt])
def test_work_that_is_left_ends_on_its_own_and_its_thread_with_it(monkeypatch, wrong):
    monkeypatch.setattr(run, "LOOK_S", 0.001)
    end, ended = threading.Event(), threading.Event()

    def work():
        end.wait()
        ended.set()

    def look():
        if wrong is Abandoned:
            return True
        raise wrong

    n_idle = len(run._idle)
    with pytest.raises(wrong):
        run_interruptibly([work], look)
    assert not ended.is_set()
    assert len(run._idle) == max(0, n_idle - 1)
    end.set()
    assert ended.wait(60)
    assert run_interruptibly([lambda: 1]) == [1]


def scenario(n=20):
    work = vs.Workload(
        np.full(n, 2), np.arange(n + 1), np.arange(n) * 10.0, np.full(n, 30e6), *np.zeros((3, n)), np.full(n, -1)
    )
    return vs.Scenario(vs.Datacenter.of([("GPU", 0, 0)]), work, policy=Endless)


@pytest.fixture
def thoughts(monkeypatch):
    """The policy's arrays of the runs of a test; at its end they may answer."""
    made, build = [], engine_choice.build_scratch

    def kept(declared, model):
        made.append(build(declared, model))
        return made[-1]

    monkeypatch.setattr(engine_choice, "build_scratch", kept)
    monkeypatch.setattr(run, "LOOK_S", 0.01)
    monkeypatch.setattr(run, "LEAVE_S", 0.05)
    monkeypatch.setattr(run, "SAY_S", 0.0)
    yield made
    for scratch in made:
        if "enough" in scratch._fields:
            scratch.enough[0] = 1


def test_a_run_whose_policy_does_not_answer_can_be_stopped(thoughts):
    """The result is of what was done until then; the thread that is left does not touch it."""
    said, seen = [], []

    def on_progress(progress):
        seen.append(progress)
        return progress.n_events >= N_STARTED

    result = vs.simulate(scenario(), on_progress=on_progress, on_message=said.append, engine="compiled")
    assert result.exit_reason == "INTERRUPTED"
    assert "the policy test_endless, called at " in result.provenance["reason"]
    assert any("test_endless" in text and "Ctrl-C" in text for text in said)
    assert (result.tasks["unit"] >= 0).sum() == N_STARTED
    kept = {
        name: column.tobytes() for name, column in result.outcome.__dict__.items() if isinstance(column, np.ndarray)
    }
    thoughts[-1].enough[0] = 1
    idle = {worker.thread for worker in run._idle}
    for thread in threading.enumerate():
        if thread.name == "vinesim-kernel" and thread not in idle:
            thread.join(60)  # it ends its chunk
            assert not thread.is_alive()
    for name, column in kept.items():
        assert getattr(result.outcome, name).tobytes() == column, name


def test_ctrl_c_in_a_script_says_where_it_was(thoughts, monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(run.Watchdog, "should_abandon", interrupt)
    with pytest.raises(KeyboardInterrupt) as error:
        vs.simulate(scenario(), engine="compiled")
    assert "under the policy test_endless" in error.value.__notes__[0]


def test_small_runs_of_policies_that_answer_need_no_thread(monkeypatch):
    """A run of brief chunks does not; a longer one, and any policy that is not VineSim's own, does."""
    n_calls, original = 0, compiled.run_interruptibly

    def counted(works, look=None):
        nonlocal n_calls
        n_calls += 1
        return original(works, look)

    monkeypatch.setattr(compiled, "run_interruptibly", counted)

    def calls(case):
        nonlocal n_calls
        n_calls = 0
        assert vs.simulate(case, engine="compiled").exit_reason == "ALL_DONE"
        return n_calls

    assert calls(replace(scenario(100), policy="high")) == 0
    monkeypatch.setattr(attempt, "BRIEF_S", 0.0)
    assert calls(replace(scenario(20_000), policy="high")) > 0
    assert calls(replace(scenario(5), policy=Endless)) > 0


@pytest.mark.parametrize("is_left", [False, True])
def test_a_debugger_can_be_used_after_plain_python_was_watched(is_left):
    """A request to stop that is taken back where none waits would make Python 3.11 hang in its next traced call."""
    code = (
        "import sys\n"
        "from vinesim.engine.run import Abandoned, abandoned_when\n"
        "try:\n"
        f"    with abandoned_when(lambda: {is_left}):\n"
        f"        while {is_left}:\n"
        "            pass\n"
        "except Abandoned:\n"
        "    print('left')\n"
        "sys.setprofile(lambda *_: None)\n"
        "(lambda: None)()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ("left\n" if is_left else "")


def test_what_a_callback_loses_is_asked_again():
    """Python swallows, with a message, what is raised in a callback that it calls while it frees an object."""

    class Freed:
        pass

    def last_words(_):
        lost.append(True)
        until = time.monotonic() + 2 * LOOK_S
        while time.monotonic() < until:
            pass

    lost, held, before = [], [Freed()], sys.unraisablehook
    watched = weakref.ref(held[0], last_words)

    def work():
        with abandoned_when(lambda: True):
            held.clear()
            while True:
                pass

    with pytest.raises(Abandoned):
        work()
    assert lost
    assert watched() is None
    assert sys.unraisablehook is before
