"""Files that cannot be read or written: an InputError that says why, and nothing left behind."""

import gzip
import os
import subprocess
import sys
import textwrap

import pytest

from vinesim.formats.importers.gavel import read_gavel
from vinesim.formats.importers.request_times import read_request_times
from vinesim.formats.importers.starpu import read_starpu
from vinesim.formats.importers.swf import read_swf
from vinesim.formats.papers.arrivals import read_arrivals
from vinesim.formats.papers.deployment import read_deployment, write_deployment
from vinesim.formats.papers.prices import read_prices
from vinesim.formats.papers.tables import read_affinity
from vinesim.formats.papers.trace import read_trace
from vinesim.formats.scenario.network import read_network
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.source.files import lines_of, read_text, replacing
from vinesim.model.datacenter import Datacenter
from vinesim.model.errors import InputError

READERS = [
    read_arrivals,
    read_deployment,
    read_gavel,
    read_prices,
    read_starpu,
    read_swf,
    read_workload,
    lambda path: read_affinity(path, 6, 7),
    lambda path: read_trace(path, arrivals=1.0),
    lambda path: read_network(path),
    lambda path: read_request_times(path, "time"),
]


@pytest.mark.parametrize("read", READERS)
def test_missing_folder_and_empty(read, tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.touch()
    for path in (tmp_path / "missing.yaml", tmp_path, empty):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("read", READERS)
def test_no_permission(read, tmp_path):
    path = tmp_path / "locked.yaml"
    path.touch(mode=0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(InputError, match="no permission"):
        read(path)


def test_a_name_with_nul_is_refused():
    with pytest.raises(InputError, match="NUL"):
        read_deployment("a\0b")


def test_a_text_may_be_packed_and_a_cut_one_is_refused(tmp_path):
    path = tmp_path / "text.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfa,b\n1,2\n"))
    assert read_text(path) == "a,b\n1,2\n"
    for broken in (path.read_bytes()[:-9], b"\x1f\x8b", path.read_bytes()[:12] + b"\xff\xff"):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"a complete gzip file, found (one that ends too early|damaged data)"):
            read_text(path)


def test_the_lines_of_a_log_have_no_byte_order_mark(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbfa|b\n\xef\xbb\xbf1|2\n")
    assert [*lines_of(path)] == [b"a|b\n", b"\xef\xbb\xbf1|2\n"]


def test_replacing_leaves_the_old_file_when_writing_fails(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def write():
        with replacing(path) as temporary:
            temporary.write_text("new, broken")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_to_an_impossible_place(tmp_path):
    datacenter = Datacenter.of([("GPU", 0, 0)])
    for path in (tmp_path, tmp_path / "no" / "such", "/proc/x"):
        with pytest.raises(InputError, match="can be written"):
            write_deployment(path, datacenter)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_input_error_and_leaves_nothing(tmp_path):
    pytest.importorskip("resource")
    script = textwrap.dedent(
        """
        import resource, sys
        import numpy as np
        from vinesim.formats.papers.trace import write_trace
        from vinesim.formats.scenario.workload_writer import write_workload
        from vinesim.model.errors import InputError
        from vinesim.workloads.registry import generator
        workload = generator("identical").generate({"n_jobs": 20_000, "arrivals": "poisson"})
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        for write in (write_trace, write_workload):
            try:
                write(sys.argv[1] + "/out", workload)
            except InputError as error:
                print("refused", error)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("refused") == 2
    assert not list(tmp_path.iterdir())
