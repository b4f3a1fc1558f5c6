"""``vinesim start-times``: predicted starts of a queue."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.small_site import at, job, write_site
from vinesim.cli.main import app
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.slurm.values import time_s
from vinesim.model.errors import InputError, Problem
from vinesim.policies.documents import read_scenario
from vinesim.studies import start_calibration
from vinesim.studies.start_times import _ends, _with_other_later_jobs, start_times

HEAD = (
    "JOBID|NAME|USER|ACCOUNT|PARTITION|QOS|STATE|REASON|PRIORITY|SUBMIT|END|START|LIMIT|NODES|CPUS|MEM|FEATURES|"
    "RESERVATION|DEPENDENCY|LICENSES|ARRAYJOB|NODELIST"
)
CONF = "NodeName=c[1-2] CPUs=4 RealMemory=8000\nPartitionName=batch Nodes=ALL\nPriorityType=priority/basic\n"


def row(number, state="PENDING", reason="Priority", submit=600, start=None, nodes=1, cpus=4, on="", **values):
    """A line of squeue."""
    return "|".join(map(str, (
        number, "j", values.get("user", "ann"), "lab", "batch", "normal", state, reason, values.get("priority", 1),
        at(submit), "N/A", "N/A" if start is None else at(start), values.get("limit", "10:00"), nodes, cpus, "1000M",
        "(null)", "(null)", values.get("depends", "(null)"), "(null)", number, on,
    )))  # fmt: skip


def site_with(folder, *rows, past=(), time=1200, **files):
    """A site with a snapshot of its queue."""
    stamp = f"## {time_s(at(time)):.0f}"
    past = past or [job(1, 0, 300, "-N1 -n4", limit=10)]
    return write_site(folder, past, CONF, squeue="\n".join([HEAD, stamp, *rows]) + "\n", **files)


RUNNING = [row(10, "RUNNING", "None", start=1000, on="c1"), row(11, "RUNNING", "None", start=900, on="c2")]


def test_a_job_starts_when_a_running_one_ends(tmp_path):
    """After the snapshot, and no later than a minute after the first of the two limits."""
    site = site_with(tmp_path, *RUNNING, row(12, reason="Resources"))
    found = start_times(site, n=5, engine="reference")
    assert (found.n_running, found.n_past, [one.job for one in found.jobs]) == (2, 1, ["12"])
    one = found.jobs[0]
    assert found.time_s < one.low_s <= one.median_s <= one.high_s < found.time_s + 300 + 100
    assert one.high_s - one.low_s > 10


def test_what_happened_after_the_snapshot_is_not_used(tmp_path):
    """The true start and run time of the pending job, and the true end of a running one."""
    before = job(1, 0, 300, "-N1 -n4", limit=10)
    now = [job(10, 600, 5, "-N1 -n4", start=1000, limit=10), job(12, 600, 5, "-N1 -n4", start=1005, limit=10)]
    later = [job(10, 600, 599, "-N1 -n4", start=1000, limit=10), job(12, 600, 500, "-N1 -n4", start=1999, limit=10)]
    rows = [*RUNNING, row(12, reason="Resources")]
    one = start_times(site_with(tmp_path / "a", *rows, past=[before, *now]), n=3, engine="reference")
    two = start_times(site_with(tmp_path / "b", *rows, past=[before, *later]), n=3, engine="reference")
    assert one.jobs[0].median_s == two.jobs[0].median_s


def test_running_jobs_are_where_they_run(tmp_path):
    """One over both nodes, unevenly: it has what the other leaves."""
    rows = [row(10, "RUNNING", "None", start=1000, nodes=2, cpus=6, on="c[1-2]"),
            row(11, "RUNNING", "None", start=900, cpus=2, on="c1"), row(12)]  # fmt: skip
    past = [job(1, 0, 300, "-N1 -n4", limit=10), job(10, 600, 600, "-n6", start=1000, limit=10)]
    site = site_with(tmp_path / "site", *rows, past=past)
    work = read_scenario(write_snapshot(site, tmp_path / "x.parquet").scenario).workload
    assert work.words_of("runs_on") == ["c1=2 c2=4", "c1=2", ""]
    assert work.words_of("ran_s") == ["200", "300", ""]
    assert work.words_of("waited_s") == ["", "", "600"]


@pytest.mark.parametrize("on", ["c9", "c1,c2", "c1"])
def test_a_job_that_cannot_be_where_it_is_said_to_run_is_left_out(tmp_path, on):
    """On an unknown node, on more nodes than it has CPUs, next to one that has them all; the report counts it."""
    rows = [RUNNING[0], row(11, "RUNNING", "None", start=900, nodes=2, cpus=1, on=on), row(12)]
    found = start_times(site_with(tmp_path, *rows), n=1, engine="reference")
    assert found.dropped == {"it runs where there is no room for it": 1}
    assert found.n_running == 1


def test_held_dependent_and_later_jobs_wait(tmp_path):
    """A held job never starts, a dependent one after the other, one with a begin time not before it."""
    rows = [row(12, reason="Priority"), row(13, reason="JobHeldUser"), row(14, reason="Dependency",
            depends="afterany:12(unfulfilled)"), row(15, reason="BeginTime", start=4000)]  # fmt: skip
    jobs = {one.job: one for one in start_times(site_with(tmp_path, *rows), n=3, engine="reference").jobs}
    assert jobs["13"].median_s == np.inf
    assert jobs["14"].low_s >= jobs["12"].low_s + 30
    assert jobs["15"].low_s >= time_s(at(4000))


def test_used_shares_order_the_queue(tmp_path):
    """Who has used less starts first, though the job was submitted later."""
    conf = CONF.replace("priority/basic", "priority/multifactor\nPriorityWeightFairshare=1000")
    dump = "Cluster - 'small'\nParent - 'root'\nAccount - 'lab':Fairshare=1\nParent - 'lab'\n"
    dump += "User - 'ann':Fairshare=1\nUser - 'bob':Fairshare=1\n"
    shares = "Account|User|RawShares|NormShares|RawUsage\nlab|ann|1|0.5|9000\nlab|bob|1|0.5|0\n"
    rows = [*RUNNING, row(12), row(13, submit=700, user="bob")]
    site = site_with(tmp_path, *rows, dump=dump, sshare=shares)
    (site / "slurm.conf").write_text(conf)
    jobs = {one.job: one for one in start_times(site, n=3, engine="reference").jobs}
    assert jobs["13"].median_s < jobs["12"].median_s


def test_what_is_of_the_instant_of_the_snapshot_counts(tmp_path):
    """A node that goes down then is down, one that comes back then is up; a used share of the next second is known."""
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    events = head + f"small|c1|{at(1200)}|Unknown|DOWN|x|root\nsmall|c2|{at(900)}|{at(1200)}|DOWN|x|root\n"
    site = site_with(tmp_path, row(12), events=events)
    found = read_scenario(write_snapshot(site, tmp_path / "x.parquet").scenario)
    assert [(one.shelf, one.down_us) for one in found.outages] == [(0, 0)]


def test_a_run_that_ended_as_the_snapshot_was_taken_teaches_how_much_of_limits_is_used(tmp_path):
    past = [job(1, 0, 300, "-n1", limit=10, end=1200, start=900), job(2, 0, 300, "-n1", limit=10, start=901, end=1201)]
    assert start_times(site_with(tmp_path, row(12), past=past), n=1, engine="reference").n_past == 1


def test_jobs_of_the_day_before_come_again(tmp_path):
    """A held-up job of low priority starts later when others are submitted, and they are none of the queue."""
    past = [job(20 + i, 60 * i, 300, "-N1 -n4 --nice=-500", start=None, limit=10) for i in range(20)]
    site = site_with(tmp_path, *RUNNING, row(12), past=past)
    quiet = start_times(site, n=5, engine="reference", later=False).jobs
    busy = start_times(site, n=5, engine="reference").jobs
    assert [one.job for one in busy] == [one.job for one in quiet] == ["12"]
    assert busy[0].median_s > quiet[0].median_s
    ends = start_times(site, n=5, engine="reference", submit_until_s=time_s(at(1200))).jobs
    assert ends[0].median_s < busy[0].median_s
    arguments = ["start-times", str(site), "--replications", "5", "--json", "--submit-until", at(1200)]
    found = json.loads(CliRunner().invoke(app, arguments).output)
    assert found["jobs"][0]["median_s"] == ends[0].median_s


def test_the_day_before_begins_at_another_moment_in_each_draw(tmp_path):
    """All its jobs come once, at the distances that they had on a clock; those of the queue stay."""
    past = [job(20 + i, 60 * i * i, 10, "-N1 -n1", limit=10) for i in range(4)]
    site = site_with(tmp_path / "site", *RUNNING, row(12), past=past)
    found = write_snapshot(site, tmp_path / "x.parquet", later=True)
    work, day_us = read_scenario(found.scenario).workload, found.later_s * 1e6
    one, two = (_with_other_later_jobs(work, 3, found.later_s, np.random.default_rng(i)) for i in range(2))
    assert one.arrival_us[3:].tolist() != two.arrival_us[3:].tolist()
    for drawn in (one, two):
        assert drawn.job_id[:3].tolist() == work.job_id[:3].tolist()
        place = np.argsort(drawn.job_id[3:])
        moved_us = (drawn.arrival_us[3:][place] - work.arrival_us[3:]) % day_us
        assert np.allclose(moved_us, moved_us[0])


@pytest.mark.parametrize(("n", "ends"), [(1, [0, 0, 0]), (9, [0, 4, 8]), (19, [1, 9, 17]), (20, [1, 9, 18])])
def test_one_more_draw_lies_in_the_interval_8_times_of_10(n, ends):
    """Of 20 draws from the second to the last but one: 17 of 21 gaps."""
    assert _ends(n) == ends


def test_a_queue_alone_is_enough(tmp_path):
    """Without sacct, the columns of squeue say what jobs ask for; times are those in it."""
    site = site_with(tmp_path, *RUNNING, row(12))
    (site / "sacct.txt").unlink()
    found = start_times(site, n=2, engine="reference")
    assert (found.n_past, found.jobs[0].cpus) == (0, 4)


def test_the_command_prints_80_columns_and_json(tmp_path):
    """Slurm's own plan as well; infinite is null."""
    rows = [*RUNNING, row(12, reason="Resources", start=1500), row(13, reason="JobHeldUser")]
    site = site_with(tmp_path, *rows)
    found = CliRunner().invoke(app, ["start-times", str(site), "--replications", "2"])
    assert found.exit_code == 0, found.output
    assert max(map(len, found.output.splitlines())) <= 80
    assert "00:25:00" in found.output
    as_json = CliRunner().invoke(app, ["start-times", str(site), "--replications", "2", "--json"])
    held = json.loads(as_json.output)["jobs"][1]
    assert (held["job"], held["median_s"], held["wait_s"]) == ("13", None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--at", "yesterday"], "--at"),
        (["--at", "2024-01-01T00:00:00"], "first snapshot"),
        (["--submit-until", "soon"], "--submit-until"),
        (["--submit-until", "2030-01-01T00:00:00", "--no-later"], "--no-later"),
    ],
)
def test_a_wrong_time_is_named(tmp_path, arguments, words):
    """With what was expected."""
    found = CliRunner().invoke(app, ["start-times", str(site_with(tmp_path, *RUNNING, row(12))), *arguments])
    assert isinstance(found.exception, InputError)
    assert words in str(found.exception)


def test_a_site_without_a_queue_is_refused(tmp_path):
    """With the command that writes one."""
    with pytest.raises(InputError, match="squeue -a -r -o"):
        start_times(write_site(tmp_path, [job(1, 0, 10, "-N1 -n1")], CONF))


def site_with_record(folder, start=1300):
    """A site with snapshots at 800 and 1200 s; of those that waited at 800, one started at 1100, one at ``start``."""
    early = [row(10, "RUNNING", "None", start=700, on="c1"), row(11, "RUNNING", "None", start=700, on="c2")]
    waiting = [row(12, submit=600), row(13, submit=650), row(14, submit=660)]
    past = [job(1, 0, 300, "-N1 -n4", limit=10), job(10, 600, 400, "-N1 -n4", start=700, limit=10),
            job(11, 600, 900, "-N1 -n4", start=700, limit=10), job(12, 600, 300, "-N1 -n4", start=1100, limit=10),
            job(13, 650, 300, "-N1 -n4", start=start, limit=10)]  # fmt: skip
    now = [early[1], row(12, "RUNNING", "None", submit=600, start=1100, on="c1"), *waiting[1:]]
    site = site_with(folder, past=past)
    stamps = [f"## {time_s(at(time)):.0f}" for time in (800, 1200)]
    (site / "squeue.txt").write_text("\n".join([HEAD, stamps[0], *early, *waiting, stamps[1], *now]) + "\n")
    return site


def test_earlier_forecasts_widen_the_intervals(tmp_path, monkeypatch):
    """The high ends of jobs like one that started after its interval, and of one that has not; medians stay."""
    monkeypatch.setattr(start_calibration, "LEAST", 1)
    site = site_with_record(tmp_path)
    alone = start_times(site, n=3, engine="reference", later=False, calibrate=False)
    found = start_times(site, n=3, engine="reference", later=False)
    assert (alone.n_snapshots, alone.n_earlier, found.n_snapshots, found.n_earlier) == (0, 0, 1, 1)
    assert [one.calibrated for one in alone.jobs] == [False, False]
    assert any(one.calibrated for one in found.jobs)
    assert [one.median_s for one in found.jobs] == [one.median_s for one in alone.jobs]
    for one, before in zip(found.jobs, alone.jobs, strict=True):
        assert one.low_s <= before.low_s
        assert one.high_s >= before.high_s
    assert any(one.high_s > before.high_s + 10 for one, before in zip(found.jobs, alone.jobs, strict=True))


def test_an_earlier_snapshot_in_which_nothing_waits_is_no_error_and_other_errors_are(tmp_path, monkeypatch):
    """The first teaches nothing, the second says what is wrong."""
    site = site_with_record(tmp_path)
    text = (site / "squeue.txt").read_text()
    head, first, second = text.split("## ")
    waits_not = "".join(line for line in first.splitlines(keepends=True) if "PENDING" not in line)
    (site / "squeue.txt").write_text("## ".join([head, waits_not, second]))
    found = start_times(site, n=1, engine="reference", later=False)
    assert (found.n_snapshots, found.n_earlier) == (1, 0)
    (site / "squeue.txt").write_text(text)

    def broken(site, output, at_s=None, **more):
        if at_s is None:
            return write_snapshot(site, output, at_s, **more)
        raise InputError([Problem("squeue.txt", "a snapshot", "something else")])

    monkeypatch.setattr("vinesim.studies.start_times.write_snapshot", broken)
    with pytest.raises(InputError, match="something else"):
        start_times(site, n=1, engine="reference", later=False)


def test_starts_after_the_snapshot_do_not_calibrate(tmp_path, monkeypatch):
    monkeypatch.setattr(start_calibration, "LEAST", 1)
    one, two = (
        start_times(site_with_record(tmp_path / str(start), start), n=2, engine="reference", later=False)
        for start in (1300, 2900)
    )
    assert one == two


def test_the_command_says_what_intervals_are_made_of(tmp_path, monkeypatch):
    """Widened ones, too few earlier forecasts, no earlier snapshots; the same in JSON."""
    site, arguments = str(site_with_record(tmp_path)), ["--replications", "3", "--no-later"]

    def said(*more):
        found = CliRunner().invoke(app, ["start-times", site, *arguments, *more])
        assert found.exit_code == 0, found.output
        return found.output

    assert "of 2 jobs: as simulated, often too narrow; 1 earlier forecasts are too few" in said()
    assert "often too narrow; no earlier forecasts" in said("--no-calibrate")
    monkeypatch.setattr(start_calibration, "LEAST", 1)
    assert "widened to hold 8 of 10 starts of 1 earlier forecasts" in said()
    assert max(map(len, said().splitlines())) <= 80
    as_json = json.loads(said("--json"))
    assert (as_json["n_snapshots"], as_json["n_earlier"]) == (1, 1)
    assert any(one["calibrated"] for one in as_json["jobs"])


def test_the_table_has_all_columns_where_reasons_are_long(tmp_path):
    """In 80 columns; of what Slurm says, the reason without its details."""
    rows = [*RUNNING, row(12, reason="ReqNodeNotAvail, UnavailableNodes:c[1-2]"), row(13, reason="AssocGrpCpuLimit")]
    site = site_with(tmp_path, *rows)
    done = CliRunner().invoke(app, ["start-times", str(site), "--replications", "1", "--no-calibrate"])
    lines = done.output.splitlines()
    head = next(line.split() for line in lines if "partition" in line)
    assert head == ["job", "user", "partition", "CPUs", "start", "from", "to", "Slurm", "reason"]
    shown = {line.split()[0]: line.split() for line in lines if line.split()[:1] in (["12"], ["13"])}
    assert [shown[job][1:4] + shown[job][-1:] for job in ("12", "13")] == [
        ["ann", "batch", "4", "ReqNodeNotAvail"], ["ann", "batch", "4", "AssocGrpCpuLimit"]
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    assert any(line.endswith("no earlier forecasts") for line in lines)
