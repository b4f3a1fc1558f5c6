"""Divide the runs of a study into chunks. A worker gets one chunk at a time, and one file holds one chunk.

A chunk is a sequence of consecutive runs. Its bounds depend only on the study, not on the back-end, the workers or the
runs already done, so the same study gives the same files everywhere.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vinesim.model.study import Study
from vinesim.studies.expand import scenario_of
from vinesim.studies.run import Run
from vinesim.studies.seeds import Seeds

CHUNK_S = 0.5  # seconds of work per chunk: little to lose or wait for, but much compared with sending it to a worker
MAX_RUNS = 1000
RUN_S, TASK_S = 0.5e-3, 1e-6  # approximate seconds for a run, and for each of its tasks


@dataclass(frozen=True)
class Chunk:
    """Consecutive runs of a study; ``id`` is a hash of their ids: 16 hex digits."""

    id: str
    runs: tuple[Run, ...]


def chunks(
    study: Study, runs: Sequence[Run], count: "TaskCount | None" = None, seeds: Seeds | None = None
) -> list[Chunk]:
    """Divide the runs into chunks of about half a second, 1 to 1000 runs each.

    ``count`` keeps the number of tasks between calls. ``seeds`` tells which replications are equal: a worker does only
    the first of them in a chunk, so the others count as free. Raises :class:`InputError` if a workload cannot be
    generated.
    """
    found: list[Chunk] = []
    count = count or TaskCount(study)
    if seeds is not None:
        runs = [run if seeds.matter(run) else replace(run, is_random=False) for run in runs]
    seconds, first = 0.0, 0
    for i, run in enumerate(runs):
        if run.is_random or i == first or run.point_number != runs[i - 1].point_number:
            seconds += RUN_S + TASK_S * count.of(run)
        is_last = i + 1 == len(runs)
        is_alike = not is_last and not run.is_random and runs[i + 1].point_number == run.point_number
        if is_last or (seconds >= CHUNK_S and not is_alike) or i + 1 - first == MAX_RUNS:
            found.append(chunk_of(runs[first : i + 1]))
            seconds, first = 0.0, i + 1
    return found


def chunk_of(runs: Sequence[Run]) -> Chunk:
    """Return these runs as one chunk."""
    names = "".join(run.run_id for run in runs)
    return Chunk(hashlib.sha256(names.encode()).hexdigest()[:16], tuple(runs))


class TaskCount:
    """Counts the tasks of a study's runs. Each variant of the workload is generated only once."""

    def __init__(self, study: Study):
        self._study = study
        self._known: dict[str, int] = {}

    def of(self, run: Run) -> int:
        """Return the number of tasks of a run, taken from the first run with the same workload settings."""
        key = repr({name: value for name, value in run.settings.items() if _decides_tasks(name)})
        if key not in self._known:
            self._known[key] = scenario_of(self._study, run).workload.n_tasks
        return self._known[key]


def _decides_tasks(key: str) -> bool:
    return key.startswith(("workload", "arrivals")) and key != "arrivals.iat"
