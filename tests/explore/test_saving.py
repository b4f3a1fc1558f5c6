"""What is saved is what was shown: a file, a command and a plan that VineSim reads back."""

import shlex

import pytest
import yaml

from tests.explore.conftest import EXAMPLES, GPUS, SMALL
from vinesim.explore.saving import command, plan_text, scenario_text
from vinesim.explore.state import Explored
from vinesim.formats.plan.file import read_plan
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id

CHANGES = {GPUS: 12, "arrivals.iat": "6.5 us", "policy": "delay", "network.preset": "table4"}


def test_the_saved_file_is_the_variant(quickstart, tmp_path):
    (tmp_path / "variant.yaml").write_text(scenario_text(quickstart, CHANGES))
    assert content_id(read_scenario(tmp_path / "variant.yaml")) == content_id(quickstart.scenario(CHANGES))


def test_the_command_runs_the_variant(quickstart):
    program, verb, file, *words = shlex.split(command(quickstart, CHANGES))
    assert (program, verb) == ("vinesim", "run")
    assert words[::2] == ["--set"] * (len(SMALL) + len(CHANGES))
    assert content_id(read_scenario(file, words[1::2])) == content_id(quickstart.scenario(CHANGES))


def test_options_of_a_replaced_policy_are_not_saved():
    explored = Explored(EXAMPLES / "two_racks.yaml")  # options: {distance: tiers}
    saved = yaml.safe_load(scenario_text(explored, {"policy": "flat"}))
    assert saved["policy"] == "flat"
    assert not saved["options"]


def test_a_plan_is_one_that_plan_takes(quickstart, tmp_path):
    vary = [GPUS, "policy", "arrivals.iat", "options.in_order"]
    (tmp_path / "plan.yaml").write_text(plan_text(quickstart, {GPUS: 12}, vary, 40.0, [{"policy": "delay"}]))
    found = read_plan(tmp_path / "plan.yaml")
    assert [choice.name for choice in found.choices] == vary
    assert found.choices[0].labels[0] == 0
    assert len(found.choices[0]) <= 25
    assert found.choices[1].labels == ("high", "delay")
    assert found.choices[3].labels == (False, True)
    assert [goal.expression.text for goal in found.objectives] == ["cost.purchase"]
    assert found.limits[0].value == 40.0


def test_without_prices_a_plan_wants_the_lowest_latency(tmp_path):
    explored = Explored(EXAMPLES / "neurasmus.yaml")
    key = "datacenter.racks[0].units.DFE"
    (tmp_path / "plan.yaml").write_text(plan_text(explored, {}, [key], 10.0))
    found = read_plan(tmp_path / "plan.yaml")
    assert [goal.expression.text for goal in found.objectives] == ["jobs.latency_us.p99"]


def test_nothing_to_choose_is_an_error(quickstart):
    with pytest.raises(InputError, match="at least one control"):
        plan_text(quickstart, {}, [], 1.0)
    with pytest.raises(InputError, match=r"no\.such"):
        plan_text(quickstart, {}, ["no.such"], 1.0)
