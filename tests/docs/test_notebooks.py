"""The notebooks of the documentation are run, and show what they say."""

import json
import shutil
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _texts(outputs):
    return ["".join(output.get("text") or output["data"]["text/plain"]) for output in outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_code_gives(path, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import run_notebook

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    shown = [_texts(cell["outputs"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with warnings.catch_warnings(action="ignore"):
        found = run_notebook.run(notebook)
    assert [_texts(outputs) for outputs in found] == shown, "python docs/run_notebook.py renews what it shows"


def test_there_is_a_notebook():
    assert NOTEBOOKS
