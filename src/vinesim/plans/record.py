"""Write an answer: ``plan.json`` for programs, and scenarios of its points that are ready to run.

Each file carries its checksum. ``plan.json`` also names the study next to it, which prevents it from being taken for
the answer to another plan.
"""

import hashlib
import math
import os
import shutil
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from vinesim.formats.results.checksums import BLANK, with_checksum
from vinesim.formats.results.folder import STUDY, to_json
from vinesim.formats.scenario.keys import moved
from vinesim.formats.source.files import read_bytes, replacing
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.formats.study.file import scenario_source
from vinesim.model.expression import Expression
from vinesim.plans.answer import Answer, Row
from vinesim.plans.candidate import Candidate
from vinesim.plans.hardware import SECTION
from vinesim.plans.question import question
from vinesim.policies.documents import prepared

PLAN_JSON, RECOMMENDATION = "plan.json", "recommendation.yaml"
POINTS = "points"  # folder with the scenarios of the other points in the answer's tables
FORMAT = 3  # of plan.json


def write_answer(answer: Answer, folder: Path) -> None:
    """Write the files, and remove those of an earlier answer."""
    head = {"format": FORMAT, "study": study_digest(folder)}
    _write(folder / PLAN_JSON, to_json({**head, **as_document(answer), "checksum": BLANK}))
    (folder / RECOMMENDATION).unlink(missing_ok=True)
    if answer.recommended is not None:
        _write(folder / RECOMMENDATION, scenario_text(answer, answer.recommended, folder, RECOMMENDATION))
    shutil.rmtree(folder / POINTS, ignore_errors=True)
    (folder / POINTS).mkdir()
    for row in {row.point: row for row in named_rows(answer)}.values():
        name = point_file(row.point)
        _write(folder / POINTS / name, scenario_text(answer, row, folder / POINTS, f"{POINTS}/{name}"))


def study_digest(folder: Path) -> str:
    """Return what the study of a plan's folder is known by."""
    return hashlib.sha256(read_bytes(folder / STUDY)).hexdigest()


def _write(file: Path, text: str) -> None:
    """Write a text with its checksum in place of the blank one."""
    with replacing(file) as draft:
        draft.write_bytes(with_checksum(text.encode("utf-8")))


def named_rows(answer: Answer) -> list[Row]:
    """Return the rows of the answer's tables that have runs."""
    rows = [
        *answer.runners,
        *answer.front,
        *answer.nearest,
        *answer.undecided,
        *(each.row for each in answer.neighbors),
    ]
    return [row for row in rows if row.n]


def point_file(point: int) -> str:
    """Return the name of the file with the scenario of a point."""
    return f"{point}.yaml"


def as_document(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain data, without the scenario."""
    rest = {field.name: plain(getattr(answer, field.name)) for field in fields(answer) if field.name != "plan"}
    return {"plan": plain(question(answer.plan)), **rest}


def of_the_search(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what a stored answer says about the search, without what is about its file and the runs found there."""
    counts = {name: n for name, n in answer["counts"].items() if name != "runs_done_now"}
    about = ("format", "study", "checksum")
    return {**{name: value for name, value in answer.items() if name not in about}, "counts": counts}


def scenario_text(answer: Answer, row: Row, folder: Path, name: str) -> str:
    """Return the scenario of a point as YAML, with file names relative to ``folder``; ``name`` is the file's name."""
    space = answer.plan.space
    settings: dict[str, Any] = {}
    number = row.point
    for axis in reversed(space.axes):
        number, position = divmod(number, len(axis))
        settings = {**axis.settings[position], **settings}
    source, _ = prepared(scenario_source(space).changed({**settings, "seed": space.seed}), space.folder)
    data = moved(source.data, (), space.folder, Path(os.path.abspath(folder)))
    if SECTION in data:
        data = {**data, SECTION: without_empty(data[SECTION])}
    head = f"# A point of a plan. Run it:  vinesim run {name}\n"
    return f"{head}{as_yaml(data)}# {BLANK}\n"


def without_empty(section: dict[str, Any]) -> dict[str, Any]:
    """Return a datacenter without what there is none of: units, nodes and racks with a count of 0.

    What is left of a list is never empty, and nodes that have a name stay, as partitions may refer to them.
    """
    found = dict(section)
    if section.get("units"):
        found["units"] = _some(section["units"])
    if section.get("racks"):
        racks = [_filled(rack) for rack in section["racks"]]
        found["racks"] = _some(
            [
                {**rack, "nodes": _some([_filled(node) for node in rack["nodes"]])} if rack.get("nodes") else rack
                for rack in racks
            ]
        )
    return found


def _filled(part: dict[str, Any]) -> dict[str, Any]:
    """Return a rack or a node without types of which it has no units, unless it has no units at all."""
    units = {
        name: n for name, n in (part.get("units") or {}).items() if (n.get("count") if isinstance(n, dict) else n) != 0
    }
    return {**part, "units": units} if units else part


def _some(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for part in parts if part.get("count") != 0 or part.get("group")] or parts


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what is not finite becomes null."""
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Candidate):
        return {
            "point": value.point,
            "n": value.n,
            "verdict": value.verdict.value,
            "judgements": plain(value.judgements),
            "why": value.why,
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
