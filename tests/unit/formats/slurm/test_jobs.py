from vinesim.formats.slurm.jobs import read_jobs
from vinesim.formats.slurm.submit_line import submit_options

COLUMNS = "JobID JobIDRaw User Submit Eligible Start End ElapsedRaw TimelimitRaw State ReqTRES AllocTRES"
HEAD = "|".join([*COLUMNS.split(), "Constraints", "SubmitLine"])


def row(job="7", raw="7", submit=0, eligible=None, start=10, end=40, elapsed=30, state="COMPLETED", more=""):
    def date(second):
        return "Unknown" if second is None else f"2026-03-02T08:00:{second:02d}"

    times = "|".join(date(second) for second in (submit, submit if eligible is None else eligible, start, end))
    held = "cpu=2,mem=1G,node=1"
    return f"{job}|{raw}|ann|{times}|{elapsed}|5|{state}|{held}|{held}|{more or '|sbatch -n2 x.sh'}"


def jobs(tmp_path, *rows, head=HEAD):
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([head, *rows]) + "\n")
    return read_jobs(path)


def test_a_job(tmp_path):
    (job,) = jobs(tmp_path, row()).jobs
    assert (job.number, job.user, job.limit_s, job.exit_ok) == (7, "ann", 300.0, True)
    assert job.requested == {"cpu": 2.0, "mem": 1024.0, "node": 1.0}
    assert job.options == {"ntasks": "2"}
    (record,) = job.records
    assert record.start_s - record.submit_s == 10.0
    assert (record.elapsed_s, record.state) == (30.0, "COMPLETED")


def test_a_requeued_job_has_its_records_in_order(tmp_path):
    found = jobs(tmp_path, row(submit=30, start=50, end=59, elapsed=9), row(state="PREEMPTED", end=20, elapsed=10))
    (job,) = found.jobs
    assert [record.state for record in job.records] == ["PREEMPTED", "COMPLETED"]


def test_a_job_that_was_cancelled_while_it_waited_never_started(tmp_path):
    (job,) = jobs(tmp_path, row(state="CANCELLED by 0", start=40, end=40, elapsed=0)).jobs
    assert job.records[0].start_s is None
    assert job.records[0].state == "CANCELLED"


def test_arrays_and_their_pending_tasks(tmp_path):
    found = jobs(
        tmp_path, row("3_1", "4"), row("3_[5-9:2,12%2]", "3", start=None, end=None, elapsed=0, state="PENDING")
    )
    assert [(job.array, job.index) for job in found.jobs] == [(3, 1), (3, 5), (3, 7), (3, 9), (3, 12)]


def test_components_of_a_heterogeneous_job(tmp_path):
    assert [job.component for job in jobs(tmp_path, row("12+0", "12"), row("12+1", "13")).jobs] == [(12, 0), (12, 1)]


def test_steps_are_left_out_and_wrong_lines_are_counted(tmp_path):
    found = jobs(tmp_path, row(), row("7.batch", "7.batch"), "1|2", *[row("8", "8").replace("2026-03", "x")] * 2)
    assert [job.number for job in found.jobs] == [7]
    assert found.dropped == {"a wrong number of fields": [4], "Submit: no time that can be read": [5, 6]}


def test_a_constraint_may_hold_the_separator(tmp_path):
    (job,) = jobs(tmp_path, row(more="a|b|sbatch -C a|b -n2 x.sh")).jobs
    assert job.constraint == "a|b"
    assert job.options["constraint"] == "a|b"


def test_older_columns_take_the_place_of_tres(tmp_path):
    head = "JobIDRaw|Submit|State|ReqCPUS|AllocCPUS|NNodes|AllocGRES"
    (job,) = jobs(tmp_path, "5|2026-03-02T08:00:00|COMPLETED|4|8|2|gpu:t4:3", head=head).jobs
    assert job.requested == {"cpu": 4.0}
    assert job.records[0].allocated == {"cpu": 8.0, "node": 2.0, "gres/gpu:t4": 3.0}


def test_options_of_a_component():
    """Those of its part of the line, with some of the part before it; what one depends on, all do."""
    line = "sbatch -N1 -n4 -t5 --nice=3 : -n8 --dependency=afterok:7 a.sh -n9"
    assert submit_options(line, 0) == {"nodes": "1", "ntasks": "4", "time": "5", "nice": "3", "dependency": "afterok:7"}
    assert submit_options(line, 1) == {"ntasks": "8", "time": "5", "nice": "3", "dependency": "afterok:7"}
    assert submit_options(line, 2) == {"time": "5", "nice": "3", "dependency": "afterok:7"}


def test_options_of_a_submission():
    line = "/usr/bin/sbatch -N2-4 -n 8 --mem=4G --nice -t 10 --dependency afterok:3 --exclusive run.sh -n 99"
    assert submit_options(line) == {
        "nodes": "2-4",
        "ntasks": "8",
        "mem": "4G",
        "nice": "",
        "time": "10",
        "dependency": "afterok:3",
        "exclusive": "",
    }
    assert submit_options("python train.py -n 4") == {}
    assert submit_options("srun --hold -J 'a b' -pbatch") == {"hold": "", "job-name": "a b", "partition": "batch"}


def test_memory_and_gpus_of_older_columns(tmp_path):
    """Memory of each node, of each CPU or of all; GPUs of each node."""
    head = "JobID|Submit|State|ReqCPUS|ReqNodes|ReqMem|ReqGRES"
    asked = ("4|2|3Gn|gpu:t4:1", "4|2|500Mc|", "4|2|8G|")
    rows = [f"{i}|2026-03-02T08:00:00|COMPLETED|{text}" for i, text in enumerate(asked, 1)]
    found = [dict(job.requested) for job in jobs(tmp_path, *rows, head=head).jobs]
    assert [one["mem"] for one in found] == [6144.0, 2000.0, 8192.0]
    assert found[0]["gres/gpu:t4"] == 2.0


def test_a_job_that_says_not_what_it_asked_for_asked_for_what_it_held(tmp_path):
    head = "JobID|Submit|State|NCPUS|NNodes"
    (job,) = jobs(tmp_path, "5|2026-03-02T08:00:00|COMPLETED|8|2", head=head).jobs
    assert job.requested == {"cpu": 8.0, "node": 2.0}


def test_a_number_that_is_used_again_is_another_job(tmp_path):
    """A record that is there twice is one; the same number of another user is another job, and no requeued one."""
    found = jobs(tmp_path, row(), row(), row(submit=50, start=51).replace("|ann|", "|bob|"))
    assert [(job.user, len(job.records)) for job in found.jobs] == [("ann", 1), ("bob", 1)]
    assert {reason: len(lines) for reason, lines in found.dropped.items()} == {
        "the record of a job that is there again": 1
    }


def test_of_equal_records_the_later_one_counts_if_the_first_is_unfinished(tmp_path):
    found = jobs(tmp_path, row(state="RUNNING", end=None), row(), row(state="FAILED"))
    assert [[record.state for record in job.records] for job in found.jobs] == [["COMPLETED"]]
    assert found.dropped == {"the record of a job that is there again": [2, 4]}


def test_tasks_that_were_pending_in_an_earlier_file_are_not_there_twice(tmp_path):
    """An array has a line for those of its tasks that wait; later ones have lines of their own, or share another."""
    waiting = {"start": None, "end": None, "elapsed": 0, "state": "PENDING"}
    lines = [row("3_[1-4]", "3", **waiting), row("3_1", "4"), row("3_2", "5"), row("3_[3-4]", "3", **waiting)]
    found = jobs(tmp_path, *lines)
    assert [(job.index, job.number, job.line) for job in found.jobs] == [(1, 4, 3), (2, 5, 4), (3, 3, 5), (4, 3, 5)]
    assert found.dropped == {"the record of a job that is there again": [2]}
    assert [job.index for job in jobs(tmp_path, *lines[:3]).jobs] == [1, 2, 3, 4]
