"""The command from its first line to its last, whatever its caller closes, ignores or sends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "examples" / "quickstart.yaml"
MAIN = "from vinesim.cli.start import main; main()"

SENT_WHEN_LOADED = """
import os, sys
class Sends:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Sends())
"""
SENT_WHEN_WRITTEN = """
import os, sys
def send(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".tmp"):
        os.kill(os.getpid(), {number})
sys.addaudithook(send)
"""
SENT_AT_THE_END = """
import atexit, os
atexit.register(lambda: os.kill(os.getpid(), {number}))
"""
ONE_AFTER_ANOTHER = """
import sys
from vinesim.cli.start import main
words = sys.argv[1:]
while words:
    end = words.index("")
    sys.argv, words = ["vinesim", *words[:end]], words[end + 1 :]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, sys.argv
    print("ended", flush=True)
"""


def run(code, *words, **more):
    command = [sys.executable, "-c", code + MAIN, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, **more)


@pytest.fixture
def study(tmp_path):
    study = {"scenario": str(SCENARIO), "axes": {"policy": ["high", "flat"]}, "replications": 2}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    return tmp_path / "study.yaml"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["typer", "yaml", "vinesim.policies.online.high"])
def test_a_signal_while_it_starts_or_reads_is_one_line(module, number):
    """Before the command line is there, while it reads the scenario, and while it checks it."""
    done = run(SENT_WHEN_LOADED.format(module=module, number=int(number)), "validate", SCENARIO)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "vinesim: interrupted\n")


def test_a_signal_while_a_file_is_written_leaves_no_draft(tmp_path):
    words = ("generate", "500jobs", "--output", tmp_path / "w.parquet")
    done = run(SENT_WHEN_WRITTEN.format(number=int(signal.SIGTERM)), *words)
    assert (done.returncode, done.stderr) == (130, "vinesim: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_after_the_work_does_not_change_the_exit_code():
    done = run(SENT_AT_THE_END.format(number=int(signal.SIGTERM)), "validate", SCENARIO)
    assert (done.returncode, done.stderr) == (0, "")
    assert "valid" in done.stdout


def test_a_signal_that_the_caller_ignores_is_ignored():
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = run(code + SENT_WHEN_LOADED.format(module="yaml", number=int(signal.SIGINT)), "validate", SCENARIO)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [("run", SCENARIO), ("validate", SCENARIO), ("policies",), ("run", "--help")])
def test_a_reader_that_has_enough_is_no_error(words):
    """As ``vinesim run ... | head -1``."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "vinesim", *map(str, words)]
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_sweep_with_closed_streams_does_its_runs(study, tmp_path, closed):
    command = f'exec "$0" -m vinesim sweep {study} --out {tmp_path}/out --workers 2 {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 1
    assert not (tmp_path / "out" / "journal").exists()


@pytest.mark.parametrize("language", ["POSIX", "C.UTF-8"])
def test_names_that_the_locale_lacks_are_written_and_found(study, tmp_path, language):
    environment = {**os.environ, "LC_ALL": language, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    out = tmp_path / "ünï"
    commands = (
        ("run", SCENARIO, "--out", out, "--explain"),
        ("report", out),
        ("explain", out, "--job", 0),
        ("timeline", out),
        ("sweep", study, "--out", tmp_path / "ö", "--workers", "1"),
        ("report", tmp_path / "ö"),
        ("compare", tmp_path / "ö", "--by", "policy", "--of", "makespan_us"),
    )
    words = [os.fsencode(str(word)) for command in commands for word in (*command, "")]
    done = subprocess.run([sys.executable, "-c", ONE_AFTER_ANOTHER, *words], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"ended\n") == len(commands)
    assert (out / "report.html").is_file()
