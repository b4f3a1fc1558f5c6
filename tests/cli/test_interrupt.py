"""Ctrl-C and SIGTERM while a policy never answers: the command ends, names the policy, and keeps what is done."""

import json
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from tests.policies.kinds.endless import N_STARTED
from vinesim.cli.stopping import raising_on
from vinesim.formats.results.parquet import read_table

ROOT = Path(__file__).parents[2]
KIND = ROOT / "tests" / "policies" / "kinds" / "endless.py"
QUICK = "import vinesim.engine.run as p, vinesim.cli.progress as c; p.SAY_S = p.LEAVE_S = 0.2; c.GRACE_S = 1.0\n"
MAIN = "from vinesim.cli.start import main; main()"
RUN = QUICK + MAIN
PATIENCE_S = 100.0
WORKING = """
import sys
import vinesim.engine.run as threads
begin = threads._Worker.begin
def reported(self, work):
    begin(self, work)
    print("at work", file=sys.stderr, flush=True)
threads._Worker.begin = reported
import vinesim.engine.reference_run as plain
advance = plain.ReferenceRun.advance
def advanced(self, *arguments):
    print("at work", file=sys.stderr, flush=True)
    return advance(self, *arguments)
plain.ReferenceRun.advance = advanced
"""


def ended(code, arguments, signals):
    """Run Python code; send each signal when the line on standard error that it waits for has come. Returns the exit
    code and all lines."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    waiting, text = list(signals), ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(PATIENCE_S, process.kill)  # or a test that waits for what never comes would hang
        guard.start()
        try:
            for line in process.stderr:
                text += line.replace("\n", " ")
                if waiting and waiting[0][0] in text:
                    process.send_signal(waiting.pop(0)[1])
            return process.wait(), text
        finally:
            guard.cancel()
            process.kill()


def run(policy, signals, *more, code=RUN):
    arguments = ["run", ROOT / "examples" / "quickstart.yaml", "--policy", f"{KIND}:{policy}", *more]
    return ended(code, arguments, signals)


STUCK = "ends the run and keeps what is done"


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_leaves_a_result_of_what_is_done(tmp_path, kind, engine):
    code, text = run("Endless", [(STUCK, kind)], "--engine", engine, "--out", tmp_path / "result")
    assert code == 130
    assert "the policy test_endless, called at 7.00 us, has not returned" in text
    summary = json.loads((tmp_path / "result" / "summary.json").read_text())
    assert summary["exit_reason"] == "INTERRUPTED"
    assert "test_endless" in summary["provenance"]["reason"]
    assert (read_table(tmp_path / "result" / "tasks.parquet")["unit"] >= 0).sum() == N_STARTED


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_compilation_of_a_policy(tmp_path, kind):
    code = f"import os; os.environ['NUMBA_CACHE_DIR'] = {str(tmp_path / 'code')!r}\n{MAIN}"
    arguments = ["run", ROOT / "examples" / "quickstart.yaml", "--engine", "compiled", "--out", tmp_path / "result"]
    ended_with, text = ended(code, arguments, [("compiling the policy", kind)])
    assert ended_with == 130, text
    assert text.endswith("vinesim: interrupted; the policy high was being compiled ")
    assert "press Ctrl-C again" not in text
    assert not (tmp_path / "result").exists()
    assert not [one for one in (tmp_path / "code").rglob("*") if one.is_file() and one.suffix == ".tmp"]


def test_a_second_ctrl_c_ends_it_at_once(tmp_path):
    twice = [(STUCK, signal.SIGINT), ("press Ctrl-C again", signal.SIGINT)]
    stays = "p.Watchdog.report_progress = lambda self: False\n"  # else one may be enough on a busy machine
    code, text = run("Endless", twice, "--out", tmp_path / "result", code=QUICK + stays + MAIN)
    assert code == 130
    assert "vinesim: interrupted; the policy test_endless, called at 7.00 us, has not returned" in text
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    "signals",
    [
        [("thinking", signal.SIGINT), ("press Ctrl-C again", signal.SIGINT)],
        [("thinking", signal.SIGTERM)],  # with nobody to press twice, a timer does
    ],
    ids=["twice Ctrl-C", "SIGTERM"],
)
def test_a_policy_that_sleeps_forever_ends_too(signals):
    code, text = run("Asleep", signals)
    assert code == 130
    assert "under the policy test_asleep" in text or "test_asleep, called at 7.00 us, has not returned" in text


def test_many_runs_in_a_script_end_with_ctrl_c():
    code = WORKING + (
        "import vinesim as vs\n"
        f"case = vs.read_scenario('examples/quickstart.yaml', ['policy={KIND}:Endless'])\n"
        "vs.simulate_many(case, seeds=range(100), workers=2, engine='compiled')\n"
    )
    code, text = ended(code, [], [("at work", signal.SIGINT)])
    assert code not in (0, -signal.SIGKILL)
    assert "KeyboardInterrupt" in text
    assert "under the policy test_endless" in text


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_sweep_in_this_process_ends(tmp_path, kind):
    study = tmp_path / "study.yaml"
    study.write_text(
        f"{{scenario: {ROOT}/examples/quickstart.yaml, axes: {{policy: ['{KIND}:Endless']}}, replications: 2}}"
    )
    arguments = ["sweep", study, "--out", tmp_path / "sweep", "--workers", "1"]
    code, text = ended(WORKING + RUN, arguments, [("at work", kind)])
    assert code == 130
    assert "vinesim: stopped" in text
    assert "under the policy test_endless" in text


def test_a_sweep_of_processes_ends(tmp_path):
    """Its workers leave Ctrl-C to this process, which ends them whatever they do."""
    study = tmp_path / "study.yaml"
    study.write_text(
        f"{{scenario: {ROOT}/examples/quickstart.yaml, axes: {{policy: ['{KIND}:Endless']}}, replications: 2}}"
    )
    says_when_its_workers_work = """
import sys, vinesim.studies.backends.loky as loky
submit = loky.Loky.submit
def reported(self, order):
    submit(self, order)
    print("at work", file=sys.stderr, flush=True)
loky.Loky.submit = reported
"""
    arguments = ["sweep", study, "--out", tmp_path / "sweep", "--workers", "2"]
    code, text = ended(says_when_its_workers_work + RUN, arguments, [("at work", signal.SIGINT)])
    assert code == 130
    assert "vinesim: stopped" in text


def test_what_a_callback_loses_is_raised_again(capsys):
    """Python swallows, with a message, what is raised in a callback that it calls while it frees an object."""
    before = sys.unraisablehook

    class Freed:
        pass

    def last_words(_):
        lost.append(True)
        signal.raise_signal(signal.SIGTERM)

    def work():
        with raising_on(signal.SIGTERM):
            held.clear()
            while True:
                pass

    lost, held = [], [Freed()]
    watched = weakref.ref(held[0], last_words)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert lost
    assert watched() is None
    assert sys.unraisablehook is before
    assert capsys.readouterr().err == ""
