"""Runs that cost nothing: a latency that is a formula of the point, with noise that points share by seed."""

from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np

from tests.plans.conftest import CPUS, GPUS, MIX
from vinesim.formats.plan.file import plan
from vinesim.model.plan import Plan
from vinesim.plans.board import Board
from vinesim.plans.screen import Screened, screened
from vinesim.plans.space import Space

ROUGH = {"high": 1.3, "flat": 1.0, "pref": 1.15, "earliest_finish": 1.05}


@cache
def normal(*key: int) -> float:
    """Return a normally distributed number that depends only on the key."""
    return float(np.random.default_rng(key).standard_normal())


class SyntheticRuns:
    """Returns numbers of points as the runs of a plan do; ``price`` adds costs without noise."""

    does_more = True

    def __init__(self, plan: Plan, space: Space, known: Screened, seed: int, noise: float = 0.1):
        self.plan, self.space, self.known, self.seed, self.noise = plan, space, known, seed, noise
        self.n_asked = self.n_beyond = self.n_done = 0
        self._asked: set[tuple[int, int]] = set()

    def ask(self, wanted, *, counts=True):
        for point, replications in wanted:
            new = {(point, r) for r in replications} - self._asked
            self._asked |= new
            self.n_asked += len(new) * counts
            self.n_beyond += len(new) * (not counts)

    def why(self, point, replications):
        return ""

    def latency(self, point: int) -> float:
        """Return the true mean latency of a point."""
        choice, load = self.space.label(point), float(self.known.load[point])
        wait = 40 * load**4 / max(1 - load, 1e-3)
        bumps = 1 + 0.1 * np.sin(choice[CPUS] * 1.7) * np.cos(choice[GPUS] * 2.3)  # more is not always better
        return (100 + wait * ROUGH[choice["policy"]]) * bumps

    def values(self, point, replications, names):
        latency = self.latency(point)
        found = {}
        for name in names:
            if name in self.known.known[point]:
                found[name] = np.full(len(replications), self.known.known[point][name])
                continue
            values = []
            for r in replications:
                shared, own = normal(self.seed, int(r)), normal(self.seed, int(r), int(point))
                values.append(latency * np.exp(self.noise * (0.8 * shared + 0.6 * own)))
            found[name] = np.array(values)
        return found


_known: dict[str, Screened] = {}  # what is known of points before any run; searches only read it


def board(seed: int, runs: int, limit: float = 130.0, n: int = 24, **more) -> Board:
    """A board over (n + 1)^2 x 4 points with synthetic runs."""
    scenario = deepcopy(MIX)
    scenario["arrivals"] = {"poisson": {"mean": 40}}
    scenario["affinity"] = {"absolute": {"CPU_INTEL": {"INT": 5e4, "MEM": 4e4}, "GPU": {"INT": 3e5, "MEM": 1.5e4}}}
    mapping = {
        "scenario": scenario,
        "choose": {CPUS: {"from": 0, "to": n}, GPUS: {"from": 0, "to": n}, "policy": list(ROUGH)},
        "minimize": "cost.purchase",
        "limits": {"jobs.latency_us.p99": {"below": limit}},
        "budget": {"runs": runs},
        **more,
    }
    question = plan(mapping, Path())
    space = Space(question)
    key = repr({name: value for name, value in mapping.items() if name not in ("budget", "more_is_better")})
    if key not in _known:
        _known[key] = screened(question, space)
    own = SyntheticRuns(question, space, _known[key], seed)
    return Board(question, space, own.known, own)
