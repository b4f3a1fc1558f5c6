"""One writer of YAML, whose files this project reads back."""

import re
from pathlib import Path

import pytest

import vinesim
from vinesim.formats.importers.csv_scenario import csv_scenario
from vinesim.formats.importers.report import Guess
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.formats.source.yaml_writer import as_yaml, write_yaml
from vinesim.model.errors import InputError

TEXTS = [
    *("1e3", "4090", "1_000", "0o7", "0x1F", "12:30", "2024-05-01", ".inf", "on", "yes", "null", "~", "", "<<", "="),
    *(" a", "a ", "a:", "a: b", "a #b", "#", "-", "- x", "? x", "{a}", "a,b", "'", '"', "!x", "&a", "*a", "%a", "@a"),
    *("---", "...", "\u2028", "\x07", "a\nb", "\ttab", "\ufeff", "é", "\U0001f600", "word " * 40, "x" * 200),
]


@pytest.fixture
def read_back(tmp_path):
    def read(document):
        write_yaml(tmp_path / "f.yaml", document)
        return YamlSource(tmp_path / "f.yaml").data

    return read


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_read_back(read_back, text):
    for document in ({"k": text}, {text: "v"}, {"k": [text, {"n": [text]}]}):
        assert read_back(document) == document


@pytest.mark.parametrize("text", TEXTS)
def test_a_column_of_an_imported_log_may_have_any_name_and_reason(tmp_path, text):
    written = csv_scenario(Path(f"{text}.csv"), Path("jobs.csv"), {text: Guess("ignore", f"not {text}")}, {"seed": 1})
    (tmp_path / "f.yaml").write_text(written, encoding="utf-8")
    assert YamlSource(tmp_path / "f.yaml").data == {
        "description": f"Jobs of the log {text}.csv.",
        "seed": 1,
        "workload": {"file": "jobs.csv", "columns": {text: "ignore"}},
    }


def test_what_a_file_cannot_hold_is_an_input_error():
    with pytest.raises(InputError, match="values a file can hold"):
        as_yaml({"policy": object()})


def test_nothing_else_writes_yaml():
    """PyYAML alone quotes by other rules than those by which files are read."""
    sources = Path(vinesim.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if re.search(r"yaml\.(safe_)?dump", path.read_text())] == ["yaml_writer.py"]
