"""A column of a workload is declared once: what its table refuses is what the workload refuses."""

import math

import duckdb
import numpy as np
import pytest

from vinesim.formats.scenario.workload_cells import is_wrong
from vinesim.formats.scenario.workload_columns import ALL, BY_TABLE, MEANINGS
from vinesim.model.errors import InputError
from vinesim.model.workload import COLUMNS, Workload

LIMITED = {name: one for name, one in COLUMNS.items() if one.right is not None and not one.is_name}
REQUIRED = {
    name: np.zeros(2 if one.of == "jobs + 1" else 1, one.dtype)
    for name, one in list(COLUMNS.items())[:8]  # those without a default
}
REQUIRED["job_first"][1] = 1


@pytest.mark.parametrize("name", LIMITED)
def test_a_table_and_a_workload_refuse_the_same_numbers(name: str) -> None:
    is_whole = LIMITED[name].dtype != np.float64
    numbers = [-2.0, -1.0, 0.0, 1.0, 2.0, *(() if is_whole else (0.5, math.inf, math.nan))]
    rows = ", ".join(f"('{number!r}'::DOUBLE)" for number in numbers)
    condition = is_wrong(LIMITED[name].table or name, "x", is_text=False)
    by_table = [row[0] for row in duckdb.sql(f"SELECT {condition} FROM (VALUES {rows}) AS t(x)").fetchall()]
    assert by_table == [_places_refused(name, number) != [] for number in numbers]


def _places_refused(name: str, number: float) -> list[str]:
    needed = {"input_tokens": [1], "output_tokens": [1]} if "token" in name else {"gang_within": [1]}
    try:
        Workload(**REQUIRED | needed | {name: np.array([number])})
    except InputError as error:
        return [problem.where for problem in error.problems if problem.path[:2] == ("workload", name)]
    return []


def test_every_column_of_a_table_is_of_one_declaration() -> None:
    tables = [one.table or name for name, one in COLUMNS.items() if one.table is not None]
    assert len(set(tables)) == len(tables)
    assert ALL.keys() >= BY_TABLE.keys()
    words = [word for one in BY_TABLE.values() for word in one.aliases.split()]
    assert len(set(words)) == len(words)
    assert MEANINGS.keys() >= set(words)
