"""``vinesim import``, then ``vinesim run``, on made-up files and on the real ones next to the repository."""

import json
from pathlib import Path

import pytest

import vinesim as vs

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
GAVEL = "gpu,job_type,scale_factor,steps_per_s\nold,A,1,2\nnew,A,1,9\nold,B,1,0\nnew,B,1,1\nnew,A,2,15\n"
STARPU = """kernel,machine,device_type,cores,size_bytes,mean_us,dev_us,n
f,m,cpu,1,100,50,5,10
f,m,cuda,1,100,40,4,10
g,m,cpu,1,100,900,5,10
g,m,cuda,1,100,20,4,10
"""
SWF = "".join(f"{i} {i} 0 {run} {n} -1 -1 -1 {asked} -1 1 1 1 1 1 1 -1 -1\n" for i, run, n, asked in (
    (1, 100, 3, 100), (2, 50, 4, 60), (3, 10, 1, 20), (4, 500, 1, 600), (5, 5, 9, 5)
))  # fmt: skip


def needs(name):
    return pytest.mark.skipif(not (DATA / name).exists(), reason=f"{name} is not next to the repository")


def run(vinesim, scenario, *words):
    done = vinesim("run", scenario, "--json", *words)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_whole_jobs_run_under_backfilling(vinesim, tmp_path):
    (tmp_path / "log.swf").write_text(SWF)
    (tmp_path / "m").write_text("0\ta\t1\t4\t1\t1\n")
    words = ("--machines", tmp_path / "m", "--task", "job", "-o", tmp_path / "jobs.parquet")
    done = vinesim("import", "swf", tmp_path / "log.swf", *words)
    assert done.code == 0, done.err
    assert "dropped 1: more than the 4 processors of the widest node (line 5)" in done.out
    # job 2 needs all four processors after job 1, from 100 s on; job 3 fills the gap, job 4 is too long for it
    found = run(vinesim, tmp_path / "jobs.yaml")
    assert found["jobs"]["finished"] == 4
    waits = {"easy_backfill": (0 + 99 + 0 + 147) / 4, "fcfs": (0 + 99 + 148 + 147) / 4}
    for policy, mean_s in waits.items():
        found = run(vinesim, tmp_path / "jobs.yaml", "--policy", policy)
        assert found["jobs"]["wait_us"]["mean"] == pytest.approx(mean_s * 1e6), policy
    run(vinesim, tmp_path / "jobs.yaml", "--policy", "conservative_backfill")
    run(vinesim, tmp_path / "jobs.yaml", "--policy", "rb_fifo", "--option", "sharing=yes")


def test_a_partition_is_an_option_and_the_report_can_be_json(vinesim, tmp_path):
    lines = [f"{i} {i} 0 {run} 1 -1 -1 1 9 -1 {status} 1 1 1 1 {p} -1 -1" for i, run, status, p in (
        (1, 5, 1, 1), (2, 5, 5, 2), (3, 0, 5, 1), (4, 5, 1, 1)
    )]  # fmt: skip
    (tmp_path / "log.swf").write_text("; a comment\n" + "\n".join(lines) + "\n")
    words = ("import", "swf", tmp_path / "log.swf", "-o", tmp_path / "a.parquet")
    done = vinesim(*words)
    assert done.code == 0
    for line in (
        "dropped 1: cancelled before it ran (status 5) (line 4)",
        "status: 1 (completed) 2 kept; 5 (cancelled) 1 kept, 1 dropped",
        "partition: 1 2 kept, 1 dropped; 2 1 kept",
        "not used: user (4 lines), group (4 lines)",
        "left out: node boundaries",
    ):
        assert line in done.out, done.out
    found = json.loads(vinesim(*words, "--partition", 1, "--json").out)
    assert (found["jobs"], found["tasks"], found["lines"]) == (2, 2, 4)
    assert found["dropped"]["another partition"] == {"count": 1, "lines": [3]}
    assert found["values"]["partition"] == {"1": {"kept": 2, "dropped": 1}, "2": {"kept": 0, "dropped": 1}}
    assert found["wrote"] == [str(tmp_path / "a.parquet"), str(tmp_path / "a.import.json")]
    both = json.loads(vinesim(*words, "--partition", 1, "--partition", 2, "--json").out)
    assert both["jobs"] == 3
    refused = vinesim(*words, "--partition", 7)
    assert refused.code == 2
    assert "expected a partition of the log: 1, 2, found 7" in refused.err


def test_columns_that_nothing_uses_are_named(vinesim, tmp_path):
    for kind, text, more in (
        ("gavel", GAVEL.replace("steps_per_s\n", "steps_per_s,watts\n").replace(",2\n", ",2,300\n"), ()),
        ("starpu", STARPU.replace(",n\n", ",n,watts\n").replace("50,5,10\n", "50,5,10,80\n"), ()),
        ("requests", "when,watts\n0,\n1,7\n5,\n", ("--time", "when")),
    ):
        table = tmp_path / f"{kind}.csv"
        table.write_text(text)
        out = tmp_path / ("r.csv" if kind == "requests" else f"{kind}.parquet")
        done = vinesim("import", kind, table, *more, "-o", out)
        assert done.code == 0, done.err
        assert "not used: watts (1 lines)" in done.out
        found = json.loads(vinesim("import", kind, table, *more, "-o", out, "--json").out)
        assert found["unused"] == {"watts": 1}
        assert found["wrote"][0] == str(out)


@pytest.mark.parametrize(("kind", "text"), [("gavel", GAVEL), ("starpu", STARPU)])
def test_measured_jobs_run_at_once(vinesim, tmp_path, kind, text):
    (tmp_path / "t.csv").write_text(text)
    words = ("import", kind, tmp_path / "t.csv", "--jobs", "40", "--seed", "5", "-o")
    for name in ("a", "b"):
        done = vinesim(*words, tmp_path / f"{name}.parquet")
        assert done.code == 0, done.err
        assert "2 task types" in done.out
    found = run(vinesim, tmp_path / "a.yaml")
    assert found["jobs"]["finished"] == 40
    assert run(vinesim, tmp_path / "b.yaml")["makespan_us"] == found["makespan_us"]
    for policy in ("rb_ljf_ocl", "high"):
        assert run(vinesim, tmp_path / "a.yaml", "--policy", policy)["jobs"]["finished"] == 40


def test_noise_changes_the_times_and_nothing_else(vinesim, tmp_path):
    (tmp_path / "t.csv").write_text(STARPU)
    makespans = []
    for more in ((), ("--noise",)):
        assert vinesim("import", "starpu", tmp_path / "t.csv", *more, "-o", tmp_path / "a.parquet").code == 0
        makespans.append(run(vinesim, tmp_path / "a.yaml")["makespan_us"])
    assert makespans[0] != makespans[1]


def test_wrong_input_writes_nothing(vinesim, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(GAVEL + "old,C,1,x\nold,D,x,1\n")
    done = vinesim("import", "gavel", table, "-o", tmp_path / "a.parquet")
    assert (done.code, done.err.count("t.csv:")) == (2, 2)
    table.write_text(GAVEL)
    for words, what in (
        (("--jobs", "0", "--load", "-1"), "2 problems"),
        (("--duration", "1 year"), "--duration"),
    ):
        done = vinesim("import", "gavel", table, "-o", tmp_path / "a.parquet", *words)
        assert done.code == 2
        assert what in done.err
    for name in ("a.yaml", "a.csv"):
        done = vinesim("import", "gavel", table, "-o", tmp_path / name)
        assert done.code == 2
        assert ".parquet" in done.err
    assert list(tmp_path.iterdir()) == [table]


def test_counted_requests_are_a_series_of_the_generator(vinesim, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("when\n" + "".join(f"{second}\n" for second in range(100)))
    done = vinesim("import", "requests", log, "--time", "when", "--interval", "10 s", "-o", tmp_path / "counts.csv")
    assert done.code == 0, done.err
    assert (tmp_path / "counts.csv").read_text().splitlines()[:3] == ["time_s,requests", "0,10", "10,10"]
    (tmp_path / "s.yaml").write_text(
        "datacenter: {racks: [{nodes: [{units: {E5620x2: 1, C2050: 2}, count: 3}]}]}\n"
        "workload: {generator: requests, options: {series: {SEARCH: counts.csv}, scale: 5, process: poisson}}\n"
        "policy: fcfs\n"
    )
    found = run(vinesim, tmp_path / "s.yaml")
    assert found["jobs"]["finished"] == pytest.approx(500, abs=90)  # 4 standard deviations


@needs("gavel")
def test_the_throughputs_of_gavel_run(vinesim, tmp_path):
    words = ("--jobs", "200", "-o", tmp_path / "a.parquet")
    assert vinesim("import", "gavel", DATA / "gavel" / "isolated.csv", *words).code == 0
    assert run(vinesim, tmp_path / "a.yaml")["jobs"]["finished"] == 200


@needs("starpu")
def test_the_kernels_of_starpu_run(vinesim, tmp_path):
    words = ("--jobs", "200", "--noise", "-o", tmp_path / "a.parquet")
    assert vinesim("import", "starpu", DATA / "starpu" / "kernels.csv.gz", *words).code == 0
    assert run(vinesim, tmp_path / "a.yaml")["jobs"]["finished"] == 200


def test_the_processors_of_a_job_of_a_log_start_together(vinesim, tmp_path):
    """Each job is a gang of one task per processor; a job wider than the machine is dropped."""
    (tmp_path / "log.swf").write_text(SWF)
    (tmp_path / "m").write_text("0\ta\t1\t4\t1\t1\n")
    words = ("import", "swf", tmp_path / "log.swf", "--machines", tmp_path / "m")
    done = vinesim(*words, "-o", tmp_path / "parts.parquet")
    assert (done.code, done.err) == (0, "")
    assert "more than the 4 processors of all clusters (line 5)" in done.out
    tasks = vs.simulate(vs.read_scenario(tmp_path / "parts.yaml"), engine="reference").tasks
    starts = [tasks["init_us"][tasks["job"] == job].tolist() for job in range(4)]
    assert starts[0] == [0.0] * 3
    assert starts[1] == [12e6 + 500e6] * 4  # when the job of one processor that came later is done
    assert vinesim(*words, "--task", "job", "-o", tmp_path / "jobs.parquet").err == ""
    assert vinesim("run", tmp_path / "jobs.yaml").err == ""
