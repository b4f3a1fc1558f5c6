"""One database for all connections: what is made in one of them is seen in no other, and a fork has its own. Its errors
are those of the operating system, signals, or a query that cannot be answered."""

import errno
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest

from vinesim.formats.results.parquet import read_metadata, read_table, write_table
from vinesim.formats.source.database import QueryError, connected, file_of
from vinesim.model.errors import InputError


def test_what_is_temporary_is_of_one_connection():
    with connected() as one, connected() as other:
        one.execute("CREATE TEMP VIEW numbers AS SELECT 1 AS number")
        other.execute("CREATE TEMP VIEW numbers AS SELECT 2 AS number")
        assert [each.execute("FROM numbers").fetchall() for each in (one, other)] == [[(1,)], [(2,)]]
    with connected() as later, pytest.raises(QueryError):
        later.execute("FROM numbers")


FORK = """
import os, sys
from vinesim.formats.results.parquet import read_metadata, read_table, write_table
from vinesim.formats.source.database import QueryError, connected, file_of
from vinesim.model.errors import InputError

def counted():
    with connected() as connection:
        query = "SELECT count(DISTINCT a % 1000), sum(a) FROM read_parquet(?)"
        return connection.execute(query, sys.argv[1:]).fetchall()

with connected() as connection:
    rows = "SELECT range AS a FROM range(400_000)"
    connection.execute(f"COPY ({rows}) TO '{sys.argv[1]}' (FORMAT parquet, ROW_GROUP_SIZE 20_000)")
found = counted()
child = os.fork()
if child == 0:
    os._exit(counted() != found)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_can_read_what_several_threads_read(tmp_path):
    """The threads of its parent's database are not there: with that one it would wait for ever."""
    words = [sys.executable, "-c", FORK, str(tmp_path / "a.parquet")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.communicate(timeout=60)[0] == "0\n"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the fork too


def test_a_damaged_file_leaves_other_tables_readable(tmp_path):
    """Some damage makes DuckDB refuse all further queries to its database."""
    good, harmed = tmp_path / "good.parquet", tmp_path / "harmed.parquet"
    columns = {"b": np.arange(200) / 7.0, "c": np.array([f"u{i}" for i in range(200)], object)}
    write_table(good, columns)
    data = good.read_bytes()
    n_refused = 0
    for at in range(len(data) * 3 // 4, len(data)):
        harmed.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            read_table(harmed)
        except InputError:
            n_refused += 1
        with connected() as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
    assert n_refused > 50
    assert read_table(good)["c"].tolist() == columns["c"].tolist()


SIGNALLED = """
import os, signal, threading
from vinesim.formats.source.database import connected

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, stop)
with connected(threads=1) as connection:  # DuckDB's other threads would finish their part of the query first
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    try:
        connection.execute("SELECT sum(sqrt(range)) FROM range(3_000_000_000)").fetchall()
    except BaseException as wrong:
        print(type(wrong).__name__)
"""


def test_a_signal_during_a_query_is_an_interrupt():
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("KeyboardInterrupt\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full disk to write to")
def test_a_full_disk_is_an_error_of_the_system():
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_table("/dev/full", {"a": np.arange(3)})
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("read", [read_table, lambda path: read_metadata([path], "maker")])
def test_too_many_open_files_are_reported_as_that(tmp_path, read):
    path = tmp_path / "a.parquet"
    write_table(path, {"a": np.arange(3)}, metadata={"maker": "me"})
    read(path)  # opens what stays open
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], 256), limits[1]))
    try:
        with suppress(OSError):
            while True:
                opened.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(InputError, match=r"too many open files\. Raise the limit of open files"):
            read(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for file in opened:
            os.close(file)


@pytest.mark.parametrize("name", ["a[1]*?.parquet", "it's.parquet", "ünï.parquet"])
def test_a_table_may_have_any_name(tmp_path, name):
    path = tmp_path / name
    write_table(path, {"a": np.arange(3)}, metadata={"maker": "me"})
    assert read_table(path)["a"].tolist() == [0, 1, 2]
    assert read_metadata([path], "maker") == {path: "me"}


ANOTHER_LOCALE = """
import sys
from pathlib import Path
import numpy as np
from vinesim.formats.results.parquet import read_metadata, read_table, write_table
path = Path(sys.argv[1])
write_table(path, {"a": np.arange(3)}, metadata={"maker": "me"})
assert path.exists() and read_table(path)["a"].tolist() == [0, 1, 2]
assert read_metadata([path], "maker") == {path: "me"}
print(sys.getfilesystemencoding())
"""


def test_a_name_in_utf_8_is_that_file_in_every_locale(tmp_path):
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX"}
    words = [sys.executable, "-c", ANOTHER_LOCALE, os.fsencode(tmp_path / "ünï.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("ascii\n", "")
    assert (tmp_path / "ünï.parquet").exists()


def test_a_name_that_is_no_utf_8_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"[mM]ultibyte") as caught:
        file_of(os.fsdecode(b"\xfcn\xef.parquet"))
    assert caught.value.errno == errno.EILSEQ
