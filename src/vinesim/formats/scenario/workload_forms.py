"""Columns in the forms that logs use: dates, seconds since 1970, clocks, a start and an end, memory in MiB.

- ``arrival_date`` holds dates with a time (ISO 8601; UTC if there is no time zone). ``arrival_epoch_s`` (or _ms, _us,
  _ns) holds the time since 1970. The same forms exist for deadline, withdraw, start and end. All of these times count
  from the first arrival in the file.
- With a column ``end_s``, the time of a task is from its ``start_s``, or else from its arrival, to its end. For jobs
  that have an arrival, the start is kept as ``attribute.start_s`` for back-tests.
- ``time_clock``, ``limit_clock`` and ``estimate_clock`` hold durations as days-hours:minutes:seconds, such as
  1-02:30:00.
- ``memory_mib`` (or _gib, _mb ...) holds plain numbers in that unit.
- ``cores_milli``, ``gpus_milli`` and ``gpu_share_milli`` hold thousandths of cores and GPUs, ``cores_percent`` and the
  like hundredths.
- ``cores_kubernetes`` holds cores as Kubernetes writes them: 4, 0.5 or 500m.
- ``memory_slurm`` holds sizes as Slurm writes them: 64G, 64Gn, or 4000Mc per core of the task. 0 means all memory of a
  node; it is replaced by the largest size in the column.
"""

# ruff: noqa: S608 - DuckDB takes no parameters for file names; all text goes through text_of
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from vinesim.formats.scenario.workload_columns import (
    CALENDAR,
    CLOCK,
    IGNORE,
    IN_PARTS,
    KUBERNETES,
    MEMORY_UNITS,
    PARTS,
    POINTS,
    SLURM,
    TIME_ANYWHERE,
    UNITS,
    WRITTEN,
)
from vinesim.formats.source.database import name_of, text_of
from vinesim.formats.source.table_source import TableSource
from vinesim.model.errors import InputError, Problem

_CLOCK = r"^\s*(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)\s*$"  # days, hours, minutes, seconds
_SLURM = r"^\s*(\d+(?:\.\d+)?)([KMGTP]?)([nc]?)\s*$"  # a number, its unit, and whether it is per node or core
_KUBERNETES = r"^\s*(\d+(?:\.\d+)?)(m?)\s*$"  # a number, thousandths or whole cores
STARTED = "attribute.start_s"
_UNREADABLE = -1.0  # replaces unreadable cells: every column here rejects it
_EXPECTED = {
    "date": "a date such as 2024-05-01T12:00:00+02:00, not before the first arrival",
    CLOCK: "a duration such as 1-02:30:00",
    KUBERNETES: "a number of cores such as 4, 0.5 or 500m",
    SLURM: "a size such as 64G or 64Gn, or with a column of cores 4000Mc",
    "memory": "a number, 0 or more",
    **dict.fromkeys(IN_PARTS, "a number, 0 or more"),
}


def as_columns(source: TableSource, columns: Mapping[str, str] | None) -> tuple[TableSource, dict[str, str]]:
    """Return the table with these columns in us and bytes, and the new meanings of its columns.

    Raises :class:`InputError`.
    """
    named = dict(columns or {})
    meanings = {name: named.get(name, name) for name in source.columns}
    if not any(meaning in WRITTEN for meaning in meanings.values()):
        return source, named
    points = _points(source, meanings)
    sql, written = {}, dict(source.written)
    for name, meaning in meanings.items():
        if meaning not in WRITTEN:
            continue
        stem, form = _parts(meaning)
        cell = source.columns[name]
        expected = _arrival(form) if stem == "arrival" else _EXPECTED.get(form) or _EXPECTED.get(stem)
        written[name] = cell, expected or "a time, not before the first arrival"
        if form == SLURM:
            sql[name], named[name] = _all_of_a_node(source, slurm_bytes(cell, _cores(source, meanings))), stem
        elif form == KUBERNETES:
            sql[name], named[name] = kubernetes_cores(cell), stem
        elif stem in ("memory", *IN_PARTS):
            sql[name], named[name] = _number(cell, (MEMORY_UNITS | PARTS)[form]), stem
        elif form == CLOCK:
            sql[name], named[name] = clock_us(cell), f"{stem}_us"
        elif stem == "start":
            sql[name], named[name] = _in_s(points["start"]), STARTED if _has_arrival(meanings) else IGNORE
        elif stem == "end":
            sql[name], named[name] = _from_start_us(points, cell), TIME_ANYWHERE
            written[name] = cell, "a time, not before its start"
        else:
            sql[name], named[name] = points[stem], f"{stem}_us"
    texts = {name: kind for name, kind in source.texts.items() if name not in written}
    longest = max(source.columns, key=len)  # unlike any column of the file
    made = {name: name_of(f"{longest}_{i}") for i, name in enumerate(sql)}
    select = ", ".join(f"{cell} AS {made[name]}" for name, cell in sql.items())
    rows = f"(SELECT *, {select} FROM {source.sql})"  # a query that uses a column repeatedly converts it only once
    return replace(source, sql=rows, columns=source.columns | made, written=written, texts=texts), named


def _parts(meaning: str) -> tuple[str, str]:
    """Return the stem and the form of a meaning."""
    stem, _, form = meaning.rpartition("_")
    return (stem, form) if form in PARTS else (meaning.partition("_")[0], meaning.partition("_")[2])


def _arrival(form: str) -> str:
    """Return what is expected of arrivals, in words; no log has times of 0 s since 1970 or less."""
    if form == "date":
        return "a date such as 2024-05-01T12:00:00+02:00, later than the beginning of 1970"
    own = f"arrival_{form.removeprefix('epoch_')}"
    return f"a time since 1970, above 0; where times count from the beginning of the log, name the column {own}"


def _has_arrival(meanings: Mapping[str, str]) -> bool:
    return any(meaning.startswith("arrival_") for meaning in meanings.values())


def _in_s(point: str) -> str:
    """Return SQL for a point in time as text, s; null if it is not one."""
    return f"(CASE WHEN {point} >= 0 THEN ({point} / 1e6)::VARCHAR END)"


def point_us(form: str, cell: str, origin_us: float = 0.0) -> str:
    """Return SQL for a point in time, us since the origin; negative for an invalid cell, null for an empty one."""
    if form == "date":
        value = f"epoch_us(TRY_CAST({cell} AS TIMESTAMPTZ))::DOUBLE"
    else:
        value = f"TRY_CAST({cell} AS DOUBLE) * {UNITS[form.removeprefix('epoch_')]!r}::DOUBLE"
    return f"(CASE WHEN {cell} IS NOT NULL THEN coalesce({value} - {origin_us!r}::DOUBLE, {_UNREADABLE}) END)"


def clock_us(cell: str) -> str:
    """Return SQL for a duration such as 1-02:30:00, us; negative for an invalid cell, null for an empty one."""
    parts = [f"regexp_extract({cell}::VARCHAR, {text_of(_CLOCK)}, {i})" for i in range(1, 5)]
    terms = [
        f"coalesce(TRY_CAST({part} AS DOUBLE), 0) * {seconds}e6"
        for part, seconds in zip(parts, (86400, 3600, 60, 1), strict=True)
    ]
    is_clock = f"regexp_matches({cell}::VARCHAR, {text_of(_CLOCK)})"
    return f"(CASE WHEN {is_clock} THEN {' + '.join(terms)} WHEN {cell} IS NOT NULL THEN {_UNREADABLE} END)"


def kubernetes_cores(cell: str) -> str:
    """Return SQL for cores such as 500m; negative for an invalid cell, null for an empty one."""
    number, milli = (f"regexp_extract({cell}::VARCHAR, {text_of(_KUBERNETES)}, {i})" for i in (1, 2))
    scale = f"CASE {milli} WHEN 'm' THEN {PARTS['milli']!r} ELSE 1.0 END"
    value = f"coalesce(TRY_CAST({number} AS DOUBLE) * {scale}, {_UNREADABLE})"
    return f"(CASE WHEN {cell} IS NOT NULL THEN {value} END)"


def slurm_bytes(cell: str, cores: str = "NULL") -> str:
    """Return SQL for a size such as 64Gn, bytes; negative for an invalid cell, null for an empty one.

    ``cores`` is SQL for the cores by which 4000Mc is multiplied.
    """
    number, unit, each = (f"regexp_extract({cell}::VARCHAR, {text_of(_SLURM)}, {i})" for i in (1, 2, 3))
    cases = " ".join(f"WHEN '{letter}' THEN {2.0 ** (10 * power)!r}" for power, letter in enumerate("KMGTP", 1))
    scale = f"CASE {unit} {cases} ELSE {2.0**20!r} END * CASE {each} WHEN 'c' THEN {cores} ELSE 1.0 END"  # MiB if none
    value = f"coalesce(TRY_CAST({number} AS DOUBLE) * {scale}, {_UNREADABLE})"
    return f"(CASE WHEN {cell} IS NOT NULL THEN {value} END)"


def _all_of_a_node(source: TableSource, size: str) -> str:
    """Return SQL that replaces 0, Slurm's notation for all memory of a node, by the largest size."""
    largest = float(source.query(f"SELECT coalesce(max({size}), 0) AS n FROM {source.sql}")["n"][0])
    return f"(CASE WHEN {size} = 0 THEN {largest!r} ELSE {size} END)"


def _cores(source: TableSource, meanings: Mapping[str, str]) -> str:
    """Return SQL for a task's cores; null without such a column."""
    cells = {is_: source.columns[name] for name, is_ in meanings.items()}
    if f"cores_{KUBERNETES}" in cells:
        return kubernetes_cores(cells[f"cores_{KUBERNETES}"])
    scales = {"cores": 1.0} | {f"cores_{part}": scale for part, scale in PARTS.items()}
    return next((_number(cells[is_], scale) for is_, scale in scales.items() if is_ in cells), "NULL")


def first_date(source: TableSource, columns: Mapping[str, str]) -> datetime | None:
    """Return when the first job arrives, in UTC; None if arrivals have no dates, or dates beyond the year 9999."""
    name, form = _point_forms(columns).get("arrival", ("", ""))
    if form not in CALENDAR:
        return None
    try:
        return datetime.fromtimestamp(_origin_us(source, (name, form)) / 1e6, UTC)
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return None


def _point_forms(meanings: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the column and the form of each point in time."""
    forms = {}
    for name, meaning in meanings.items():
        stem, _, form = meaning.partition("_")
        if stem in POINTS and form in (*CALENDAR, *UNITS):
            forms[stem] = name, form
    return forms


def _points(source: TableSource, meanings: Mapping[str, str]) -> dict[str, str]:
    """Return SQL for the points in time. Raises :class:`InputError` if one of them has no origin to count from."""
    forms = _point_forms(meanings)
    problems = []
    if "start" in forms and not {"end", "arrival"} & forms.keys():
        remedy = "Name one too, or ignore the start: the policy decides when a job starts."
        expected = "a column arrival or end as well"
        problems.append(Problem(f"{source.path}: {forms['start'][0]}", expected, "none", remedy))
    if "end" in forms and not {"start", "arrival"} & forms.keys():
        problems.append(Problem(f"{source.path}: {forms['end'][0]}", "a column start or arrival as well", "none"))
    is_calendar = {stem: form in CALENDAR for stem, (_, form) in forms.items()}
    for stem, (name, _) in forms.items():
        if is_calendar[stem] != is_calendar.get("arrival", is_calendar[stem]):
            expected = "all times since 1970 or none: the time begins with the first arrival"
            problems.append(Problem(f"{source.path}: {name}", expected, "a mixture with those of the arrival"))
    if problems:
        raise InputError(problems)
    origin_us = _origin_us(source, forms["arrival"]) if is_calendar.get("arrival") else 0.0
    return {stem: point_us(form, source.columns[name], origin_us) for stem, (name, form) in forms.items()}


def _origin_us(source: TableSource, arrival: tuple[str, str]) -> float:
    """Return the first arrival, us since 1970; 0 if there is none."""
    name, form = arrival
    cell = point_us(form, source.columns[name])
    first = source.query(f"SELECT min({cell}) FILTER (WHERE {cell} > 0) AS t FROM {source.sql}")["t"]
    return float(first.filled(0.0)[0] if hasattr(first, "filled") else first[0])


def _from_start_us(points: Mapping[str, str], cell: str) -> str:
    """Return SQL for the time from the start, or without one the arrival, to the end; negative if invalid."""
    start, end = points.get("start", points.get("arrival")), points["end"]
    time = f"coalesce(CASE WHEN {end} >= 0 AND {start} >= 0 THEN {end} - {start} END, {_UNREADABLE})"
    return f"(CASE WHEN {cell} IS NOT NULL THEN {time} END)"


def _number(cell: str, scale: float) -> str:
    value = f"coalesce(TRY_CAST({cell} AS DOUBLE) * {scale!r}::DOUBLE, {_UNREADABLE})"
    return f"(CASE WHEN {cell} IS NOT NULL THEN {value} END)"
