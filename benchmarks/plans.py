"""How good the search of a plan is at 2 % of the runs of an enumeration, beside random search and plain Optuna.

Every point of each space that the screen leaves is run. The searches then look their runs up, each in an order of seeds
of its own, so that a search costs no simulation. What they recommend is judged by the means over all seeds, and by 200
fresh ones. The search is that of ``vinesim plan`` without its own runs on fresh seeds, which would find most of what
does not hold.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plan_spaces import spaces
from benchmarks.report import Report, Table, Target, figure
from vinesim.formats.plan.file import plan as plan_of
from vinesim.model.plan import FRESH, Plan
from vinesim.plans.answer import front
from vinesim.plans.board import Board
from vinesim.plans.runs import Runs
from vinesim.plans.screen import Screened, screened
from vinesim.plans.search import search
from vinesim.plans.solve import plan
from vinesim.plans.space import Space

SHARE, PER_POINT = 0.02, 20  # of an enumeration with so many runs of each point
NAIVE_RUNS = 5  # of a point, by the searches without statistics
LIMIT_PCT, WORST_PCT, VOLUME = 1.0, 4.0, 0.99  # what was asked
BROKEN = 1e9


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Every point of a plan: ``values`` of each number [points, seeds], NaN where a run left jobs unfinished.

    ``runs`` does what a search asks for beyond these seeds.
    """

    plan: Plan
    space: Space
    known: Screened
    values: Mapping[str, np.ndarray]
    runs: Runs

    @property
    def budget(self) -> int:
        return int(SHARE * PER_POINT * self.space.n)

    def goals(self) -> np.ndarray:
        """[objectives, points] the mean objectives, less is better; infinite for points beyond a limit."""
        found = []
        holds = self.holds(self.values)
        for goal in self.plan.objectives:
            mean = goal.sign * np.asarray(goal.expression.value(dict(self.values))).mean(axis=1)
            found.append(np.where(holds & np.isfinite(mean), mean, np.inf))
        return np.array(found)

    def holds(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """[points] whether the means over the seeds keep the limits."""
        kept = [limit.margin(values[limit.number].mean(axis=1)) >= 0 for limit in self.plan.limits]
        return np.all(kept, axis=0)


@contextmanager
def enumerated(mapping: Mapping[str, Any], n_seeds: int) -> Iterator[Enumerated]:
    """Run every point that the screen leaves."""
    asked = plan_of(mapping)
    space = Space(asked)
    known = screened(asked, space)
    values = {name: np.full((space.n, n_seeds), np.nan) for name in asked.names}
    with runs_of(asked, space, known) as runs:
        of_point = {int(p): range(n_seeds if known.is_random[p] else 1) for p in known.left}
        runs.ask(of_point.items())
        for point, replications in of_point.items():
            if not runs.why(point, replications):
                for name, found in runs.values(point, replications, asked.names).items():
                    values[name][point] = found
        yield Enumerated(asked, space, known, values, runs)


@contextmanager
def runs_of(asked: Plan, space: Space, known: Screened) -> Iterator[Runs]:
    """Provide runs that are kept in memory, in this process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Runs(asked, space, known, Path(folder), ("loky", 1, None), in_memory=True) as runs,
    ):
        yield runs


class Looked:
    """Runs that are looked up, in an order of seeds of its own; stands in for the runs of a plan."""

    def __init__(self, every: Enumerated, seed: int):
        self.plan, self.every = every.plan, every
        self.n_seeds = next(iter(every.values.values())).shape[1]
        self.order = np.random.default_rng(seed).permutation(self.n_seeds)
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
        stored = self.order[[r for r in replications if r < self.n_seeds]]
        found = {name: self.every.values[name][point, stored] for name in names}
        if replications.stop <= self.n_seeds:
            return found
        more, runs = range(self.n_seeds, replications.stop), self.every.runs
        runs.ask([(point, more)])
        rest = {name: np.full(len(more), np.nan) for name in found}
        rest = rest if runs.why(point, more) else runs.values(point, more, found)
        return {name: np.concatenate([values, rest[name]]) for name, values in found.items()}


Found = list[int]  # the recommended point, or those of the front


def by_plan(every: Enumerated, seed: int) -> Found:
    question = replace(every.plan, space=replace(every.plan.space, seed=seed))
    question = replace(question, budget=replace(question.budget, runs=every.budget))
    runs: Any = Looked(every, seed)
    board = Board(question, every.space, every.known, runs)
    search(board)
    if len(question.objectives) > 1:
        return [candidate.point for candidate in front(board)]
    return [] if board.best is None else [board.best.point]


def by_random(every: Enumerated, seed: int) -> Found:
    points = np.random.default_rng(seed).permutation(every.space.n)[: every.budget // NAIVE_RUNS]
    return _best(every, seed, points.tolist())


def by_optuna(every: Enumerated, seed: int) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    choices, looked = every.space.choices, Looked(every, seed)
    axes = {
        choice.name: optuna.distributions.IntDistribution(0, len(choice) - 1)
        if choice.is_ordered
        else optuna.distributions.CategoricalDistribution(list(range(len(choice))))
        for choice in choices
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: trial.user_attrs["missed"])
        study = optuna.create_study(sampler=sampler, directions=["minimize"] * len(every.plan.objectives))
    points = []
    for _ in range(every.budget // NAIVE_RUNS):
        trial = study.ask(axes)
        point = every.space.number(tuple(trial.params[choice.name] for choice in choices))
        assert point is not None
        goals, missed = _seen(looked, point)
        trial.set_user_attr("missed", [missed])
        study.tell(trial, goals)
        points.append(point)
    return _best(every, seed, points)


def _seen(looked: Looked, point: int) -> tuple[list[float], float]:
    """The objectives of a point by few runs, and by how much it misses its limits at most."""
    question = looked.plan
    values = looked.values(point, range(NAIVE_RUNS), question.names)
    if not np.isfinite(list(values.values())).all():
        return [BROKEN] * len(question.objectives), BROKEN
    goals = [goal.sign * float(np.mean(goal.expression.value(values))) for goal in question.objectives]
    return goals, max(-float(limit.margin(values[limit.number].mean())) for limit in question.limits)


def _best(every: Enumerated, seed: int, points: list[int]) -> Found:
    """The best of these points by the means of few runs, or those that no other one beats."""
    looked = Looked(every, seed)
    seen = {point: _seen(looked, point) for point in points}
    kept = {point: goals for point, (goals, missed) in seen.items() if missed <= 0}
    if len(every.plan.objectives) == 1:
        return [min(kept, key=lambda point: (kept[point], point))] if kept else []
    return [p for p in kept if not any(np.all(np.less_equal(o, kept[p])) and o != kept[p] for o in kept.values())]


SEARCHES: dict[str, Callable[[Enumerated, int], Found]] = {
    "vinesim plan": by_plan,
    "random": by_random,
    "Optuna": by_optuna,
}


def fresh_holds(every: Enumerated, points: set[int], n: int) -> dict[int, bool]:
    """Whether the mean over fresh seeds keeps the limits, by point."""
    found = {}
    for point in sorted(points):
        replications = range(FRESH, FRESH + (n if every.known.is_random[point] else 1))
        every.runs.ask([(point, replications)])
        found[point] = not every.runs.why(point, replications)
        if found[point]:
            values = every.runs.values(point, replications, every.plan.names)
            found[point] = all(limit.margin(values[limit.number].mean()) >= 0 for limit in every.plan.limits)
    return found


def volume(goals: np.ndarray, worst: np.ndarray) -> float:
    """The area that points [2, n] dominate, up to the worst values."""
    area, best = 0.0, worst[1]
    for x, y in sorted(goals.T.tolist()):
        if x <= worst[0] and y < best:
            area += (worst[0] - x) * (best - y)
            best = y
    return area


def run(quick: bool) -> Report:
    n_seeds, n_searches, n_fresh, step = (8, 3, 20, 4) if quick else (24, 20, 200, 1)
    report, rows = Report(), []
    for name, mapping in spaces(step).items():
        with enumerated(mapping, n_seeds) as every:
            found_rows, targets = measured(name, every, n_searches, n_fresh)
        rows += found_rows
        report.targets += [] if quick else targets
    columns = [
        "Space",
        "points",
        "search",
        "regret, median %",
        "90th %",
        "hypervolume",
        "found",
        "holds on fresh seeds",
    ]
    note = (
        f"{n_searches} searches with {SHARE:.0%} of {PER_POINT} runs of every point. Regret: of recommendations that "
        f"keep the limits by the means over all {n_seeds} seeds. Holds: the means over {n_fresh} fresh seeds keep them."
    )
    report.tables.append(Table("Searches against enumeration", columns, rows, note))
    report.tables.append(_overhead(quick))
    return report


def measured(name: str, every: Enumerated, n_searches: int, n_fresh: int) -> tuple[list[list[str]], list[Target]]:
    """Return the rows of a space, one for each kind of search, and the targets of the first."""
    goals = every.goals()
    rows, targets = [], []
    for kind, look_for in SEARCHES.items():
        found = [look_for(every, seed) for seed in range(n_searches)]
        holds = fresh_holds(every, {point for points in found for point in points}, n_fresh)
        rows.append([name, f"{every.space.n:,}", kind, *_row(goals, found, holds)])
        if look_for is by_plan:
            targets = _targets(name, goals, found)
    return rows, targets


def _row(goals: np.ndarray, found: list[Found], holds: Mapping[int, bool]) -> list[str]:
    kept = [holds[point] for points in found for point in points]
    share = f"{np.mean(kept):.0%}" if kept else "-"
    n_found = f"{sum(bool(points) for points in found)} of {len(found)}"
    if len(goals) > 1:
        return ["", "", figure(float(np.median(_volumes(goals, found)))), n_found, share]
    regret = _regrets(goals, found)
    words = [f"{np.percentile(regret, q):.2f}" if len(regret) else "-" for q in (50, 90)]
    return [*words, "", n_found, share]


def _regrets(goals: np.ndarray, found: list[Found]) -> np.ndarray:
    """Of the recommendations that keep the limits by the means over all seeds, %."""
    best = goals[0].min()
    regret = np.array([100 * (goals[0][point] - best) / abs(best) for points in found for point in points])
    return regret[np.isfinite(regret)]


def _volumes(goals: np.ndarray, found: list[Found]) -> list[float]:
    can = np.isfinite(goals).all(axis=0)
    worst = goals[:, can].max(axis=1)
    whole = volume(goals[:, can], worst)
    return [volume(goals[:, [p for p in points if can[p]]], worst) / whole for points in found]


def _targets(name: str, goals: np.ndarray, found: list[Found]) -> list[Target]:
    if len(goals) > 1:
        return [Target(f"{name}: hypervolume", float(np.median(_volumes(goals, found))), VOLUME, None, "")]
    regret = _regrets(goals, found)
    return [
        Target(f"{name}: median regret", float(np.median(regret)), LIMIT_PCT, None, " %", True),
        Target(f"{name}: 90th percentile", float(np.percentile(regret, 90)), WORST_PCT, None, " %", True),
    ]


def _overhead(quick: bool) -> Table:
    """The search beside the simulation, for a plan of many runs of 2,500 tasks."""
    n_runs = 100 if quick else 2000
    mapping = {
        "scenario": {
            **spaces(1)["two types and two policies, price and latency"]["scenario"],
            "workload": {
                "generator": "mix",
                "options": {"n_jobs": 500, "tasks_per_job": 5, "operations": 5e6, "shares": {"INT": 1, "MEM": 2}},
            },
            "arrivals": {"poisson": {"mean": 100}},
        },
        "choose": {f"datacenter.racks[0].units.{kind}": {"from": 0, "to": 40} for kind in ("CPU_INTEL", "GPU")}
        | {"policy": ["high", "earliest_completion"]},
        "minimize": {"utility": "cost.purchase / 1000 + 0.1 * jobs.latency_us.p99"},
        "limits": {"jobs.latency_us.p99": {"below": 900}},
        "budget": {"runs": n_runs},
        "confirm": {"replications": 0, "horizon": 1},
    }
    plan(mapping | {"budget": {"runs": 20}}, workers=1)  # compiles
    spent = [0.0]
    own = Runs.ask

    def timed(self: Runs, *arguments: Any, **named: Any) -> None:
        begun = time.perf_counter()
        own(self, *arguments, **named)
        spent[0] += time.perf_counter() - begun

    Runs.ask = timed  # type: ignore[method-assign]
    try:
        begun = time.perf_counter()
        found = plan(mapping, workers=1)
        total_s = time.perf_counter() - begun
    finally:
        Runs.ask = own  # type: ignore[method-assign]
    rest_s = total_s - spent[0]
    row = [f"{found.counts['runs']:,}", figure(spent[0]), figure(rest_s), f"{rest_s / spent[0]:.0%}"]
    columns = ["runs", "in runs and their store, s", "search, screen and answer, s", "share"]
    return Table("The search beside its runs of 2,500 tasks", columns, [row], "One process.")
