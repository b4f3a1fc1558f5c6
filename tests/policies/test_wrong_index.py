"""An index that does not exist, in a policy's own code or given to a query: the file, the line, its text, the index."""

import re

import pytest

import vinesim as vs

POLICY = """
from vinesim import policies
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, operations, start


def look(column, i):
    return column[i]


class Wrong(OnlinePolicy):
    scratch = {{"last": ("i8", "units")}}

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        if view.now_us > 20.0:
            {line}
        return start(task, first_free(model, state, task))
"""
LINES = {
    "operations of a task that is none": ("operations(model, state, len(model.task_job) + 3)", 17, "11"),
    "a query as an attribute": ("policies.can_start(model, state, task, unit=2)", 17, "2"),
    "an array of the model": ("task += model.unit_type[2]", 17, "2"),
    "its scratch, written": ("view.scratch.last[-3] = 1", 17, "-3"),
    "a list of the state": ("task += state.task_unit[task + 8]", 17, "11"),
    "in a helper": ("look(model.unit_type, 700)", 7, "700"),
}


def case(folder, line):
    file = folder / "wrong.py"
    file.write_text(POLICY.format(line=line))
    n = 8
    work = vs.Workload(
        [0] * n, range(n + 1), [10.0 * i for i in range(n)], [5.0] * n, *[[0] * n] * 3, [-1] * n,
        task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("CPU"),))
    return vs.Scenario(center, work, f"{file}:Wrong", affinity=[[1.0]])


def check(text, folder, name):
    line, number, index = LINES[name]
    assert f"{folder}/wrong.py:{number}: IndexError" in text
    assert f"index {index}" in text
    assert text.rstrip().endswith("return column[i]" if name == "in a helper" else line)


@pytest.mark.parametrize("name", LINES)
def test_in_plain_python(tmp_path, name):
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(case(tmp_path, LINES[name][0]), engine="reference")
    check(str(error.value), tmp_path, name)


@pytest.mark.parametrize(
    "name", ["operations of a task that is none", "a query as an attribute", "its scratch, written"]
)
def test_compiled(tmp_path, name):
    said = []
    with pytest.raises(vs.PolicyError) as error:
        vs.simulate(case(tmp_path, LINES[name][0]), engine="compiled", on_message=said.append)
    check(str(error.value), tmp_path, name)
    assert any("repeating them in plain Python" in words for words in said)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_an_index_from_the_end_is_one(tmp_path, engine):
    line = "task += look(model.unit_type, -2) + int(operations(model, state, -1)) - 5"
    assert vs.simulate(case(tmp_path, line), engine=engine).exit_reason == "ALL_DONE"


def test_on_the_command_line_there_is_no_traceback(tmp_path, capsys, monkeypatch):
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    file = tmp_path / "wrong.py"
    file.write_text(POLICY.format(line="operations(model, state, 2500)"))
    words = ["vinesim", "run", "examples/quickstart.yaml", "--policy", f"{file}:Wrong", "--engine", "reference"]
    monkeypatch.setattr("sys.argv", words)
    assert report_errors(app) == 2
    reported = capsys.readouterr().err
    assert "wrong.py:17: IndexError: index 2500" in reported
    assert "operations(model, state, 2500)" in reported
    assert "Traceback" not in reported


AT_ALL = """
from vinesim.policies import *


class Asks(OnlinePolicy):
    groups = ("application",)

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        {line}
        return start(task, first_free(model, state, task))
"""
BEYOND = {
    "another type than there is": ("first_free(model, state, task, 1)", "no such processor_type: 1"),
    "below that of any type": ("first_free(model, state, task, -2)", "no such processor_type: -2"),
    "any type, where one is needed": ("is_available(model, state, task, -1)", "no such processor_type: -1"),
    "of that type, the least busy": ("least_busy(model, state, task, -1)", "no such processor_type: -1"),
    "after the end": ("next_with_room(model, state, 0, 3)", "no such unit: 3"),
}


def asking(folder, line):
    made = case(folder, "pass")
    (folder / "wrong.py").write_text(AT_ALL.format(line=line))
    return vs.changed(made, policy=f"{folder}/wrong.py:Asks")


@pytest.mark.parametrize("engine", ["reference", pytest.param("compiled", marks=pytest.mark.slow(reason="compiles"))])
@pytest.mark.parametrize("name", BEYOND)
def test_a_number_that_is_only_compared_is_refused_too(tmp_path, engine, name):
    line, words = BEYOND[name]
    with pytest.raises(vs.PolicyError, match=f"wrong.py:11: IndexError: {words}\n    {re.escape(line)}"):
        vs.simulate(asking(tmp_path, line), engine=engine)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_after_the_last_unit_there_is_none_with_room(tmp_path, engine):
    line = "task += next_with_room(model, state, 0, 2) + 1"
    assert vs.simulate(asking(tmp_path, line), engine=engine).exit_reason == "ALL_DONE"
