"""Write an answer: ``plan.json`` for programs, and ``recommendation.yaml``, a scenario that is ready to run."""

import math
import os
import shutil
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from vinesim.formats.results.folder import to_json
from vinesim.formats.scenario.keys import moved
from vinesim.formats.source.files import replacing
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.formats.study.file import scenario_source
from vinesim.model.expression import Expression
from vinesim.plans.answer import Answer, Row
from vinesim.plans.candidate import Candidate
from vinesim.plans.hardware import SECTION
from vinesim.policies.documents import prepared

PLAN_JSON, RECOMMENDATION = "plan.json", "recommendation.yaml"
POINTS = "points"  # folder with the scenarios of the other points in the answer's tables


def write_answer(answer: Answer, folder: Path) -> None:
    """Write both files, and the scenarios of the other rows; those of an earlier answer are removed."""
    with replacing(folder / PLAN_JSON) as draft:
        draft.write_text(to_json(as_document(answer)), encoding="utf-8")
    (folder / RECOMMENDATION).unlink(missing_ok=True)
    if answer.recommended is not None:
        with replacing(folder / RECOMMENDATION) as draft:
            draft.write_text(scenario_text(answer, answer.recommended, folder, RECOMMENDATION), encoding="utf-8")
    shutil.rmtree(folder / POINTS, ignore_errors=True)
    (folder / POINTS).mkdir()
    for row in {row.point: row for row in named_rows(answer)}.values():
        name = point_file(row.point)
        text = scenario_text(answer, row, folder / POINTS, f"{POINTS}/{name}")
        (folder / POINTS / name).write_text(text, encoding="utf-8")


def named_rows(answer: Answer) -> list[Row]:
    """Return the rows of the answer's tables that have runs."""
    rows = [*answer.runners, *answer.front, *answer.nearest, *answer.undecided, *(each.row for each in answer.beside)]
    return [row for row in rows if row.n]


def point_file(point: int) -> str:
    """Return the name of the file with the scenario of a point."""
    return f"{point}.yaml"


def as_document(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain data, without the scenario."""
    plan = answer.plan
    question = {
        "description": plan.description,
        "objectives": [
            {"of": str(goal), "number": goal.number, "is_maximized": goal.is_maximized} for goal in plan.objectives
        ],
        "limits": [_plain(limit) for limit in plan.limits],
        "looks": list(plan.looks),
        "budget": _plain(plan.budget),
        "seed": plan.space.seed,
    }
    rest = {field.name: _plain(getattr(answer, field.name)) for field in fields(answer) if field.name != "plan"}
    return {"plan": question, **rest}


def scenario_text(answer: Answer, row: Row, folder: Path, name: str) -> str:
    """Return the scenario of a point as YAML, with file names relative to ``folder``; ``name`` is that of the file."""
    space = answer.plan.space
    settings: dict[str, Any] = {}
    number = row.point
    for axis in reversed(space.axes):
        number, position = divmod(number, len(axis))
        settings = {**axis.settings[position], **settings}
    source, _ = prepared(scenario_source(space).changed({**settings, "seed": space.seed}), space.folder)
    home = Path(os.path.abspath(folder))
    data = moved(source.data, (), space.folder, home)
    if SECTION in data and data[SECTION].get("racks"):
        data = {**data, SECTION: {**data[SECTION], "racks": [_without_none(rack) for rack in data[SECTION]["racks"]]}}
    head = f"# A point of a plan. Run it:  vinesim run {name}\n"
    return head + as_yaml(data)


def _without_none(rack: dict[str, Any]) -> dict[str, Any]:
    """Return a rack without types of which there are no units, unless there are no units at all."""
    units = {name: n for name, n in (rack.get("units") or {}).items() if n}
    return {**rack, "units": units} if units else rack


def _plain(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Candidate):
        return {
            "point": value.point,
            "n": value.n,
            "verdict": value.verdict.value,
            "judgements": _plain(value.judgements),
            "why": value.why,
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
