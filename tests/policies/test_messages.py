"""What a wrong policy gets to read: which line returned what, and what was expected there."""

import json

import pytest

import vinesim as vs
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


def test_options_and_scratch_that_are_not_declared(reported):
    assert "Declare it as a field of the class: alpha: float = 1.0." in reported("view.options.alpha > 1")
    assert 'Declare it in scratch: "last": ("f8", "one").' in reported("view.scratch.last[0] > 1")
