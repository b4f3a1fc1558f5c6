"""The list of mutations cannot rot: each one still has its text, its tests, and its row in the documentation."""

import ast
import json
from collections import Counter

import pytest
from rich.console import Console

from verification.mutations import __main__ as command
from verification.mutations.bench import NEAREST, NOTHING, SUITE, SURVIVED, USAGE, Bench
from verification.mutations.mutation import ROOT, Edit, mutation

ALL = command.declared()


@pytest.mark.parametrize("number", range(1, len(ALL) + 1))
def test_a_mutation_changes_a_text_that_is_there_once_into_a_program(number):
    area, one = ALL[number - 1]
    assert one.edits, area
    for path, text in one.texts(ROOT).items():
        assert text != (ROOT / path).read_text()
        ast.parse(text)


@pytest.mark.parametrize("number", range(1, len(ALL) + 1))
def test_its_tests_are_there(number):
    _, one = ALL[number - 1]
    for test in [*one.tests.split(), *one.added.split()]:
        file, _, name = test.partition("[")[0].partition("::")
        assert (ROOT / file).exists(), test
        assert not name or f"def {name}(" in (ROOT / file).read_text(), test


def test_no_two_are_the_same():
    assert max(Counter(one.edits for _, one in ALL).values()) == 1
    assert len(ALL) >= 60


def test_the_documentation_tells_of_these_mutations_and_of_no_gap():
    rows = json.loads(command.TABLE.read_text())
    assert rows == [command.row(area, one, row["caught"]) for (area, one), row in zip(ALL, rows, strict=True)]
    assert all((row["caught"] == SURVIVED) == bool(row["equivalent"]) for row in rows)


def test_a_text_that_is_there_twice_or_not_at_all_is_refused():
    edit = Edit("engine/loop.py", "now", "then")
    with pytest.raises(ValueError, match="exactly once, and has it 2 times"):
        edit.made_in("now and now")
    with pytest.raises(ValueError, match="exactly once, and has it 0 times"):
        edit.made_in("never")


def test_files_are_changed_while_a_mutation_is_in_place_and_have_their_old_times_after_it(tmp_path):
    file = tmp_path / "src" / "vinesim" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1\ny = 2\n")
    before = file.stat().st_mtime_ns
    with mutation("", "", "a.py", "x = 1", "x = 3", "a.py", "y = 2", "y = 4").in_place(tmp_path):
        assert file.read_text() == "x = 3\ny = 4\n"
    assert (file.read_text(), file.stat().st_mtime_ns) == ("x = 1\ny = 2\n", before)


@pytest.mark.parametrize(
    ("caught", "added", "equivalent", "words"),
    [
        ("nearest tests", "", "", "1 caught"),
        ("whole suite", "tests/a.py", "", "1 caught by tests that were added"),
        (SURVIVED, "", "it is the same", "1 equivalent"),
        (SURVIVED, "", "", "1 survived"),
    ],
)
def test_score(caught, added, equivalent, words):
    one = mutation("", "", "a.py", "x", "y", added=added, equivalent=equivalent)
    assert command.score([command.row("engine", one, caught)]) == f"1 mutations: {words}"


def test_scores_are_those_of_each_area_and_of_all(capsys):
    kinds = [("engine", "nearest tests", ""), ("engine", SURVIVED, ""), ("engine", SURVIVED, "it is the same")]
    rows = [
        command.row(area, mutation("", "", "a.py", "x", "y", equivalent=equivalent), caught)
        for area, caught, equivalent in [*kinds, ("live", "whole suite", "")]
    ]
    Console().print(command.scores(rows))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        ["engine", "3", "1", "1", "1", "50", "%"],
        ["live", "1", "1", "0", "0", "100", "%"],
        ["all", "4", "2", "1", "1", "67", "%"],
    ]
    assert command.main(["--scores"]) == 0
    assert "all " in capsys.readouterr().out


def bench(folder, ended):
    """One whose runs of pytest end so, one after the other."""
    made = object.__new__(Bench)
    made.root, made._failed = folder, set()
    made._run = lambda *_: ended.pop(0)
    (folder / "src" / "vinesim" / "engine").mkdir(parents=True)
    for file in ("a.py", "engine/a.py"):
        (folder / "src" / "vinesim" / file).write_text("x = 1")
    return made


@pytest.mark.parametrize(
    ("file", "ended", "suite", "found"),
    [
        ("a.py", [(1, "t::a")], True, (NEAREST, "t::a")),
        ("a.py", [(0, ""), (1, "t::b")], True, (SUITE, "t::b")),
        ("a.py", [(0, ""), (0, "")], True, (SURVIVED, "")),
        ("a.py", [(0, "")], False, (SURVIVED, "")),
        ("engine/a.py", [(NOTHING, ""), (1, "t::c")], True, (NEAREST, "t::c")),
        ("engine/a.py", [(0, ""), (NOTHING, ""), (0, "")], True, (SURVIVED, "")),
        ("engine/a.py", [(-11, "exit code -11")], True, (NEAREST, "exit code -11")),
    ],
)
def test_the_nearest_tests_come_first_and_then_the_whole_suite(tmp_path, file, ended, suite, found):
    assert bench(tmp_path, ended).catch(mutation("", "t", file, "x", "y"), suite) == found
    assert not ended


@pytest.mark.parametrize("ended", [[(NOTHING, ""), (NOTHING, "")], [(USAGE, "")], [(0, ""), (USAGE, "")]])
def test_tests_that_are_not_there_catch_nothing(tmp_path, ended):
    with pytest.raises(RuntimeError, match="no tests t"):
        bench(tmp_path, ended).catch(mutation("", "t", "engine/a.py", "x", "y"))


def test_a_test_that_fails_without_the_mutation_too_is_no_catch(tmp_path):
    tried = bench(tmp_path, [(1, "t::a"), (1, "t::a")])
    tried.catch(mutation("", "t", "a.py", "x", "y"))
    with pytest.raises(RuntimeError, match="without a mutation t::a fails too"):
        tried.check()
