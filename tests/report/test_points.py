"""The points of a sweep on its page: titles, verdicts, the front, the table, and the way to a single run."""

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.cli.test_completion import complete
from tests.pages import unfold
from vinesim.formats.results.tables import open_result
from vinesim.pages.sweep import sweep_page
from vinesim.pages.write import write_report
from vinesim.studies.compare import compare


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page; afterwards it must have said nothing on the console, and asked for nothing."""
    said, asked, pages = [], [], []

    def open_page(folder, width=1400):
        page = browser.new_page(viewport={"width": width, "height": 900})
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        write_report(folder, tmp_path / "page.html")
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert said == []
    assert [url for url in asked if not url.endswith("/page.html")] == []


def test_numbers_and_axes_have_words_and_units(whole_sweep):
    data = sweep_page(whole_sweep).data["sweep"]
    assert [axis["titles"] for axis in data["axes"]] == [["policy"], ["mean time between jobs"], ["deployment"]]
    assert [axis["units"] for axis in data["axes"]] == [[""], ["us"], [""]]
    numbers = {number["name"]: (number["title"], number["unit"], number["better"]) for number in data["numbers"]}
    assert numbers["jobs.latency_us.p99"] == ("p99 latency of jobs", "us", "lower")
    assert numbers["utilization.by_type.GPU"] == ("utilisation, GPU", "share", "")
    assert numbers["makespan_us"] == ("makespan", "us", "lower")


def test_axes_of_names_are_compared_before_those_of_numbers(whole_sweep, monkeypatch):
    """Which policy is better is asked more often than which load; up to twelve of them."""
    from vinesim.formats.study.file import study
    from vinesim.pages.verdicts import MAX_NAMES, _compared

    names = ["high", "flat", "pref", "earliest_finish", "earliest_completion", "delay", "closer_to_data"]
    scenario = {"datacenter": {"racks": [{"units": {"GPU": 4}}]}, "workload": {"generator": "500jobs"}}
    asked = study({"scenario": scenario, "axes": {"arrivals.iat": [1, 2, 3], "policy": names}})
    assert len(names) <= MAX_NAMES
    assert _compared(asked) == ["policy", "arrivals.iat"]
    assert sweep_page(whole_sweep).data["sweep"]["verdicts"][0]["by"] == "policy"


def test_points_of_one_run_have_differences_and_no_intervals(opened, tmp_path):
    workload = {"generator": "500jobs"}
    scenario = {"datacenter": {"racks": [{"units": {"GPU": 4}}]}, "workload": workload, "arrivals": {"iat": 9}}
    axes = {"policy": ["high", "pref"], "workload.options.n_jobs": [2, 3]}
    vs.sweep(vs.study({"scenario": scenario, "axes": axes}, folder=tmp_path), tmp_path / "one", workers=1)
    page = opened(tmp_path / "one")
    table = page.locator("#points table").filter(has_text="second - first")
    assert table.locator("thead th").last.inner_text() == "second - first"
    assert "Set replications in the study" in page.locator("#points").text_content()
    assert "One run per point." in page.locator("#curves .note").first.text_content()


def test_verdicts_are_those_of_compare(whole_sweep):
    found = sweep_page(whole_sweep).data["sweep"]["verdicts"]
    assert {(v["by"], v["of"]) for v in found} >= {("policy", "makespan_us"), ("deployment", "jobs.latency_us.p99")}
    swept = vs.read_sweep(whole_sweep)
    for shown in found:
        reported = compare(swept, shown["by"], shown["of"])
        assert shown["n"] == reported.n_comparisons
        for pair, of in zip(shown["pairs"], reported.pairs, strict=True):
            assert (pair["first"], pair["second"], pair["better"]) == (of.first, of.second, of.better)
            assert pair["point"] == list(of.point.values())
            wanted = [of.difference.low, of.difference.estimate, of.difference.high]
            np.testing.assert_allclose(pair["difference"], wanted, rtol=1e-5)


def test_the_table_is_sorted_and_filtered(opened, sweep):
    page = opened(sweep)
    table = page.locator("#points .tall table")

    def column(number):
        return [row.locator("th, td").nth(number).inner_text() for row in table.locator("tbody tr").all()]

    assert len(column(0)) == 16
    data = sweep_page(sweep).data["sweep"]
    mean = next(n for n in data["numbers"] if n["name"] == "jobs.latency_us.mean")["mean"]
    table.get_by_role("button", name="mean latency of jobs").click()
    assert [mean[int(point)] for point in column(0)] == sorted(mean)
    table.get_by_role("button", name="mean latency of jobs").click()
    assert [mean[int(point)] for point in column(0)] == sorted(mean, reverse=True)
    page.get_by_label("Filter").fill("flat many")
    assert set(column(1)) == {"flat"}
    assert len(column(0)) == 4
    table.get_by_role("button", name="How to run point").first.click()
    point = column(0)[0]
    assert (
        f"vinesim run sweep --point {point} --out sweep/points/{point} --explain"
        in page.locator("#points").inner_text()
    )


def test_the_front_holds_the_points_that_no_other_beats(opened, sweep):
    page = opened(sweep)
    data = {number["name"]: number for number in sweep_page(sweep).data["sweep"]["numbers"]}
    page.locator("#points").get_by_label("Across").select_option("makespan")
    page.locator("#points").get_by_label("Up").select_option("p99 latency of jobs")
    unfold(page.locator("#points details.values"))
    rows = [row.locator("th, td") for row in page.locator("#points details.values tbody tr").all()]
    shown = {int(cells.first.inner_text()) for cells in rows if cells.last.inner_text() == "yes"}
    x, y = (np.array(data[name]["mean"]) for name in ("makespan_us", "jobs.latency_us.p99"))
    beaten = [(((x <= a) & (y <= b)) & ((x < a) | (y < b))).any() for a, b in zip(x, y, strict=True)]
    assert shown == set(np.flatnonzero(~np.array(beaten)))
    page.locator("#points").get_by_label("Across").select_option("utilisation")
    assert "There is no Pareto front" in page.locator("#points").inner_text()


def test_a_point_links_to_the_report_of_its_run(opened, sweep):
    (sweep / "points" / "5").mkdir(parents=True)
    (sweep / "points" / "5" / "report.html").write_text("x")
    assert opened(sweep).locator("#points a.to-run").get_attribute("href") == "points/5/report.html"


@pytest.mark.parametrize("width", [1400, 700])
def test_it_fits_the_window(opened, sweep, width):
    assert opened(sweep, width).evaluate("document.documentElement.scrollWidth") <= width


def test_a_point_of_a_sweep_is_run_alone(sweep, tmp_path, vinesim):  # noqa: F811
    rows = vs.read_sweep(sweep).table
    at = int(np.flatnonzero((rows["point"] == 9) & (rows["seed"] == 2))[0])
    out = tmp_path / "one"
    done = vinesim("run", sweep, "--point", 9, "--seed", 2, "--engine", "reference", "--out", out)
    assert done.code == 0
    with open_result(out) as result:
        assert result.summary["jobs"]["latency_us"]["p99"] == rows["jobs.latency_us.p99"][at]
        assert result.summary["provenance"]["policy"] == rows["policy"][at]
    first = vinesim("run", sweep, "--point", 9, "--engine", "reference", "--json")
    assert f'"seed": {rows["seed"].min()}' in first.out
    for words, wanted in (
        (("--point", 16), "0 to 15"),
        (("--point", 1, "--seed", -1), "--seed"),
        (("--point", 1, "--policy", "flat"), "--policy"),
        (("--point", 1, "--set", "seed=1"), "--set"),
    ):
        wrong = vinesim("run", sweep, *words)
        assert (wrong.code, wanted in wrong.err) == (2, True), wrong.err
    assert "the folder of a sweep" in vinesim("run", "--point", 1).err


def test_tab_completes_the_axes_and_numbers_of_a_sweep(sweep, monkeypatch):
    monkeypatch.chdir(sweep.parent)
    assert complete("vinesim compare sweep --by p") == {"policy"}
    assert complete("vinesim plot sweep --panel dep") == {"deployment"}
    assert "jobs.latency_us.p99" in complete("vinesim plot sweep --y jobs.latency_us.p")
    assert complete("vinesim compare nothing --by p") == set()
