"""Samples behind the screen: Optuna's tree-structured Parzen estimator, started with the points that have been run.

Source: Watanabe, Tree-structured Parzen Estimator, arXiv 2304.11127; constraints as in Optuna's documentation.
"""

import math
import warnings
from typing import TYPE_CHECKING, Any

from vinesim.model.packages import is_installed
from vinesim.plans.board import Board
from vinesim.plans.candidate import Candidate
from vinesim.plans.race import race
from vinesim.plans.space import NOT_MADE

if TYPE_CHECKING:
    import optuna

SHARE = 0.5  # of the runs that are left: what samples may take
AT_A_TIME = 4  # points raced together
MOST_ASKED = 200  # samples of known points after which there are no more; each takes longer than the one before
FEWEST = 100  # points below which samples are not worth their time
MOST_RUNS = 20  # replications of a sample
WORST = 1e9


def sample(board: Board) -> None:
    """Sample until half of what is left of the budget is spent, or too many samples have given nothing new."""
    if not is_installed("optuna") or len(board.screened.left) < FEWEST or board.best is None:
        return
    board.stage = "samples"
    study, distributions = _study(board)
    stop_at = board.n_left * (1 - SHARE)
    idle = 0
    while board.n_left > stop_at and idle < MOST_ASKED:
        trials: dict[int, Any] = {}
        while len(trials) < AT_A_TIME and idle < MOST_ASKED:
            trial = study.ask(distributions)
            point = board.space.number(tuple(trial.params[choice.name] for choice in board.space.choices))
            if point is not None and point not in trials and board.is_candidate(point):
                trials[point] = trial
            else:
                idle += 1
                _tell(study, trial, board, point)
        race(board, trials, MOST_RUNS)
        for point, trial in trials.items():
            _tell(study, trial, board, point)


def _study(board: Board) -> "tuple[optuna.Study, dict[str, Any]]":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, Any] = {
        choice.name: optuna.distributions.IntDistribution(0, len(choice) - 1)
        if choice.is_ordered
        else optuna.distributions.CategoricalDistribution(list(range(len(choice))))
        for choice in board.space.choices
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls multivariate experimental
        sampler = optuna.samplers.TPESampler(seed=board.plan.space.seed % 2**32, multivariate=True, n_startup_trials=0)
        study = optuna.create_study(sampler=sampler)
    for point in sorted(board.candidates):
        row = board.space.positions[point].tolist()
        names = [choice.name for choice in board.space.choices]
        study.enqueue_trial({name: max(0, at) if at != NOT_MADE else 0 for name, at in zip(names, row, strict=True)})
        _tell(study, study.ask(distributions), board, point)
    return study, distributions


def _tell(study: "optuna.Study", trial: Any, board: Board, point: int | None) -> None:
    """Tell the sampler what is known about a point: from runs, or from the screen."""
    candidate = None if point is None else board.candidates.get(point)
    if point is None:
        value, missed = WORST, 1.0
    elif candidate is not None and candidate.value() < math.inf:
        value, missed = candidate.value(), _missed(candidate)
    else:
        bound = float(board.screened.bound[point, 0])
        value = bound if math.isfinite(bound) else WORST
        missed = float(board.screened.load[point]) if point in board.screened.why else 0.0
    trial.set_constraint("limits", min(missed, WORST))
    study.tell(trial, value)


def _missed(candidate: Candidate) -> float:
    shortfall = candidate.shortfall
    return shortfall if math.isfinite(shortfall) else WORST
