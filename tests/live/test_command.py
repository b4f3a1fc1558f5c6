"""Commands of jobs: what is reported of them. They run in a process that adopts orphans, as that of a device does."""

import json
import signal
import subprocess
import sys

import pytest

from tests.live.clusters import until
from vinesim.live.agent.processes import is_alive

RUN = """
import contextlib, json, sys
from pathlib import Path
from vinesim.live.agent.command import run
from vinesim.live.agent.processes import adopt_orphans

adopt_orphans()
large = b"x" * 300_000_000
order = {"attempt": 1, "job": 1, "env": {"OWN": "1"}, "folder": ""}
def say(*one):
    print(json.dumps(one), flush=True)
try:
    say(run(json.loads(sys.argv[1]), order, Path(sys.argv[2]), say, contextlib.nullcontext()))
except OSError as error:
    say(type(error).__name__, error.filename)
"""


def command(folder, *words):
    return [sys.executable, "-c", RUN, json.dumps(words), str(folder)]


@pytest.fixture
def run(tmp_path):
    """What a process of 300 MB that runs a command says at its start, and how it ended."""

    def run(*words):
        done = subprocess.run(command(tmp_path, *words), capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_its_memory_is_its_own(run):
    _, [end] = run("true")
    assert 0 < end["usage"]["max_rss_kib"] < 30_000
    _, [end] = run(sys.executable, "-S", "-c", "b'x' * 100_000_000")
    assert 97_000 < end["usage"]["max_rss_kib"] < 140_000


def test_how_it_ended_is_its_own(run, tmp_path):
    (pid, attempt, started), [end] = run("bash", "-c", "echo $$ $(ps -o pgid= -p $$) $OWN; exit 7")
    assert (end["exit_code"], attempt) == (7, 1)
    assert (tmp_path / "jobs" / "1" / "1.out").read_text().split() == [str(pid), str(pid), "1"]
    assert started
    _, [end] = run("bash", "-c", "kill -TERM $$")
    assert end["exit_code"] == -15


def test_signals_are_as_a_shell_starts_it(run, tmp_path):
    """No signal is ignored or blocked, also where the agent ignores some.

    Two signals belong to the C library, which lets nobody change them: whoever runs these tests may ignore them.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    finally:
        signal.signal(signal.SIGHUP, before)
    ours = sum(1 << (number - 1) for number in signal.valid_signals())
    lines = (tmp_path / "jobs" / "1" / "1.out").read_text().splitlines()
    assert [int(line.split()[1], 16) & ours for line in lines] == [0, 0]


def test_one_that_is_not_there_is_an_error_with_its_name(run):
    assert run("/no/such/command") == [["FileNotFoundError", "/no/such/command"]]
    assert run("/") == [["PermissionError", "/"]]


def test_it_ends_with_the_process_that_runs_it(tmp_path):
    with subprocess.Popen(command(tmp_path, "sleep", "1000"), stdout=subprocess.PIPE, text=True) as process:
        pid, _, started = json.loads(process.stdout.readline())
        assert is_alive(pid, started)
        process.kill()
    until(lambda: not is_alive(pid, started))
