"""The folder of a result: whatever ends the program while it is replaced, the old result or the new one is there."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import vinesim as vs
from vinesim.formats.results import folder as results
from vinesim.formats.results.checksums import check_sums
from vinesim.formats.results.folder import CHECKED, check_target, write_result
from vinesim.formats.source.files import exchanged
from vinesim.model.errors import InputError

SCENARIO = Path(__file__).parents[3] / "examples" / "quickstart.yaml"


@pytest.fixture(scope="module")
def two():
    """Two results, with 20 and with 30 jobs."""

    return tuple(
        vs.simulate(vs.read_scenario(SCENARIO, [f"workload.options.n_jobs={n}"]), engine="reference") for n in (20, 30)
    )


def n_jobs(folder):
    """The jobs of an intact result."""
    assert check_sums(folder, CHECKED, "") == []
    return json.loads((folder / "summary.json").read_text())["jobs"]["finished"]


class Crash(BaseException):
    """The program is interrupted here."""


@pytest.fixture(params=["exchange", "two renames"])
def way(request, monkeypatch):
    if request.param == "two renames":
        monkeypatch.setattr(results, "exchanged", lambda *_: False)


@pytest.mark.parametrize("error", [Crash(), OSError(28, "No space left on device")], ids=["interrupt", "full disk"])
@pytest.mark.parametrize("at", [1, 2])
def test_the_old_result_is_still_there_when_a_rename_fails(two, tmp_path, monkeypatch, error, at):
    out = tmp_path / "o"
    write_result(out, two[0])
    monkeypatch.setattr(results, "exchanged", lambda *_: False)
    real, count = os.replace, 0

    def replace(*paths):
        nonlocal count
        count += 1
        if count == at:
            raise error
        real(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(results.os, "replace", replace)
        with pytest.raises(Crash if isinstance(error, Crash) else InputError):
            write_result(out, two[1])
    assert n_jobs(out) == 20
    assert list(tmp_path.iterdir()) == [out]


def test_a_result_is_replaced_and_nothing_else_is_left(two, tmp_path, way):
    out = tmp_path / "o"
    for result, expected in ((two[0], 20), (two[1], 30)):
        write_result(out, result)
        assert n_jobs(out) == expected
        assert list(tmp_path.iterdir()) == [out]


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import vinesim as vs
from vinesim.formats.results import folder as results

place, words = Path(sys.argv[1]), sys.argv[2]
def of(n):
    return vs.simulate(vs.read_scenario(sys.argv[3], [f"workload.options.n_jobs={n}"]), engine="reference")
old, new = of(20), of(30)
results.write_table = lambda path, _: path.write_bytes(b"a table")  # quickly
if words == "two renames":
    results.exchanged = lambda *_: False

def is_written(out, at):
    child = os.fork()
    if not child:
        seen = 0
        def hook(event, arguments):
            nonlocal seen
            writes = event == "open" and arguments[2] and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes or event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
                seen += 1
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        results.write_result(out, new)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

at, is_done = 0, False
results.write_result(place / "0" / "o", old)
while not is_done:
    at += 1
    shutil.copytree(place / "0", place / str(at))
    is_done = is_written(place / str(at) / "o", at)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("words", ["exchange", "two renames"])
def test_a_kill_at_any_moment_leaves_a_whole_result_and_the_next_run_tidies_up(two, tmp_path, monkeypatch, words):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), words, str(SCENARIO)], check=True)
    monkeypatch.setattr(results, "write_table", lambda path, _: path.write_bytes(b"a table"))
    folders = sorted(tmp_path.iterdir(), key=lambda path: int(path.name))
    found = [n_jobs(folder / "o") if (folder / "o").exists() else None for folder in folders]
    assert len(found) > 5
    assert (found[0], found[-1]) == (20, 30)
    assert set(found) == ({20, 30} if words == "exchange" else {20, None, 30})
    for folder in folders[:-1]:
        write_result(folder / "o", two[0])
        assert n_jobs(folder / "o") == 20
        assert list(folder.iterdir()) == [folder / "o"]


def test_a_result_that_was_set_aside_comes_back_before_anything_is_written(two, tmp_path, monkeypatch):
    out = tmp_path / "o"
    write_result(out, two[0])
    os.replace(out, tmp_path / ".o.vinesim-old")  # a kill between two renames

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "write_table", fail)
    with pytest.raises(InputError, match="Nothing was written"):
        write_result(out, two[1])
    assert n_jobs(out) == 20


def test_a_folder_has_the_permissions_that_the_user_asks_for(two, tmp_path):
    before = os.umask(0o027)
    try:
        write_result(tmp_path / "o", two[0])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "o").stat().st_mode) == 0o750
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "o").iterdir()} == {0o640}


def test_drafts_of_files_that_come_with_a_result_do_not_block_its_folder(two, tmp_path):
    out = tmp_path / "o"
    write_result(out, two[0])
    (out / ".report.html.123.tmp").touch()
    write_result(out, two[1])
    assert not (out / ".report.html.123.tmp").exists()
    (out / ".mine.tmp").touch()
    with pytest.raises(InputError, match=r"also \.mine\.tmp"):
        check_target(out)


def test_folders_are_exchanged_or_left_alone(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    done = exchanged(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / ("b" if done else "a")).exists()
    assert not exchanged(tmp_path / "a", tmp_path / "none")
    assert (tmp_path / "a" / ("b" if done else "a")).exists()
