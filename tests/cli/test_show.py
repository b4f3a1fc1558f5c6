"""``vinesim show``: stored runs and sweeps asked again, without a run."""

import json
import re
from pathlib import Path

import pytest

from vinesim.engine import simulate as engine
from vinesim.studies import differences, work
from vinesim.studies.sweep import read_sweep

QUICK = Path(__file__).parents[2] / "examples" / "quickstart.yaml"
BATCH = """\
extends: servers
processor_types: [{name: EPYC, idle_power: 110, dynamic_power: 0.9, sleep_power: 6, capacity: 400, price: 100}]
datacenter: {racks: [{units: {EPYC: 3}}]}
workload: {file: jobs.csv}
policy: bf
period: 10 s
"""
BATCH_JOBS = "arrival_s,time_s,demand\n0,100,300\n15,20,250\n16,20,90\n"
OWN = """\
def spread(result):
    times = result.jobs["latency_us"]
    return {"range": times.max() - times.min(), "n": len(times)}
"""
DEAR = ("--set", "prices.GPU=9000")
GREEN = ("--set", "energy.price_per_kwh=0.3", "--set", "energy.pue=1.4", "--set", "energy.carbon_g_per_kwh=400")
HOT = ("--set", "power.GPU=700", "--set", "sampling=200 us")


@pytest.fixture
def nothing_runs(monkeypatch):
    """Any run from now on is an error."""

    def fail(*_, **__):
        raise AssertionError("something was run")

    def forbid():
        monkeypatch.setattr(engine, "simulate", fail)
        monkeypatch.setattr(work, "simulate", fail)
        monkeypatch.setattr(engine.Attempt, "run", fail)

    return forbid


def _summary(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("changes", [(), DEAR, GREEN, HOT, DEAR + GREEN + HOT])
def test_a_run_under_other_prices_is_what_a_run_with_them_gives(changes, vinesim, tmp_path, nothing_runs):
    vinesim("run", QUICK, "--out", tmp_path / "out", "--set", "arrivals.iat=5")
    wanted = _summary(vinesim("run", QUICK, "--set", "arrivals.iat=5", *changes, "--json"))
    nothing_runs()
    found = _summary(vinesim("show", tmp_path / "out", *changes, "--json"))
    assert differences.of_summaries(wanted, found) == []


def test_the_terminal_has_the_other_prices_and_percentiles(vinesim, tmp_path):
    vinesim("run", QUICK, "--out", tmp_path / "out")
    done = vinesim("show", tmp_path / "out", *DEAR, "--percentile", "99.5", "--percentile", "42")
    assert "220,000" in done.out
    head = next(line for line in done.out.splitlines() if "count" in line)
    assert head.split() == ["count", "mean", "p42", "p50", "p90", "p99", "p99.5", "p99.9", "max"]


def test_percentiles_are_those_of_the_definition_of_the_run(vinesim, tmp_path):
    found = {}
    for method in ("nearest_rank", "linear"):
        vinesim("run", QUICK, "--set", "arrivals.iat=5", "--percentiles", method, "--out", tmp_path / method)
        found[method] = _summary(vinesim("show", tmp_path / method, "--percentile", "99.55", "--json"))
    one, other = (summary["jobs"]["latency_us"] for summary in found.values())
    assert one["p99"] <= one["p99_55"] <= one["p99_9"]
    assert other["p99"] <= other["p99_55"] <= other["p99_9"]


@pytest.mark.parametrize("change", ["policy=pref", "workload.load=1.2", "datacenter.racks[0].units.GPU=30", "seed=3"])
def test_what_decides_a_run_is_refused(change, vinesim, tmp_path):
    vinesim("run", QUICK, "--out", tmp_path / "out")
    done = vinesim("show", tmp_path / "out", "--set", change)
    assert (done.code, done.out) == (2, "")
    assert "vinesim run" in done.err
    assert "Traceback" not in done.err


def test_powers_count_while_a_batch_policy_runs(vinesim, tmp_path):
    (tmp_path / "a.yaml").write_text(BATCH)
    (tmp_path / "jobs.csv").write_text(BATCH_JOBS)
    vinesim("run", tmp_path / "a.yaml", "--out", tmp_path / "out")
    refused = vinesim("show", tmp_path / "out", "--set", "processor_types[0].idle_power=9")
    assert (refused.code, refused.out) == (2, "")
    changes = ("--set", "processor_types[0].price=70", *GREEN)
    wanted = _summary(vinesim("run", tmp_path / "a.yaml", *changes, "--json"))
    found = _summary(vinesim("show", tmp_path / "out", *changes, "--json"))
    assert differences.of_summaries(wanted, found) == []


def test_numbers_of_ones_own(vinesim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    vinesim("run", QUICK, "--out", "out", "--set", "arrivals.iat=5")
    found = _summary(vinesim("show", "out", "--record", "own.py:spread", "--json"))
    latency = found["jobs"]["latency_us"]
    assert found["record"]["spread.n"] == 500
    assert 0 < found["record"]["spread.range"] <= latency["max"]
    assert "spread.range" in vinesim("show", "out", "--record", "own.py:spread").out


@pytest.mark.parametrize(
    "words",
    [("--record", "jobs.count"), ("--record", "own.py:nothing"), ("--percentile", "0"), ("--percentile", "100")],
)
def test_bad_words_are_one_message(words, vinesim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    vinesim("run", QUICK, "--out", "out")
    done = vinesim("show", "out", *words)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


STUDY = """\
scenario: {quick}
axes: {{arrivals.iat: [5, 9], "datacenter.racks[0].units.GPU": [20, 25]}}
"""


@pytest.fixture
def study(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format(quick=QUICK))
    return file


@pytest.mark.parametrize("changes", [DEAR, GREEN, DEAR + GREEN])
def test_a_sweep_under_other_prices_is_what_a_sweep_with_them_gives(changes, study, vinesim, tmp_path, nothing_runs):
    out = tmp_path / "out"
    assert vinesim("sweep", study, "--out", out, "--workers", "1").code == 0
    wanted = vinesim("sweep", study, *changes, "--out", tmp_path / "dear", "--workers", "1", "--json")
    nothing_runs()
    found = vinesim("show", out, *changes, "--json")
    assert _summary(found)["points"] == _summary(wanted)["points"]
    assert not (out / "journal").exists()
    assert read_sweep(out).table["cost.purchase"][0] == 100_000.0


@pytest.mark.parametrize(
    ("change", "left_out", "unnamed"),
    [
        ("prices.GPU=9000", r"by\..*\.cost", "nothing"),
        ("energy.price_per_kwh=0.5", r"energy\.cost", "nothing"),
        ("energy.price_per_kwh=null", r"energy\.cost", "energy.cost"),
    ],
)
def test_what_the_rows_of_a_sweep_do_not_decide_is_left_out(change, left_out, unnamed, study, vinesim, tmp_path):
    """The rows lack the energy, of which its cost follows. A cost that nothing has any more is left out silently."""
    (tmp_path / "own.py").write_text("def paid(result):\n    return result.summary['cost']['purchase']\n")
    study.write_text(study.read_text() + "record: [makespan_us, energy.cost, by.size, own.py:paid]\n")
    swept = vinesim("sweep", study, "--set", "energy.price_per_kwh=0.3", "--out", tmp_path / "out", "--json")
    done = vinesim("show", tmp_path / "out", "--set", change, "--json")
    before, after = (_summary(of)["points"][0]["numbers"] for of in (swept, done))
    wanted = [name for name in before if re.fullmatch(left_out, name)]
    assert len(wanted) > 0
    assert [name for name in before if name not in after] == wanted
    assert [name for name in wanted if name not in done.err] == [name for name in wanted if name == unnamed]
    assert after["paid"] == before["paid"]
    assert "own.py:paid: as in the stored runs" in done.err


@pytest.mark.parametrize("words", [HOT[:2], ("--set", "policy=pref"), ("--percentile", "42"), ("--record", "a.py:b")])
def test_what_the_rows_of_a_sweep_do_not_decide_is_refused(words, study, vinesim, tmp_path):
    vinesim("sweep", study, "--out", tmp_path / "out", "--workers", "1")
    done = vinesim("show", tmp_path / "out", *words)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


LABELLED = """\
arrival_s,time_s,cores,user,attribute.qos
0,100,8,ann,long
10,20,8,bob,
20,20,4,ann,long
30,50,2,,short
"""
CORES = """\
extends: none
processor_types: [{name: CPU, price: 100}]
network: none
policy: fcfs
workload: {file: jobs.csv}
datacenter: {racks: [{nodes: [{units: {CPU: {cores: 8}}, memory: 1 GiB}]}]}
"""


@pytest.fixture
def labelled(tmp_path):
    (tmp_path / "a.yaml").write_text(CORES)
    (tmp_path / "jobs.csv").write_text(LABELLED)
    return tmp_path / "a.yaml"


def test_jobs_are_broken_down_by_what_is_known_of_them(labelled, vinesim, tmp_path):
    axes = [word for axis in ("user", "qos", "size", "hour") for word in ("--by", axis)]
    run = _summary(vinesim("run", labelled, "--out", tmp_path / "out", "--json", *axes))
    assert {axis: [row[axis] for row in rows] for axis, rows in run["by"].items()} == {
        "user": ["ann", "bob", "-"],
        "qos": ["long", "-", "short"],
        "size": ["2", "3-4", "5-8"],
        "hour": ["00"],
    }
    assert "by" not in json.loads((tmp_path / "out" / "summary.json").read_text())
    assert _summary(vinesim("show", tmp_path / "out", "--json", *axes))["by"] == run["by"]
    out = vinesim("show", tmp_path / "out", "--by", "user").out
    assert "By user" in out
    assert "Jain's index of the mean slowdowns" in out
    assert max(map(len, out[out.index("By user") :].splitlines())) <= 100
    assert run["fairness"]["users"] == 2


def test_axes_that_a_run_lacks_are_refused_before_anything_is_written(labelled, vinesim, tmp_path):
    done = vinesim("run", labelled, "--out", tmp_path / "out", "--by", "partition", "--by", "nothing")
    assert (done.code, done.out) == (2, "")
    assert all(name in done.err for name in ("partition", "nothing", "user, qos, task_type, size, hour"))
    assert not (tmp_path / "out").exists()


def test_the_page_of_two_runs_has_both_by_user(labelled, vinesim, tmp_path):
    for policy in ("fcfs", "easy_backfill"):
        vinesim("run", labelled, "--out", tmp_path / policy, "--set", f"policy={policy}")
    vinesim("report", tmp_path / "fcfs", tmp_path / "easy_backfill", "-o", tmp_path / "two.html")
    page = (tmp_path / "two.html").read_text()
    assert "By user" in page
    assert "slowdown, easy_backfill" in page


def test_numbers_of_ones_own_are_tried_before_a_run(vinesim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    done = vinesim("run", QUICK, "--record", "own.py:spread", "--json")
    assert _summary(done)["record"]["spread.n"] == 500
    (tmp_path / "bad.py").write_text("def wrong(result):\n    return result.nothing\n")
    done = vinesim("run", QUICK, "--record", "bad.py:wrong", "--out", "out")
    assert (done.code, done.out, Path("out").exists()) == (2, "", False)
    assert "bad.py:2" in done.err
