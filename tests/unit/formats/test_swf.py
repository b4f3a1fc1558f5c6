"""The Standard Workload Format, and the wagap-2013 log."""

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vinesim as vs
from vinesim.formats.importers.machines import nodes_of, processors_of, read_clusters
from vinesim.formats.importers.report import ImportReport
from vinesim.formats.importers.swf import import_swf, read_swf
from vinesim.formats.importers.swf_header import read_header
from vinesim.formats.importers.swf_lines import MAX_PROCESSORS, jobs_of
from vinesim.model.errors import InputError
from vinesim.model.workload import ANYWHERE, NO_GANG

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "wagap2013"


def job(id=1, submit=0, run=10, allocated=2, requested=-1, asked=-1, more="", status=1, partition=1):
    head = f"{id} {submit} 0 {run} {allocated} -1 -1 {requested} {asked}"
    return f"{head} -1 {status} 1 1 1 1 {partition} -1 -1{more}\n"


def test_jobs_become_tasks_in_order_of_arrival(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("; a header\n" + job(1, 105, 10, 2) + job(2, 100, 20, -1, 3) + job(3, 105, 5, 1, more=" {1} q_1d"))
    work, center, report = read_swf(path)
    assert center is None
    assert work.job_id.tolist() == [2, 1, 3]
    assert work.arrival_us.tolist() == [0, 5e6, 5e6]
    assert work.job_first.tolist() == [0, 3, 5, 6]
    assert work.gang_within.tolist() == [ANYWHERE, ANYWHERE, NO_GANG]
    assert work.operations.tolist() == [20e6] * 3 + [10e6] * 2 + [5e6]
    assert [t.name for t in work.task_types] == ["PROCESSOR_TIME"]
    assert (report.n_jobs, report.n_tasks, report.n_dropped, report.n_resorted) == (3, 6, 0, 1)


def test_unusable_lines_are_reported_with_their_numbers(tmp_path):
    path = tmp_path / "log.swf"
    wrong = [job(run=0), job(allocated=-1), "1 2 3\n", job(submit=-1), job(run="x"), job(run="nan"), job(allocated=1e9)]
    path.write_text("".join(wrong) + job())
    _, _, report = read_swf(path)
    assert sorted(line for lines in report.dropped.values() for line in lines) == [1, 2, 3, 4, 5, 6, 7]
    assert "run time 0 or less (line 1)" in str(report)


def test_cancelled_jobs_are_kept_where_they_ran_and_parts_of_jobs_are_not_counted_twice(tmp_path):
    """By the standard: 0 failed and 5 cancelled jobs that ran are jobs; 2, 3 and 4 are parts of a job above them."""
    path = tmp_path / "log.swf"
    lines = [(1, 10), (0, 20), (5, 30), (5, 0), (5, -1), (-1, 40), (1, 50), (2, 20), (3, 30), (4, 1)]
    text = "".join(job(i, i, run, status=status) for i, (status, run) in enumerate(lines, 1))
    path.write_text(text + job(11, 11, 60, 0, 4, status=5) + job(12, 12, 70, -1, 4, status=5))
    work, _, report = read_swf(path)
    assert work.job_id.tolist() == [1, 2, 3, 6, 7, 12]
    assert report.dropped == {
        "cancelled before it ran (status 5)": [4, 5, 11],
        "a part of a job that another line has whole (status 2, 3 or 4)": [8, 9, 10],
    }
    assert report.values["status"] == {
        "-1 (not given)": [1, 0],
        "0 (failed)": [1, 0],
        "1 (completed)": [2, 0],
        "2 (part)": [0, 1],
        "3 (last part)": [0, 1],
        "4 (last part, failed)": [0, 1],
        "5 (cancelled)": [2, 3],
    }
    assert "5 (cancelled) 2 kept, 3 dropped" in str(report)


def test_partitions_are_counted_and_can_be_chosen(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("".join(job(i, i, partition=p) for i, p in enumerate((1, 2, 1, 10, 2, 1), 1)))
    work, _, report = read_swf(path)
    assert work.n_jobs == 6
    assert report.values["partition"] == {"1": [3, 0], "2": [2, 0], "10": [1, 0]}
    assert (
        "jobs of 3 partitions are merged, and each may run on any cluster: select partitions with --partition"
        in str(report)
    )
    work, _, report = read_swf(path, partitions=[2, 10])
    assert work.job_id.tolist() == [2, 4, 5]
    assert report.dropped == {"another partition": [1, 3, 6]}
    assert report.values["partition"] == {"1": [0, 3], "2": [2, 0], "10": [1, 0]}
    only, _, report = read_swf(path, partitions=[1])
    assert only.job_id.tolist() == [1, 3, 6]
    assert not any("partitions" in note for note in report.notes)
    with pytest.raises(InputError, match="expected a partition of the log: 1, 10, 2, found 3, 7"):
        read_swf(path, partitions=[3, 1, 7])


def test_what_a_log_has_and_nothing_uses_is_named(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(job(1, asked=60) + job(2) + job(3, more=" {7} q"))
    report = read_swf(path)[2]
    names = ("user", "group", "executable", "queue")
    assert report.unused == {**dict.fromkeys(names, 3), "what follows the 18th field": 1}
    assert "partition" not in report.values or list(report.values["partition"]) == ["1"]


def test_a_log_without_a_job_and_a_cut_gzip_are_refused(tmp_path):
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(job().encode() * 100)[:-20])
    with pytest.raises(InputError, match="gzip"):
        read_swf(path)
    path.write_text("; nothing\n")
    with pytest.raises(InputError, match="at least one job"):
        read_swf(path)


def test_machines(tmp_path):
    path = tmp_path / "m"
    path.write_text("0\ta\t2\t3\t1\t10\n1\tb\t1\t2\t1\t10\n")
    center = processors_of(read_clusters(path))
    assert center.rack.tolist() == [0] * 6 + [1] * 2
    assert center.shelf.tolist() == [0] * 3 + [1] * 3 + [0] * 2
    for text in (
        "",
        "0\ta\n",
        "0\ta\tx\t3\t1\t1\n",
        "0\ta\t1\t3\t1\t1\n0\ta\t1\t3\t2\t1\n",
        "0\ta\t99999999\t99\t1\t1\n",
    ):
        path.write_text(text)
        with pytest.raises(InputError):
            processors_of(read_clusters(path))


def test_nodes_are_units_as_wide_as_their_processors(tmp_path):
    path = tmp_path / "m"
    path.write_text("0\ta\t2\t80\t1\t10\n1\tb\t3\t12\t1\t10\n")
    center = nodes_of(read_clusters(path))
    assert [(p.name, p.capacity, p.attributes) for p in center.processor_types] == [
        ("NODE_12", 12, {"cores": 12}),
        ("NODE_80", 80, {"cores": 80}),
    ]
    assert center.unit_type.tolist() == [1, 1, 0, 0, 0]
    assert center.rack.tolist() == [0, 0, 1, 1, 1]
    assert center.shelf.tolist() == [0, 1, 0, 1, 2]


def test_a_whole_job_is_a_task_with_its_processors_as_demand_and_the_asked_time_as_estimate(tmp_path):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    machines.write_text("0\ta\t2\t4\t1\t10\n1\tb\t3\t2\t1\t10\n")
    lines = [job(1, 5, 10, 4, asked=60), job(2, 0, 20, -1, 3), job(3, 6, 7, 5), job(4, 7, 8, 1, asked="x"), job(run=0)]
    path.write_text("".join(lines))
    work, center, report = read_swf(path, machines, "job")
    assert work.job_id.tolist() == [2, 1, 4]
    assert work.job_first.tolist() == [0, 1, 2, 3]
    assert work.operations.tolist() == [20e6, 10e6, 8e6]
    assert work.demand.tolist() == [3, 4, 1]
    assert work.estimate_us.tolist() == [20e6, 60e6, 8e6]
    assert report.dropped == {"more than the 4 processors of the widest node": [3], "run time 0 or less": [5]}
    assert (center.n_units, report.n_processors, report.n_unasked) == (5, 14, 2)
    assert report.work_us == (20 * 3 + 10 * 4 + 8) * 1e6
    text = str(report)
    assert "2 jobs have no requested time: their estimate is their run time" in text
    assert "gang" not in text
    assert "several nodes" in text


def test_jobs_that_are_too_wide_do_not_count_as_tasks(tmp_path):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    path.write_text(job() + job(allocated=9_000_000) * 59)
    machines.write_text("1\tsmall\t2\t4\t1\t0\n")
    work, _, report = read_swf(path, machines, task="job")
    assert (work.n_jobs, report.n_dropped) == (1, 59)


def test_whole_jobs_need_nodes_that_one_of_them_fits(tmp_path):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    path.write_text(job(allocated=9))
    machines.write_text("0\ta\t2\t4\t1\t10\n")
    with pytest.raises(InputError, match="a machines file"):
        read_swf(path, None, "job")
    with pytest.raises(InputError, match="processor or job, found 'jobs'"):
        read_swf(path, machines, "jobs")
    with pytest.raises(InputError, match="more than the 4 processors of the widest node"):
        read_swf(path, machines, "job")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.text("0123456789 -.enaif;\n", max_size=80))
def test_any_bytes_give_a_log_or_an_input_error(tmp_path_factory, head, tail):
    path = tmp_path_factory.getbasetemp() / "fuzz.swf"
    path.write_bytes(head + b"\n" + tail.encode())
    for read in (read_swf, read_clusters):
        with contextlib.suppress(InputError):
            read(path)


@pytest.mark.skipif(not DATA.exists(), reason="the wagap-2013 log is not next to the repository")
def test_wagap_2013():
    work, center, report = read_swf(DATA / "wagap-2013.swf.gz", DATA / "wagap-2013.swf.machines")
    assert (work.n_jobs, work.n_tasks, center.n_units) == (17_898, 149_384, 2_176)
    assert report.dropped == {"run time 0 or less": [4186, 4200]}
    assert report.work_us / 3600e6 == pytest.approx(2.68e6, rel=0.001)
    assert np.bincount(center.rack).tolist() == [1600, 576]


@pytest.mark.skipif(not DATA.exists(), reason="the wagap-2013 log is not next to the repository")
def test_whole_jobs_of_wagap_2013():
    work, center, report = read_swf(DATA / "wagap-2013.swf.gz", DATA / "wagap-2013.swf.machines", "job")
    assert (center.n_units, report.n_processors) == (68, 2_176)
    assert work.n_jobs + report.n_dropped == 17_900
    assert work.demand.max() <= 80
    assert (work.estimate_us >= work.operations).mean() > 0.9  # most jobs ended in the time that was asked for


def test_processors_are_those_allocated_or_those_requested(tmp_path):
    path = tmp_path / "log.swf"
    lines = [(4, 4), (4, 8), (-1, 8), (4, -1), (0, 8), (4, 0), (3, 2)]
    path.write_text("".join(job(i, i, 10, *each) for i, each in enumerate(lines)))
    work, _, report = read_swf(path)
    assert np.diff(work.job_first).tolist() == [4, 4, 8, 4, 8, 4, 3]
    words = "jobs have the processors that were allocated; for 2 of them another number was requested"
    assert any(note.startswith(words) for note in report.notes)
    work, _, report = read_swf(path, processors="requested")
    assert np.diff(work.job_first).tolist() == [4, 8, 8, 4, 8, 4, 2]
    assert any("were requested; for 2 of them another number was allocated" in note for note in report.notes)
    path.write_text(job(1, 1, 10, 4, 4))
    assert not any("processors" in note for note in read_swf(path)[2].notes)
    with pytest.raises(InputError, match="allocated or requested"):
        read_swf(path, processors="all")


@pytest.mark.parametrize(
    ("field", "kept", "dropped"),
    [
        ("submit", 0, -1),
        ("submit", 4e9, 4.1e9),
        ("run", 0.001, 0),
        ("run", 4e9, 4.1e9),
        ("allocated", 1, 0.9),
        ("allocated", 6, 7),
        ("id", 2**53 - 1, 2**53),
        ("id", -(2**53) + 1, -(2**53)),
    ],
)
def test_both_sides_of_each_limit(tmp_path, field, kept, dropped):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    machines.write_text("1\tsmall\t3\t2\t1\t0\n")
    for value, n in ((kept, 2), (dropped, 1)):
        path.write_text(job(id=77) + job(**{"id": 78, field: value}))
        assert read_swf(path, machines)[0].n_jobs == n, value


def test_a_cancelled_job_ran_if_it_has_a_run_time_and_processors(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(
        "".join(job(i, i, run, n, 2, status=5) for i, (run, n) in enumerate([(1, 1), (0, 1), (1, 0), (1, -1)]))
    )
    assert read_swf(path)[0].job_id.tolist() == [0, 3]


@pytest.mark.parametrize("task", ["processor", "job"])
@pytest.mark.parametrize(("asked", "expected"), [(0.5, 0.5e6), (0, 10e6), (-1, 10e6), (2**53, 10e6), ("x", 10e6)])
def test_a_job_without_a_requested_time_is_expected_to_run_as_long_as_it_ran(tmp_path, task, asked, expected):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    machines.write_text("1\tsmall\t3\t2\t1\t0\n")
    path.write_text(job(asked=asked))
    work, _, report = read_swf(path, machines, task)
    assert work.n_tasks > 0
    assert work.estimate_us.tolist() == [expected] * work.n_tasks
    assert report.n_unasked == (expected == 10e6)


@pytest.mark.parametrize(("submit", "zone"), [(630_000_000, ""), (630_000_001, "UTC")])
def test_times_since_1970_are_known_by_their_size(tmp_path, submit, zone):
    path = tmp_path / "log.swf"
    path.write_text(job(submit=submit))
    assert read_swf(path)[2].time_zone.partition(",")[0] == zone


def test_jobs_out_of_order_are_counted(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("".join(job(i, submit) for i, submit in enumerate([5, 5, 4, 6, 5, 6])))
    _, _, report = read_swf(path)
    assert report.n_resorted == 2


def test_a_job_and_a_log_have_limits(tmp_path):
    def lines(*processors):
        path.write_text("".join(job(i, i, 10, n) for i, n in enumerate(processors)))
        report = ImportReport(str(path))
        return [found[3] for found in jobs_of(path, report, MAX_PROCESSORS, False, frozenset())], report

    path = tmp_path / "log.swf"
    found, report = lines(MAX_PROCESSORS, MAX_PROCESSORS + 1)
    assert found == [MAX_PROCESSORS]
    assert report.dropped == {f"more than {MAX_PROCESSORS:,} processors": [2]}
    assert len(lines(*[MAX_PROCESSORS] * 50)[0]) == 50
    with pytest.raises(InputError, match="at most 500 million tasks"):
        lines(*[MAX_PROCESSORS] * 50, 1)


@pytest.mark.parametrize(
    ("code", "shown"), [(2**31 - 1, "2147483647"), (2**31, "-1"), (1.5, "-1"), ("x", "-1"), (-1, "-1")]
)
def test_a_code_is_a_whole_number_of_31_bits(tmp_path, code, shown):
    path = tmp_path / "log.swf"
    path.write_text(job() + job(partition=code))
    assert shown in read_swf(path)[2].values["partition"]


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("1\tc\t2\t4\t1", True),
        ("1\tc\t2\t4", False),
        ("1\tc\t10000000\t1\t1", True),
        ("1\tc\t10000001\t1\t1", False),
        ("1\tc\t1\t99999999\t1", False),
        ("1\tc\t0\t4\t1", False),
    ],
)
def test_clusters_have_limits(tmp_path, line, is_right):
    path = tmp_path / "log.machines"
    path.write_text(line + "\n")
    if is_right:
        assert nodes_of(read_clusters(path)).n_units in (2, 10_000_000)
    else:
        with pytest.raises(InputError):
            nodes_of(read_clusters(path))


HEADER = """; Version: 2.2
;  Computer: IBM SP2
; Computer: another
; Installation: KTH
; MaxNodes: {nodes}
; MaxProcs: {processors}
; UnixStartTime: 843480031
; TimeZoneString: Europe/Stockholm
1 9 0 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 1 -1 -1
; MaxNodes: 5
"""


@pytest.mark.parametrize(
    ("nodes", "processors", "clusters"),
    [
        ("3", "12", [(3, 4)]),
        ("3 (+ 1 spare)", "14", [(2, 5), (1, 4)]),
        ("8", "", [(8, 1)]),
        ("", "8", [(8, 1)]),
        ("16", "8", [(8, 1)]),  # no nodes without a processor
        ("-1", "-1", []),
        ("99999999999", "8", [(8, 1)]),
        ("1", "99999999", []),
    ],
)
def test_the_header_says_what_the_log_ran_on(tmp_path, nodes, processors, clusters):
    path = tmp_path / "log.swf"
    path.write_text(HEADER.format(nodes=nodes, processors=processors))
    assert read_header(path).clusters == clusters
    _, center, report = read_swf(path)
    assert (center is None) == (not clusters)
    assert report.time_zone == "Europe/Stockholm; the first job was submitted at 1996-09-23 14:00:40"
    assert [one.is_odd for one in report.findings if one.what == "datacenter"] == [True] * (len(clusters) == 2)


@pytest.mark.parametrize(
    ("header", "submit", "began", "zone"),
    [
        ("UnixStartTime: 1200000000", 9, "2008-01-10 21:20:09+00:00", "UTC, as the header names no time zone"),
        ("UnixStartTime: 843480031\n; TimeZone: 7200", 9, "1996-09-23 14:00:40+02:00", "UTC+02:00"),
        (
            "UnixStartTime: 843480031\n; TimeZone: 3600\n; TimeZoneString: No/Where",
            9,
            "1996-09-23 13:00:40+01:00",
            "UTC+01:00",
        ),
        (
            "StartTime: Mon Sep 23 14:00:31 CEST 1996\n; TimeZoneString: Europe/Stockholm",
            9,
            "1996-09-23 14:00:40+02:00",
            "Europe/Stockholm",
        ),
        ("StartTime: Friday, October 1 00:00:03 1993\n; TimeZone: -28800", 0, "1993-10-01 00:00:03-08:00", "UTC-08:00"),
        ("UnixStartTime: 843480031", 1356996147, "2012-12-31 23:22:27+00:00", "UTC, as"),  # since 1970 itself
        ("UnixStartTime: 0", 9, None, ""),
        ("StartTime: Mon Feb 31 14:00:31 1996", 9, None, ""),
        ("StartTime: some day", 9, None, ""),
        ("UnixStartTime: 99999999999", 9, "5138-11-16 09:46:48+00:00", "UTC, as"),
    ],
)
def test_the_header_says_when_the_log_began(tmp_path, header, submit, began, zone):
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: 8\n; {header}\n1 {submit} 5 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 1 -1 -1\n")
    assert str(found := read_header(path).began(submit)) == str(began)
    assert found is None or read_header(path).zone.startswith(zone)
    import_swf(path, tmp_path / "log.parquet")
    assert str(vs.read_scenario(tmp_path / "log.yaml").start_date) == str(began)


def test_whole_jobs_on_the_nodes_of_the_header(tmp_path):
    path, machines = tmp_path / "log.swf", tmp_path / "log.machines"
    path.write_text(HEADER.format(nodes="3", processors="12"))
    machines.write_text("1\tsmall\t2\t8\t1\t0\n")
    assert [p.name for p in read_swf(path, task="job")[1].processor_types] == ["NODE_4"]
    assert [p.name for p in read_swf(path, machines, "job")[1].processor_types] == ["NODE_8"]
