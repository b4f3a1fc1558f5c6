"""``vinesim import lsf``: lsb.acct, and what bacct -l prints."""

import json

import pytest

import vinesim as vs

MIB = 2**20
ACCT = '''"JOB_FINISH" "10.1" 1714554005 101 1000 33554438 4 1714550400 0 0 1714550405 "ann" "normal" "rusage[mem=4000] span[ptile=2]" "" "" "login" "" "" "" "" "1.101" 1 "any host" 2 "2*h1" "2*h2" 64 60.0 "a ""b"" c" "sleep 1; echo ""x y""" 0.1 0.1 -1
"JOB_FINISH" "10.1" 1714554005 102 1000 33554438 3 1714550500 0 0 1714550505 "ben" "gpu" "" "" "" "login" "" "" "" "" "1.102" 0 3 "h1" "h1" "h2" 64 60.0 "" "run" 0.1 "select[type == any] rusage[ngpus_physical=2.00,mem=1G] "
"JOB_RESIZE" "10.1" 1714554006 102
"JOB_FINISH" "10.1" 1714554005 103 1000 33554438 1 1714550500 0 0 0 "ben" "gpu" "" "" "" "login" "" "" "" "" "1.103" 0 0 32 60.0 "" "run"
"JOB_FINISH" "10.1" 1714554005 104 1000
garbage
'''  # noqa: E501 - records are long lines
BACCT = """
Accounting information about jobs that are:
  - submitted by all users.
------------------------------------------------------------------------------

Job <101>, Job Name <train>, User <ann>, Project <default>, Status <DONE>, Queu
                     e <gpu.4h>, Command <sleep 60>, Share group charged </a/b>
Mon Dec 30 23:59:00: Submitted from host <login>, CWD <$HOME>, Requested Resour
                     ces <rusage[mem=2G]>;
Tue Dec 31 23:59:50: Dispatched 5 Task(s) on Host(s) <4*h1> <h2>, Allocated 5 S
                     lot(s) on Host(s) <4*h1> <h2>, Effective RES_REQ <select[t
                     ype == any] rusage[mem=2048.00] >;
Wed Jan  1 00:00:50: Completed <done>.

Accounting information about this job:
     Share group charged </a/b>
     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP
      0.08    86450          86510     done         0.0007     5M    222M
------------------------------------------------------------------------------

Job <102[3]>, User <ben>, Project <default>, Status <EXIT>, Queue <normal>
Tue Dec 31 10:00:00: Submitted from host <login>, CWD <$HOME>;
Tue Dec 31 10:00:10: Dispatched to <a3201>;
Tue Dec 31 10:00:40: Completed <exit>.

Accounting information about this job:
     CPU_T     WAIT     TURNAROUND   STATUS     HOG_FACTOR    MEM    SWAP
      0.08       10             40     exit         0.0007     5M    222M
------------------------------------------------------------------------------

Job <103>, User <ben>, Project <default>, Status <EXIT>, Queue <normal>
Tue Dec 31 10:00:00: Submitted from host <login>, CWD <$HOME>;
Tue Dec 31 10:00:40: Completed <exit>; TERM_OWNER: job killed by owner.
------------------------------------------------------------------------------

SUMMARY:      ( time unit: second )
 Total number of done jobs:       1      Total number of exited jobs:     2
"""


@pytest.fixture
def imported(vinesim, tmp_path):
    def take(text, *words, code=0):
        (tmp_path / "log").write_text(text)
        done = vinesim("import", "lsf", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json", *words)
        assert done.code == code, done.err
        return (json.loads(done.out), vs.read_scenario(tmp_path / "jobs.yaml")) if code == 0 else done.err

    return take


def test_records_of_lsb_acct(imported, tmp_path):
    report, scenario = imported(ACCT)
    work = scenario.workload
    assert work.job_id.tolist() == [101, 102]
    assert work.arrival_us.tolist() == [0.0, 100e6]
    assert work.words_of("start_s") == ["5", "105"]
    assert work.job_first.tolist() == [0, 2, 4]
    assert work.demand[:2].tolist() == [2, 2]
    assert work.units[2:].tolist() == [2, 2]
    assert work.companions["CPU"][2:].tolist() == [2, 1]
    assert work.companions["memory"].tolist() == [4000 * MIB, 4000 * MIB, 1024 * MIB, 1024 * MIB]
    assert work.times_us.max(axis=1)[[0, 2]].tolist() == [3600e6, 3500e6]
    assert {reason: found["lines"] for reason, found in report["dropped"].items()} == {
        "it never started, or ended at once": [4],
        "a record whose fields cannot be read": [5],
        "no record": [6],
    }
    assert '"a ""b"" c"' in (tmp_path / "jobs.csv").read_text()
    assert next(found["is_odd"] for found in report["findings"] if found["what"] == "memory")


def test_what_bacct_prints_with_broken_lines_and_dates_without_a_year(imported, tmp_path):
    report, scenario = imported(BACCT, "--year", 2024)
    work = scenario.workload
    assert work.job_id.tolist() == [101, 102]
    assert work.times_us.max(axis=1).tolist() == [60e6, 60e6, 30e6]  # from one year to the next
    assert work.demand.tolist() == [4, 1, 1]
    assert work.companions["memory"].tolist() == [2048 * MIB, 2048 * MIB, 0]
    assert "2024-12-30T23:59:00+00:00" in (tmp_path / "jobs.csv").read_text()
    assert "gpu.4h" in (tmp_path / "jobs.csv").read_text()
    assert "local time" in report["time_zone"]
    assert report["dropped"]["it never started, or ended at once"]["count"] == 1


def test_dates_without_a_year_need_one(imported):
    assert "Say --year" in imported(BACCT, code=2)
    assert "a year from 1990" in imported(BACCT, "--year", 24, code=2)


def test_dates_with_a_year_need_none(imported):
    text = BACCT.replace(":00: Sub", ":00 2024: Sub").replace(":50: D", ":50 2024: D").replace(":10: D", ":10 2024: D")
    text = text.replace(":50: C", ":50 2025: C").replace(":40: C", ":40 2024: C")
    assert imported(text)[1].workload.times_us.max(axis=1).tolist() == [60e6, 60e6, 30e6]


@pytest.mark.parametrize("text", ["submit,duration\n0,1\n", "{}\n", "05/01/2024 08:00:00;E;1.s;user=ann\n"])
def test_another_format_is_refused(imported, tmp_path, text):
    assert "expected lines of lsb.acct, or what bacct -l prints" in imported(text, code=2)
    assert not (tmp_path / "jobs.csv").exists()


def test_a_job_that_ended_at_the_second_it_started_is_dropped(vinesim, tmp_path):
    """The first record once more, with its start as its end."""
    first = ACCT.splitlines()[0]
    (tmp_path / "log").write_text(first + "\n" + first.replace("1714554005 101", "1714550405 105") + "\n")
    done = vinesim("import", "lsf", tmp_path / "log", "-o", tmp_path / "jobs.csv", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["dropped"]["it never started, or ended at once"]["lines"] == [2]


@pytest.mark.parametrize(("log", "words"), [(ACCT, ()), (BACCT, ("--year", 2024))])
def test_a_record_that_is_there_twice_is_one_job(vinesim, tmp_path, log, words):
    counts = []
    for text in (log, log + log):
        (tmp_path / "log").write_text(text)
        done = vinesim("import", "lsf", tmp_path / "log", *words, "-o", tmp_path / "jobs.csv", "--json")
        found = json.loads(done.out)
        counts.append(found["jobs"])
    assert counts[0] == counts[1] == 2
    assert any("there twice" in reason for reason in found["dropped"])
