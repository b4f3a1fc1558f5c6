"""The result of a run: tables, numbers, why it ended, and where it came from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
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
        return f"Table({self.n_rows} rows: {shorten(', '.join(self._columns), 80, placeholder=' ...')})"

    def _repr_html_(self) -> str:
        from vinesim.formats.results.notebook import table_html

        return table_html(self._columns, self.n_rows)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as an Arrow stream, which pandas, Polars, PyArrow and DuckDB take; missing values are NULL.

        The interface is Arrow's PyCapsule interface.
        """
        from vinesim.formats.results.parquet import arrow_stream

        return arrow_stream(self._columns, requested_schema)

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self._columns)

    def to_polars(self) -> Any:
        """Return a Polars DataFrame (Polars must be installed); missing values are null."""
        import polars

        return polars.DataFrame(_Stream(self))

    def to_parquet(self, path: Any) -> None:
        """Write the table as one Parquet file."""
        from vinesim.formats.results.parquet import write_table

        write_table(path, self._columns)


class _Stream:
    """A table of which only the Arrow stream shows: Polars would take a mapping column by column, with NaN."""

    def __init__(self, table: Table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__


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
        columns = zip(*rows, strict=True) if rows else [()] * len(cls._fields)
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

        return summary_html(self.summary, self.jobs)

    def by(self, axis: str) -> Table:
        """Return a row per user, partition, application, account, qos, task_type, size class or hour of arrival: waits,
        latencies, slowdown, utilisation, energy and cost. Raises :class:`InputError` for an axis that it lacks."""
        from vinesim.metrics.by import TABLES, by

        return by({name: getattr(self, name) for name in TABLES}, self.summary, axis)

    def save(self, folder: str | Path) -> None:
        """Write the summary and the tables to a folder, as ``vinesim run --out`` does. Raises :class:`InputError`."""
        from vinesim.formats.results.folder import write_result

        write_result(folder, self)

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the page of ``vinesim report`` and return where it is. Raises :class:`InputError`."""
        from vinesim.report.page import write_report

        with TemporaryDirectory(prefix="vinesim-report-") as folder:
            self.save(folder)
            write_report(folder, path)
        return Path(path)

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
        """One row per stay of a task on a unit; None if each task had one at most, until it was done."""
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
    def labels(self) -> Table | None:
        """One row per job: its partition, user and application; None if the workload has none of these."""
        return self._tables["labels"]()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers of summary.json."""
        return {**self.measured, "provenance": self.provenance}

    @cached_property
    def measured(self) -> dict[str, Any]:
        """The same without the provenance, whose ids take as long as a short run."""
        return self._summarize(self)
