"""Damage to the structure of a table: CSV, what ``sacct`` prints, or words between spaces."""

from collections.abc import Callable
from random import Random

from verification.fuzz.values import larger, misspelt, value, with_unit

MOST_ROWS = 20_000
Rows = list[list[str]]


def damaged_table(text: str, random: Random) -> tuple[str, str]:
    """Return the text of a table with changes of its structure, and what they are."""
    separator = next((mark for mark in ",|\t" if mark in text.partition("\n")[0]), " ")
    rows = [line.split(separator) for line in text.splitlines()]
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        name = random.choice(list(CHANGES))
        rows = CHANGES[name](rows or [[""]], random)
        done.append(name)
    text = "\n".join(separator.join(row) for row in rows)
    return text + random.choice(("\n", "\n", "\n", "")), "; ".join(done)


def _in_cells(change: Callable[[str, Random], str], n_rows: Callable[[Rows, Random], range]) -> Callable:
    """Return a change of one column in some rows."""

    def changed(rows: Rows, random: Random) -> Rows:
        rows = [list(row) for row in rows]
        at = random.randrange(max(1, max(map(len, rows))))
        for i in n_rows(rows, random):
            if at < len(rows[i]):
                rows[i][at] = change(rows[i][at], random)
        return rows

    return changed


def one_row(rows: Rows, random: Random) -> range:
    at = random.randrange(len(rows))
    return range(at, at + 1)


def all_rows(rows: Rows, random: Random) -> range:
    return range(1, len(rows))


def header(rows: Rows, random: Random) -> range:
    return range(1)


def _without_column(rows: Rows, random: Random) -> Rows:
    at = random.randrange(max(1, len(rows[0])))
    return [row[:at] + row[at + 1 :] for row in rows]


def _column_twice(rows: Rows, random: Random) -> Rows:
    at = random.randrange(max(1, len(rows[0])))
    return [row + row[at : at + 1] for row in rows]


def _without_cell(rows: Rows, random: Random) -> Rows:
    at = random.randrange(len(rows))
    return [row[:-1] if i == at else row for i, row in enumerate(rows)]


def _with_cell(rows: Rows, random: Random) -> Rows:
    at = random.randrange(len(rows))
    return [[*row, value(random)] if i == at else row for i, row in enumerate(rows)]


def _without_row(rows: Rows, random: Random) -> Rows:
    at = random.randrange(len(rows))
    return rows[:at] + rows[at + 1 :]


def _mixed(rows: Rows, random: Random) -> Rows:
    return random.sample(rows, len(rows))


CHANGES: dict[str, Callable[[Rows, Random], Rows]] = {
    "a cell has another value": _in_cells(lambda cell, random: value(random), one_row),
    "a cell has another unit": _in_cells(with_unit, one_row),
    "a cell is much larger": _in_cells(larger, one_row),
    "a column has another value": _in_cells(lambda cell, random: value(random), all_rows),
    "a column has another unit": _in_cells(with_unit, all_rows),
    "a column is much larger": _in_cells(larger, all_rows),
    "a column is empty": _in_cells(lambda cell, random: "", all_rows),
    "a name of the header is wrong": _in_cells(misspelt, header),
    "a column is missing": _without_column,
    "a column is there twice": _column_twice,
    "a cell is missing": _without_cell,
    "a cell too many": _with_cell,
    "a row is missing": _without_row,
    "a row is there twice": lambda rows, random: [*rows, random.choice(rows)],
    "a row is there very often": lambda rows, random: [*rows, *[rows[-1]] * MOST_ROWS],
    "only the header": lambda rows, random: rows[:1],
    "no header": lambda rows, random: rows[1:],
    "nothing": lambda rows, random: [],
    "rows in another order": _mixed,
}
