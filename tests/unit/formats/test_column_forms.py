"""Columns of a workload's file as logs write them: dates, times since 1970, clocks, starts and ends, memory in MiB."""

import datetime

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.importers.counts import to_time_us
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.source.table_source import run

NODE = [vs.ProcessorType("CPU"), vs.ProcessorType("memory")]
DATES = ["2024-03-31T01:30:00+01:00", "2024-03-31 00:40:00", "2024-03-31T00:50:00.250Z", "2024-04-01"]


def read(tmp_path, text, **columns):
    (tmp_path / "log.csv").write_text(text)
    return read_workload(tmp_path / "log.csv", NODE, columns=columns)


def fails(tmp_path, text, *wanted, **columns):
    with pytest.raises(vs.InputError) as found:
        read(tmp_path, text, **columns)
    for words in wanted:
        assert words in str(found.value), str(found.value)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_dates_count_from_the_first_arrival_in_any_time_zone_of_the_machine(tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    work = read(tmp_path, "submit,time_s\n" + "".join(f"{date},5\n" for date in DATES), submit="arrival_date")
    assert work.arrival_us.tolist() == [0.0, 600e6, 1200.25e6, 84600e6]


def test_arrivals_at_or_before_the_beginning_of_1970_are_no_times_of_a_log(tmp_path):
    fails(tmp_path, "t,time_s\n0,5\n9,5\n", ":2", "above 0", "name the column arrival_ms", t="arrival_epoch_ms")
    fails(
        tmp_path, "t,time_s\n1969-12-31,5\n1970-01-02,5\n", ":2", "later than the beginning of 1970", t="arrival_date"
    )


def test_the_dates_are_those_that_series_of_counts_have():
    select = ", ".join(f"epoch_us('{date}'::TIMESTAMPTZ) AS d{i}" for i, date in enumerate(DATES))
    found = run("none", f"SELECT {select}")
    assert [float(found[f"d{i}"][0]) for i in range(len(DATES))] == [to_time_us(date) for date in DATES]


@pytest.mark.parametrize(("unit", "scale"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_times_since_1970_count_from_the_first_arrival(tmp_path, unit, scale):
    first = int(datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC).timestamp())
    text = f"t,time_s\n{(first + 60) * scale},5\n{first * scale},5\n"
    assert read(tmp_path, text, t=f"arrival_epoch_{unit}").arrival_us.tolist() == [0.0, 60e6]


def test_the_time_is_from_start_to_end(tmp_path):
    text = "submit,start,end\n2024-05-01T00:00:00Z,2024-05-01T00:01:00Z,2024-05-01T00:03:00Z\n"
    dated = read(tmp_path, text, submit="arrival_date", start="start_date", end="end_date")
    assert dated.times_us[:, 0].tolist() == [120e6]
    plain = read(tmp_path, "arrival_s,start_s,end_min\n5,10,1\n")
    assert plain.times_us[:, 0].tolist() == [50e6]
    without = read(tmp_path, "arrival_s,end_s\n5,60\n")
    assert without.times_us[:, 0].tolist() == [55e6]
    assert without.arrival_us.tolist() == [5e6]


def test_clocks_and_memory(tmp_path):
    text = "arrival_s,elapsed,limit,mem,cores_milli\n0,1-02:30:00,90:00,2,500\n1,00:00:01.5,,0.5,2000\n"
    work = read(tmp_path, text, elapsed="time_clock", limit="limit_clock", mem="memory_mib")
    assert work.times_us[:, 0].tolist() == [95400e6, 1.5e6]
    assert work.limit_us.tolist() == [5400e6, np.inf]
    assert work.demand.tolist() == [0.5, 2.0]
    assert work.companions["memory"].tolist() == [2 * 2**20, 2**19]


def test_cores_as_kubernetes_writes_them(tmp_path):
    text = "arrival_s,time_s,cpu,mem\n0,1,500m,2Gc\n1,1,4,1G\n2,1,0.25,1G\n3,1,,1G\n"
    work = read(tmp_path, text, cpu="cores_kubernetes", mem="memory_slurm")
    assert work.demand.tolist()[:3] == [0.5, 4.0, 0.25]
    assert work.companions["memory"][0] == 0.5 * 2 * 2**30
    expected = "cores", "a number of cores such as 4, 0.5 or 500m"
    fails(tmp_path, "arrival_s,time_s,cores_kubernetes\n0,1,500u\n", *expected, "'500u'")


def test_memory_as_slurm_and_kubernetes_write_it(tmp_path):
    text = "arrival_s,time_s,cores,mem\n0,1,4,64Gn\n1,1,4,2000Mc\n2,1,4,1.50T\n3,1,4,512\n"
    work = read(tmp_path, text, mem="memory_slurm")
    assert work.companions["memory"].tolist() == [64 * 2**30, 8000 * 2**20, 1.5 * 2**40, 512 * 2**20]
    milli = read(tmp_path, "arrival_s,time_s,cores_milli,memory_slurm\n0,1,500,2Gc\n")
    assert milli.companions["memory"].tolist() == [2**30]
    assert read(tmp_path, "arrival_s,time_s,memory\n0,1,16Gi\n").companions["memory"].tolist() == [16 * 2**30]
    expected = ("log.csv:2", "a size such as 64G or 64Gn, or with a column of cores 4000Mc")
    fails(tmp_path, "arrival_s,time_s,memory_slurm\n0,1,2Gc\n", *expected, "'2Gc'")
    fails(tmp_path, "arrival_s,time_s,memory_slurm\n0,1,16 GiB\n", *expected, "'16 GiB'")


def test_other_points_in_time_are_dates_too(tmp_path):
    text = "arrival_date,time_s,deadline_date,withdraw_epoch_s\n2024-05-01,5,2024-05-02,1714521610\n"
    work = read(tmp_path, text)
    assert work.deadline_us.tolist() == [86400e6]
    assert work.withdraw_us.tolist() == [10e6]


def test_wrong_cells_are_said_as_they_stand(tmp_path):
    dates = {"submit": "arrival_date", "end": "end_date"}
    text = "submit,end\n2024-05-01,2024-05-02\nUnknown,2024-05-02\n2024-05-03,2024-05-02\n2024-05-01,None\n"
    wanted = ("log.csv:3", "submit: a date such as", "'Unknown'", "log.csv:4", "end: a time, not before its start")
    fails(tmp_path, text, *wanted, "'2024-05-02'", "log.csv:5", "'None'", **dates)
    fails(tmp_path, "arrival_s,time_clock\n0,5\n", "log.csv:2", "a duration such as 1-02:30:00", "'5'")
    fails(tmp_path, "arrival_s,time_s,memory_mib\n0,5,16 GiB\n", "log.csv:2", "a number", "'16 GiB'")


def test_times_that_count_from_nothing_are_refused(tmp_path):
    fails(tmp_path, "arrival_s,end_date\n0,2024-05-01\n", "log.csv: end_date", "all times since 1970 or none")
    fails(tmp_path, "period,time_s,start_s\n0,5,1\n", "log.csv: start_s", "a column arrival or end as well")
    fails(tmp_path, "arrival_s,end_s,time_s\n0,5,1\n", "time_us once")
    fails(tmp_path, "arrival_s,runtime\n0,5\n", "columns: runtime", "Did you mean time_clock?", runtime="time_clok")
