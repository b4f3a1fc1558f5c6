"""The interface of both engines to the rest of the package: one run, from its first event to its last."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from vinesim.model.outage import Outage
from vinesim.model.result import EarlyEnds, Serving


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
        self, horizon_us: float, pause_us: float, max_events: int, should_abandon: Callable[[], bool] | None = None
    ) -> int:
        """Handle events until one of the reasons of ``engine.contract``, which is returned; ABANDONED if
        ``should_abandon``, which is called at intervals, returned True."""

    def pending(self) -> np.ndarray:
        """[P] int64: the pending tasks, oldest first."""

    def columns(self) -> dict[str, np.ndarray]:
        """Return the task columns that the run filled, [N] each: unit, init, start and finish."""

    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks hold, or held last, besides their own: task [H] and unit [H] int32, by task."""

    def followers(self) -> np.ndarray:
        """[F] int64: the tasks that were consolidated with another task, their leader."""

    def is_due(self, tasks: np.ndarray) -> np.ndarray:
        """For running tasks on units that share their speed: whether they have had all their service, and end at this
        instant, one after another."""

    def set_clock(self, now_us: float) -> None:
        """Set the clock, given that nothing happened until then."""

    def peaks_mw(self) -> np.ndarray:
        """Return the most that each rack, and the datacenter, has drawn so far, mW; nothing if there are no caps."""

    def place(self, tasks: np.ndarray, units: np.ndarray, moves: np.ndarray) -> None:
        """Carry out a batch policy's answer: move running tasks, then start pending ones; unit -1 leaves a task."""

    def early_ends(self) -> EarlyEnds:
        """Return the segments that ended before their tasks were done, in the order of time; of runs that log them."""

    def early_held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the units that tasks held besides their own in segments that ended early, without the last ones of
        tasks: the position of each segment among those that no limit ended [H], and unit [H] int32."""

    def begin_placed(self, tasks: np.ndarray, units: np.ndarray, n_jobs: int) -> None:
        """Let the first jobs arrive at 0 without calling the policy, and start some of their tasks; then it is
        called."""

    def eligible_us(self) -> np.ndarray:
        """Return when each job became eligible; NaN: never. No values if no job waits for others."""

    def serving(self, end_us: float) -> Serving:
        """Return how requests fared on serving engines in a run that ended at that time."""

    def granted_us(self) -> np.ndarray:
        """Return when each task was given to its unit, where units take tasks ahead; NaN: never."""

    def failures(self) -> tuple[Outage, ...]:
        """Return the random failures of nodes so far."""
