"""What a run comes to: why it ended, and the columns that an engine fills, before anything is derived from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from vinesim.model.energy_parts import EnergyParts
from vinesim.model.outage import Outage


class ExitReason(StrEnum):
    """Why a run ended."""

    ALL_DONE = "ALL_DONE"  # every task has finished
    HORIZON = "HORIZON"  # the scenario's horizon came first
    STALLED = "STALLED"  # some pending tasks can never run
    ENDLESS = "ENDLESS"  # only tasks that never end are left
    INTERRUPTED = "INTERRUPTED"  # it was stopped from outside


FINISHED, PREEMPTED, MOVED, KILLED, INTERRUPTED, FAILED, WITHDRAWN, PREFILLED, CUT = range(9)  # why a segment ended
OUTCOMES = (
    "finished",
    "preempted",
    "moved",
    "killed",
    "interrupted",
    "failed",
    "withdrawn",
    "prefilled",
    "unfinished",
)


class EarlyEnds(NamedTuple):
    """Segments that ended before their tasks were done, L of them in the order of time; a task can have several.

    The task columns are the last segment of each task. A KILLED or WITHDRAWN task has no later one, so that its row
    here says when the segment in the columns ended; every other row is an earlier segment.
    """

    task: np.ndarray  # [L] int64
    unit: np.ndarray  # [L] int32, numbered as in the outcome
    init_us: np.ndarray  # [L] float64: when it was given to the unit
    start_us: np.ndarray  # [L] float64: when its data was there; it may be after the end
    end_us: np.ndarray  # [L] float64
    left: np.ndarray  # [L] float64: share of the task's work that is then left
    why: np.ndarray  # [L] int8: of OUTCOMES
    is_follower: np.ndarray  # [L] bool: it was consolidated with another task, its leader

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]] = ()) -> "EarlyEnds":
        """Return them from rows of plain values."""
        return cls.of_columns(zip(*rows, strict=True) if rows else [()] * len(cls._fields))

    @classmethod
    def of_columns(cls, columns: Iterable[Any]) -> "EarlyEnds":
        """Return them from their columns, which are copied."""
        dtypes = (np.int64, np.int32, np.float64, np.float64, np.float64, np.float64, np.int8, bool)
        return cls(*(np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True)))

    @property
    def is_last(self) -> np.ndarray:
        """[L] bool: nothing of the task came later."""
        return (self.why == KILLED) | (self.why == WITHDRAWN)


class Held(NamedTuple):
    """The units that tasks held besides the one that they ran on, H of them."""

    row: np.ndarray  # [H] int64: the task; of segments that ended early, the row in EarlyEnds
    unit: np.ndarray  # [H] int32, numbered as in the outcome
    amount: np.ndarray  # [H] float64: of the unit's capacity


class Serving(NamedTuple):
    """How requests with tokens fared on serving engines, the units with continuous batching."""

    scheduled_us: np.ndarray  # [N] float64: when the engine first computed something for it; NaN: never
    first_token_us: np.ndarray  # [N] float64: when its first output token was there; NaN: never
    n_preemptions: np.ndarray  # [N] int64: how often the engine put it back in its queue
    found_tokens: np.ndarray  # [N] int64: of its prompt, in memory already when the engine began with it
    memory_peak: np.ndarray  # [U] float64: the most tokens that the engine's memory held; NaN: not an engine
    memory_us: np.ndarray  # [U] float64: integral over time of the tokens in the engine's memory; NaN: not an engine


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an engine returns: the columns it filled, before anything is derived from them."""

    task_unit: np.ndarray  # [N] int32, -1 = not started
    task_init_us: np.ndarray  # [N] float64, NaN = not started
    task_start_us: np.ndarray
    task_finish_us: np.ndarray  # NaN = not finished
    unit_order: np.ndarray  # [U] int64: row in the deployment of each unit as the engine numbered them
    shares_units: bool  # units may have held several tasks at the same time, or tasks a part of a unit
    exit_reason: ExitReason
    reason: str  # in words, unless the run ended with ALL_DONE
    end_us: float  # the clock at the end
    n_events: int
    followers: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # tasks consolidated behind a leader
    early: EarlyEnds | None = None  # of runs in which segments may end early
    preempts: bool = False  # the policy may preempt or move tasks
    failures: tuple[Outage, ...] = ()  # random failures of nodes, as they were drawn
    periods: Mapping[str, np.ndarray] | None = None
    unit_energy: EnergyParts | None = None  # [U] J each, if the periods of a batch policy were accounted for
    proven: Mapping[str, Any] | None = None  # objective, bound_us and status, for a policy that plans
    held: Held | None = None  # by the last segments of tasks, where tasks hold several units
    eligible_us: np.ndarray | None = None  # [J] when no job was left that it waited for; NaN: never; None: none waits
    granted_us: np.ndarray | None = None  # [N] when it was given to its unit; NaN: never; None: no unit takes any ahead
    early_held: Held | None = None  # by the other segments, those in early that were not the last of their tasks
    peaks_w: np.ndarray | None = None  # [R + 1] the most that each rack, then the datacenter, drew; with power caps
    serving: Serving | None = None  # of runs with serving engines
    dropped_us: np.ndarray | None = None  # [N] when the policy dropped it; NaN: it did not; None: it drops none
