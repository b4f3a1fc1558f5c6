"""Try damaged inputs one after another, and report the outcome of each."""

import re
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from verification.fuzz.folders import samples_of_results, write
from verification.fuzz.inputs import Input, input_of
from verification.fuzz.outcomes import GOOD, Outcome, outcome_of
from verification.fuzz.samples import EXAMPLES, Sample, samples
from verification.fuzz.worker import MOST_CPU_S, Worker

KNOWN_LATER = (
    "expected a time that advances the clock",  # whether it does depends on when the policy starts a task
    "expected a node that has all it holds",  # an import keeps such a job, and says that its scenario does not run yet
)
RUN_CPU_S = 2.0  # of a run that has begun: it is stopped then, as a long run is no fault of its file


class Finding(NamedTuple):
    """The outcome of one input."""

    area: str
    number: int
    outcome: Outcome
    command: tuple[str, ...]
    why: str = ""
    errors: str = ""

    @property
    def cause(self) -> str:
        """The same text for failures that probably have one cause."""
        what = self.why.partition(": ")[0] if self.outcome is Outcome.UNCLEAR else re.sub(r"\d+|'[^']*'", "_", self.why)
        return f"{self.area}: vinesim {self.command[0]}: {self.outcome}: {what[:100]}"


def try_input(worker: Worker, one: Input, number: int, folder: Path) -> Finding:
    """Write an input into an empty folder, run the commands that read it, and judge the first that fails."""
    write(folder, one.files)
    link_examples(folder)
    found = Finding(one.sample.area, number, Outcome.ACCEPTED, one.sample.commands[0])
    for i, command in enumerate(one.sample.commands):
        if command[0] == "validate" and not (folder / command[1]).exists():
            continue  # an import that writes no scenario
        before = _paths(folder)
        is_result = one.sample.area == "results"
        is_run = command[0] == "run" and not is_result
        seen = worker.run(folder, command, RUN_CPU_S if is_run else MOST_CPU_S)
        outcome, why = outcome_of(seen, _paths(folder) - before)
        if outcome is Outcome.SLOW and is_run:
            outcome = Outcome.ACCEPTED
        elif outcome is Outcome.REFUSED and any(words in seen.errors for words in KNOWN_LATER):
            break
        elif outcome is Outcome.REFUSED and i and not is_result:  # what the command before has accepted, or written
            outcome, why = Outcome.CONTRADICTION, " ".join(seen.errors.splitlines()[1:2]).strip()[:300]
        if outcome not in GOOD:
            return Finding(one.sample.area, number, outcome, command, why, seen.errors + seen.traceback)
        if outcome is Outcome.REFUSED:
            found = found._replace(outcome=outcome)
            if not is_result:
                break
    return found


def link_examples(folder: Path) -> None:
    """Put the examples where the pages have them."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)


def _paths(folder: Path) -> set[str]:
    found = set()
    for path in folder.iterdir():
        if not path.is_symlink():
            found |= {str(one.relative_to(folder)) for one in (path, *path.rglob("*"))}
    return {name for name in found if "__pycache__" not in name}


def fuzz(areas: Sequence[str], seed: int, first: int, n_inputs: int, seconds: float, keep: Path) -> Iterator[Finding]:
    """Try inputs of the areas in turn, until there are enough of each or the time is up; keep those that fail."""
    end_s = time.monotonic() + seconds
    with Worker() as worker, TemporaryDirectory() as name:
        known: dict[str, list[Sample]] = samples()
        if "results" in areas:
            known["results"] = samples_of_results(worker)
        for number in range(first, first + n_inputs):
            for area in areas:
                if time.monotonic() > end_s:
                    return
                folder, one = Path(name) / f"{area}-{number}", input_of(known[area], seed, number)
                folder.mkdir()
                found = try_input(worker, one, number, folder)
                shutil.rmtree(folder)
                if found.outcome not in GOOD:
                    _keep(keep / f"{area}-{seed}-{number}", one, found)
                yield found


def _keep(folder: Path, one: Input, found: Finding) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    write(folder, one.files)
    link_examples(folder)
    text = [f"{one.sample.name}: {one.damage}", f"vinesim {shlex.join(found.command)}", f"{found.outcome}: {found.why}"]
    (folder / "WHY").write_text("\n".join([*text, "", found.errors]), errors="backslashreplace")
