"""Allocated and active, wherever a command tells of utilisation: both where they differ, one where they do not."""

import json
from html.parser import HTMLParser

import pytest

import vinesim as vs
from vinesim.engine.many import simulate_many
from vinesim.formats.results.parquet import read_table
from vinesim.metrics.numbers import flat
from vinesim.studies.sweep import read_sweep

SHARED = """
extends: none
processor_types: [{name: NODE, capacity: 4}, {name: GPU}]
task_types: [TASK]
affinity: {absolute: {NODE: {TASK: 1}, GPU: {TASK: 4}}}
network: none
datacenter: {racks: [{units: {NODE: 1, GPU: 1}}]}
workload: {file: tasks.csv}
policy: high
"""
TASKS = "arrival_us,demand,operations\n0,,40\n0,,40\n0,,40\n5,whole,40\n"
AXIS = "datacenter.racks[0].units.NODE"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tasks.csv").write_text(TASKS)
    (tmp_path / "shared.yaml").write_text(SHARED)
    (tmp_path / "whole.yaml").write_text(SHARED.replace("capacity: 4", "capacity: 1"))
    for name in ("shared", "whole"):
        (tmp_path / f"{name}_study.yaml").write_text(
            f"scenario: {name}.yaml\naxes:\n  {AXIS}: [1, 2]\nreplications: 2\n"
        )
    return tmp_path


def rows(text):
    """The lines of a table of names and numbers."""
    words = [line.split() for line in text.splitlines()]
    return {" ".join(line[:-1]): line[-1] for line in words if len(line) > 1}


def test_a_run_tells_both_where_they_differ(vinesim, folder):
    found = rows(vinesim("run", folder / "shared.yaml").out)
    # the GPU works from 0 to 20, the NODE holds two slots of four from 0 to 40: 10 us for the GPU's task, 40 for theirs
    assert [found[f"{name}, GPU"] for name in ("allocated", "active")] == ["50.0%", "50.0%"]
    assert [found[f"{name}, NODE"] for name in ("allocated", "active")] == ["50.0%", "100.0%"]
    assert [found[f"{name}, overall"] for name in ("allocated", "active")] == ["50.0%", "75.0%"]
    assert not any(name.startswith("utilisation") for name in found)
    whole = rows(vinesim("run", folder / "whole.yaml").out)
    assert "utilisation, NODE" in whole
    assert not any(name.startswith(("allocated", "active")) for name in whole)


def test_overall_is_of_the_capacity_of_all_units(vinesim, folder):
    """The NODE of 4 is full, the GPU of 1 has nothing to do: four fifths are allocated, half of the units active."""
    (folder / "tasks.csv").write_text("arrival_us,demand,operations\n0,4,40\n")
    found = rows(vinesim("run", folder / "shared.yaml", "--set", "sampling=15 us", "--out", folder / "run").out)
    assert (found["allocated, overall"], found["active, overall"]) == ("80.0%", "50.0%")
    assert (found["allocated, NODE"], found["allocated, GPU"]) == ("100.0%", "0.0%")
    series = read_table(folder / "run" / "utilization.parquet")
    every = series["group"] == "all"
    assert series["utilization"][every].tolist() == [0.8] * 3
    assert series["active"][every].tolist() == [0.5] * 3
    text = TextOfPage()
    assert vinesim("report", folder / "run").code == 0
    text.feed((folder / "run" / "report.html").read_text())
    assert "80.0%of all capacity; units were active for 50.0% of the time" in "".join(text.parts)


class TextOfPage(HTMLParser):
    """What stands between the tags of a page."""

    def __init__(self):
        super().__init__()
        self.parts = []

    def handle_data(self, data):
        self.parts.append(data.strip())


def test_json_has_both_always(vinesim, folder):
    reported = json.loads(vinesim("run", folder / "shared.yaml", "--json").out)["utilization"]
    assert (reported["overall"], reported["allocated"]["overall"], reported["active"]["overall"]) == (0.5, 0.5, 0.75)
    assert reported["active"]["by_type"] == {"NODE": 1.0, "GPU": 0.5}
    assert reported["active"]["percentiles"]["p99"] == 1.0
    assert reported["percentiles"] == reported["allocated"]["percentiles"]
    whole = json.loads(vinesim("run", folder / "whole.yaml", "--json").out)["utilization"]
    assert whole["active"] == whole["allocated"] == {name: whole[name] for name in whole["active"]}


def test_a_sweep_has_a_column_for_each_that_tells_something(vinesim, folder):
    shared = vinesim("sweep", folder / "shared_study.yaml", "--out", folder / "shared", "--workers", 1)
    assert (shared.code, "utilisation" in shared.out, "active" in shared.out) == (0, True, True)
    whole = vinesim("sweep", folder / "whole_study.yaml", "--out", folder / "whole", "--workers", 1)
    assert (whole.code, "utilisation" in whole.out, "active" in whole.out) == (0, True, False)
    table = read_sweep(folder / "shared").table
    assert table["utilization.overall"][0] == table["utilization.allocated.overall"][0] == 0.5
    assert table["utilization.active.overall"][0] == 0.75
    compared = vinesim("compare", folder / "shared", "--by", AXIS, "--of", "utilization.active.overall")
    assert compared.code == 0, compared.err
    assert "75.0%" in compared.out


def test_what_is_recorded_is_what_is_named(vinesim, folder):
    study = (folder / "shared_study.yaml").read_text()
    for record in ("utilization.active.overall", "utilization.overall"):
        (folder / "some.yaml").write_text(f"{study}record: [{record}]\n")
        out = folder / record
        assert vinesim("sweep", folder / "some.yaml", "--out", out, "--workers", 1).code == 0
        names = [name for name in read_sweep(out).table if name.startswith("utilization")]
        assert names == [record]
    (folder / "some.yaml").write_text(f"{study}record: [utilization.busy]\n")
    assert vinesim("validate", folder / "some.yaml").code == 2


@pytest.mark.parametrize("name", ["shared", "whole"])
def test_many_runs_are_those_of_single_ones(folder, name):
    scenario = vs.read_scenario(folder / f"{name}.yaml")
    alone = dict(flat(vs.simulate(scenario).summary["utilization"], "utilization."))
    scenario = vs.changed(scenario, policy="pref")  # nothing is preferred; other tests compile this one, too
    many = simulate_many(scenario, seeds=[0, 1, 2], engine="compiled")
    assert {key: many[key].tolist() for key in alone} == {key: [value] * 3 for key, value in alone.items()}
    for named in ("utilization.active", "utilization.by_type.GPU", "utilization.percentiles.p90"):
        few = simulate_many(scenario, seeds=[0], record=(named,), engine="compiled")
        assert set(few) == {key for key in alone if key.startswith(named)} | {"exit_reason"}
