"""What a wrong policy gets to read: which line returned what, and what was expected there."""

import json
from typing import Any

import numpy as np
import pytest

import vinesim as vs
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.registry import resolve

HEAD = """
from vinesim.policies import OnlinePolicy, nothing, oldest_pending, start

class Mine(OnlinePolicy):
    @staticmethod
    def decide({arguments}):
        {line}
        return nothing()
"""
SCENARIO = {
    "datacenter": {"racks": [{"units": {"GPU": 2}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 1},
    "policy": "p.py:Mine",
}
LINE = 7


@pytest.fixture
def reported(tmp_path):
    def of(line: str, arguments: str = "model, state, view") -> str:
        (tmp_path / "p.py").write_text(HEAD.format(arguments=arguments, line=line))
        (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
        with pytest.raises(vs.VineSimError) as error:
            vs.simulate(vs.read_scenario(tmp_path / "s.yaml", check_policy=resolve), engine="reference")
        return str(error.value)

    return of


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("return start(oldest_pending(model, state), 0)", "the unit has no room for it: call first_free or can_start"),
        ('return start(oldest_pending(model, state), "gpu")', "whole numbers, found 'gpu'"),
        ("return 7", "returned 7"),
        ("return start(oldest_pending(state, model), 0)", "the arguments of oldest_pending are (model, state)"),
    ],
)
def test_the_line_is_named_and_shown(reported, line, words):
    text = reported(line)
    assert words in text
    assert f"p.py:{LINE}" in text
    assert text.endswith(f"\n    {line}")


def test_an_answer_that_changes_has_no_line(reported):
    text = reported("seen = vars(start).setdefault('seen', []); seen.append(0); return start(0, len(seen) + 0.5)")
    assert "whole numbers, found 1.5" in text
    assert f"p.py:{LINE}" not in text


@pytest.mark.parametrize("arguments", ["state, model, view", "view, model, state", "model, view, state"])
def test_swapped_arguments_of_decide(reported, arguments):
    assert f"expected decide(model, state, view), found decide({arguments})" in reported("pass", arguments)


def test_what_a_policy_reads_of_the_state_is_in_both_engines(reported):
    assert "task_finish_us, unit_load, found state.pending" in reported("state.pending")
    assert "Did you mean task_unit?" in reported("state.task_units[0] > 1")


def test_options_are_numbers_or_words(said_of):
    text = f"@dataclass(frozen=True)\nclass Mine(OnlinePolicy):\n    alpha: tuple = (1.0, 2.0)\n    {DECIDE}nothing()"
    assert "expected an option alpha that is a number, true or false, or a word of a Literal, found (1.0, 2.0)" in (
        said_of(text)
    )


def test_options_and_scratch_that_are_not_declared(reported):
    assert "Declare it as a field of the class: alpha: float = 1.0." in reported("view.options.alpha > 1")
    assert 'Declare it in scratch: "last": ("f8", "one").' in reported("view.scratch.last[0] > 1")


CLASS = """
from dataclasses import dataclass
import numpy as np
from vinesim.policies import (
    BatchPolicy, OnlinePolicy, ScorePolicy, drop, nothing, oldest_pending, preempt, room, start,
)

{text}
"""
DECIDE = "@staticmethod\n    def decide(model, state, view):\n        return "
PLACE = "def place(self, tasks, servers):\n        return "
SCORE = "@staticmethod\n    def score(model, state, task, node):\n        return "


@pytest.fixture
def said_of(tmp_path):
    def of(text: str, engine: str = "reference") -> str:
        (tmp_path / "p.py").write_text(CLASS.format(text=text))
        (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO | {"period": 1}))
        with pytest.raises(vs.VineSimError) as error:
            vs.simulate(vs.read_scenario(tmp_path / "s.yaml", check_policy=resolve), engine=engine)
        return str(error.value).replace(f"{tmp_path}/", "")

    return of


@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        ("OnlinePolicy", DECIDE + "drop(0)", "may_drop = True, as it calls drop, found may_drop = False"),
        ("OnlinePolicy", DECIDE + "preempt(0)", "preempts = True, as it calls preempt or move, found preempts = False"),
        ("OnlinePolicy", 'scratch = {"last": ("i8", 5)}', "expected scratch: name -> (dtype, size)"),
        ("OnlinePolicy", 'scratch = {"last": "i8"}', "expected scratch: name -> (dtype, size)"),
        ("OnlinePolicy", 'scratch = ("last",)', "expected scratch: name -> (dtype, size)"),
        ("OnlinePolicy", "groups = None", "expected groups: a tuple out of"),
        (
            "ScorePolicy",
            SCORE.replace("task, ", "") + "1",
            "expected score(model, state, task, node), and view if need be",
        ),
        ("BatchPolicy", "def place(self, tasks):\n        return []", "found place(self, tasks)"),
        ("BatchPolicy", "def place(self, servers, tasks):\n        return []", "found place(self, servers, tasks)"),
        ("BatchPolicy", "def places(self, tasks, servers):\n        return []", "expected a function place"),
    ],
)
def test_what_a_class_lacks_is_said_with_its_line(said_of, head, body, words):
    text = said_of(f"class Mine({head}):\n    {body}")
    assert "p.py:8: policy Mine: expected" in text
    assert words in text
    assert not text.endswith(": ")


def test_options_need_a_frozen_dataclass(said_of):
    text = said_of(f"@dataclass\nclass Mine(OnlinePolicy):\n    alpha: float = 1.0\n    {DECIDE}nothing()")
    assert "Write @dataclass(frozen=True) above the class." in text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("np.full(len(tasks.task), -2)", "returned -2"),
        ("np.zeros(len(tasks.task))", "whole numbers, returned float64"),
        ("None", "whole numbers, returned object"),
    ],
)
def test_an_answer_of_a_batch_policy(said_of, answer, words):
    text = said_of(f"class Mine(BatchPolicy):\n    {PLACE}{answer}")
    assert "one unit for each task, -1 to leave it as it is" in text
    assert words in text


def test_an_error_in_a_score_names_its_line(said_of):
    text = said_of(f"class Mine(ScorePolicy):\n    {SCORE}1 // 0")
    assert "p.py:11: ZeroDivisionError" in text
    assert text.endswith("\n    return 1 // 0")


@pytest.mark.slow(reason="compiles")
@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        ("ScorePolicy", SCORE + "room(model, state, 0) / 3", "p.py:9: a task, a unit or a score is no whole number"),
        ("OnlinePolicy", DECIDE + "oldest_pending(model, state)", "p.py:9: decide must return start(...)"),
    ],
)
def test_what_the_compiler_gives_no_line_names_the_function(said_of, head, body, words):
    assert words in said_of(f"class Mine({head}):\n    {body}", "compiled")


PRINTS = """
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

class Mine(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        if shown(view) and isinstance(view.now_us, int):
            return nothing()
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()

def shown(view):
    print("at", view.now_us)
    return int(view.now_us) < 0
"""


def test_what_prints_is_not_compiled(tmp_path):
    """Numba's print waits for Python's lock in a thread that has given it up, and never goes on."""
    (tmp_path / "p.py").write_text(PRINTS)
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    scenario = vs.read_scenario(tmp_path / "s.yaml")
    with pytest.raises(vs.PolicyError, match=r"p\.py:14: a function that only plain Python can call\n    print"):
        vs.simulate(scenario, engine="compiled")
    (tmp_path / "p.py").write_text(PRINTS.replace("    print", "    # print"))
    assert vs.simulate(vs.read_scenario(tmp_path / "s.yaml"), engine="compiled").summary["exit_reason"] == "ALL_DONE"


def test_what_prints_in_a_function_that_the_user_compiles_is_not_compiled(tmp_path):
    (tmp_path / "p.py").write_text(f"from numba import njit\n{PRINTS}".replace("def shown", "@njit\ndef shown"))
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    with pytest.raises(vs.PolicyError, match=r"p\.py:16: a function that only plain Python can call\n    print"):
        vs.simulate(vs.read_scenario(tmp_path / "s.yaml"), engine="compiled")


CATCHES = """
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

class Mine(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        try:
            share = 1.0 / view.now_us
        except ZeroDivisionError:
            share = 0.0
        unit = first_free(model, state, task) if share >= 0 else -1
        return start(task, unit) if unit >= 0 else nothing()
"""


def test_what_catches_one_kind_of_error_gets_a_remedy(tmp_path):
    (tmp_path / "p.py").write_text(CATCHES)
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    with pytest.raises(vs.PolicyError, match=r"p\.py:10: .*test for the cause before.*\n    except ZeroDivisionError"):
        vs.simulate(vs.read_scenario(tmp_path / "s.yaml"), engine="compiled")


class Piles(BatchPolicy):
    """Places all tasks on the first unit."""

    def place(self, tasks: Any, servers: Any) -> Any:
        return np.zeros(len(tasks.task), int)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_a_batch_policy_that_overloads_a_unit_is_to_add_up_the_loads(engine):
    case = vs.changed(vs.read_scenario("examples/quickstart.yaml"), policy=Piles())
    with pytest.raises(vs.PolicyError, match="no room for it: add up what place puts on each unit"):
        vs.simulate(case, engine=engine)


DIVISIONS = {
    "1.0 / zero": "ZeroDivisionError",
    "zero / zero": "ZeroDivisionError",
    "5 // int(zero)": "ZeroDivisionError",
    "5 % int(zero)": "ZeroDivisionError",
    "math.log(zero)": "ValueError",
    "math.sqrt(zero - 1.0)": "ValueError",
    "math.exp(zero + 1000.0)": "OverflowError",
    "math.floor(zero + float('inf'))": "OverflowError",
    "math.pow(zero, -1.0)": "ValueError",
    "int(zero + float('inf'))": "OverflowError",
    "int(zero + float('nan'))": "ValueError",
    "zero ** -1.0": "ZeroDivisionError",
    "float(zero) ** int(zero - 1.0)": "ZeroDivisionError",
    "(zero + 10.0) ** 400": "OverflowError",
    "(zero - 8.0) ** 0.5": "ValueError",
}
DIVIDES = """
import math
from dataclasses import dataclass
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

@dataclass(frozen=True)
class Mine(OnlinePolicy):
    which: int = 0

    @staticmethod
    def decide(model, state, view):
        zero, is_wrong = view.now_us - view.now_us, False
        {lines}
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 and not is_wrong else nothing()
"""


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_what_is_no_number_is_an_error_on_both_engines(tmp_path, engine):
    """One policy does all of them, as each takes seconds to compile; an option says which."""
    each = [
        f"if view.options.which == {i}:\n            is_wrong = {what} == 123.5" for i, what in enumerate(DIVISIONS)
    ]
    (tmp_path / "p.py").write_text(DIVIDES.format(lines="\n        ".join(each)))
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    scenario = vs.read_scenario(tmp_path / "s.yaml")
    for i, error in enumerate(DIVISIONS.values()):
        with pytest.raises(vs.PolicyError, match=rf"p\.py:{14 + 2 * i}: {error}"):
            vs.simulate(vs.changed(scenario, options={"which": i}), engine=engine)
    assert vs.simulate(vs.changed(scenario, options={"which": -1}), engine=engine).summary["exit_reason"] == "ALL_DONE"
