"""The package as users meet it: its names, the wheel, the packages that it can do without."""

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import vinesim as vs
from vinesim.model.packages import missing

ROOT = Path(__file__).parents[2]


def test_dir_lists_every_public_name():
    assert set(vs.__all__) <= set(dir(vs))
    for name in vs.__all__:
        assert getattr(vs, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'vinesim' has no attribute 'simulat'"):
        _ = vs.simulat


@pytest.mark.parametrize("package", ["matplotlib", "ortools", "distributed", "ray", "numba-cuda[cu13]"])
def test_a_missing_package_is_named_with_the_versions_that_the_metadata_asks_for(package):
    assert f'{sys.executable} -m pip install "{package}>=' in str(missing("x", package.partition("[")[0]))


def test_a_package_that_no_extra_names_is_asked_for_by_its_name():
    assert f'{sys.executable} -m pip install "num"' in str(missing("x", "num"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: make setup installs it")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_is_typed_and_holds_all_modules_and_names_no_address(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [name for name in names if name.endswith("METADATA")]
        header = archive.read(metadata).decode().partition("\n\n")[0]
    here = {f"vinesim/{path.relative_to(ROOT / 'src' / 'vinesim').as_posix()}" for path in _modules()}
    assert {"vinesim/py.typed", *here} <= names
    assert "://" not in header


def _modules() -> list[Path]:
    """All files of the package but what Python leaves there."""
    found = (ROOT / "src" / "vinesim").rglob("*")
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"]


def test_a_wheel_in_a_fresh_environment_runs_an_example(wheel, tmp_path):
    """What VineSim depends on comes from this environment; VineSim itself from the wheel alone."""
    home = tmp_path / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    with zipfile.ZipFile(wheel) as archive:
        (site,) = (home / "lib").glob("python*/site-packages")
        archive.extractall(site)
    others = {"PYTHONPATH": os.pathsep.join([str(site), sysconfig.get_paths()["purelib"]])}
    call = [str(home / "bin" / "python"), "-m", "vinesim", "run", str(ROOT / "examples" / "quickstart.yaml"), "--json"]
    found = subprocess.run(
        [*call, "--engine", "reference"], cwd=tmp_path, env=os.environ | others, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["exit_reason"] == "ALL_DONE"
    where = [str(home / "bin" / "python"), "-c", "import vinesim; print(vinesim.__file__)"]
    path = subprocess.run(where, cwd=tmp_path, env=os.environ | others, capture_output=True, text=True, check=True)
    assert Path(path.stdout.strip()).is_relative_to(home)
