"""The page of a plan: its numbers are those of plan.json, its links are files, and what it says fits the answer."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import vinesim as vs
from tests.plans.conftest import CPUS, GPUS, MIX
from tests.report.conftest import EVIL
from vinesim.cli.main import app
from vinesim.formats.study.text import as_yaml
from vinesim.metrics.numbers import shown_number
from vinesim.report.plan import plan_page, write_plan_page


def planned(folder: Path, **changes) -> Path:
    mapping = {
        "scenario": MIX,
        "choose": {CPUS: {"from": 3, "to": 7}, GPUS: [0, 1]},
        "minimize": ["cost.purchase", "jobs.latency_us.mean"],
        "limits": {"jobs.latency_us.p99": {"below": 1600}},
        "looks": [3, 5],
        "confirm": {"replications": 5, "horizon": 1},
        **changes,
    }
    vs.plan(mapping, folder, workers=1)
    return folder


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    return planned(tmp_path_factory.mktemp("plan") / "front", description=EVIL)


def data_of(page: Path) -> dict:
    found = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found[1])["plan"]


def test_every_point_has_the_numbers_of_plan_json(front):
    answer = json.loads((front / "plan.json").read_text())
    data = data_of(write_plan_page(front))
    rows = [row for row in answer["evaluated"] if row["objectives"]]
    assert len(data["points"]) == len(rows) == answer["counts"]["run"] > 4
    for point, row in zip(data["points"], rows, strict=True):
        values = [*row["objectives"], *row["judgements"]]
        assert [number[1] for number in point["numbers"]] == [value["estimate"] for value in values]
        for (low, estimate, high), value in zip(point["numbers"], values, strict=True):
            assert low == (estimate if value["low"] is None else value["low"])
            assert high == (estimate if value["high"] is None else value["high"])
        assert (point["n"], point["verdict"]) == (row["n"], row["verdict"])
        assert list(point["choice"]) == list(row["choice"])
    assert {p["choice"][CPUS] for p in data["points"] if p["isFront"]} == {
        str(r["choice"][CPUS]) for r in answer["front"]
    }
    assert sum(point["isBest"] for point in data["points"]) == 1
    assert [name["limit"] for name in data["names"]] == [None, None, 1600]
    assert [step[:2] for step in data["course"]] == [[s["n_runs"], s["value"]] for s in answer["course"]]


def test_links_are_scenarios_that_give_the_point_s_first_run(front):
    data, table = data_of(write_plan_page(front)), vs.read_sweep(front).table
    linked = [point for point in data["points"] if point["link"]]
    assert len(linked) > 2
    for point in linked:
        scenario = vs.read_scenario(front / point["link"])
        units = scenario.datacenter.count_by_type()
        assert str(units.get("CPU_INTEL", 0)) == point["choice"][CPUS]
        here = (table[CPUS] == int(point["choice"][CPUS])) & (table[GPUS] == int(point["choice"][GPUS]))
        mean = vs.simulate(scenario, engine="reference").summary["jobs"]["latency_us"]["mean"]
        assert mean == table["jobs.latency_us.mean"][here & (table["replication"] == 0)][0]


def test_the_tables_say_what_the_answer_says(front):
    answer = json.loads((front / "plan.json").read_text())
    text = "".join(section.html for section in plan_page(front).sections)
    assert shown_number("cost.purchase", answer["recommended"]["objectives"][0]["estimate"]) in text
    for row in answer["front"]:
        assert shown_number("jobs.latency_us.mean", row["objectives"][1]["estimate"]) in text
    assert "jobs.latency_us.p99 below 1.60 ms" in text
    assert answer["binding"] in text
    assert str(answer["counts"]["points"]) in text


def test_what_the_user_wrote_is_escaped_and_the_page_loads_nothing(front):
    html = write_plan_page(front).read_text()
    assert EVIL not in html
    assert not re.search(r'(src|href)="https?:', html)


def test_an_older_answer_leaves_no_scenarios(tmp_path):
    first = planned(tmp_path / "out")
    before = {file.name for file in (first / "points").iterdir()}
    planned(tmp_path / "out", limits={"jobs.latency_us.p99": {"below": 1}})
    assert {file.name for file in (first / "points").iterdir()} != before
    page = plan_page(first)
    assert page.lead == "No point keeps the limits"
    assert "No point is recommended" in page.sections[0].html
    assert not any(point["isBest"] for point in page.data["plan"]["points"])


def test_maximised_objectives_are_shown_as_written(tmp_path):
    utility = {"utility": "-jobs.latency_us.mean"}
    folder = planned(tmp_path / "out", minimize=None, maximize=utility, limits={})
    data = data_of(write_plan_page(folder))
    assert all(point["numbers"][0][1] < 0 for point in data["points"])
    assert all(step[1] < 0 for step in data["course"])


def test_the_command_writes_the_page(tmp_path):
    file = tmp_path / "plan.yaml"
    choose = {"datacenter.racks[0].units.CPU_INTEL": [6, 7]}
    limits = {"jobs.latency_us.p99": {"below": 1e6}}
    mapping = {"scenario": MIX, "choose": choose, "minimize": "cost.purchase", "limits": limits, "looks": [3]}
    file.write_text(as_yaml({**mapping, "confirm": {"replications": 0, "horizon": 1}}))
    result = CliRunner().invoke(app, ["plan", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "plan.html" in result.output.replace("\n", "")
    assert len(data_of(tmp_path / "out" / "plan.html")["points"]) == 2


def test_a_folder_without_an_answer_is_refused(tmp_path):
    with pytest.raises(vs.InputError, match=r"plan\.json"):
        plan_page(tmp_path)
