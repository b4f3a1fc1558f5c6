"""Names that mean nothing are found before a policy is compiled or run, each with its file, line and a suggestion."""

import importlib
import pkgutil

import pytest

import tests.policies.kinds
import vinesim as vs
from vinesim.policies.contract import Policy
from vinesim.policies.names import wrong_names
from vinesim.policies.registry import resolve

POLICY = """
import math
from dataclasses import dataclass
from typing import Literal
import helpers
from vinesim.policies import BatchPolicy, OnlinePolicy, first_free, nothing, oldest_pending, start
from vinesim.state import queries

FACTOR = 2

def helper(x):
    return [y for y in range(3) if {helper}]

@dataclass(frozen=True)
class Mine(OnlinePolicy):
    scratch = {{"last": ("i8", "units")}}
    patience: float = 1.0
    mode: Literal["only", "first"] = "only"

    @staticmethod
    def decide(model, state, view):
        if {decide}:
            return nothing()
        return start(helper(oldest_pending(model, state)), helpers.twice(0))

class Batches(BatchPolicy):
    def place(self, tasks, servers):
        return {place}
"""
HELPERS = "import os\n\ndef twice(x):\n    return x * {helpers}\n"
GOOD = {"helper": "FACTOR", "decide": "view.options.patience > 1", "place": "tasks.task", "helpers": "2"}


def write(folder, **parts: str) -> str:
    """A file with a policy, whose parts are as given or good, and one next to it."""
    (folder / "mine.py").write_text(POLICY.format(**GOOD | parts))
    (folder / "helpers.py").write_text(HELPERS.format(**GOOD | parts))
    return f"{folder}/mine.py"


@pytest.mark.parametrize(
    ("parts", "where", "found"),
    [
        ({"decide": "FACTR > 1"}, "mine.py:22", "found FACTR. Did you mean FACTOR?"),
        ({"decide": "queries.oldest_pendin(model, state)"}, "mine.py:22", "found queries.oldest_pendin. Did you mean"),
        ({"decide": "math.flor(1.0)"}, "mine.py:22", "found math.flor. Did you mean floor?"),
        ({"decide": "model.task_jobs[0]"}, "mine.py:22", "found model.task_jobs. Did you mean task_job?"),
        ({"decide": "model.kind_units[0]"}, "mine.py:22", "found model.kind_units. Did you mean class_units?"),
        ({"decide": "view.nov_us > 1"}, "mine.py:22", "found view.nov_us. Did you mean now_us?"),
        ({"decide": "view.options.patienc"}, "mine.py:22", "one of patience, mode, found view.options.patienc. Did"),
        ({"decide": "view.scratch.lst[0]"}, "mine.py:22", "one of last, found view.scratch.lst. Did you mean last?"),
        ({"decide": "view.options.mode.onli"}, "mine.py:22", "one of only, first, found view.options.mode.onli."),
        ({"helper": "FACTR"}, "mine.py:12", "found FACTR"),
        ({"helpers": "os.nam"}, "helpers.py:4", "found os.nam. Did you mean name?"),
    ],
)
def test_a_name_that_means_nothing_is_named_with_its_line(tmp_path, parts, where, found):
    with pytest.raises(vs.InputError) as error:
        resolve(f"{write(tmp_path, **parts)}:Mine")
    (problem,) = error.value.problems
    assert f"{tmp_path}/{where}: " in str(problem)
    assert found in str(problem)


def test_all_of_them_are_listed(tmp_path):
    file = write(tmp_path, decide="FACTR > 1 or view.nov_us", helper="nobody", helpers="nothing_like_it")
    with pytest.raises(vs.InputError) as error:
        resolve(f"{file}:Mine")
    assert sorted(problem.found for problem in error.value.problems) == [
        "FACTR",
        "nobody",
        "nothing_like_it",
        "view.nov_us",
    ]


def test_batch_policies_are_checked_too(tmp_path):
    with pytest.raises(vs.InputError, match=r"mine\.py:28: .* found FACTR"):
        resolve(f"{write(tmp_path, place='FACTR')}:Batches")


@pytest.mark.parametrize(
    "decide",
    [
        "view.scratch.last[0] > 0",
        "model.task_job.shape[0] > state.unit_load[0]",
        "len(str(abs(-1))) > 9",
    ],
)
def test_what_is_there_is_no_problem(tmp_path, decide):
    resolve(f"{write(tmp_path, decide=decide)}:Mine")


def test_the_place_stands_in_the_message_of_a_scenario_file(tmp_path):
    """There the problem is the policy's file's, not the scenario's line."""
    file = write(tmp_path, decide="FACTR > 1")
    with pytest.raises(vs.InputError) as error:
        vs.read_scenario("examples/quickstart.yaml", [f"policy={file}:Mine"], check_policy=resolve)
    assert [problem.where for problem in error.value.problems] == [f"{file}:22"]


def test_none_of_the_policies_of_these_tests_has_one():
    """Neither those that read their scratch, loop, or call helpers."""
    seen = 0
    for module in pkgutil.iter_modules(tests.policies.kinds.__path__):
        for value in vars(importlib.import_module(f"tests.policies.kinds.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Policy) and value.__module__.startswith("tests."):
                assert wrong_names(value()) == []
                seen += 1
    assert seen >= 9
