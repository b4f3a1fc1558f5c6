"""One database for all connections: what is made in one of them is seen in no other, and a fork has its own."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import duckdb
import pytest

from vinesim.formats.source.database import connected


def test_what_is_temporary_is_of_one_connection():
    with connected() as one, connected() as other:
        one.execute("CREATE TEMP VIEW numbers AS SELECT 1 AS number")
        other.execute("CREATE TEMP VIEW numbers AS SELECT 2 AS number")
        assert [each.execute("FROM numbers").fetchall() for each in (one, other)] == [[(1,)], [(2,)]]
    with connected() as later, pytest.raises(duckdb.CatalogException):
        later.execute("FROM numbers")


FORK = """
import os, sys
from vinesim.formats.source.database import connected

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
