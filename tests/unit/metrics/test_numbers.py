"""A study can ask for every number that a run can have."""

from pathlib import Path

import pytest

import vinesim as vs
from vinesim.metrics.numbers import flat, in_order, numbers
from vinesim.model.run_numbers import NUMBERS

EXAMPLES = Path(__file__).parents[3] / "examples"


def names_of(example, settings=()):
    return set(numbers(vs.simulate(vs.read_scenario(EXAMPLES / example, settings)).summary))


@pytest.mark.parametrize("example", ["quickstart.yaml", "rbss.yaml", "energy.yaml", "symphony.yaml"])
def test_every_number_of_a_run_has_a_name_that_a_study_knows(example):
    settings = ["horizon=20 s"] if example == "symphony.yaml" else []
    unknown = [name for name in names_of(example, settings) if not any(f"{name}.".startswith(f"{n}.") for n in NUMBERS)]
    assert unknown == []


def test_names_are_joined_by_dots_and_provenance_is_none():
    summary = {"jobs": {"latency_us": {"mean": 1.0, "p50": None}}, "exit_reason": "X", "provenance": {"wall_s": 1.0}}
    assert dict(flat(summary)) == {"jobs.latency_us.mean": 1.0, "jobs.latency_us.p50": None, "exit_reason": "X"}
    assert numbers(summary, ["jobs.latency_us.mean"]) == {"jobs.latency_us.mean": 1.0, "exit_reason": "X"}


def test_numbers_of_a_thing_are_in_the_order_of_their_sizes():
    names = ["jobs.wait_us.max", "jobs.wait_us.p99_9", "jobs.wait_us.p50", "jobs.wait_us.mean", "jobs.wait_us.p99"]
    in_order_of_sizes = [f"jobs.wait_us.{word}" for word in ("mean", "p50", "p99", "p99_9", "max")]
    assert sorted([*names, "makespan_us"], key=in_order) == ["makespan_us", *in_order_of_sizes]
