"""The core measured against another commit: which arguments it takes, and what its table says."""

import os
import signal
import sys

import pytest

from benchmarks import __main__ as command
from benchmarks import core_turns

RUN = {"took_s": [2.0], "bytes": 30.0, "found": "a"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["core_cases"], "core_cases and --against COMMIT go together"),
        (["binding", "--against", "HEAD"], "core_cases and --against COMMIT go together"),
        (["binding", "--case", "A"], "--case needs core_cases"),
        (["core_cases", "--against", "no_such_commit"], "--against: no commit no_such_commit in this repository"),
        (["core_cases", "--against", "HEAD", "--case", "Z"], "no case Z; there are: A; B const"),
        (["core_cases", "--against", "HEAD", "--write"], "no page of docs/explanation has a place for core_cases"),
    ],
)
def test_what_does_not_go_together_is_refused(monkeypatch, capsys, arguments, words):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    monkeypatch.setattr(core_turns, "commit_of", commit_of)
    with pytest.raises(SystemExit) as refused:
        command.main()
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


def commit_of(name):
    """As if there were a repository, which an archive of the sources has not."""
    if name != "HEAD":
        raise ValueError(f"no commit {name} in this repository")
    return "0" * 40


def test_a_process_that_is_terminated_removes_the_worktree(monkeypatch):
    commands = []
    monkeypatch.setattr(core_turns.subprocess, "run", lambda command, **_: commands.append(command))
    with pytest.raises(KeyboardInterrupt), core_turns.checkout("HEAD") as path:
        os.kill(os.getpid(), signal.SIGTERM)
    assert [command[2] for command in commands] == ["add", "remove"]
    assert commands[1][-1] == str(path)


def test_the_least_of_the_turns_counts():
    turns = [RUN, {"took_s": [1.5], "bytes": 31.0, "found": "a"}]
    assert core_turns.least(turns) == {"took_s": [1.5], "bytes": 30.0, "found": "a"}
    assert core_turns.least([{"took_s": [3.0, 1.0]}, {"took_s": [2.0, 4.0]}]) == {"took_s": [2.0, 1.0]}
    assert core_turns.least([RUN, {}]) == {}


def test_a_row_compares_both_sides_and_says_what_one_side_lacks():
    found = {
        "A": (RUN, {"took_s": [1.0], "bytes": 15.0, "found": "b"}),
        "B var": ({}, RUN),
        "compile high, then pref": ({"took_s": [4.0, 2.0]}, {"took_s": [3.0, 2.0]}),
    }
    assert core_turns.rows_of(found) == [
        ["A", "2", "1", "0.5", "30", "15", "no"],
        ["B var", "-", "2", "-", "-", "30", "-"],
        ["cold compile of high", "4", "3", "0.75", "-", "-", "-"],
        ["cold compile of pref", "2", "2", "1", "-", "-", "-"],
    ]


def test_promises_are_about_this_checkout_alone():
    found = {
        "B var": ({}, RUN),
        "easy, 745 nodes": (RUN, RUN),
        "conservative, 745 nodes": ({}, {"took_s": [5.0], "bytes": 30.0, "found": "c"}),
    }
    verdicts = [(target.what, target.measured, target.verdict) for target in core_turns.targets_of(found)]
    assert verdicts == [
        ("conservative, 745 nodes: CPU time, that of EASY = 1", 2.5, "met"),
        ("B var: memory beyond the scenario, bytes a task", 30.0, "MISSED"),
    ]
