"""Problems name a value by the steps to it, and everything else in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.errors import InputError, Problem

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("at", "path", "where"),
    [
        (("datacenter", "units", 3), ("datacenter", "units", 3), "datacenter.units[3]"),
        (("affinity", np.int64(1), 2), ("affinity", 1, 2), "affinity[1][2]"),
        ("seeds", ("seeds",), "seeds"),
        ("trace.txt:12:5", (), "trace.txt:12:5"),
        ("--out runs", (), "--out runs"),
    ],
)
def test_a_place_is_a_path_or_words(at, path, where):
    problem = Problem(at, "a number", "none", "Give one.")
    assert (problem.path, problem.where) == (path, where)
    assert str(problem) == f"{where}: expected a number, found none. Give one."


def test_an_error_of_the_model_names_the_value_by_its_path():
    outages = [vs.Outage(90, 7, 0.0, 1.0), vs.Outage(90, 8, 0.0, 1.0)]
    with pytest.raises(InputError) as wrong:
        replace(vs.read_scenario(EXAMPLES / "quickstart.yaml"), outages=outages)
    assert [problem.path for problem in wrong.value.problems] == [("outages", 0), ("outages", 1)]
