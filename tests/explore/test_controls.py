"""The controls of a scenario, and the changes that a page may make."""

import pytest
import yaml

from tests.explore.conftest import EXAMPLES, GPUS
from vinesim.explore.controls import controls_of
from vinesim.explore.state import Explored, override
from vinesim.model.errors import InputError


def by_key(explored, changes=None):
    return {control.key: control for control in explored.controls(changes or {})}


def test_they_are_what_the_file_says(quickstart):
    found = by_key(quickstart)
    gpus, iat = found[GPUS], found["arrivals.iat"]
    assert (gpus.kind, gpus.value, gpus.low, gpus.high, gpus.is_whole, gpus.is_log) == (
        "number",
        20,
        0,
        80,
        True,
        False,
    )
    assert gpus.title == "GPU units of rack 0"
    assert (iat.value, iat.unit, iat.low, iat.high, iat.is_log) == ("7 us", "us", 0.7, 70.0, True)
    assert found["workload.options.n_jobs"].value == 40  # of the command line
    assert found["prices.GPU"].title == "Price of GPU"
    assert found["network.preset"].words == ("paper", "table4", "none")
    assert "workload.generator" not in found  # 500jobs is no quantity
    assert [control.group for control in found.values()][:3] == ["Datacenter", "Datacenter", "Load"]


def test_cores_are_no_units():
    found = by_key(Explored(EXAMPLES / "gpu_cluster.yaml"))
    cores = found["datacenter.racks[0].nodes[0].units.CPU.cores"]
    assert cores.title == "Cores of CPU of rack 0 kind 0"
    assert cores.low == 1  # a CPU has some
    assert found["datacenter.racks[0].nodes[0].units.A100"].low == 0
    assert found["datacenter.racks[0].nodes[1].count"].title == "Nodes of rack 0 kind 1"


def test_options_are_those_of_the_policy_that_is_chosen(quickstart):
    assert "options.in_order" in by_key(quickstart)
    found = by_key(quickstart, {"policy": "delay"})
    assert "options.in_order" not in found
    assert {key for key in found if key.startswith("options.")}


@pytest.mark.parametrize(
    "name", ["quickstart", "symphony", "gpu_cluster", "energy", "two_racks", "neurasmus", "rbss", "papers"]
)
def test_every_control_can_be_set_to_the_ends_of_its_slider(name):
    """Whatever a control can say is a value that the scenario's file takes at that key."""
    explored = Explored(EXAMPLES / f"{name}.yaml")
    found = by_key(explored)
    assert found
    assert len({control.title for control in found.values()}) == len(found)
    for control in found.values():
        ends = control.words[:1] or ((control.low, control.high) if control.kind == "number" else (True,))
        for end in ends:
            value = int(end) if control.is_whole else f"{end:g} {control.unit}" if control.unit else end
            data = explored.source({control.key: value}).data
            again = {each.key: each for each in controls_of(data, data.get("policy"))}
            if control.key in again and control.key not in ("network.preset", "network"):
                assert again[control.key].value == value


def test_a_change_that_no_control_makes_is_refused(quickstart, tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('run')")
    changes = {"policy": f"{evil}:X", "workload.file": "/etc/passwd", GPUS: True, "options.in_order": "maybe"}
    with pytest.raises(InputError) as wrong:
        quickstart.scenario(changes)
    text = str(wrong.value)
    for key in changes:
        assert key in text
    assert "a control of this page" in text


def test_a_variant_that_cannot_be_is_told_as_run_tells_it(quickstart):
    with pytest.raises(InputError, match=r"arrivals\.iat.*a time, 0 or more"):
        quickstart.scenario({"arrivals.iat": "7 parsecs"})


@pytest.mark.parametrize("value", [5, 0.25, True, "6.5 us", "no", "1e3", "a: b", "10 Gb/s", "[x]"])
def test_an_override_reads_back_as_the_value(value):
    assert yaml.safe_load(override("key", value).removeprefix("key=")) == value
