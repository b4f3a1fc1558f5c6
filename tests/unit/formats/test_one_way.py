"""A scenario is built in one direction: the module that puts it together hardly ever goes back to another one."""

from pathlib import Path

from verification.crossings import crossings

ROOT = Path(__file__).resolve().parents[3]


def test_a_scenario_is_built_in_one_direction(tmp_path, capsys):
    few = "generator: 500jobs\n  options: {n_jobs: 20}"  # every call is watched
    text = (ROOT / "examples" / "quickstart.yaml").read_text().replace("generator: 500jobs", few)
    (tmp_path / "few.yaml").write_text(text)
    found = crossings(tmp_path / "few.yaml")
    assert "formats/scenario/names.py" in found.calls
    assert found.returns <= 3, found.calls
