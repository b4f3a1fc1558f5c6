"""What the cells of each column of a table look like: numbers, dates, clocks, sizes or other texts, and how large."""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from dataclasses import dataclass

from vinesim.formats.scenario.workload_cells import amount_of
from vinesim.formats.scenario.workload_forms import clock_us, kubernetes_cores, point_us, slurm_bytes
from vinesim.formats.source.table_source import TableSource

MOSTLY = 0.9  # of the filled cells: what a column holds; the rows with other cells are dropped
_ZONE = r"'(Z|[+-]\d\d(:?\d\d)?|UTC|[A-Za-z]+/[A-Za-z_]+)\s*$'"


@dataclass(frozen=True)
class Column:
    """A column of the log, and what its filled cells hold."""

    name: str
    n_filled: int
    n_rows: int
    numbers: int  # cells that are numbers, and so on
    least: float
    median: float
    largest: float
    wholes: int
    dates: int
    zoned: int  # dates with a time zone
    clocks: int
    sizes: int  # numbers with a unit of memory
    slurm_sizes: int  # as 64Gn
    kubernetes_cores: int  # as 500m, or numbers
    distinct: int
    example: str

    def is_mostly(self, n_cells: int) -> bool:
        """Whether so many of the filled cells are most of them."""
        return self.n_filled > 0 and n_cells >= MOSTLY * self.n_filled

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.is_mostly(self.numbers)


def columns_of(source: TableSource) -> list[Column]:
    """Return the columns of a table, in its order."""
    found = []
    for name, cell in source.columns.items():
        number = f"TRY_CAST({cell} AS DOUBLE)"
        date, text = point_us("date", cell), f"{cell}::VARCHAR"
        parts = {
            "n_filled": f"count({cell})",
            "n_rows": "count(*)",
            "numbers": f"count({number})",
            "least": f"coalesce(min({number}), 0)",
            "median": f"coalesce(median({number}), 0)",
            "largest": f"coalesce(max({number}), 0)",
            "wholes": f"count(*) FILTER (WHERE {number} = floor({number}))",
            "dates": f"count(*) FILTER (WHERE {number} IS NULL AND {date} >= 0)",
            "zoned": f"count(*) FILTER (WHERE {date} >= 0 AND regexp_matches({text}, {_ZONE}))",
            "clocks": f"count(*) FILTER (WHERE {clock_us(cell)} >= 0)",
            "sizes": f"count(*) FILTER (WHERE {number} IS NULL AND {amount_of('memory', cell)} >= 0)",
            "kubernetes_cores": f"count(*) FILTER (WHERE {kubernetes_cores(cell)} >= 0)",
            "slurm_sizes": f"count(*) FILTER (WHERE {number} IS NULL AND {slurm_bytes(cell, '1.0')} >= 0)",
            "distinct": f"count(DISTINCT {cell})",
            "example": f"coalesce(any_value({text}), '')",
        }
        table = source.query(f"SELECT {', '.join(f'{sql} AS {part}' for part, sql in parts.items())} FROM {source.sql}")
        found.append(Column(name, **{part: table[part].tolist()[0] for part in parts}))
    return found
