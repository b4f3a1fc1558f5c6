"""The error of a back-test goes with answers about the same jobs."""

import json

import pytest
from typer.testing import CliRunner

from tests.studies.test_backtest import site  # noqa: F401 - a fixture
from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.main import app
from vinesim.explore.page import explore_page
from vinesim.explore.state import Explored
from vinesim.formats.scenario.file import read_source
from vinesim.policies.documents import read_scenario
from vinesim.report.page import render
from vinesim.studies.backtest import backtest
from vinesim.studies.backtest_record import read_record, write_record

STUDY = """scenario: site.yaml
axes: {options.bf_interval: [30, 60]}
replications: 2
"""


def run(*words, code=0):
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.stdout if "--json" in words else found.output


def test_sweeps_and_comparisons_carry_it(site):  # noqa: F811
    """Also from the sweep's folder alone."""
    folder = site.parent
    (folder / "study.yaml").write_text(STUDY)
    assert "Error of the model" not in run("sweep", folder / "study.yaml", "--out", folder / "without", "--workers", 1)
    run("backtest", site, "--replications", 2)
    output = run("sweep", folder / "study.yaml", "--out", folder / "swept", "--workers", 1)
    assert "Error of the model" in output
    assert "the back-test of 3 jobs under slurm" in " ".join(output.split())
    compare = ["compare", folder / "swept", "--by", "options.bf_interval", "--of", "jobs.wait_us.mean"]
    assert json.loads(run(*compare, "--json"))["backtest"]["jobs"] == 3
    for name in ("site.parquet", "site.yaml"):
        (folder / name).unlink()
    assert "Error of the model" in run(*compare)


@pytest.mark.parametrize("by", [(), ("--by", "user")])
def test_a_run_and_a_comparison_of_two_runs_carry_it(site, by):  # noqa: F811
    """Printed, as JSON and on their pages, also from the folders alone; once where both runs have the same."""
    folder = site.parent
    one, other = folder / "one", folder / "two"
    assert "Error of the model" not in run("run", site, "--out", folder / "without", *by)
    assert "backtest" not in json.loads(run("run", site, "--json"))
    run("backtest", site, "--replications", 2)
    assert "Error of the model" in run("run", site, "--out", one, *by)
    assert "Error of the model" in run("run", site, "--out", other, "--set", "options.bf_interval=60")
    assert json.loads(run("run", site, "--json"))["backtest"]["jobs"] == 3
    for name in ("site.parquet", "site.yaml", "site.backtest.json"):
        (folder / name).unlink()
    assert run("compare", one, other, *by).count("Error of the model") == 1
    assert run("compare", folder / "without", other, *by).count("Error of the model") == 1
    found = json.loads(run("compare", folder / "without", other, *by, "--json"))["backtests"]
    assert [record and record["jobs"] for record in found] == [None, 3]
    assert "Error of the model" in run("show", one)
    assert json.loads(run("show", one, "--json"))["backtest"]["jobs"] == 3
    for folders in ((one,), (one, other)):
        run("report", *folders, "-o", folder / "page.html")
        assert (folder / "page.html").read_text().count("Error of the model") == 1


PLAN = """scenario: site.yaml
choose: {options.bf_interval: [30, 60]}
minimize: jobs.wait_us.mean
limits: {jobs.wait_us.mean: {below: 1 us}}
"""


def test_two_sweeps_a_plan_without_an_answer_and_the_page_to_explore_carry_it(site):  # noqa: F811
    folder = site.parent
    run("backtest", site, "--replications", 2)
    (folder / "study.yaml").write_text(STUDY)
    for name in ("one", "two"):
        run("sweep", folder / "study.yaml", "--out", folder / name, "--workers", 1)
    of = ("--by", "options.bf_interval", "--of", "jobs.wait_us.mean")
    both = json.loads(run("compare", folder / "one", folder / "two", *of, "--json"))
    assert [record["jobs"] for record in both["backtests"]] == [3, 3]
    (folder / "plan.yaml").write_text(PLAN)
    output = run("plan", folder / "plan.yaml", "--out", folder / "planned", "--workers", 1, code=ExitCode.NO_PLAN)
    assert output.startswith("No candidate")
    assert "Error of the model" in output
    assert "Error of the model" in (folder / "planned" / "plan.html").read_text()
    assert "Error of the model" in render(explore_page(Explored(site)))


def test_it_holds_for_the_same_jobs_only(site):  # noqa: F811
    """Other jobs in the file, or a file that is no record: no error is known."""
    scenario, folder = read_scenario(site), site.parent
    data = read_source(site).data
    assert read_record(data, folder) is None
    file = write_record(backtest(scenario, 2, engine="reference"), data, folder)
    assert read_record(data, folder)["jobs"] == 3
    work = folder / "site.parquet"
    work.write_bytes(work.read_bytes() + b"x")
    assert read_record(data, folder) is None
    file.write_text("{}")
    assert read_record(data, folder) is None
    assert write_record(backtest(scenario, 1, engine="reference"), {"workload": {"generator": "mix"}}, folder) is None


@pytest.mark.filterwarnings("ignore:ignored options of policy slurm")
def test_only_the_scenario_as_it_is_leaves_a_record(site):  # noqa: F811
    """Another policy or another option is another model."""
    run("backtest", site, "--replications", 1, "--policy", "easy_backfill")
    run("backtest", site, "--replications", 1, "--set", "options.bf_interval=60")
    assert not list(site.parent.glob("*.backtest.json"))
