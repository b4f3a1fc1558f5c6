"""SQL that converts numbers and dates as people write them, such as 1.234,5 or 1,234.5 and 31/12/2024 8:30 PM.

Whether a comma is a decimal mark, and whether days come before months, is decided once for the whole log: by an option,
or by the cells that can be read in only one way. If no cell decides, the guess is marked as doubtful.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from vinesim.formats.importers.csv_names import is_time, named, stem_of
from vinesim.formats.scenario.workload_columns import IGNORE, POINTS, is_amount, kind_of
from vinesim.formats.source.database import text_of
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem

COMMA, POINT = DECIMALS = ("comma", "point")
DAY_FIRST, MONTH_FIRST = ORDERS = ("d/m/y", "m/d/y")
_SPACES = r" '\x{2019}\x{00a0}\x{202f}"  # possible separators of thousands, whatever the decimal mark is
_UNIT = r"(\s*[A-Za-z]*)\s*$"
_WRITTEN = {
    decimal: rf"^\s*([+-]?(?:\d{{1,3}}(?:[{thousands}{_SPACES}]\d{{3}})+|\d+)(?:{mark}\d+)?){_UNIT}"
    for decimal, thousands, mark in ((COMMA, r"\.", ","), (POINT, ",", r"\."))
}
_DATE = (
    r"^\s*(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})(?:[T, ]+(\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*([AaPp][Mm])?)?\s*$"
)
_DOTS = r"^\s*\d+\."
_CLOCKS = ("%H:%M:%S.%f", "%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")


class Form(NamedTuple):
    """The notation of a column's cells."""

    words: str
    is_doubtful: bool = False


def read_forms(
    source: TableSource, given: Mapping[str, str], decimal: str = "", date_format: str = ""
) -> tuple[TableSource, dict[str, Form]]:
    """Return the table with plain numbers and ISO dates, and the notation of each column that this changed.

    ``given`` holds known meanings of columns. Raises :class:`InputError` for an option that fits no column.
    """
    if decimal not in ("", *DECIMALS):
        raise InputError([Problem("--decimal", " or ".join(DECIMALS), repr(decimal))])
    if not source.is_csv:
        return source, {}
    stems = {name: stem_of(given[name]) if name in given else named(name).stem for name in source.columns}
    points = [name for name, stem in stems.items() if stem in POINTS]
    numbers = [name for name, stem in stems.items() if stem not in ("", IGNORE) and _may_be_number(stem)]
    dates, date_forms = _dates(source, points, date_format)
    others, number_forms = _numbers(source, [name for name in numbers if name not in dates], decimal)
    return replace(source, columns=source.columns | dates | others), date_forms | number_forms


def _may_be_number(stem: str) -> bool:
    return is_time(stem) or is_amount(stem) or kind_of(stem) != "VARCHAR"


def _numbers(source: TableSource, names: list[str], given: str) -> tuple[dict[str, str], dict[str, Form]]:
    """Return SQL for the columns with marks in their numbers, and the notation of each."""
    counts = {name: _marks(source, name) for name in names}
    marked = {
        name: count for name, count in counts.items() if 2 * max(count["comma"], count["point"]) > count["filled"]
    }
    only = {decimal: sum(count[f"only_{decimal}"] for count in marked.values()) for decimal in DECIMALS}
    n_either = sum(count["either"] for count in marked.values())
    decimal = given or (COMMA if only[COMMA] > only[POINT] else POINT)
    sql, forms = {}, {}
    for name, count in marked.items():
        if not count[f"rewrites_{decimal}"]:
            continue
        cell = source.columns[name]
        mark, thousands = (",", ".") if decimal == COMMA else (".", ",")
        is_written = f"regexp_matches({cell}, {text_of(_WRITTEN[decimal])})"
        number, unit = (f"regexp_extract({cell}, {text_of(_WRITTEN[decimal])}, {i})" for i in (1, 2))
        plain = f"regexp_replace({number}, {text_of(f'[{_SPACES}]')}, '', 'g')"
        plain = f"replace(replace({plain}, {text_of(thousands)}, ''), {text_of(mark)}, '.')"
        sql[name] = f"(CASE WHEN {is_written} THEN {plain} || {unit} ELSE {cell} END)"
        doubt = "" if given else _decimal_doubt(only, decimal, n_either)
        words = f"numbers with a decimal {decimal} such as {count['example'][:20]}"
        forms[name] = Form(words + (f"; {doubt}" if doubt else ""), bool(doubt))
    return sql, forms


def _decimal_doubt(only: Mapping[str, int], decimal: str, n_either: int) -> str:
    """Return why the decimal mark may be the other one; empty if the cells decide it."""
    if only[COMMA] and only[POINT]:
        other = POINT if decimal == COMMA else COMMA
        return f"but {only[other]:,} cells of the log have a decimal {other}"
    return "" if only[decimal] or not n_either else "a comma may as well be the decimal mark: say --decimal"


def _marks(source: TableSource, name: str) -> dict[str, Any]:
    """Count the cells of a column by the decimal marks that they allow."""
    cell = source.columns[name]
    is_ = {decimal: f"regexp_matches({cell}, {text_of(pattern)})" for decimal, pattern in _WRITTEN.items()}
    is_marked = f"regexp_matches({cell}, {text_of(_between_digits('.,'))})"
    parts = {"filled": f"count({cell})", "example": f"coalesce(any_value({cell}) FILTER ({is_marked}), '')"}
    has_comma = f"regexp_matches({cell}, {text_of(_between_digits(','))})"
    parts["either"] = f"count(*) FILTER ({has_comma} AND {is_[COMMA]} AND {is_[POINT]})"
    for decimal, other, foreign in ((COMMA, POINT, ".,"), (POINT, COMMA, ",")):
        parts[decimal] = f"count(*) FILTER ({is_[decimal]})"
        parts[f"only_{decimal}"] = f"count(*) FILTER ({is_marked} AND {is_[decimal]} AND NOT {is_[other]})"
        has_mark = f"regexp_matches({cell}, {text_of(_between_digits(foreign))})"
        parts[f"rewrites_{decimal}"] = f"count(*) FILTER ({has_mark} AND {is_[decimal]})"
    select = ", ".join(f"{sql} AS {part}" for part, sql in parts.items())
    table = source.query(f"SELECT {select} FROM {source.sql}")
    return {part: table[part].tolist()[0] for part in parts}


def _between_digits(marks: str) -> str:
    return rf"\d[{marks}{_SPACES}]\d"


def _dates(source: TableSource, names: list[str], given: str) -> tuple[dict[str, str], dict[str, Form]]:
    """Return SQL for the columns with dates that are not ISO 8601, and the notation of each."""
    if given and given not in ORDERS:
        return _by_format(source, names, given)
    counts = {name: _orders(source, name) for name in names}
    written = {name: count for name, count in counts.items() if 2 * count["n"] > count["filled"]}
    if given and not written:
        raise _unfit(source, names, given)
    first, second, dots = (sum(count[part] for count in written.values()) for part in ("days_1", "days_2", "dots"))
    order = given or (MONTH_FIRST if second > first and not dots else DAY_FIRST)
    doubt = ""
    if not given and first and second:
        doubt = f"but {min(first, second):,} dates cannot be read so"
    elif not given and not (first or second or dots):
        doubt = "they may as well be m/d/y: say --date-format"
    words = f"dates written {order}" + (f"; {doubt}" if doubt else "")
    return (
        {name: _iso_of_order(source.columns[name], order) for name in written},
        dict.fromkeys(written, Form(words, bool(doubt))),
    )


def _orders(source: TableSource, name: str) -> dict[str, int]:
    """Count the dates of a column that end in a numeric year, and those among them whose day is certain."""
    cell = source.columns[name]
    is_date = f"regexp_matches({cell}, {text_of(_DATE)})"
    one, two = (f"TRY_CAST(regexp_extract({cell}, {text_of(_DATE)}, {i}) AS INTEGER)" for i in (1, 2))
    parts = {
        "filled": f"count({cell})",
        "n": f"count(*) FILTER ({is_date})",
        "days_1": f"count(*) FILTER ({is_date} AND {one} > 12)",
        "days_2": f"count(*) FILTER ({is_date} AND {two} > 12)",
        "dots": f"count(*) FILTER ({is_date} AND regexp_matches({cell}, {text_of(_DOTS)}))",
    }
    select = ", ".join(f"{sql} AS {part}" for part, sql in parts.items())
    table = source.query(f"SELECT {select} FROM {source.sql}")
    return {part: int(table[part].tolist()[0]) for part in parts}


def _iso_of_order(cell: str, order: str) -> str:
    """Return SQL that converts dates with the year last to ISO 8601 and leaves other cells unchanged."""
    part = [f"regexp_extract({cell}, {text_of(_DATE)}, {i})" for i in range(6)]
    first = "%d/%m" if order == DAY_FIRST else "%m/%d"
    year = f"CASE length({part[3]}) WHEN 2 THEN '20' ELSE '' END || {part[3]}"
    date = f"{part[1]} || '/' || {part[2]} || '/' || {year}"
    clock = f"CASE {part[4]} WHEN '' THEN '0:00' ELSE {part[4]} END"
    half = f"CASE {part[5]} WHEN '' THEN '' ELSE ' ' || upper({part[5]}) END"
    formats = [f"{first}/%Y {one}" for one in _CLOCKS]
    parsed = f"try_strptime({date} || ' ' || {clock} || {half}, [{', '.join(map(text_of, formats))}])"
    return f"coalesce(({parsed})::VARCHAR, {cell})"


def _by_format(source: TableSource, names: list[str], given: str) -> tuple[dict[str, str], dict[str, Form]]:
    """Return SQL and notation of columns with dates such as %d.%m.%Y %H:%M. Raises :class:`InputError`."""
    if "%" not in given:
        raise InputError([Problem("--date-format", "d/m/y, m/d/y or a format such as %d/%m/%Y %H:%M", repr(given))])
    found = {}
    for name in names:
        cell = source.columns[name]
        date = f"try_strptime(trim({cell}), {text_of(given)})"
        try:
            n = int(source.query(f"SELECT count({date}) AS n FROM {source.sql}")["n"][0])
        except InputError as error:
            reason = error.problems[0].found
            problem = Problem("--date-format", "a format such as %d/%m/%Y %H:%M", f"{given!r}: {reason}")
            raise InputError([problem]) from None
        if n:
            found[name] = f"coalesce({date}::VARCHAR, {cell})"
    if not found:
        raise _unfit(source, names, given)
    return found, dict.fromkeys(found, Form(f"dates written {given}"))


def _unfit(source: TableSource, names: list[str], given: str) -> InputError:
    shown = [f"{name}: {source.texts_of(name, [0]).get(0)!r}" for name in names[:5]]
    words = ", ".join(shown) or "no column of dates: " + ", ".join(source.columns)
    return InputError([Problem("--date-format", f"a column with dates such as {given}", words)])
