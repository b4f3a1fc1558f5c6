"""The version of the code: another one after each edit that may change results, and only then."""

import shutil

import pytest

from vinesim.model import version


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package's files, of which the version is asked."""
    ignored = shutil.ignore_patterns("__pycache__", "assets")
    shutil.copytree(version.PACKAGE, tmp_path / "vinesim", ignore=ignored)
    monkeypatch.setattr(version, "PACKAGE", tmp_path / "vinesim")
    return tmp_path / "vinesim"


def found():
    return version.code_version.__wrapped__()


def test_it_does_not_depend_on_where_the_package_lies(copy):
    assert found() == version.code_version()
    assert found().startswith(f"{version.VERSION}+")


@pytest.mark.parametrize("file", ["core/loop.py", "policies/online/high.py", "model/version.py", "studies/new.py"])
def test_an_edit_of_code_that_decides_results_changes_it(copy, file):
    with (copy / file).open("a") as stream:
        stream.write("# edited\n")
    assert found() != version.code_version()


def test_a_file_that_changes_its_name_changes_it(copy):
    (copy / "core" / "loop.py").rename(copy / "core" / "looped.py")
    assert found() != version.code_version()


@pytest.mark.parametrize("file", ["cli/run.py", "report/page.py", "policies/notes.txt", "engine/__pycache__/loop.py"])
def test_other_files_do_not_change_it(copy, file):
    (copy / file).parent.mkdir(exist_ok=True)
    with (copy / file).open("a") as stream:
        stream.write("# edited\n")
    assert found() == version.code_version()


def test_a_version_that_has_a_local_part_keeps_it(copy, monkeypatch):
    monkeypatch.setattr(version, "VERSION", "0+unknown")
    assert found().startswith("0+unknown.")
