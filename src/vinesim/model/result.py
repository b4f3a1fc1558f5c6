"""The result of a run: tables, numbers, why it ended, and where it came from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vinesim.model.energy_parts import EnergyParts


class ExitReason(StrEnum):
    """Why a run ended."""

    ALL_DONE = "ALL_DONE"  # every task has finished
    HORIZON = "HORIZON"  # the scenario's horizon came first
    STALLED = "STALLED"  # some pending tasks can never run
    INTERRUPTED = "INTERRUPTED"  # it was stopped from outside


class Table(Mapping[str, np.ndarray]):
    """Columns of equal length by name, as NumPy arrays without a copy."""

    def __init__(self, columns: Mapping[str, np.ndarray]):
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values())))

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows: {', '.join(self._columns)})"

    def _repr_html_(self) -> str:
        from vinesim.formats.results.notebook import table_html

        return table_html(self._columns, self.n_rows)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_parquet(self, path: Any) -> None:
        """Write the table as one Parquet file."""
        from vinesim.formats.results.parquet import write_table

        write_table(path, self._columns)


class Lost(NamedTuple):
    """Runs of tasks that an outage interrupted, L of them; a task can have several."""

    task: np.ndarray  # [L] int64
    unit: np.ndarray  # [L] int32, numbered as in the outcome
    init_us: np.ndarray  # [L] float64
    start_us: np.ndarray
    end_us: np.ndarray  # when its node went down
    is_follower: np.ndarray  # [L] bool: it was consolidated with another task, its leader


class Held(NamedTuple):
    """The units that tasks held beside the one that they ran on, H of them."""

    row: np.ndarray  # [H] int64: the task; of runs that an outage interrupted, the row in Lost
    unit: np.ndarray  # [H] int32, numbered as in the outcome
    amount: np.ndarray  # [H] float64: of the unit's capacity


class Stays(NamedTuple):
    """The stays of running tasks on units that a batch policy then moved them away from, S stays."""

    task: np.ndarray  # [S] int64
    unit: np.ndarray  # [S] int32, numbered as in the outcome
    begin_us: np.ndarray  # [S] float64
    end_us: np.ndarray  # when the task went to its next unit


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
    lost: Lost | None = None  # in scenarios with outages
    periods: Mapping[str, np.ndarray] | None = None
    unit_energy: EnergyParts | None = None  # [U] J each, if the periods of a batch policy were accounted for
    stays: Stays | None = None  # where tasks were before they moved, for a policy that moves them
    proven: Mapping[str, Any] | None = None  # objective, bound_us and status, for a policy that plans
    held: Held | None = None  # where tasks hold several units
    lost_held: Held | None = None  # the same of the runs in lost


class Result:
    """The result of one run. Tables and summary are computed on first use."""

    def __init__(
        self,
        outcome: Outcome,
        provenance: Callable[[], dict[str, Any]],
        tables: Mapping[str, Callable[[], Table | None]],
        summarize: Callable[["Result"], dict[str, Any]],
    ):
        self.outcome = outcome
        self._provenance = provenance
        self._tables = tables
        self._summarize = summarize

    def __repr__(self) -> str:
        n_tasks, n_units = len(self.outcome.task_unit), len(self.outcome.unit_order)
        n_done = int(np.isfinite(self.outcome.task_finish_us).sum())
        policy = self.provenance["policy"]
        return f"Result({self.exit_reason}: {n_done:,} of {n_tasks:,} tasks on {n_units:,} units, policy {policy})"

    def _repr_html_(self) -> str:
        from vinesim.formats.results.notebook import summary_html

        return summary_html(self.summary)

    @property
    def exit_reason(self) -> ExitReason:
        """Why the run ended."""
        return self.outcome.exit_reason

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The origin of the result: version, content id, seed, policy with options, engine, wall time."""
        return self._provenance()

    @cached_property
    def tasks(self) -> Table:
        """One row per task, in trace order."""
        return self._tables["tasks"]()  # type: ignore[return-value]

    @cached_property
    def segments(self) -> Table | None:
        """One row per stay of a task on a unit; None if no task was interrupted or on two units."""
        return self._tables["segments"]()

    @cached_property
    def jobs(self) -> Table:
        """One row per job, in trace order."""
        return self._tables["jobs"]()  # type: ignore[return-value]

    @cached_property
    def units(self) -> Table:
        """One row per unit, in (rack, shelf) order."""
        return self._tables["units"]()  # type: ignore[return-value]

    @cached_property
    def utilization(self) -> Table | None:
        """One row per interval and group; None without sampling."""
        return self._tables["utilization"]()

    @cached_property
    def periods(self) -> Table | None:
        """One row per period of a batch policy, or per ``n_periods`` identical ones; None for an online policy."""
        return None if self.outcome.periods is None else Table(self.outcome.periods)

    @cached_property
    def applications(self) -> Table | None:
        """One row per application with requests; None unless jobs have applications and deadlines."""
        return self._tables["applications"]()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers of summary.json."""
        return self._summarize(self)
