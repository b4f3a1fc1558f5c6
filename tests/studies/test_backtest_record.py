"""The error of a back-test goes with answers about the same jobs."""

import json

import pytest
from typer.testing import CliRunner

from tests.studies.test_backtest import site  # noqa: F401 - a fixture
from vinesim.cli.main import app
from vinesim.formats.scenario.file import read_source
from vinesim.policies.documents import read_scenario
from vinesim.studies.backtest import backtest
from vinesim.studies.backtest_record import read_record, write_record

STUDY = """scenario: site.yaml
axes: {options.bf_interval: [30, 60]}
replications: 2
"""


def run(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.output


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
