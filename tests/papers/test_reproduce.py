"""``vinesim reproduce`` as a user calls it."""

import json
import sys

import pytest

from tests.papers.small import usual_data
from vinesim.cli.errors import report_errors
from vinesim.cli.main import app
from vinesim.model.errors import InputError
from vinesim.reproduction.claim import Kind
from vinesim.reproduction.registry import items
from vinesim.reproduction.reproduce import reproduce


@pytest.fixture
def command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["vinesim", "reproduce", *map(str, words)])
        code = report_errors(app)
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def test_json_is_the_claims_and_nothing_else(command):
    code, out, _ = command("table2", "text", "--json", "--workers", "1")
    rows = json.loads(out)
    assert code == 0
    assert [(row["claim"], row["kind"]) for row in rows] == [
        ("A1", "given"),
        ("A4", "claim"),
        ("A5", "given"),
    ]
    for row in rows:
        assert {"claim", "kind", "source", "statement", "expected", "measured", "rule", "verdict"} <= set(row)
        assert row["rule"].startswith("reproduced: ")
    assert [row["claim"] for row in rows if row["verdict"] != "reproduced"] == ["A4"]
    assert all("note" in row for row in rows if row["verdict"] != "reproduced")


def test_every_claim_is_printed_with_its_rule_and_note_in_100_columns(command):
    code, out, _ = command("text", "table4", "--workers", "1")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert max(map(len, out.splitlines())) <= 100
    judged = [claim for name in ("text", "table4") for claim in items()[name].claims]
    assert sum(line.startswith("rule reproduced: ") for line in lines) == len(judged)
    assert sum(line.startswith("note ") for line in lines) == sum(bool(claim.note) for claim in judged)
    assert "rule reproduced: equal within 5 %" in lines
    own, given = (next(n for n, line in enumerate(lines) if line.startswith(t)) for t in ("VineSim's own", "Given: "))
    assert lines.index("A4 The 50th percentile of the latency is its average") < given < own
    assert lines[-4:] == [
        "1 claim: 0 reproduced, 0 partly, 1 not reproduced.",
        "1 finding: 1 reproduced, 0 partly, 0 not reproduced.",
        "4 given: 3 reproduced, 1 partly, 0 not reproduced.",
        "Add --out DIR to get the figures and the results.",
    ]


def test_list_names_every_item(command):
    code, out, _ = command("--list")
    assert code == 0
    assert next(line.split()[0] for line in out.splitlines() if " vinesim " in line) == "fig4"
    code, out, _ = command("--list", "--json")
    counts = {row["id"]: (row["claims"], row["findings"], row["given"]) for row in json.loads(out)}
    assert counts == {i.id: tuple(len(i.of_kind(kind)) for kind in Kind) for i in items().values()}
    assert sum(map(sum, counts.values())) == sum(len(i.claims) for i in items().values())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["figg4"], "Did you mean fig4"),
        ([], "expected IDs, or --all, found neither"),
        (["fig4", "--all"], "found both"),
        (["table2", "--workers", "0"], "--workers: expected at least 1"),
        (["vinesim-plan-llm"], "--requests FILE, a log of language-model requests"),
        (["vinesim-plan-llm"], "github.com/Azure/AzurePublicDataset"),
        (["vinesim-plan-llm", "--requests", "no.csv"], "found no file no.csv"),
        (["vinesim-plan-llm", "--requests", "no.csv", "--seeds", "3"], "--seeds: expected an item that takes it"),
        (["table2", "--requests", "log.csv"], "--requests: expected an item that takes it, found table2"),
    ],
)
def test_wrong_words_are_reported(command, words, message):
    code, out, err = command(*words)
    assert code == 2
    assert message in err
    assert out == ""


def test_out_holds_figures_claims_and_sweeps(command, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = command("table3", "text", "--out", tmp_path, "--workers", "1")
    assert code == 0
    assert {path.name for path in (tmp_path / "table3").iterdir()} == {"table3.png", "table3.svg", "claims.json"}
    assert {path.name for path in (tmp_path / "text" / "sweep").iterdir()} == {"500jobs"}
    assert "table3.svg" in out
    rows = json.loads((tmp_path / "text" / "claims.json").read_text())
    assert [row["claim"] for row in rows] == ["A4", "A5"]


def test_a_second_call_makes_no_run_again(tmp_path):
    first = reproduce(items()["text"], tmp_path, workers=1)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    second = reproduce(items()["text"], tmp_path, workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before
    assert [of.row() for of in first.judged] == [of.row() for of in second.judged]


def test_a_file_as_out_is_refused_before_any_run(command, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = command("fig5", "--out", tmp_path / "file")
    assert code == 2
    assert "a folder" in err


def test_ctrl_c_says_what_is_kept(command, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("vinesim.studies.sweep.sweep", stopped)
    code, out, err = command("fig6", "--out", tmp_path)
    assert (code, out) == (130, "")
    assert f"stopped; finished runs are in {tmp_path}, repeat the command to continue" in err


def test_without_matplotlib_claims_work_and_figures_are_refused(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = command("table3", "--out", tmp_path / "out")
    assert code == 2
    assert 'python -m pip install "matplotlib>=' in err
    assert not (tmp_path / "out").exists()
    code, out, _ = command("table3", "--workers", "1")
    assert code == 0
    assert "T3.1" in out


LABELS = {
    "fig4": ("(a) low load", "30 FP-BAD 70 FP-GOOD", "mean job latency, us"),
    "fig5": ("(f) 100 % GPUs", "FP_BAD", "inter-arrival time, us"),
    "fig6": ("40 GPUs", "FP_GOOD", "inter-arrival time, us"),
    "fig7": ("(c) 50 % GPUs", "GPU : CPU = 15:1", "mean job latency, us"),
    "fig8": ("(b) utilisation of the accelerators", "10 of each", "utilisation, %"),
    "fig9": ("copy", "1,000,000", "time, ms"),
    "table3": ("DFE", "2,400", "execution time, us"),
}


@pytest.mark.parametrize("item", LABELS)
def test_figures_have_their_panels_series_and_units(item, tmp_path):
    pytest.importorskip("matplotlib")
    from vinesim.plots.style import save

    draw = items()[item].draw
    assert draw is not None
    ((name, figure),) = draw(usual_data(item)).items()
    assert name == item
    png, svg = save(figure, tmp_path / name)
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert [label for label in LABELS[item] if f">{label}<" not in text] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{item}.png", f"{item}.svg"]


def test_the_same_data_gives_the_same_files(tmp_path):
    pytest.importorskip("matplotlib")
    from vinesim.plots.style import save

    draw = items()["table3"].draw
    assert draw is not None
    data = usual_data("table3")
    once, again = ([path.read_bytes() for path in save(draw(data)["table3"], tmp_path / stem)] for stem in "ab")
    assert once == again


def test_changes_go_to_studies_and_single_runs():
    with pytest.raises(InputError, match="policy"):
        reproduce(items()["text"], changes={"policy": "no_such_policy"}, workers=1)
    slow = {"affinity": {"table": "table1", "peak": {"GPU": {"INT": 600_000, "FP_BAD": 0.01, "FP_GOOD": 1}}}}
    (judged,) = reproduce(items()["table2"], changes=slow, workers=1).judged
    assert "GPU FP-GOOD: 600,000" in judged.measured
