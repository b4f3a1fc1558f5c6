"""What both engines offer to the rest of the package: one run, from its first event to its last."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Run(Protocol):
    """A run of one scenario's model under one policy. Tasks and units are numbered as in the model."""

    scratch: Any  # the policy's own arrays, by name

    @property
    def now_us(self) -> float:
        """The clock."""

    @property
    def n_events(self) -> int:
        """Events handled so far."""

    @property
    def n_done(self) -> int:
        """Tasks that have finished or were dropped."""

    @property
    def n_pending(self) -> int:
        """Tasks that have arrived and not started."""

    @property
    def unit_load(self) -> np.ndarray:
        """[U] demand that each unit holds now."""

    def compile(self) -> None:
        """Get ready, which may take seconds the first time."""

    def advance(
        self, horizon_us: float, pause_us: float, max_events: int, gives_up: Callable[[], bool] | None = None
    ) -> int:
        """Handle events until one of the reasons of ``engine.contract``, which is returned; LEFT where ``gives_up``,
        asked now and then, said so."""

    def pending(self) -> np.ndarray:
        """[P] int64: the pending tasks, oldest first."""

    def columns(self) -> dict[str, np.ndarray]:
        """The task columns that the run filled, [N] each: unit, init, start and finish."""

    def followers(self) -> np.ndarray:
        """[F] int64: the tasks that were consolidated with another one, their leader."""

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """Of running tasks on units that share their speed: those that have had all their time, and end at this
        instant, one after the other."""

    def set_clock(self, now_us: float) -> None:
        """It is so late now, and nothing happened until then."""

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """What a batch policy answered: move running tasks, then start pending ones; unit -1 leaves a task as it is."""

    def open(self, units: np.ndarray) -> None:
        """The units' node comes up."""

    def close(self, units: np.ndarray) -> None:
        """The units' node goes down; they take no more tasks."""

    def interrupt(self, tasks: np.ndarray, is_follower: np.ndarray) -> None:
        """The running tasks, rising, are pending again: all those of their units."""

    def ask_after_outage(self) -> None:
        """The policy is asked next, at this instant."""
