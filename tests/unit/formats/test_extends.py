"""A scenario file that extends another one."""

import json
from pathlib import Path

import pytest

import vinesim as vs
from vinesim.formats.scenario.file import read_source
from vinesim.model.errors import InputError

EXAMPLES = Path(__file__).parents[3] / "examples"
BASE = """
datacenter:
  racks:
    - units: {CPU_INTEL: 2, GPU: 1}
workload: {file: jobs.csv}
prices: {CPU_INTEL: 2000, GPU: 9000}
power: {CPU_INTEL: 120, GPU: 250}
policy: my_policy.py:Mine
energy: {price_file: prices.csv, pue: 1.2}
seed: 3
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "base.yaml").write_text(BASE)

    def write(text, name="mine.yaml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_mappings_are_merged_values_are_replaced_and_null_removes(files):
    text = "extends: base/base.yaml\nprices: {GPU: 7000}\npower: null\npolicy: high\n"
    text += "datacenter: {racks: [{units: {GPU: 3}}]}\n"
    assert read_source(files(text)).data == {
        "datacenter": {"racks": [{"units": {"GPU": 3}}]},
        "workload": {"file": "base/jobs.csv"},
        "prices": {"CPU_INTEL": 2000, "GPU": 7000},
        "policy": "high",
        "energy": {"price_file": "base/prices.csv", "pue": 1.2},
        "seed": 3,
    }


def test_a_chain_of_files_and_changes_on_the_command_line(files):
    files("extends: base/base.yaml\nseed: 4\nprices: {GPU: 1}\n", "second.yaml")
    third = files("extends: second.yaml\nprices: {CPU_INTEL: 5}\n", "third.yaml")
    data = read_source(third, ["seed=9"]).data
    assert (data["prices"], data["seed"], data["policy"]) == ({"CPU_INTEL": 5, "GPU": 1}, 9, "base/my_policy.py:Mine")


def test_the_types_that_the_other_file_extends_stay(files):
    files("extends: none\nseed: 1\n", "none.yaml")
    assert read_source(files("extends: none.yaml\nseed: 2\n")).data == {"extends": "none", "seed": 2}


def test_a_run_is_that_of_the_file_in_full(tmp_path):
    full = (EXAMPLES / "quickstart.yaml").read_text()
    (tmp_path / "quickstart.yaml").write_text(full)
    (tmp_path / "variant.yaml").write_text("extends: quickstart.yaml\narrivals: {iat: 6 us}\n")
    (tmp_path / "full.yaml").write_text(full.replace("iat: 7 us", "iat: 6 us"))
    one, other = (vs.read_scenario(tmp_path / f"{name}.yaml") for name in ("variant", "full"))
    runs = [vs.simulate(case, engine="reference") for case in (one, other)]
    assert runs[0].summary["jobs"] == runs[1].summary["jobs"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("extends: none.yaml\n", "mine.yaml:1:10: extends: expected a file that can be read, found no such file"),
        ("extends: mine.yaml\n", "mine.yaml:1:10: extends: expected a file that does not extend this one"),
        ("extends: list.yaml\n", "mine.yaml:1:10: extends: expected a scenario file"),
        ("extends: tab.yaml\n", "tab.yaml:2:1: expected spaces, found a tab"),
    ],
)
def test_a_file_that_cannot_be_extended_is_one_error(files, text, expected):
    files("- 1\n", "list.yaml")
    files("a:\n\tb: 1\n", "tab.yaml")
    with pytest.raises(InputError) as error:
        read_source(files(text))
    assert expected in str(error.value)


def test_mistakes_are_reported_where_they_stand(files):
    text = "extends: base.yaml\nprices: {GPUS: 1}\n"
    files((EXAMPLES / "quickstart.yaml").read_text().replace("GPU: 250", "GPX: 250"), "base.yaml")
    with pytest.raises(InputError) as error:
        vs.read_scenario(files(text))
    shown = str(error.value)
    assert "mine.yaml:2:10: prices.GPUS" in shown
    assert "base.yaml:20:25: power.GPX" in shown


def test_the_scenario_of_a_study_may_extend_a_file(files, tmp_path):
    files((EXAMPLES / "quickstart.yaml").read_text(), "quickstart.yaml")
    files("extends: quickstart.yaml\nworkload: {options: {n_jobs: 3}}\n", "small.yaml")
    rest = "axes: {policy: [high, flat]}\nreplications: 1\n"
    named = files(f"scenario: small.yaml\n{rest}", "study.yaml")
    in_place = files(f"scenario:\n  extends: small.yaml\n  seed: 0\n{rest}", "in_place.yaml")
    one, other = (vs.sweep(vs.read_study(study), tmp_path / study.stem, workers=1).table for study in (named, in_place))
    assert len(one["makespan_us"]) == 2
    assert one["run_id"].tolist() == other["run_id"].tolist()
    assert json.loads(json.dumps(read_source(tmp_path / "small.yaml").data))["workload"]["options"] == {"n_jobs": 3}
