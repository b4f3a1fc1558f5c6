"""A policy writes only its scratch arrays: anything else that it would write is named with its line, before a run."""

import pytest

import vinesim as vs
from vinesim.policies.names import wrong_names
from vinesim.policies.registry import BUILT_IN, find, resolve
from vinesim.policies.writes import wrong_writes

ONLINE = """
import numpy as np
from vinesim.policies import OnlinePolicy, ScorePolicy, first_free, nothing, oldest_pending, start

SEEN = [0]
LAST = 0

class Mine({base}):
    scratch = {{"last": ("i8", "units")}}
    {more}

    @staticmethod
    def {rule}:
        {lines}
        return {answer}
"""
DECIDE = {"base": "OnlinePolicy", "rule": "decide(model, state, view)", "answer": "nothing()", "more": ""}
SCORE = {"base": "ScorePolicy", "rule": "score(model, state, task, node, view)", "answer": "1", "more": ""}
BATCH = """
import numpy as np
from vinesim.policies import BatchPolicy

class Mine(BatchPolicy):
    def place(self, tasks, servers):
        {lines}
        return np.full(len(tasks.task), -1)
"""


def written(folder, lines, **parts):
    text = ONLINE if parts else BATCH
    (folder / "mine.py").write_text(text.format(lines="\n        ".join(lines.split("; ")), **parts))
    return f"{folder}/mine.py:Mine"


def found_in(folder, lines, **parts):
    with pytest.raises(vs.InputError) as error:
        resolve(written(folder, lines, **parts))
    return [(problem.where.rpartition(":")[2], problem.found) for problem in error.value.problems]


@pytest.mark.parametrize("rule", [DECIDE, SCORE], ids=["decide", "score"])
@pytest.mark.parametrize(
    ("lines", "line", "found"),
    [
        ("state.unit_load[0] = 5.0", "14", "state.unit_load[0]"),
        ("units = state.task_unit; units[3] = 1", "15", "units[3]"),
        ("n, units = 2, state.task_unit; units[n] -= 1", "15", "units[n]"),
        ("model.affinity[0, 0] *= 2", "14", "model.affinity[0, 0]"),
        ("model.affinity.sort()", "14", "model.affinity.sort()"),
        ("view.options.patience = 3", "14", "view.options.patience"),
        ("view.scratch.last = 3", "14", "view.scratch.last"),
        ("SEEN[0] += 1", "14", "SEEN[0]"),
        ("global LAST; LAST = 1", "15", "LAST"),
        ("for state.task_unit[0] in range(3): pass", "14", "state.task_unit[0]"),
    ],
)
def test_a_line_that_writes_something_else_is_named(tmp_path, rule, lines, line, found):
    assert found_in(tmp_path, lines, **rule) == [(line, found)]


def test_all_of_them_are_listed(tmp_path):
    lines = "state.unit_load[0] = 5.0; model.affinity[0] = 1"
    assert found_in(tmp_path, lines, **DECIDE) == [("14", "state.unit_load[0]"), ("15", "model.affinity[0]")]


def test_the_arguments_of_decide_may_have_other_names(tmp_path):
    parts = DECIDE | {"rule": "decide(m, s, v)"}
    assert found_in(tmp_path, "v.scratch.last[0] = 1; s.unit_load[0] = 1", **parts) == [("15", "s.unit_load[0]")]


@pytest.mark.parametrize(
    "lines",
    [
        "view.scratch.last[0] = 1",
        "scratch, n = view.scratch, 1; scratch.last[n] += 1",
        "last = view.scratch.last; last[:] = 0; last.fill(1); last.sort()",
        "units = state.task_unit; units = [1, 2]; units[0] = 3",
        "found = {}; found[1] = 2; np.sort(model.unit_type); task = model.unit_type[0]; task += 1",
    ],
)
def test_what_a_policy_may_write(tmp_path, lines):
    resolve(written(tmp_path, lines, **DECIDE))


def test_plain_python_may_keep_what_it_has_computed(tmp_path):
    resolve(written(tmp_path, "SEEN[0] = 3", **DECIDE | {"more": "compiled = False"}))
    assert found_in(tmp_path, "state.unit_load[0] = 1", **DECIDE | {"more": "compiled = False"})


def test_a_batch_policy_keeps_nothing_in_itself(tmp_path):
    assert found_in(tmp_path, "self.last = 3") == [("7", "self.last")]
    resolve(written(tmp_path, "load = servers.load.copy(); load[0] = 1"))


@pytest.mark.parametrize("text", ["", "def other(model):\n    model.x = 1\n"], ids=["no text", "of another function"])
def test_a_text_that_is_not_the_functions_is_not_looked_at(text, monkeypatch):
    """As where code is run in a module whose text Python takes for that of the code."""
    monkeypatch.setattr("inspect.getsourcelines", lambda thing: (text.splitlines(keepends=True), 1))

    def decide(model, state, view):
        return None

    assert wrong_writes(decide, "file.py", False) == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_known_policy_does(name, monkeypatch):
    """They are not looked at, as they are right: here they are."""
    kind = find(name)
    monkeypatch.setattr("vinesim.policies.names.OWN", "nobody")
    found = wrong_names(kind())
    assert [problem for problem in found if "scratch" in problem.expected or "alone" in problem.expected] == []
