"""Find out what the cells of each column hold (numbers, dates, clocks, sizes or other texts) and their magnitudes."""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from dataclasses import dataclass

from vinesim.formats.scenario.workload_cells import amount_of
from vinesim.formats.scenario.workload_forms import clock_us, kubernetes_cores, point_us, slurm_bytes
from vinesim.formats.source.table_source import TableSource

MOSTLY = 0.5  # share of the filled cells that decides what a column holds; rows with other cells are dropped
ENDS = (0.05, 0.95)  # quantiles taken as the range of a column's times, because some cells may be wrong
_ZONE = r"'(Z|[+-]\d\d(:?\d\d)?|UTC|[A-Za-z]+/[A-Za-z_]+)\s*$'"


@dataclass(frozen=True)
class Column:
    """A column of the log, and statistics of its filled cells."""

    name: str
    n_filled: int
    n_rows: int
    numbers: int  # numbers of cells that are numbers, and so on
    low: float  # the quantiles ENDS of the numbers
    high: float
    low_above_0: float  # the lower quantile of positive numbers, as 0 may stand for a missing value
    median: float  # the median of positive numbers
    largest: float
    wholes: int
    shares: int  # above 0 and below 1
    dates: int
    zoned: int  # dates with a time zone
    dates_us: float  # the span of dates between the quantiles ENDS
    clocks: int
    clock_us: float  # their median
    sizes: int  # numbers with a unit of memory
    slurm_sizes: int  # as 64Gn
    kubernetes_cores: int  # as 500m, or numbers
    distinct: int
    example: str

    def is_mostly(self, n_cells: int) -> bool:
        """Whether this number of cells is at least half of the filled ones."""
        return n_cells >= MOSTLY * self.n_filled

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.is_mostly(self.numbers)


def columns_of(source: TableSource, rows: str = "true") -> list[Column]:
    """Return the columns of a table, in its order, with statistics over the rows that satisfy an SQL condition."""
    found = []
    for name, cell in source.columns.items():
        date, text, clock = point_us("date", cell), f"{cell}::VARCHAR", clock_us(cell)
        number = f"(CASE WHEN NOT contains({text}, '_') THEN TRY_CAST({cell} AS DOUBLE) END)"  # 10_3 may be a job's id
        low, high = (f"coalesce(quantile_cont({number}, {share}) FILTER (isfinite({number})), 0)" for share in ENDS)
        above_0 = f"FILTER ({number} > 0 AND isfinite({number}))"
        earliest, latest = (f"quantile_cont({date}, {share}) FILTER ({date} >= 0)" for share in ENDS)
        parts = {
            "n_filled": f"count({cell})",
            "n_rows": "count(*)",
            "numbers": f"count({number})",
            "low": low,
            "high": high,
            "low_above_0": f"coalesce(quantile_cont({number}, {ENDS[0]}) {above_0}, 0)",
            "median": f"coalesce(median({number}) {above_0}, 0)",
            "largest": f"coalesce(max({number}), 0)",
            "wholes": f"count(*) FILTER ({number} = floor({number}))",
            "shares": f"count(*) FILTER ({number} > 0 AND {number} < 1)",
            "dates": f"count(*) FILTER ({number} IS NULL AND {date} >= 0)",
            "zoned": f"count(*) FILTER ({date} >= 0 AND regexp_matches({text}, {_ZONE}))",
            "dates_us": f"coalesce({latest} - {earliest}, 0)",
            "clocks": f"count(*) FILTER ({clock} >= 0)",
            "clock_us": f"coalesce(median({clock}) FILTER ({clock} >= 0), 0)",
            "sizes": f"count(*) FILTER ({number} IS NULL AND {amount_of('memory', cell)} >= 0)",
            "kubernetes_cores": f"count(*) FILTER ({kubernetes_cores(cell)} >= 0)",
            "slurm_sizes": f"count(*) FILTER ({number} IS NULL AND {slurm_bytes(cell, '1.0')} >= 0)",
            "distinct": f"count(DISTINCT {cell})",
            "example": f"coalesce(any_value({text}), '')",
        }
        select = ", ".join(f"{sql} AS {part}" for part, sql in parts.items())
        table = source.query(f"SELECT {select} FROM {source.sql} WHERE {rows}")
        found.append(Column(name, **{part: table[part].tolist()[0] for part in parts}))
    return found
