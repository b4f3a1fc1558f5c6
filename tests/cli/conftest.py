"""The command line, called in this process as a shell would call it."""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from vinesim.cli.errors import report_errors
from vinesim.cli.main import app


@dataclass(frozen=True)
class Finished:
    """The result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def vinesim(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    """``vinesim("run", "scenario.yaml")``."""

    def call(*words: object) -> Finished:
        monkeypatch.setattr(sys, "argv", ["vinesim", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "100")
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            capsys.readouterr()  # discard earlier output
            code = report_errors(app)
        captured = capsys.readouterr()
        return Finished(code, captured.out, captured.err)

    return call


@dataclass(frozen=True)
class PaperFiles:
    """The papers' 500 jobs on 20 CPUs and 20 GPUs, as text files."""

    deployment: Path
    trace: Path

    @property
    def words(self) -> tuple[object, ...]:
        return ("run", "--deployment", self.deployment, "--trace", self.trace, "--iat", "7")


@pytest.fixture
def paper(tmp_path: Path) -> PaperFiles:
    deployment, trace = tmp_path / "deployment.txt", tmp_path / "trace.txt"
    deployment.write_text("".join(f"{0 if i < 20 else 2} {i % 2} {i // 2}\n" for i in range(40)))
    trace.write_text("".join(f"2 0 0 0 30000000 2 {i // 5}\n" for i in range(2500)))
    return PaperFiles(deployment, trace)
