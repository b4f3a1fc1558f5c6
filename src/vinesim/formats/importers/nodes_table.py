"""Read a table of nodes with one row per node or per group of equal nodes, and guess its columns from their names."""

import re
from collections.abc import Mapping
from pathlib import Path

from vinesim.formats.importers.csv_files import folder_for, open_log
from vinesim.formats.importers.csv_forms import read_forms
from vinesim.formats.importers.csv_names import SIZE_WORDS, Named, named
from vinesim.formats.importers.csv_units import PER_CORE
from vinesim.formats.importers.job_rows import Node
from vinesim.formats.importers.report import Guess, ImportReport
from vinesim.formats.scenario.values import MAX_UNITS
from vinesim.formats.scenario.workload_columns import IGNORE, MEMORY_UNITS, PARTS
from vinesim.formats.source.quantities import format_bytes, size_bytes
from vinesim.model.errors import MAX_PROBLEMS, InputError, Problem

NAMES = {"name", "node", "nodename", "host", "hostname", "server", "machine", "sn"}
MODELS = {"model", "gpumodel"}
COUNTS = {"count", "number", "n", "quantity", "nodes", "nnodes", "numnodes"}
USED = ("cores", "memory", "gpus", "gpu_type")
BARE = ("", "kib", "mib", "gib")  # possible units of memory without one


def read_nodes_table(path: Path, report: ImportReport) -> list[Node]:
    """Return the nodes; the report gets the meanings of the columns. Raises :class:`InputError`."""
    with folder_for(path) as folder:
        table, first_line = open_log(path, folder)
        source, _ = read_forms(table, {})
        columns = ", ".join(f"{cell}::VARCHAR AS c{i}" for i, cell in enumerate(source.columns.values()))
        found = source.query(f"SELECT {columns} FROM {source.sql}")  # noqa: S608 - cells are columns of the file
    names = {name: _named(name) for name in source.columns}
    cells = {
        names[name].stem: ["" if text is None else str(text).strip() for text in found[f"c{i}"].tolist()]
        for i, name in enumerate(source.columns)
    }
    if "cores" not in cells:
        remedy = "Call it cores, and the others name, count, memory, gpus and gpu_type."
        raise InputError([Problem(str(path), "a column of cores", ", ".join(source.columns)[:80], remedy)])
    problems: list[Problem] = []
    n = len(cells["cores"])
    where = [f"{path}:{row + first_line}" for row in range(n)]
    numbers = {
        stem: [_number(where[row], stem, text, problems) for row, text in enumerate(cells[stem])]
        for stem in ("cores", "gpus", "count")
        if stem in cells
    }
    for one in names.values():
        if one.unit in PARTS and one.stem in numbers:
            numbers[one.stem] = [number * PARTS[one.unit] for number in numbers[one.stem]]
    memory, unit = _memory(cells.get("memory", [""] * n), names, numbers["cores"], where, problems)
    counts = [max(1, int(count)) for count in numbers.get("count", [1.0] * n)]
    hosts = cells.get("name", [""] * n)
    known: dict[str, str] = {}  # name -> its first row
    for row, host in enumerate(hosts):
        if counts[row] == 1 and host and known.setdefault(host, where[row]) != where[row]:
            problems.append(Problem(where[row], "name: each name once", f"{host!r}, as in {known[host]}"))
    if sum(counts) > MAX_UNITS:
        problems.append(Problem(str(path), f"at most {MAX_UNITS:,} nodes", f"{sum(counts):,}"))
    if not n:
        problems.append(Problem(str(path), "at least one node", "none"))
    if problems:
        raise InputError(problems[:MAX_PROBLEMS], len(problems))
    _report(report, names, unit)
    gpus, kinds = numbers.get("gpus", [0.0] * n), cells.get("gpu_type", [""] * n)
    return [
        Node(hosts[row] if counts[row] == 1 else "", numbers["cores"][row], memory[row], int(gpus[row]), kinds[row])
        for row in range(n)
        for _ in range(counts[row])
    ]


def _named(name: str) -> Named:
    word = re.sub("[^a-z]", "", name.lower())
    if word in NAMES:
        return Named("name")
    if word in COUNTS:
        return Named("count")
    if word in MODELS:
        return Named("gpu_type")
    found = named(name)
    return found if found.stem in USED else Named("")


def _number(where: str, stem: str, text: str, problems: list[Problem]) -> float:
    """Parse a number of cores, GPUs or nodes; an empty cell is 0, or 1 for a count."""
    try:
        value = float(text or (1 if stem == "count" else 0))
    except ValueError:
        value = -1.0
    is_whole = stem == "cores" or value.is_integer()
    if not 0 <= value <= MAX_UNITS or not is_whole or (stem == "cores" and not value):
        expected = "a number above 0" if stem == "cores" else "a whole number"
        problems.append(Problem(where, f"{stem}: {expected}", repr(text)[:40]))
        return 1.0
    return value


def _memory(
    texts: list[str], names: Mapping[str, Named], cores: list[float], where: list[str], problems: list[Problem]
) -> tuple[list[float], Guess | None]:
    """Return the memory of each node, bytes, and how its unit was guessed if the table does not give it."""
    unit = next((one.unit for one in names.values() if one.stem == "memory"), "")
    plain = [float(text) for text in texts if re.fullmatch(r"\d+(\.\d+)?", text)]
    scale, guess = MEMORY_UNITS.get(SIZE_WORDS.get(unit, ""), 1.0), None
    if plain and not unit:
        typical = PER_CORE * sum(cores) / len(cores)
        mean = sum(plain) / len(plain)
        sizes = {name: mean * MEMORY_UNITS.get(name, 1.0) for name in BARE}
        best = min(BARE, key=lambda name: max(sizes[name] / typical, typical / max(sizes[name], 1.0)))
        scale = MEMORY_UNITS.get(best, 1.0)
        guess = Guess(
            f"memory_{best}".rstrip("_"), f"no unit is given, a node would have {format_bytes(sizes[best])}", True
        )
    found = []
    for row, text in enumerate(texts):
        try:
            found.append(
                float(text) * scale if re.fullmatch(r"\d+(\.\d+)?", text) else size_bytes(text or 0, where[row])
            )
        except InputError as error:
            problems += error.problems
            found.append(0.0)
    return found, guess


def _report(report: ImportReport, names: Mapping[str, Named], unit: Guess | None) -> None:
    for name, one in names.items():
        why = "its name and the unit in it" if one.unit else "its name"
        meaning = f"{one.stem}_{one.unit}".rstrip("_") or IGNORE
        guess = Guess(meaning, why if one.stem else "no meaning is known for this name")
        report.columns[f"nodes: {name}"] = unit if one.stem == "memory" and unit is not None else guess
