"""How good the search of a plan is at 2 % of the runs of an enumeration, compared with random search and plain Optuna.

Every point of each space that the screen leaves is run. The searches then look their runs up, each in an order of seeds
of its own, so that a search costs no simulation. What they recommend is judged by the means over 200 fresh seeds. The
search is that of ``vinesim plan`` without its own runs on fresh seeds, which would find most of what does not hold.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.plan_spaces import spaces
from benchmarks.plan_truth import Enumerated, Looked, enumerated
from benchmarks.report import Report, Table, Target, figure
from vinesim.plans.answer import front
from vinesim.plans.board import Board
from vinesim.plans.runs import Runs
from vinesim.plans.search import search
from vinesim.plans.solve import plan

SHARE, PER_POINT = 0.02, 20  # of an enumeration with this number of runs of each point
SHARES = (SHARE, 0.05, 0.1)  # for fronts
NAIVE_RUNS = 5  # of a point, by the searches without statistics
LIMIT_PCT, WORST_PCT, VOLUME = 1.0, 4.0, 0.99  # what was asked
BROKEN = 1e9


Found = list[int]  # the recommended point, or those of the front


def by_plan(every: Enumerated, seed: int, budget: int) -> Found:
    question = replace(every.plan, space=replace(every.plan.space, seed=seed))
    question = replace(question, budget=replace(question.budget, runs=budget))
    runs: Any = Looked(every, seed)
    board = Board(question, every.space, every.known, runs)
    search(board)
    if len(question.objectives) > 1:
        return [candidate.point for candidate in front(board)]
    return [] if board.best is None else [board.best.point]


def by_random(every: Enumerated, seed: int, budget: int) -> Found:
    points = np.random.default_rng(seed).permutation(every.space.n)[: budget // NAIVE_RUNS]
    return _best(every, seed, points.tolist())


def by_optuna(every: Enumerated, seed: int, budget: int) -> Found:
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
    for _ in range(budget // NAIVE_RUNS):
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


SEARCHES: dict[str, Callable[[Enumerated, int, int], Found]] = {
    "vinesim plan": by_plan,
    "random": by_random,
    "Optuna": by_optuna,
}


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
        with enumerated(mapping, n_seeds, n_fresh) as every:
            shares = (SHARE,) if len(every.plan.objectives) == 1 else SHARES
            for share in shares:
                found_rows, targets = measured(name, every, share, n_searches)
                rows += found_rows
                report.targets += targets if share == SHARE and not quick else []
    columns = [
        "Space",
        "points",
        "runs",
        "search",
        "regret, median %",
        "90th %",
        "hypervolume",
        "found",
        "holds on fresh seeds",
    ]
    note = (
        f"{n_searches} searches each. Runs: the share of {PER_POINT} runs of every point. Regret and hypervolume: by "
        f"the means over {n_fresh} seeds that no search has seen, of recommendations that keep the limits there "
        f"(holds). The points that may be the best by {n_seeds} seeds are run with these {n_fresh} too."
    )
    report.tables.append(Table("Searches against enumeration", columns, rows, note))
    report.tables.append(_overhead(quick))
    return report


def measured(name: str, every: Enumerated, share: float, n_searches: int) -> tuple[list[list[str]], list[Target]]:
    """Return the rows of a space, one for each kind of search, and the targets of the first."""
    budget = int(share * PER_POINT * every.space.n)
    rows, targets = [], []
    for kind, look_for in SEARCHES.items():
        found = [look_for(every, seed, budget) for seed in range(n_searches)]
        goals = {point: every.goals(point) for point in sorted({p for points in found for p in points})}
        rows.append([name, f"{every.space.n:,}", f"{share:.0%}", kind, *_row(every, goals, found)])
        if look_for is by_plan:
            targets = _targets(name, every, goals, found)
    return rows, targets


Goals = Mapping[int, np.ndarray]  # of points, over fresh seeds


def _row(every: Enumerated, goals: Goals, found: list[Found]) -> list[str]:
    kept = [np.isfinite(goals[point]).all() for points in found for point in points]
    share = f"{np.mean(kept):.0%}" if kept else "-"
    n_found = f"{sum(bool(points) for points in found)} of {len(found)}"
    if len(every.plan.objectives) > 1:
        return ["", "", f"{np.median(_volumes(every, goals, found)):.3f}", n_found, share]
    regret = _regrets(every, goals, found)
    words = [f"{np.percentile(regret, q):.2f}" if len(regret) else "-" for q in (50, 90)]
    return [*words, "", n_found, share]


def _regrets(every: Enumerated, goals: Goals, found: list[Found]) -> np.ndarray:
    """Of the recommendations that keep the limits over fresh seeds, %."""
    best = every.best[0].min()
    regret = np.array([100 * (goals[point][0] - best) / abs(best) for points in found for point in points])
    return regret[np.isfinite(regret)]


def _volumes(every: Enumerated, goals: Goals, found: list[Found]) -> list[float]:
    whole = volume(every.best, every.worst)
    return [volume(np.array([goals[p] for p in points]).reshape(-1, 2).T, every.worst) / whole for points in found]


def _targets(name: str, every: Enumerated, goals: Goals, found: list[Found]) -> list[Target]:
    kept = np.mean([np.isfinite(goals[point]).all() for points in found for point in points])
    holds = Target(f"{name}: holds on fresh seeds", float(100 * kept), 95.0, None, " %")
    if len(every.plan.objectives) > 1:
        median = float(np.median(_volumes(every, goals, found)))
        return [Target(f"{name}: hypervolume", median, VOLUME, None, ""), holds]
    regret = _regrets(every, goals, found)
    return [
        Target(f"{name}: median regret", float(np.median(regret)), LIMIT_PCT, None, " %", True),
        Target(f"{name}: 90th percentile", float(np.percentile(regret, 90)), WORST_PCT, None, " %", True),
        holds,
    ]


def _overhead(quick: bool) -> Table:
    """The search compared with the simulation, for a plan of many runs of 2,500 tasks."""
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
    return Table("The search compared with its runs of 2,500 tasks", columns, [row], "One process.")
