"""The folder of a sweep is moved or removed while it runs: that is reported, and nothing is written elsewhere."""

import shutil

import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from tests.studies.conftest import files
from vinesim.model.errors import InputError
from vinesim.studies import work
from vinesim.studies.sweep import read_sweep, sweep

HERE = {"workers": 1}
LOKY = {"backend": "loky", "workers": 2}


def moving(folder, to, after):
    """An `on_progress` that renames the sweep's folder at its n-th call."""
    calls = []

    def on_progress(progress):
        calls.append(progress)
        if len(calls) == after:
            folder.rename(to)

    return on_progress


@pytest.mark.parametrize("where", [HERE, LOKY])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_folder_that_is_moved(make_study, tmp_path, where, after):
    study, out, new = make_study(), tmp_path / "out", tmp_path / "new"
    with pytest.raises(InputError, match=r"it was moved or removed while the sweep ran\. Finished runs went with it"):
        sweep(study, out, on_progress=moving(out, new, after), **where)
    assert not out.exists()
    there = read_sweep(new).table.n_rows
    assert there >= 4 * (after - 1)
    assert sweep(study, new, workers=1).n_found >= there
    sweep(study, tmp_path / "whole", workers=1)
    assert files(new) == files(tmp_path / "whole")


@pytest.mark.parametrize("where", [HERE, LOKY])
def test_a_folder_that_is_removed(make_study, tmp_path, where):
    out = tmp_path / "out"

    def on_progress(progress):
        if progress.n_done >= 8:
            shutil.rmtree(out, ignore_errors=True)

    with pytest.raises(InputError, match=f"--out {out}: expected"):
        sweep(make_study(), out, on_progress=on_progress, **where)
    assert not out.exists()


def test_a_folder_that_is_moved_between_a_run_and_its_writing(make_study, tmp_path, monkeypatch):
    out, real, seen = tmp_path / "out", work.one, []

    def one(study, run, *more):
        seen.append(run.run_id)
        if len(seen) == 6:
            out.rename(tmp_path / "new")
        return real(study, run, *more)

    monkeypatch.setattr(work, "one", one)
    with pytest.raises(InputError, match=f"--out {out}: expected"):
        sweep(make_study(), out, workers=1)
    assert not out.exists()
    assert read_sweep(tmp_path / "new").table.n_rows == 4


def test_a_folder_that_is_moved_at_the_very_end(make_study, tmp_path):
    out = tmp_path / "out"
    n_done = []

    def on_progress(progress):
        n_done.append(progress.n_done)
        if progress.n_done == 18:
            out.rename(tmp_path / "new")

    with pytest.raises(InputError, match=f"--out {out}: expected"):
        sweep(make_study(), out, workers=1, on_progress=on_progress)
    assert read_sweep(tmp_path / "new").table.n_rows == 18


def test_a_folder_that_is_replaced_by_another(make_study, tmp_path):
    out = tmp_path / "out"

    def on_progress(progress):
        if progress.n_done == 8:
            out.rename(tmp_path / "new")
            (out / "runs").mkdir(parents=True)

    with pytest.raises(InputError, match=f"--out {out}: expected the folder of this sweep"):
        sweep(make_study(), out, workers=1, on_progress=on_progress)
    assert list(out.rglob("*")) == [out / "runs"]


def test_the_command_tells_and_exits_with_2(make_study, tmp_path, vinesim, monkeypatch):  # noqa: F811
    out, real = tmp_path / "out", work.one
    sweep(make_study(), tmp_path / "whole", workers=1)

    def one(study, run, *more):
        if run.index == 9:
            out.rename(tmp_path / "new")
        return real(study, run, *more)

    monkeypatch.setattr(work, "one", one)
    done = vinesim("sweep", tmp_path / "whole" / "study.yaml", "--out", out, "--workers", 1)
    assert (done.code, done.out) == (2, "")
    assert f"--out {out}: expected the folder of this sweep, found it was moved or removed" in done.err
