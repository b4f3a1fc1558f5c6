"""For which job a policy kept room free: its reservation, its order, or the jobs that used up a quota."""

import json
from shutil import copyfile

import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.policies.kinds import shortest_first
from vinesim.metrics.blockers import BEHIND, RESERVED
from vinesim.metrics.causes import parts
from vinesim.metrics.waiting import waiting_of

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
NODES = """
extends: none
processor_types: [{name: CPU}]
network: none
datacenter: {racks: [{nodes: [{count: 2, units: {CPU: {cores: 8}}, memory: 8 GiB}]}]}
workload: {file: jobs.csv}
"""
HEAD = "job_id,user,arrival_s,cores,nodes,time_s,limit_s,partition\n"


@pytest.fixture
def run(tmp_path, monkeypatch, vinesim):  # noqa: F811
    """Run the jobs of a table on two nodes of 8 cores; the function that explains one of them, and the command."""
    monkeypatch.chdir(tmp_path)

    def command(job):
        return " ".join(vinesim("explain", "run", "--job", job).out.split())

    def call(policy, *rows, quota=""):
        (tmp_path / "jobs.csv").write_text(HEAD + "".join(f"{row},all\n" for row in rows))
        (tmp_path / "s.yaml").write_text(f"{NODES}policy: {policy}\npartitions: [{{name: all{quota}}}]\n")
        done = vinesim("run", "s.yaml", "--engine", "reference", "--out", "run", "--explain")
        assert done.code == 0, done.err
        return lambda job: waiting_of("run", job), command

    return call


def reported(found):
    return [(one.begin_us / 1e6, one.end_us / 1e6, one.why, one.job, one.n_more) for one in found.blockers]


LATE = ("901,ada,0,8,1,100,100", "902,bob,1,8,2,50,50", "903,cleo,2,1,1,200,200", "904,dan,3,1,1,20,20")


def test_the_job_with_the_reservation_is_named_as_in_the_log(run):
    """Job 902 needs both nodes and reserves them for 100 s. 903 would run until 202 s, and waits; 904 fits in."""
    explain, command = run("easy_backfill", *LATE)
    found = explain(2)
    assert (found.start_us, explain(3).start_us) == (150e6, 3e6)
    assert reported(found) == [(2.0, 100.0, RESERVED, 1, 0)]
    assert found.blockers[0].starts_us == 100e6
    assert [(span.begin_us / 1e6, span.end_us / 1e6, span.state) for span in parts(found)] == [
        (2.0, 100.0, RESERVED),
        (100.0, 150.0, "busy"),
    ]
    text = command(2)
    assert text.startswith("Job 903 (--job 2) waited")
    assert "room, but reserved for job 902 until 1.67 min" in text
    assert "this job, expected to take 3.33 min, would have overrun it" in text
    assert "some unit had room for 1.63 min: see below for whom" in text
    assert "left them idle" not in text


def test_no_job_is_named_if_the_policy_has_an_order_of_its_own(run, tmp_path):
    copyfile(shortest_first.__file__, tmp_path / "mine.py")  # a module next to a policy's file is imported again
    explain, _ = run("mine.py:EasyShortest", *LATE)
    assert (explain(2).start_us, explain(2).blockers) == (150e6, [])


def test_a_job_that_ends_before_the_reservation_is_not_said_to_overrun_it(run):
    """Its own limit is long enough for the reservation; it waits for the room only."""
    explain, command = run("easy_backfill", "1,ada,0,8,2,100,100", "2,ada,1,1,1,10,10")
    assert explain(1).blockers == []
    assert "reserved" not in command(1)


def test_where_every_job_has_a_reservation_the_next_to_start_there_is_named_and_the_others_counted(run):
    rows = ("1,ada,0,8,1,100,100", "2,bob,1,8,2,50,50", "3,cleo,2,8,2,50,50", "4,dan,3,1,1,200,200")
    explain, command = run("conservative_backfill", *rows)
    found = explain(3)
    assert reported(found)[0] == (3.0, 100.0, RESERVED, 1, 1)
    assert "reserved for job 2 until 1.67 min (and room for 1 other job before it)" in command(3)


def test_a_job_over_its_quota_has_no_reservation(run):
    """902 waits for its user's quota and is passed over: the reservation is that of 903."""
    rows = ("901,ada,0,8,1,100,100", "902,ada,1,8,2,10,10", "903,bob,2,8,2,50,50", "904,cleo,3,1,1,500,500")
    explain, _ = run("easy_backfill", *rows, quota=", user_quota: {CPU: 16}")
    assert reported(explain(3))[0][2:4] == (RESERVED, 2)


def test_behind_the_first_job_of_a_policy_that_starts_in_order(run):
    explain, command = run("fcfs", "11,ada,0,8,1,100,100", "12,bob,1,8,2,50,50", "13,cleo,2,1,1,5,5")
    assert reported(explain(2)) == [(2.0, 100.0, BEHIND, 1, 0)]
    assert "room, but job 12 came first, and the policy fcfs starts jobs in order" in command(2)


def test_a_job_that_itself_is_first_has_nobody_before_it(run):
    explain, _ = run("easy_backfill", *LATE)
    assert explain(1).blockers == []


def test_a_policy_that_says_nothing_of_its_order_left_them_idle(run, tmp_path):
    (tmp_path / "own.py").write_text(
        "from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start\n"
        "class Patient(OnlinePolicy):\n"
        "    @staticmethod\n"
        "    def decide(model, state, view):\n"
        "        task = oldest_pending(model, state)\n"
        "        unit = first_free(model, state, task)\n"
        "        return start(task, unit) if unit >= 0 else nothing()\n"
    )
    explain, command = run("own.py:Patient", *LATE)
    assert explain(2).blockers == []
    assert "the policy Patient left them idle" in command(2)


def test_the_json_has_the_numbers_of_the_log(run, vinesim):  # noqa: F811
    run("easy_backfill", *LATE)
    found = json.loads(vinesim("explain", "run", "--job", 2, "--json").out)
    assert found["blockers"][0]["job"] == 1
    assert found["job_ids"]["1"] == 902
