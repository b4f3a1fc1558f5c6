"""The runs of a study in chunks: what a worker gets at a time and one file holds.

A chunk is a stretch of consecutive runs. Where it ends depends on the study alone, not on back-end, workers or what is
done already, so that the same study gives the same files everywhere.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from vinesim.model.study import Study
from vinesim.studies.expand import scenario_of
from vinesim.studies.run import Run

CHUNK_S = 0.5  # of work in a chunk, about: little to lose or to wait for, much beside sending it to a worker
MAX_RUNS = 1000
RUN_S, TASK_S = 0.5e-3, 1e-6  # about what a run costs, and each of its tasks


@dataclass(frozen=True)
class Chunk:
    """Consecutive runs of a study; ``id`` is a hash of their ids: 16 hex digits."""

    id: str
    runs: tuple[Run, ...]


def chunks(study: Study, runs: Sequence[Run]) -> list[Chunk]:
    """The runs in chunks of about half a second, 1 to 1000 runs each.

    Raises :class:`InputError` when a workload cannot be made.
    """
    found: list[Chunk] = []
    count, seconds, first = TaskCount(study), 0.0, 0
    for i, run in enumerate(runs):
        seconds += RUN_S + TASK_S * count.of(run)
        if seconds >= CHUNK_S or i + 1 - first == MAX_RUNS or i + 1 == len(runs):
            found.append(chunk_of(runs[first : i + 1]))
            seconds, first = 0.0, i + 1
    return found


def chunk_of(runs: Sequence[Run]) -> Chunk:
    """These runs as one chunk."""
    names = "".join(run.run_id for run in runs)
    return Chunk(hashlib.sha256(names.encode()).hexdigest()[:16], tuple(runs))


class TaskCount:
    """How many tasks the runs of a study have; the workload is made once for each way to change it."""

    def __init__(self, study: Study):
        self._study = study
        self._known: dict[str, int] = {}

    def of(self, run: Run) -> int:
        """The number of tasks of a run, from the first run whose workload's settings are the same."""
        key = repr({name: value for name, value in run.settings.items() if _decides_tasks(name)})
        if key not in self._known:
            self._known[key] = scenario_of(self._study, run).workload.n_tasks
        return self._known[key]


def _decides_tasks(key: str) -> bool:
    return key.startswith(("workload", "arrivals")) and key != "arrivals.iat"
