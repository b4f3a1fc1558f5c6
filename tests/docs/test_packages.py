"""The README of each package and folder: it is short, and what it says of files and imports is true."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
_LAYERS = next(contract["layers"] for contract in _CONTRACTS if contract["type"] == "layers")
LAYERS = [[name.strip().removeprefix("vinesim.") for name in layer.split("|")] for layer in _LAYERS]
PACKAGES = [name for layer in LAYERS for name in layer if (ROOT / "src" / "vinesim" / name).is_dir()]
FOLDERS = sorted((ROOT / "src" / "vinesim").glob("*/*/README.md"))


def test_every_package_is_in_the_layers() -> None:
    found = {folder.parent.name for folder in (ROOT / "src" / "vinesim").glob("*/__init__.py")}
    assert found == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_is(package: str) -> None:
    folder = ROOT / "src" / "vinesim" / package
    text = (folder / "README.md").read_text()
    assert text.startswith(f"# {package}\n")
    assert len(text.splitlines()) <= 16
    for name in re.findall(r"`([\w/]+\.py)`", text):
        near = folder if not name.startswith(tuple(PACKAGES)) else folder.parent
        assert (near / name).is_file(), name


@pytest.mark.parametrize("readme", FOLDERS, ids=lambda readme: readme.parent.name)
def test_a_folder_in_a_package_says_what_its_files_are(readme: Path) -> None:
    text = readme.read_text()
    assert text.startswith(f"# {readme.parent.name}\n")
    names = re.findall(r"`([\w/*]+\.py)`", text)
    assert names
    for name in names:
        near = readme.parent if "/" not in name else ROOT / "src" / "vinesim"
        assert list(near.glob(name)), name


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_may_import(package: str) -> None:
    text = " ".join((ROOT / "src" / "vinesim" / package / "README.md").read_text().split())
    said = re.search(r"\*\*May import\*\* (.*?)\.(?: -|$)", text)
    layer = next(i for i, names in enumerate(LAYERS) if package in names)
    below = [f"`{name}`" for names in LAYERS[layer + 1 :] for name in names]
    assert said is not None
    assert said[1] == (", ".join(below) or "nothing of VineSim")


def test_no_contract_has_an_exemption() -> None:
    assert not [contract["name"] for contract in _CONTRACTS if contract.get("ignore_imports")]
