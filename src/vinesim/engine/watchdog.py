"""How long to wait for a working engine: report the run's progress, and let the observer stop it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from vinesim.engine.run import Run

SAY_S = 3.0  # a decision that takes longer is reported
LEAVE_S = 1.0  # a run that should stop is abandoned if one decision takes longer


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    n_events: int
    now_us: float
    n_done: int
    n_tasks: int


class Watchdog:
    """Watches one run from outside, even while its engine works on another thread."""

    def __init__(
        self,
        run: Run,
        policy: str,
        n_tasks: int,
        on_progress: Callable[[Progress], bool | None] | None,
        on_message: Callable[[str], None] | None,
    ):
        self._run, self._policy, self._n_tasks = run, policy, n_tasks
        self._on_progress, self._on_message = on_progress, on_message
        self._mark: tuple[int, ...] = ()
        self._since_s = time.perf_counter()
        self.is_stopped = False

    def report_progress(self) -> bool:
        """Report the run's progress. Returns whether it should stop."""
        if self._on_progress is not None and not self.is_stopped:
            run = self._run
            self.is_stopped = bool(self._on_progress(Progress(run.n_events, run.now_us, run.n_done, self._n_tasks)))
        return self.is_stopped

    def should_abandon(self) -> bool:
        """The same while one decision lasts, from any thread. Returns whether the run is to stop."""
        waited_s = self._waited_s()
        if waited_s > SAY_S and self._on_message is not None:
            self._on_message(f"{self.words()}; Ctrl-C ends the run and keeps what is done")
            self._on_message = None
        return waited_s > LEAVE_S and self.report_progress()

    def words(self) -> str:
        """Say where the run is."""
        waited_s, now_us = self._waited_s(), self._run.now_us
        if waited_s < LEAVE_S:
            return f"at {now_us:g} us, under the policy {self._policy}"
        return f"the policy {self._policy}, called at {now_us:g} us, has not returned for {waited_s:.0f} s"

    def _waited_s(self) -> float:
        """Return how long nothing has happened in the run, that is how long one decision has taken."""
        run, now_s = self._run, time.perf_counter()
        mark = (run.n_events, run.n_pending, run.n_done)
        if mark != self._mark:
            self._mark, self._since_s = mark, now_s
        return now_s - self._since_s
