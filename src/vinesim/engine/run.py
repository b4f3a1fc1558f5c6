"""The interface of both engines to the rest of the package: one run, from its first event to its last."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from vinesim.model.result import EarlyEnds


class Run(Protocol):
    """A run of one scenario's model under one policy. Tasks and units are numbered as in the model."""

    scratch: Any  # the policy's own arrays, by name

    @property
    def now_us(self) -> float:
        """The clock."""

    @property
    def n_events(self) -> int:
        """The number of events handled so far."""

    @property
    def n_done(self) -> int:
        """The number of tasks that have finished or were dropped."""

    @property
    def n_pending(self) -> int:
        """The number of tasks that have arrived and not started."""

    @property
    def unit_load(self) -> np.ndarray:
        """[U] the demand on each unit now."""

    def compile(self) -> None:
        """Get ready, which may take seconds the first time."""

    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, gives_up: Callable[[], bool] | None = None
    ) -> int:
        """Handle events until one of the reasons of ``engine.contract``, which is returned; LEFT if ``gives_up``, which
        is asked at intervals, said so."""

    def pending(self) -> np.ndarray:
        """[P] int64: the pending tasks, oldest first."""

    def columns(self) -> dict[str, np.ndarray]:
        """Return the task columns that the run filled, [N] each: unit, init, start and finish."""

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks hold, or held last, beside their own: task [H] and unit [H] int32, by task."""

    def followers(self) -> np.ndarray:
        """[F] int64: the tasks that were consolidated with another task, their leader."""

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """For running tasks on units that share their speed: whether they have had all their service, and end at this
        instant, one after another."""

    def set_clock(self, now_us: float) -> None:
        """Set the clock, given that nothing happened until then."""

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Carry out a batch policy's answer: move running tasks, then start pending ones; unit -1 leaves a task."""

    def open(self, units: np.ndarray) -> None:
        """Mark the units' node as up."""

    def close(self, units: np.ndarray) -> None:
        """Mark the units' node as down; they take no more tasks."""

    def interrupt(self, tasks: np.ndarray, why: np.ndarray) -> None:
        """Make the running tasks, in increasing order, pending again: all those on their units."""

    def withdraw(self, jobs: np.ndarray) -> None:
        """Drop the pending tasks of jobs that have arrived, and end those that run."""

    def early_ends(self) -> EarlyEnds:
        """Return the segments that ended before their tasks were done, in the order of time; of runs that log them."""

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks held beside their own in segments that ended early, without the last ones of
        tasks: the position of each segment among those that no limit ended [H], and unit [H] int32."""

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        """Let the first jobs arrive at 0 without asking the policy, and start some of their tasks."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing will finish or arrive, and the policy waits for no time."""

    def ask(self, after_outage: bool) -> None:
        """Ask the policy next, at this instant."""
