"""The page of a plan: its numbers are those of plan.json, its links are files, and what it says fits the answer."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import vinesim as vs
from tests.plans.conftest import CPUS, GPUS, MIX
from tests.report.conftest import EVIL
from vinesim.cli.main import app
from vinesim.formats.plan.file import plan
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.metrics.numbers import shown_number
from vinesim.pages.plan import plan_page, write_plan_page
from vinesim.pages.plan_question import question
from vinesim.plans.question import question as words_of
from vinesim.plans.record import plain

TITLES = {CPUS: "CPU_INTEL units of rack 0", GPUS: "GPU units of rack 0"}


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
        assert list(point["choice"]) == [TITLES[name] for name in row["choice"]]
    assert {p["choice"][TITLES[CPUS]] for p in data["points"] if p["isFront"]} == {
        str(r["choice"][CPUS]) for r in answer["front"]
    }
    assert sum(point["isBest"] for point in data["points"]) == 1
    assert [name["limit"] for name in data["names"]] == [None, None, 1600]
    titles = [(name["title"], name["unit"]) for name in data["names"]]
    assert titles == [("cost of purchase", ""), ("mean latency of jobs", "us"), ("p99 latency of jobs", "us")]
    assert [step[:2] for step in data["course"]] == [[s["n_runs"], s["value"]] for s in answer["course"]]


def test_links_are_scenarios_that_give_the_point_s_first_run(front):
    data, table = data_of(write_plan_page(front)), vs.read_sweep(front).table
    linked = [point for point in data["points"] if point["link"]]
    assert len(linked) > 2
    for point in linked:
        scenario = vs.read_scenario(front / point["link"])
        units = scenario.datacenter.count_by_type()
        assert str(units.get("CPU_INTEL", 0)) == point["choice"][TITLES[CPUS]]
        here = np.all([table[key] == int(point["choice"][title]) for key, title in TITLES.items()], axis=0)
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
    assert page.lead == "No candidate keeps the limits"
    answer = json.loads((first / "plan.json").read_text())
    assert answer["why_none"] in page.sections[1].html
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


def close_to(text: str) -> Any:
    """A number as the page shows it: with 5 digits."""
    return pytest.approx(float(text.replace(",", "")), rel=1e-4)


@pytest.fixture
def clicked(browser, front):
    """Open the page of the front; afterwards it must have said nothing on the console."""
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": 1200, "height": 1600})
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(write_plan_page(front).as_uri())
    page.locator("#points .scatter").scroll_into_view_if_needed()
    yield page
    page.close()
    assert wrong == []


def time_text(us: float) -> str:
    return shown_number("jobs.latency_us.mean", us)


def places(page: Any, mark: str) -> list[tuple[float, float]]:
    """The middles of circles of the scatter plot, in the window."""
    boxes = [circle.bounding_box() for circle in page.locator(f"#points .scatter circle.{mark}").all()]
    return [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]


def opened_point(page: Any, rows: list[dict]) -> dict:
    """The row of plan.json whose choice the panel names; the panel must have its numbers."""
    panel = page.locator("#points .panel")
    facts = dict(zip(panel.locator("dt").all_inner_texts(), panel.locator("dd").all_inner_texts(), strict=True))
    (row,) = (row for row in rows if all(facts[TITLES[key]] == str(value) for key, value in row["choice"].items()))
    choice = ", ".join(f"{TITLES[key]}: {value}" for key, value in row["choice"].items())
    assert panel.locator("h3").inner_text() == page.locator("#points [role=status]").inner_text() == choice
    (cost, *times) = row["objectives"]
    assert cost["estimate"] == close_to(facts["cost.purchase"])
    for name, value in zip(NUMBERS[1:], [*times, *row["judgements"]], strict=True):
        low, estimate, high = (
            None if value[key] is None else time_text(value[key]) for key in ("low", "estimate", "high")
        )
        interval = "" if low is None or value["low"] == value["high"] else f" [{low}, {high}]"
        kept = f" ({value['verdict']}: below 1.60 ms)" if "verdict" in value else ""
        assert facts[name] == f"{estimate}{interval}{kept}"
    assert facts["runs"] == str(row["n"])
    assert facts["limits"].split(":")[0] == row["verdict"]
    return row


NUMBERS = ("cost.purchase", "jobs.latency_us.mean", "jobs.latency_us.p99")


def test_a_click_on_a_point_opens_it_with_the_numbers_of_plan_json(clicked, front):
    rows = [row for row in json.loads((front / "plan.json").read_text())["evaluated"] if row["objectives"]]
    found = []
    for x, y in places(clicked, "target"):
        clicked.mouse.click(x, y)
        assert places(clicked, "ring") == [pytest.approx((x, y), abs=9)]  # of a point that covers it
        found.append((*places(clicked, "ring")[0], opened_point(clicked, rows)))
    assert len({row["point"] for *_, row in found}) == len(rows) > 4
    for (x, y, one), (to_x, to_y, other) in pairwise(found):
        before, after = ([goal["estimate"] for goal in row["objectives"]] for row in (one, other))
        assert np.sign(to_x - x) == np.sign(after[0] - before[0])
        assert np.sign(y - to_y) == np.sign(after[1] - before[1])


def test_a_click_opens_the_point_on_other_axes_too(clicked, front):
    rows = [row for row in json.loads((front / "plan.json").read_text())["evaluated"] if row["objectives"]]
    clicked.get_by_label("Across").select_option("p99 latency of jobs (limit: below)")
    for x, y in places(clicked, "target"):
        clicked.mouse.click(x, y)
        assert places(clicked, "ring") == [pytest.approx((x, y), abs=9)]
        opened_point(clicked, rows)


def test_its_axes_have_words_and_units_that_suit_the_values(clicked):
    titles = clicked.locator("#points .scatter text.title").all_text_contents()
    assert titles == ["cost of purchase", "mean latency of jobs (ms)"]
    marks = [float(text) for text in clicked.locator("#points .scatter text.tick").all_text_contents() if "." in text]
    assert marks
    assert max(marks) < 10


def test_a_limit_on_a_share_of_runs_is_drawn_as_such(tmp_path):
    limits = {"jobs.latency_us.p99": {"below": 1600, "share_of_runs": 0.9}}
    data = data_of(write_plan_page(planned(tmp_path / "out", limits=limits)))
    words = "runs with jobs.latency_us.p99 below 1.60 ms"
    of = {"name": words, "title": words, "unit": "share", "limit": 0.9, "side": "above", "isOfRun": True}
    assert data["names"][-1] == of
    assert all(0.0 <= point["numbers"][-1][1] <= 1.0 for point in data["points"])


def test_the_arrow_keys_open_the_points_in_order(clicked, front):
    rows = [row for row in json.loads((front / "plan.json").read_text())["evaluated"] if row["objectives"]]
    clicked.locator("#points .scatter").focus()
    found = []
    for _ in rows:
        clicked.keyboard.press("ArrowRight")
        found.append(opened_point(clicked, rows))
    assert {row["point"] for row in found} == {row["point"] for row in rows}
    prices = [row["objectives"][0]["estimate"] for row in found]
    first = prices.index(min(prices), prices.index(max(prices)) + 1) if prices[0] > min(prices) else 0
    assert prices[first:] + prices[:first] == sorted(prices)
    clicked.keyboard.press("ArrowLeft")
    assert opened_point(clicked, rows) == found[-2]


def test_the_link_of_a_point_opens_its_scenario(clicked, front):
    link = clicked.locator("#points .panel a")
    files = set()
    for x, y in places(clicked, "target"):
        clicked.mouse.click(x, y)
        if link.count():
            files.add(link.get_attribute("href"))
            assert f"vinesim run {link.get_attribute('href')}" in clicked.locator("#points .panel").inner_text()
    best = json.loads((front / "plan.json").read_text())["recommended"]["point"]
    others = {f"points/{file.name}" for file in (front / "points").iterdir() if file.stem != str(best)}
    assert files == others | {"recommendation.yaml"}


QUESTION = {
    "choose": {
        CPUS: {"from": 5, "to": 9, "label": "servers"},
        "policy": {"cases": {"best first": {"policy": "high"}, "best fit": {"policy": "high"}}, "label": "scheduler"},
    },
    "minimize": "cost.purchase",
    "limits": {"cost.purchase": {"below": 1e6}, "jobs.latency_us.p99": {"below": 1e6, "share_of_runs": 0.5}},
    "budget": {"runs": 100},
    "confirm": {"replications": 0, "horizon": 1},
}


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """A plan two of whose policies are the same one, so that all points lie on the mark of another one."""
    return planned(tmp_path_factory.mktemp("plan") / "alike", **QUESTION)


def test_the_page_states_its_question_first(alike):
    first = plan_page(alike).sections[0]
    assert (first.anchor, first.title) == ("question", "Question")
    for text in (
        "<dt>Minimised</dt><dd>cost.purchase</dd>",
        "cost.purchase below 1,000,000; jobs.latency_us.p99 below 1.00 s in 50 % of runs",
        "<dt>Workload</dt><dd>generator: mix, options: {n_jobs: 20, tasks_per_job: 3,",
        "<dt>Arrivals</dt><dd>poisson: {mean: 300}</dd>",
        "<dt>Jobs in a run</dt><dd>20</dd>",
        "<dt>Prices</dt><dd>CPU_INTEL 2,000, GPU 3,000</dd>",
        "<dt>Budget</dt><dd>runs: 100</dd>",
        f'<th scope="row">servers</th><td>5 to 9</td><td class=name>{CPUS}</td>',
        '<th scope="row">scheduler</th><td>best first, best fit</td><td>policy</td>',
    ):
        assert text in first.html, text


@pytest.fixture
def alike_page(browser, alike):
    page = browser.new_page(viewport={"width": 1200, "height": 1600})
    page.goto(write_plan_page(alike).as_uri())
    yield page
    page.close()


def test_its_axes_are_the_objective_and_the_limit_that_runs_decide(alike_page):
    titles = alike_page.locator("#points .scatter text.title").all_text_contents()
    assert titles == ["cost of purchase", "runs with jobs.latency_us.p99 below 1.00 s (%)"]


def test_points_on_one_mark_are_picked_one_after_the_other(alike_page, alike):
    rows = [row for row in json.loads((alike / "plan.json").read_text())["evaluated"] if row["objectives"]]
    heading = alike_page.locator("#points .panel h3")
    alike_page.locator("#points .scatter").scroll_into_view_if_needed()
    found = set()
    for x, y in places(alike_page, "target"):
        for _ in range(2):
            alike_page.mouse.click(x, y)
            found.add(heading.inner_text())
    assert len(found) == len(rows) == 10
    before = heading.inner_text()
    alike_page.locator("#points .panel .others button").click()
    assert heading.inner_text() != before


def test_the_question_has_costs_and_electricity_without_what_is_zero(tmp_path):
    choose = {"datacenter.racks[0].units.GPU": [1, 2]}
    costs = {"years": 3, "electricity": {"price_per_kwh": 0.25, "pue": 1.3}}
    scenario = {"datacenter": {"racks": [{"units": {"GPU": 1}}]}, "workload": {"generator": "500jobs"}}
    scenario |= {"power": {"GPU": 250}, "policy": "high"}
    given = {"scenario": scenario, "choose": choose, "minimize": "cost.total", "cost": costs, "budget": {"gap": "5 %"}}
    text = question({"plan": plain(words_of(plan(given))), "prices": {}, "n_jobs": None})
    assert "<dt>Costs</dt><dd>years: 3</dd>" in text
    assert "<dt>Energy</dt><dd>price_per_kwh: 0.25, pue: 1.3</dd>" in text
    assert "<dt>Power</dt><dd>GPU: 250</dd>" in text
    assert "gap: 5 %</dd>" in text
