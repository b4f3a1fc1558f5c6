"""A case: a question with one right answer, and a function that finds VineSim's answer."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A reported fault."""

    name: str
    right: str  # the right answer
    ask: Callable[[Path], str]  # called with an empty folder; returns an answer in the words of ``right``
    seconds: float  # seconds of processor time after which the answer counts as wrong


CASES: list[Case] = []
HANGS_S = 600.0  # seconds after which a command counts as hanging, even on a busy machine


def case(name: str, right: str, seconds: float = 60.0) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    """Declare a case: the decorated function gets an empty folder and returns what it saw."""

    def declare(ask: Callable[[Path], str]) -> Callable[[Path], str]:
        CASES.append(Case(name, right, ask, seconds))
        return ask

    return declare


def vinesim(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command ``vinesim`` in ``folder``; return its exit code and its output."""
    command = [sys.executable, "-m", "vinesim", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS_S)


def write(folder: Path, **files: str) -> None:
    """Write text files into ``folder``; a name's last ``_`` is the dot of its ending: ``jobs_csv`` is jobs.csv."""
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text)
