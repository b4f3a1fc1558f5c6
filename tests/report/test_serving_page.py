"""What serving engines did, on the pages, in the tables of the terminal and in figures."""

import numpy as np
import pytest

from tests.served import S, served
from vinesim.cli.by_table import print_by
from vinesim.cli.tables import print_summary
from vinesim.model.errors import InputError
from vinesim.pages.two_runs import two_runs_page
from vinesim.plots.plot import plot
from vinesim.report.run import run_page


@pytest.fixture(scope="module")
def result():
    within = [S, S, np.inf, S, S]
    return served(first_token_within_us=within, token_within_us=[S / 10] * 5)[1]


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "run"
    result.save(path)
    return path


def test_the_page_of_a_run(folder):
    page = run_page(folder)
    summary = page.sections[0].html
    for shown in ("p99 time to the first token", "3.00 s", "p99 time per output token", "500 ms", "20.00 %", "0.1/s"):
        assert shown in summary
    assert [m["title"] for m in page.data["latency"]["measures"]][-3:] == [
        "Time to the first token",
        "Time per output token",
        "Time in the queue of an engine",
    ]
    assert "within both times" in next(s.html for s in page.sections if s.anchor == "breakdown")


def test_the_page_of_two_runs(folder, tmp_path):
    served()[1].save(tmp_path / "other")
    page = two_runs_page(folder, tmp_path / "other")
    assert "p99 time to the first token" in page.sections[1].html
    assert len(page.data["latency"]["measures"]) == 7


def test_the_terminal(result, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    print_summary(result, None)
    print_by(result, ["application"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert next(line for line in lines if line[:2] == ["first", "token"])[2:5] == ["5", "1.50", "s"]
    assert next(line for line in lines if line[:2] == ["per", "token"])[2:5] == ["3", "267", "ms"]
    assert next(line for line in lines if line[:1] == ["queue"])[1:4] == ["5", "250", "ms"]
    assert ["preemptions", "by", "engines", "3"] in lines


def test_a_figure_of_the_first_tokens(folder, tmp_path):
    for kind in ("tail", "histogram"):
        plot(folder, tmp_path / f"{kind}.svg", kind=kind, x="serving.first_token_us", by="application")
        assert "time to the first token" in (tmp_path / f"{kind}.svg").read_text()


def test_a_figure_of_a_run_without_engines_has_no_tokens(example, tmp_path):
    with pytest.raises(InputError, match=r"jobs.latency_us, .*tasks.wait_us, found"):
        plot(example, tmp_path / "figure.svg", x="serving.first_token_us")
