"""What is no fault of the input's words is one line too: files that cannot be read, full disks, too little memory."""

import errno
from contextlib import contextmanager

import duckdb
import numpy as np
import pytest

from vinesim.cli.errors import report_errors
from vinesim.formats.results.parquet import write_table
from vinesim.formats.source.database import QueryError, _in_our_words

LEFT = "No space left on device"
FULL = (
    'IO Error: Async write failed for range [offset=107588, size=23]: {"exception_type":"IO","exception_message":'
    '"Could not write file \\"/tmp/t.parquet\\": No space left on device","errno":"28"}'
)


@pytest.mark.parametrize("command", ["timeline", "report", "explain"])
def test_a_file_of_a_result_that_is_a_folder_is_named(vinesim, tmp_path, command):
    out = tmp_path / "out"
    vinesim("run", "examples/quickstart.yaml", "--set", "workload.options.n_jobs=2", "--explain", "--out", out)
    (out / "tasks.parquet").unlink()
    (out / "tasks.parquet").mkdir()
    done = vinesim(command, out, *(["--slowest", "1"] if command == "explain" else []))
    assert done.code == 2
    assert f"{out / 'tasks.parquet'}: expected a file that can be read, found a folder" in done.err
    assert "cannot write" not in done.err


def raised(error, capsys):
    def command():
        raise error

    code = report_errors(command)
    return code, capsys.readouterr().err


def test_a_file_with_an_error_is_named(capsys):
    found = raised(OSError(errno.EIO, "Input/output error", "log.csv"), capsys)
    assert found == (2, "vinesim: log.csv: Input/output error\n")


def test_too_little_memory_is_one_line(capsys):
    with pytest.raises(MemoryError) as found:
        np.zeros(2**59)
    code, text = raised(found.value, capsys)
    assert code == 2
    assert text.startswith("vinesim: not enough memory: Unable to allocate")
    assert text.count("\n") == 1


def test_options_for_which_memory_does_not_suffice_are_reported_as_that(vinesim):
    done = vinesim("validate", "examples/quickstart.yaml", "--set", "workload.options.n_jobs=9000000000000")
    assert done.code == 2
    assert "expected options that allow" not in done.err


def test_what_duckdb_says_is_put_in_words():
    with _in_our_words_of(duckdb.IOException(FULL)) as found:
        assert (found.errno, found.strerror) == (28, "No space left on device")
    with _in_our_words_of(duckdb.Error("Invalid Input Error: No magic bytes\nmore")) as found:
        assert found.reason == "No magic bytes"
    with _in_our_words_of(duckdb.Error("TProtocolException: Invalid data")) as found:
        assert found.reason == "Invalid data"
    other = FULL.replace('"errno":"28"', '"errno":"0"').replace(LEFT, "nothing")
    with _in_our_words_of(duckdb.IOException(other)) as found:
        assert found.reason == 'Could not write file "/tmp/t.parquet": nothing'


@contextmanager
def _in_our_words_of(error):
    with pytest.raises((OSError, QueryError)) as found, _in_our_words():
        raise error
    yield found.value


def test_a_workload_that_is_no_parquet_file_is_refused_in_words(vinesim, tmp_path):
    (tmp_path / "w.parquet").write_bytes(b"no table" * 10)
    done = vinesim("run", "examples/quickstart.yaml", "--set", f"workload={{file: {tmp_path / 'w.parquet'}}}")
    assert done.code == 2
    assert "expected a table of a workload, found No magic bytes" in done.err


def test_a_table_that_cannot_be_written_is_an_error_of_the_operating_system(tmp_path):
    with pytest.raises(OSError, match="none") as found:
        write_table(tmp_path / "none" / "t.parquet", {"x": np.zeros(1)})
    assert "exception" not in str(found.value)
