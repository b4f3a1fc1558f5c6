"""The part of a run's page that says why jobs waited, against the tables."""

import re
from functools import cache
from html import unescape

import duckdb
import numpy as np
import pytest

import vinesim as vs
from tests.report.conftest import EXAMPLES
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.pages.write import write_report
from vinesim.report.waiting import waiting


@pytest.fixture(scope="session")
def overloaded(tmp_path_factory):
    """The example of the README at a pace that it cannot keep up with, recorded."""
    folder = tmp_path_factory.mktemp("run") / "overloaded"
    scenario = vs.read_scenario(EXAMPLES / "quickstart.yaml", ["arrivals.iat=4"])
    write_result(folder, vs.simulate(scenario, engine="reference"), lambda draft: write_record(draft, scenario))
    return folder


@cache
def section_of(folder):
    with open_result(folder) as result:
        return waiting(result)


def text_of(html):
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


def rows(folder, query):
    return duckdb.sql(query.format(jobs=f"'{folder}/jobs.parquet'", tasks=f"'{folder}/tasks.parquet'")).fetchnumpy()


def test_the_queue_is_that_of_the_tasks_table(overloaded):
    _, data = section_of(overloaded)
    edges = np.array(data["edges_us"])
    tasks = rows(overloaded, "SELECT arrival_us AS a, init_us AS b FROM {tasks}")
    for value, low, high in zip(data["queue"][0]["values"], edges[:-1], edges[1:], strict=True):
        waited = np.maximum(0.0, np.minimum(tasks["b"], high) - np.maximum(tasks["a"], low)).sum()
        assert value == pytest.approx(waited / (high - low), rel=1e-3, abs=1e-3)


def test_the_page_says_when_the_system_tips_over(overloaded, example):
    html, data = section_of(overloaded)
    (tip_us, _), (peak_us, text) = data["marks"]
    tasks = rows(overloaded, "SELECT arrival_us AS a, init_us AS b FROM {tasks}")

    def waiting_at(at):
        return int(((tasks["a"] <= at) & (tasks["b"] > at)).sum())

    peak = max(waiting_at(at) for at in np.unique(tasks["a"]))
    assert text == f"peak {peak:,}"
    assert waiting_at(peak_us) == peak
    assert waiting_at(tip_us) > 0.1 * peak
    assert waiting_at(np.nextafter(tip_us, 0)) <= 0.1 * peak
    assert f"the queue grows to {peak:,} tasks" in text_of(html)
    assert "Tips over never" in text_of(section_of(example)[0])
    assert section_of(example)[1]["marks"] == []


def test_the_slowest_jobs_are_those_of_the_jobs_table_in_the_words_of_explain(overloaded):
    text = text_of(section_of(overloaded)[0])
    slowest = rows(overloaded, "SELECT job FROM {jobs} ORDER BY latency_us DESC, job LIMIT 8")["job"]
    at = [text.index(f"job {job} ") for job in slowest]
    assert at == sorted(at)
    for job in slowest:
        assert re.search(rf"Job {job} waited [0-9.]+ us: arrived at .*? started at", text)
    assert "taken by older jobs" in text
    assert "What jobs waited for share of all waiting all" in text


def test_causes_over_time_add_up_to_all_waiting(overloaded):
    _, data = section_of(overloaded)
    edges = np.array(data["cause_edges_us"])
    jobs = sum(np.array(cause["values"]) for cause in data["causes"])
    starts = rows(overloaded, "SELECT max(init_us) - min(arrival_us) AS w FROM {tasks} GROUP BY job")["w"]
    assert float(jobs @ np.diff(edges)) == pytest.approx(starts.sum(), rel=1e-3)


def test_without_a_record_the_page_says_how_to_get_one(example):
    html, data = section_of(example)
    assert "run it again with --explain" in text_of(html)
    assert data["causes"] == []
    assert "<details" not in html


def test_names_of_users_are_escaped(shared, two_racks):
    html, _ = section_of(shared)
    assert "<script" not in html
    assert "<img" not in html
    assert [series["name"] for series in section_of(two_racks)[1]["queue"]] == ["all", "INT", "FP_GOOD"]


def test_it_is_drawn_in_a_browser(browser, overloaded, tmp_path):
    file = tmp_path / "page.html"
    write_report(overloaded, file)
    said = []
    for width in (1400, 700):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(file.as_uri())
        assert page.locator("#waiting canvas").count() == 2
        page.locator("#waiting details.why").first.click()
        assert "taken by older jobs" in page.locator("#waiting details.why").first.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    assert said == []
