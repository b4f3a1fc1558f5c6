"""Tables of measured times, logs of requests, and the real ones next to the repository."""

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.importers.counts import read_counts
from vinesim.formats.importers.gavel import read_gavel
from vinesim.formats.importers.request_times import counted, read_request_times, write_counts
from vinesim.formats.importers.starpu import read_starpu
from vinesim.model.errors import InputError

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
GAVEL = "gpu,job_type,scale_factor,steps_per_s\n"
STARPU = "kernel,machine,device_type,device_id,cores,size_bytes,mean_us,dev_us,n\n"


def needs(name):
    return pytest.mark.skipif(not (DATA / name).exists(), reason=f"{name} is not next to the repository")


def written(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


def names(types):
    return [t.name for t in types]


def problems(read, path, *args):
    with pytest.raises(InputError) as caught:
        read(path, *args)
    return str(caught.value).replace(f"{path}", "").splitlines()


@pytest.mark.parametrize(("rate", "is_right"), [("1e-9", True), ("9e-10", False), ("0", True)])
def test_a_rate_is_nothing_or_a_step_in_30_years(tmp_path, rate, is_right):
    path = written(tmp_path, f"{GAVEL}a,J,1,{rate}\nb,J,1,1\n")
    if is_right:
        read_gavel(path)
    else:
        assert "0, or 1e-09 or more" in problems(read_gavel, path)[0]


def test_throughputs_become_times_of_a_step(tmp_path):
    rows = "new,A (x 1),1,2\nnew,B,1,0\nnew,C,1,0\nold,A (x 1),1,0.5\nold,B,1,8\n"
    more = "old,A (x 1),4,9\nold_unconsolidated,A (x 1),1,0.5\nold_unconsolidated,A (x 1),2,0.5\n"
    measured, report = read_gavel(written(tmp_path, GAVEL + rows + more))
    assert names(measured.processor_types) == ["new", "old"]
    assert names(measured.task_types) == ["A (x 1)", "B"]
    np.testing.assert_array_equal(measured.time_us, [[5e5, np.nan], [2e6, 1.25e5]])
    np.testing.assert_allclose(measured.affinity, [[2e-6, 0], [0.5e-6, 8e-6]])
    assert report.n_lines == 8
    assert report.dropped == {
        "more than one worker": [7],
        "workers on several nodes": [8, 9],
        "a job type that no GPU can run": [4],
    }
    assert report.unused == {}
    assert report.numbers == {"task_types": ["A (x 1)", "B"], "processor_types": ["new", "old"]}


def test_all_problems_of_throughputs_are_reported(tmp_path):
    rows = "a,A,1,x\na,A,one,1\na,B\na,C,1,-1\na,D,1,nan\na,E,1.5,1\na,F,1,1\n\na,F,1,2\n,G,1,1\na,H,1,1e-99\n"
    found = problems(read_gavel, written(tmp_path, GAVEL + rows))
    assert [text.split(":")[1] for text in found] == ["2", "3", "4", "5", "6", "7", "10", "11", "12"]
    assert "the pair of line 8 again" in found[6]


@pytest.mark.parametrize("read", [read_gavel, read_starpu])
def test_a_file_without_columns_or_rows_is_refused(tmp_path, read):
    (found,) = problems(read, written(tmp_path, (GAVEL if read is read_gavel else STARPU)))
    assert found.startswith(":1: expected rows below a header line")
    found = problems(read, written(tmp_path, "GPU;jobtype\n1;2\n"))
    assert all(text.startswith(":1: expected a column") for text in found)
    assert len(found) >= 4


def test_nothing_usable_is_a_problem(tmp_path):
    assert "above 0" in problems(read_gavel, written(tmp_path, GAVEL + "a,A,1,0\n"))[0]
    assert "above 0" in problems(read_gavel, written(tmp_path, GAVEL + "a,A,2,7\n"))[0]
    assert "one core" in problems(read_starpu, written(tmp_path, STARPU + "k,m,cpu,0,4,100,5,1,10\n"))[0]


def test_times_of_kernels_are_means_over_devices_weighted_by_samples(tmp_path):
    rows = "k,lap,cpu,0,1,100,9,0,10\nk,box,cpu,0,1,100,40,4,10\nk,box,gpu,0,1,100,10,2,10\nk,box,gpu,1,1,100,20,0,30\n"
    more = "k,box,gpu,0,1,200,30,3,7\nk,box,cpu,0,8,100,5,1,10\n"
    path = written(tmp_path, STARPU + rows + more)
    measured, report = read_starpu(path)
    assert names(measured.processor_types) == ["cpu", "gpu"]
    assert names(measured.task_types) == ["k/100", "k/200"]
    np.testing.assert_array_equal(measured.time_us, [[40, np.nan], [17.5, 30]])
    pooled = np.sqrt((10 * 0.1**2 + 10 * 0.2**2 + 30 * 0) / 50)
    np.testing.assert_allclose(measured.spread, [pooled, 0.1])
    assert report.dropped == {"a kernel on several cores": [7], "another machine": [2]}
    assert "6 lines, machine box: 2 task types on cpu, gpu" in str(report)
    assert report.unused == {"device_id": 6}
    assert "not used: device_id (6 lines)" in str(report)
    other, _ = read_starpu(path, "lap")
    np.testing.assert_array_equal(other.time_us, [[9]])
    assert "one of lap, box, found 'lop'" in problems(read_starpu, path, "lop")[0]


def test_all_problems_of_kernels_are_reported(tmp_path):
    rows = ["k,m,cpu,0,1,100,0,1,10", "k,m,cpu,0,1,100,5,-1,10", "k,m,cpu,0,1,100,5,1,0", "k,m,cpu,0,0,1e2,5,1,1.5"]
    found = problems(read_starpu, written(tmp_path, STARPU + "\n".join(rows)))
    assert [text.split(":")[1] for text in found] == ["2", "3", "4", "5", "5"]
    assert [text.split(": expected ")[1].split(":")[0] for text in found] == ["mean_us", "dev_us", "n", "cores", "n"]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([GAVEL, STARPU, ""]), st.text('0123456789.-,kn"e\n\r', max_size=80))
def test_any_text_gives_a_table_or_an_input_error(tmp_path_factory, head, tail):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes((head + tail).encode())
    for read in (read_gavel, read_starpu, lambda path: read_request_times(path, "n")):
        with contextlib.suppress(InputError):
            read(path)


def test_requests_are_counted_in_intervals(tmp_path):
    path = tmp_path / "log.csv.gz"
    times = ("10:00:09.9999999", "10:00:00", "10:00:00", "10:00:30")
    path.write_bytes(gzip.compress(("id,T\n" + "".join(f"7,2024-01-31 {t}\n" for t in times)).encode()))
    times_us, report = read_request_times(path, "T")
    assert report.unused == {"id": 4}
    np.testing.assert_allclose(times_us, [0, 0, 9_999_999, 30e6], atol=1)
    counts = counted(times_us, 10e6)
    assert counts.tolist() == [3, 0, 0, 1]
    write_counts(tmp_path / "counts.csv", counts, 10e6)
    begin_us, back = read_counts(tmp_path / "counts.csv")
    assert (begin_us.tolist(), back.tolist()) == ([0, 10e6, 20e6, 30e6], [3, 0, 0, 1])


def test_a_log_is_not_taken_for_a_series(tmp_path):
    path = written(tmp_path, "TIME,in,out\n2024-01-31 10:00:00,300,7\n2024-01-31 10:00:01,200,9\n")
    (found,) = problems(read_counts, path)
    assert found.startswith(":1:1: expected two fields, a time and a count, found 3 fields")
    path.write_text("0,1\n1,2\nnan,3\ninf,4\n")
    assert [text.split(":")[1] for text in problems(read_counts, path)] == ["3", "4"]


def test_wrong_times_and_intervals_are_refused(tmp_path):
    path = written(tmp_path, "T\n1\nx\n3\nnan\n")
    found = problems(read_request_times, path, "T")
    assert [text.split(":")[1] for text in found] == ["3", "5"]
    assert "a column time, found T" in problems(read_request_times, path, "time")[0]
    for interval_us in (0.0, 3e6, 1e-3):
        with pytest.raises(InputError, match="interval"):
            counted(np.array([0.0, 2e6]), interval_us)


@needs("gavel")
def test_the_throughputs_of_gavel():
    measured, report = read_gavel(DATA / "gavel" / "isolated.csv")
    assert names(measured.processor_types) == ["k80", "p100", "v100"]
    assert len(measured.task_types) == 26
    assert report.n_lines == 492
    ratio = measured.affinity[2] / np.where(measured.affinity[0] > 0, measured.affinity[0], np.nan)
    assert np.nanmin(ratio) == pytest.approx(0.66, abs=0.01)
    assert np.nanmax(ratio) == pytest.approx(11.6, abs=0.1)


@needs("starpu")
def test_the_kernels_of_starpu():
    measured, report = read_starpu(DATA / "starpu" / "kernels.csv.gz")
    assert report.made.startswith("machine attila: ")
    assert names(measured.processor_types) == ["cpu", "cuda"]
    assert measured.time_us.shape == (2, 121)
    assert np.isfinite(measured.time_us).all()
    only_gpu, _ = read_starpu(DATA / "starpu" / "kernels.csv.gz", "hannibal")
    assert names(only_gpu.processor_types) == ["cuda"]


@needs("azure-llm2023")
def test_the_requests_of_azure():
    times_us, _ = read_request_times(DATA / "azure-llm2023" / "code.csv.gz", "TIMESTAMP")
    per_minute = counted(times_us, 60e6)
    assert per_minute.sum() == 8819
    assert len(per_minute) == pytest.approx(58, abs=2)


@needs("nab")
def test_the_counts_of_an_aws_balancer_are_a_series():
    begin_us, counts = read_counts(DATA / "nab" / "elb_request_count.csv")
    assert (len(counts), counts.max()) == (4032, 656)
    assert (begin_us[-1] - begin_us[0]) / 86400e6 == pytest.approx(14, abs=0.1)
