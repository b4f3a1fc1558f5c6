"""Back-tests: predicted waits against those that happened."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vinesim as vs
from tests.small_site import job, write_site
from vinesim.cli.backtest import print_backtest
from vinesim.cli.main import app
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.model.failure import Failures, Times
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.pages.backtest import backtest_page
from vinesim.policies.documents import read_scenario
from vinesim.report.page import render
from vinesim.studies.backtest import Backtest, backtest, cpus_of, in_use, order_of
from vinesim.studies.eligible import eligible_s
from vinesim.studies.mechanisms import SWITCHES, without_all, without_each
from vinesim.studies.waterfall import waterfall

CONF = "NodeName=c1 CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL\nPriorityType=priority/basic\n"


@pytest.fixture
def site(tmp_path):
    rows = [job(1, 0, 100, "-N1 -n4"), job(2, 10, 50, "-N1 -n4", start=102, user="bob"),
            job(3, 20, 30, "-N1 -n1 --dependency=afterok:2", eligible=152, start=153, qos="low")]  # fmt: skip
    import_site(write_site(tmp_path / "site", rows, CONF), tmp_path / "site.parquet")
    return tmp_path / "site.yaml"


def test_waits_count_from_when_a_job_was_eligible(site):
    """In truth 0, 92 and 1 s."""
    found = backtest(read_scenario(site), 3, engine="reference")
    assert found.actual_s.tolist() == [0.0, 92.0, 1.0]
    assert np.abs(found.mean_s - found.actual_s).max() < 12
    assert found.band_s < 6
    assert {row["by"] for row in found.rows()} == {"qos", "user", "CPUs"}


@pytest.mark.parametrize("failures", [(), (Failures(Times(1e9), Times(1e6)),)])
def test_a_policy_that_draws_nothing_runs_once(site, capsys, failures):
    """Unless nodes fail at random."""
    scenario = replace(read_scenario(site), policy="easy_backfill", options={}, failures=failures)
    begun = []
    found = backtest(scenario, 3, engine="reference", on_run=begun.append)
    assert begun == ([0, 1, 2] if failures else [0])
    text = "\n".join(printed(found, capsys))
    assert ("another seed would give the same run." in text) is (not failures)
    if not failures:
        assert (found.band_s, found.floor_s, found.as_document()["replications"]) == (0.0, 0.0, 1)
        assert "all runs are equal" in render(backtest_page(found, None, "site"))


def test_starts_are_rounded_down_where_those_of_the_log_are(site):
    """Of Slurm, whose times are seconds; not of a log that has parts of them."""
    scenario = read_scenario(site)
    assert (backtest(scenario, 2, engine="reference").begin_s % 1.0 == 0.0).all()
    work = scenario.workload
    later = tuple(f"{float(text) + 0.5}" for text in work.attribute_words["start_s"])
    exact = replace(work, attribute_words={**work.attribute_words, "start_s": later})
    found = backtest(replace(scenario, workload=exact), 2, engine="reference")
    assert (found.begin_s % 1.0 != 0.0).any()


def test_hours_are_those_of_the_day(tmp_path):
    """Of three jobs of two days two come in the second hour; without a date, days have numbers."""
    rows = [job(1, 3600, 100, "-N1 -n4"), job(2, 25 * 3600, 50, "-N1 -n4"), job(3, 26 * 3600, 50, "-N1 -n4")]
    rows = [row.replace("03-01T25:", "03-02T01:").replace("03-01T26:", "03-02T02:") for row in rows]
    import_site(write_site(tmp_path / "site", rows, CONF), tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    found = {(row["by"], row["group"]): row["jobs"] for row in backtest(scenario, 1, engine="reference").rows()}
    assert (found["hour", "01"], found["hour", "02"]) == (2, 1)
    assert (found["day", "2024-03-01"], found["day", "2024-03-02"]) == (1, 2)
    assert str(scenario.start_date) == "2024-03-01 01:00:00"
    assert backtest_page(backtest(scenario, 1, engine="reference"), None, "site").data["start"] == 1709254800.0
    options = {name: v for name, v in scenario.options.items() if name != "start_s"}
    dated, undated = replace(scenario, options=options), replace(scenario, options=options, start_date=None)
    assert backtest_page(backtest(dated, 1, engine="reference"), None, "site").data["start"] == 1709254800.0
    found = {(row["by"], row["group"]) for row in backtest(undated, 1, engine="reference").rows()}
    assert {("day", "0"), ("day", "1")} <= found


def test_dependent_and_throttled_jobs_are_eligible_as_others_end(site):
    """The third after the second."""
    work = read_scenario(site).workload
    assert eligible_s(work, np.array([0.0, 100, 160]), np.array([100.0, 150, 190])).tolist() == [0, 10, 150]


def test_tasks_of_a_throttled_array_are_eligible_while_fewer_run(tmp_path):
    """Of two at once: the third since the first ended, the fourth since then too, as only one ran until it began."""
    rows = [job(n, 0, 100, "-N1 -n1 --array=0-3%2", id=f"1_{n - 1}") for n in (1, 2, 3, 4)]
    import_site(write_site(tmp_path / "site", rows, CONF), tmp_path / "site.parquet")
    work = read_scenario(tmp_path / "site.yaml").workload
    begin_s, end_s = np.array([50.0, 60, 200, 230]), np.array([150.0, 160, 250, 300])
    assert eligible_s(work, begin_s, end_s).tolist() == [0, 0, 150, 150]


def test_the_command_prints_and_writes_it(site):
    """80 columns, and JSON."""
    output = str(site.parent / "x.json")
    found = CliRunner().invoke(app, ["backtest", str(site), "--replications", "2", "-o", output])
    assert found.exit_code == 0, found.output
    assert max(map(len, found.output.splitlines())) <= max(80, 6 + len(str(site.with_name("site.backtest.json"))))
    assert json.loads(Path(output).read_text())["jobs"] == 3


def test_a_file_is_refused_as_the_folder(site):
    """With the option that writes a file."""
    found = CliRunner().invoke(app, ["backtest", str(site), "--out", str(site.parent / "x.json")])
    assert "Write one file with --output" in str(found.exception)


@pytest.mark.filterwarnings("ignore:ignored options of policy slurm")
def test_any_policy_can_be_tested(site):
    """Also one that knows nothing of Slurm."""
    found = CliRunner().invoke(app, ["backtest", str(site), "--policy", "easy_backfill", "--replications", "1"])
    assert found.exit_code == 0, found.output


def test_without_actual_starts_it_is_refused():
    """With what to add."""
    with pytest.raises(InputError, match=r"attribute\.start_s"):
        backtest(vs.read_scenario("examples/quickstart.yaml"), 1)


def test_orders_are_compared_by_rank():
    """The same, and the opposite."""
    assert order_of(np.array([1.0, 2, 3]), np.array([4.0, 5, 9])) == pytest.approx(1)
    assert order_of(np.array([1.0, 2, 3]), np.array([9.0, 5, 4])) == pytest.approx(-1)


def test_a_waterfall_shows_what_each_mechanism_explains(site):
    """Without dependencies the third job, which waits for the second, starts much too early or its wait is another."""
    scenario = read_scenario(site)
    found = backtest(scenario, 2, engine="reference")
    fall = waterfall(scenario, found, 2, engine="reference")
    by_name = {step.name: step.error_s for step in fall.steps}
    assert {"backfill", "dependencies"} <= set(by_name)
    assert by_name["dependencies"] > found.error_s + 5
    assert fall.steps[0].error_s == max(by_name.values())
    assert 0 <= fall.unexplained_s <= found.error_s
    assert f"{fall.unexplained * 100:.0f} %" in fall.words()
    assert json.dumps(fall.as_document(), allow_nan=False)


def test_a_mechanism_that_a_scenario_lacks_is_not_switched_off(site):
    """And without all of them nothing is left to switch off."""
    scenario = read_scenario(site)
    names = [name for name, _ in without_each(scenario)]
    assert not {"reservations", "preemption", "fair share", "cancelled jobs"} & set(names)
    assert list(without_each(without_all(scenario))) == []
    assert set(names) <= set(SWITCHES)


def test_the_page_has_all_of_it(site):
    """Sections, the sentence, and names of users as text."""
    scenario = read_scenario(site)
    found = backtest(scenario, 2, engine="reference")
    html = render(backtest_page(found, waterfall(scenario, found, 1, engine="reference"), "<my site>"))
    title = "how well does slurm predict the waits of &lt;my site&gt;?"
    for words in (title, found.trust(), "Mean wait by user", "without dependencies", '<th scope="row">2</th>'):
        assert words.replace("'", "&#x27;") in html


def test_a_single_run_has_no_band(site):
    """Neither in JSON, which knows no NaN, nor in the sentence."""
    found = backtest(read_scenario(site), 1, engine="reference")
    assert json.dumps(found.as_document(), allow_nan=False)
    assert "single job is off by" in found.trust()


def test_use_is_averaged_over_intervals():
    """Two CPUs for 10 s and one for 5 s."""
    used = in_use(np.array([0.0, 5]), np.array([10.0, 10]), np.array([2.0, 1]), np.array([0.0, 10, 20]))
    assert used.tolist() == [2.5, 0.0]


@pytest.mark.parametrize(("companions", "cpus"), [({"CPU": [16.0, 0, 0, 2]}, [16, 4, 5]), (None, [2, 4, 4])])
def test_jobs_with_gpus_are_as_large_as_their_cpus(companions, cpus):
    """A job on 2 GPUs with 16 CPUs, one of 4 CPUs, one of two tasks on 1 and 3 GPUs, of which the latter has 2 CPUs."""
    zeros = np.zeros(4)
    work = Workload(zeros[:3].astype(int), np.array([0, 1, 2, 4]), zeros[:3], zeros + 1, zeros, zeros.astype(int),
                    zeros.astype(int), np.full(4, NO_PREFERENCE), units=np.array([2, 1, 3, 1]),
                    demand=np.array([1.0, 4, 1, 1]),
                    companions=companions and {name: np.array(n) for name, n in companions.items()})  # fmt: skip
    assert cpus_of(work).tolist() == cpus


def test_logs_say_when_jobs_started(tmp_path):
    """Those in the Standard Workload Format, and any with arrivals and starts."""
    lines = ["1 0 0 100 4 -1 -1 4 200 -1 1 1 1 -1 1 1 -1 -1", "2 10 90 50 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1",
             "3 20 -1 50 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1"]  # fmt: skip
    (tmp_path / "log.swf").write_text("; MaxNodes: 1\n; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    (tmp_path / "log.csv").write_text(
        "submitted,started,ended,cores\n2024-03-01T00:00:00,2024-03-01T00:00:00,2024-03-01T00:01:40,4\n"
        "2024-03-01T00:00:10,2024-03-01T00:01:40,2024-03-01T00:02:30,4\n"
    )
    for kind, output in (("swf", "a.parquet"), ("csv", "b.csv")):
        log, made = str(tmp_path / f"log.{kind}"), tmp_path / output
        found = CliRunner().invoke(app, ["import", kind, log, "-o", str(made)])
        assert found.exit_code == 0, found.output
        tested = backtest(read_scenario(made.with_suffix(".yaml")), 1, engine="reference")
        assert (tested.n_actual, tested.actual_s.tolist()) == (2, [0.0, 90.0])
        if kind == "swf":  # on the machine of its header
            assert tested.predicted_s.tolist() == [[0.0, 90.0]]


def test_the_folder_of_a_site_is_to_be_imported_first(tmp_path):
    """The error says how."""
    found = CliRunner().invoke(app, ["backtest", str(tmp_path)])
    assert isinstance(found.exception, InputError)
    assert f"vinesim import slurm {tmp_path} -o site.parquet" in str(found.exception)


def printed(found, capsys):
    """What the command prints, its lines without spaces at the end."""
    print_backtest(found.as_document())
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def backtest_by_hour(hours, predicted_s=((100.0,), (100.0,))):
    """A back-test whose jobs waited for 2,000.4 s, of these hours."""
    n = len(hours)
    zeros = np.zeros(n)
    work = Workload(zeros.astype(int), np.arange(n + 1), zeros, zeros + 1, zeros, zeros.astype(int), zeros.astype(int),
                    np.full(n, NO_PREFERENCE), attributes={"start_s": zeros.astype(int)},
                    attribute_words={"start_s": ("2000.4",)})  # fmt: skip
    scenario = replace(vs.read_scenario("examples/quickstart.yaml"), workload=work)
    waits_s = np.array(predicted_s) * np.ones((len(predicted_s), n))
    return Backtest(scenario, np.arange(n), np.full(n, 2000.4), waits_s, waits_s, np.ones(n), n,
                    {"hour": np.array([f"{hour:02d}" for hour in hours])})  # fmt: skip


def test_hours_are_in_their_order_and_those_not_shown_are_counted(capsys):
    """Of 14 hours, the two with fewest jobs are left out; the log has no date."""
    lines = printed(backtest_by_hour([*range(14), *range(2, 14), 13]), capsys)
    shown = [line.split()[-5:] for line in lines if line.endswith("!")]
    assert [row[0] for row in shown] == [f"{hour:02d}" for hour in range(2, 14)]
    assert any(line.split() == ["2", "more"] for line in lines)
    assert "Hours and days count from the beginning of the log, which has no date." in lines


def test_runs_that_are_equal_have_no_range(capsys):
    """Neither in the terminal nor on the page; runs that differ have one."""
    equal = backtest_by_hour([0, 1])
    lines = printed(equal, capsys)
    assert "A job is off by 1,900 s in the mean; all runs are equal." in lines
    assert not any("highest" in line for line in lines)
    assert ["job", "actual", "predicted", "why"] in [line.replace("CPUs", "").split() for line in lines]  # no owners
    html = render(backtest_page(equal, None, "log"))
    assert "highest run" not in html
    assert "all runs are equal" in html
    two = backtest_by_hour([0, 1], ((100.0,), (300.0,)))
    assert "highest run" in render(backtest_page(two, None, "log"))
    assert any("highest" in line for line in printed(two, capsys))
