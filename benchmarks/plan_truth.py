"""Every point of a plan's space, run with many seeds, and kept on disk for the next measurement.

The runs lie in ``out/benchmarks/plans``. The name of a file depends on the question and on VineSim's code, except for
what only looks runs up, so that a change of the search measures again in seconds and a change of the engine runs again.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import vinesim
from vinesim.formats.plan.file import plan as plan_of
from vinesim.model.plan import FRESH, Plan
from vinesim.plans.runs import Runs
from vinesim.plans.screen import Screened, screened
from vinesim.plans.space import Space

SURE = 4.0  # standard errors
SOURCE = Path(vinesim.__file__).parent
KEPT = Path(__file__).parents[1] / "out" / "benchmarks" / "plans"
NO_PART = ("plans", "report", "cli", "live", "plots", "papers", "studies")  # they do not decide what a run gives


class KnownRuns:
    """The numbers of runs by point and replication, from the disk or from a run; NaN where a run broke."""

    def __init__(self, names: tuple[str, ...], runs: Runs, file: Path):
        self.names, self.runs, self.file = names, runs, file
        self._rows: dict[tuple[int, int], list[float]] = {}
        self._n_stored = 0
        if file.exists():
            with np.load(file) as stored:
                self._rows = dict(zip(map(tuple, stored["where"].tolist()), stored["rows"].tolist(), strict=True))
            self._n_stored = len(self._rows)

    def ask(self, wanted: Iterable[tuple[int, range]]) -> None:
        """Do the runs that are not known."""
        missing = [(p, range(r, r + 1)) for p, replications in wanted for r in replications if (p, r) not in self._rows]
        self.runs.ask(missing)
        for point, one in missing:
            is_broken = bool(self.runs.why(point, one))
            found = {} if is_broken else self.runs.values(point, one, self.names)
            self._rows[point, one.start] = [float("nan") if is_broken else float(found[name][0]) for name in self.names]

    def values(self, point: int, replications: Iterable[int]) -> dict[str, np.ndarray]:
        """Return each number of a point, one value per replication."""
        which = list(replications)
        self.ask((point, range(r, r + 1)) for r in which)
        table = np.array([self._rows[point, r] for r in which]).reshape(len(which), len(self.names))
        return dict(zip(self.names, table.T, strict=True))

    def save(self) -> None:
        """Keep all on disk."""
        if len(self._rows) > self._n_stored:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            draft = self.file.with_suffix(".draft.npz")
            np.savez_compressed(draft, where=np.array(list(self._rows)), rows=np.array(list(self._rows.values())))
            draft.replace(self.file)
            self._n_stored = len(self._rows)


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Every point of a plan: ``values`` of each number [points, seeds], NaN where a run left jobs unfinished.

    ``runs`` does what a search asks for beyond these seeds.
    """

    plan: Plan
    space: Space
    known: Screened
    values: Mapping[str, np.ndarray]
    runs: KnownRuns
    n_fresh: int

    def goals(self, point: int) -> np.ndarray:
        """[objectives] the means of a point over fresh seeds, less is better; infinite if it breaks a limit there."""
        replications = range(FRESH, FRESH + (self.n_fresh if self.known.is_random[point] else 1))
        values = self.runs.values(point, replications)
        if not np.isfinite(np.array(list(values.values()))).all():
            return np.full(len(self.plan.objectives), np.inf)
        holds = all(limit.margin(values[limit.number].mean()) >= 0 for limit in self.plan.limits)
        found = [np.mean(goal.sign * goal.expression.value(values)) for goal in self.plan.objectives]
        return np.array(found) if holds else np.full(len(found), np.inf)

    def contenders(self) -> list[int]:
        """The points that may keep the limits and that no point, which surely does, surely beats in all objectives.

        The same few seeds for all points err together, so other seeds say which point is best.
        """
        signed = np.array(
            [g.sign * np.broadcast_to(g.expression.value(dict(self.values)), self._shape) for g in self.plan.objectives]
        )
        margins = np.array([limit.margin(self.values[limit.number]) for limit in self.plan.limits])
        low, high = _within(margins)
        whole = np.isfinite(signed).all(axis=(0, 2))
        may = np.flatnonzero(whole & (high >= 0).all(axis=0))
        sure = np.flatnonzero(whole & (low >= 0).all(axis=0))
        sure = sure[np.argsort(signed[0, sure].mean(axis=1), kind="stable")]
        beaten = [any(self._beats(signed, one, point) for one in sure) for point in may]
        return [int(point) for point, is_beaten in zip(may, beaten, strict=True) if not is_beaten]

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.values.values())).shape

    @staticmethod
    def _beats(signed: np.ndarray, one: int, other: int) -> bool:
        low, _ = _within(signed[:, other] - signed[:, one])
        return bool((low >= 0).all() and (low > 0).any())

    @cached_property
    def best(self) -> np.ndarray:
        """[objectives, points] the goals of the contenders that keep the limits over fresh seeds."""
        found = np.array([self.goals(point) for point in self.contenders()]).T
        return found[:, np.isfinite(found).all(axis=0)]

    @cached_property
    def worst(self) -> np.ndarray:
        """[objectives] the largest values of points that keep the limits by the seeds that all have."""
        kept = [(limit.margin(self.values[limit.number].mean(axis=1)) >= 0) for limit in self.plan.limits]
        every = [goal.sign * goal.expression.value(dict(self.values)) for goal in self.plan.objectives]
        means = np.array([np.broadcast_to(values, self._shape).mean(axis=1) for values in every])
        return means[:, np.all(kept, axis=0) & np.isfinite(means).all(axis=0)].max(axis=1)


def _within(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the means over the last axis that are hardly ever wrong."""
    mean = values.mean(axis=-1)
    error = SURE * values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
    return mean - error, mean + error


@contextmanager
def enumerated(mapping: Mapping[str, Any], n_seeds: int, n_fresh: int) -> Iterator[Enumerated]:
    """Run every point that the screen leaves, and those that may be the best with fresh seeds."""
    asked = plan_of(mapping)
    space = Space(asked)
    known = screened(asked, space)
    values = {name: np.full((space.n, n_seeds), np.nan) for name in asked.names}
    with (
        tempfile.TemporaryDirectory() as folder,
        Runs(asked, space, known, Path(folder), ("loky", 1, None), in_memory=True) as doing,
    ):
        runs = KnownRuns(asked.names, doing, KEPT / f"{_digest(mapping)}.npz")
        of_point = {int(p): range(n_seeds if known.is_random[p] else 1) for p in known.left}
        runs.ask(of_point.items())
        for point, replications in of_point.items():
            for name, found in runs.values(point, replications).items():
                values[name][point] = found
        runs.save()
        yield Enumerated(asked, space, known, values, runs, n_fresh)
        runs.save()


def _digest(mapping: Mapping[str, Any]) -> str:
    found = hashlib.sha256(json.dumps(mapping, sort_keys=True).encode())
    for file in sorted(SOURCE.rglob("*")):
        part = file.relative_to(SOURCE).parts
        if file.is_file() and part[0] not in NO_PART and file.suffix not in (".pyc", ".nbi", ".nbc"):
            found.update("/".join(part).encode() + file.read_bytes())
    return found.hexdigest()[:16]


class Looked:
    """Runs that are looked up, in the order of its seeds; stands in for the runs of a plan."""

    def __init__(self, every: Enumerated, seed: int):
        self.plan, self.every = every.plan, every
        self.n_seeds = next(iter(every.values.values())).shape[1]
        self.order = np.random.default_rng(seed).permutation(self.n_seeds).tolist()
        self.n_asked = self.n_done = 0
        self._asked: set[tuple[int, int]] = set()

    def ask(self, wanted: Iterable[tuple[int, range]], *, counts: bool = True) -> None:
        for point, replications in wanted:
            new = {(point, r) for r in replications} - self._asked
            self._asked |= new
            self.n_asked += len(new) * counts

    def why(self, point: int, replications: range) -> str:
        seen = list(self.values(point, replications, self.plan.names).values())
        return "" if np.isfinite(seen).all() else "a run left jobs unfinished"

    def values(self, point: int, replications: range, names: Iterable[str]) -> dict[str, np.ndarray]:
        if point in self.every.known.why:  # overloaded: it is not run, and counts as broken
            return {name: np.full(len(replications), np.nan) for name in names}
        if not self.every.known.is_random[point]:
            stored = [0] * len(replications)
        else:
            stored = [self.order[r] if r < self.n_seeds else r for r in replications]
        found = self.every.runs.values(point, stored)
        return {name: found[name] for name in names}
