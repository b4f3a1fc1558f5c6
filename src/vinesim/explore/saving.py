"""What a page saves: a variant as a scenario file, as a command, and as a plan for ``vinesim plan``."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from vinesim.explore.controls import Control
from vinesim.explore.state import Changes, Explored, override
from vinesim.formats.plan.file import plan
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.model.errors import InputError, Problem

MOST_LABELS = 25  # of a choice in a plan
BUDGET = 300  # runs


def command(explored: Explored, changes: Changes) -> str:
    """Return the command that runs a variant."""
    sets = [*explored.overrides, *(override(key, value) for key, value in changes.items())]
    return shlex.join(["vinesim", "run", str(explored.path), *(word for text in sets for word in ("--set", text))])


def scenario_text(explored: Explored, changes: Changes) -> str:
    """Return a variant as a scenario file. Raises :class:`InputError` for one that cannot run."""
    explored.scenario(changes)
    return _comments(explored, changes) + as_yaml(explored.document(changes))


def plan_text(
    explored: Explored, changes: Changes, vary: Sequence[str], p99_us: float | None, pinned: Sequence[Changes] = ()
) -> str:
    """Return a plan that chooses the controls ``vary`` of a variant: the cheapest whose p99 is at most this one's; or
    with the lowest p99, if there are no prices. The policies to choose from are those of the variant, of the ``pinned``
    ones and of the file. Raises :class:`InputError` for what ``vinesim plan`` does not take."""
    for each in (changes, *pinned):
        explored.scenario(each)
    controls = {control.key: control for control in explored.controls(changes)}
    unknown = [key for key in vary if key not in controls]
    if unknown or not vary:
        found = ", ".join(unknown) or "none"
        raise InputError([Problem("vary", "at least one control, to be chosen", found, "Mark a control with Vary.")])
    own = explored.base.data.get("policy", "high")
    seen = list(dict.fromkeys(each.get("policy", own) for each in (changes, *pinned, {})))
    document: dict[str, Any] = {
        "description": f"From {explored.path.name}, as explored",
        "scenario": explored.document(changes),
        "choose": {key: seen if key == "policy" else _range(controls[key]) for key in vary},
    }
    has_prices = bool(document["scenario"].get("prices"))
    if has_prices and p99_us is not None:
        document |= {"minimize": "cost.purchase", "limits": {"jobs.latency_us.p99": {"below": _short(p99_us)}}}
    else:
        document |= {"minimize": "jobs.latency_us.p99"}
    document["budget"] = {"runs": BUDGET}
    plan(document, explored.folder)
    return _comments(explored, changes) + as_yaml(document)


def _comments(explored: Explored, changes: Changes) -> str:
    return (
        f"# Saved by vinesim explore; the same as\n#   {command(explored, changes)}\n"
        f"# File names in it start from {explored.folder.resolve().as_posix()}: keep it there.\n"
    )


def _range(control: Control) -> Any:
    """Return what a plan may choose for a control: all its words, or numbers from the one end of the slider to the
    other."""
    if control.kind != "number":
        return list(control.words) if control.kind == "choice" else [False, True]
    low, high = (int(end) if control.is_whole else _short(end) for end in (control.low, control.high))
    ends: Mapping[str, Any] = {"from": low, "to": high}
    if control.unit:
        ends = {name: f"{end:g} {control.unit}" for name, end in ends.items()}
    if control.is_whole:
        step = -(-(int(high) - int(low)) // (MOST_LABELS - 1))
        return {**ends, **({"step": step} if step > 1 else {})}
    return {**ends, "n": 9, **({"log": True} if control.is_log else {})}


def _short(number: float) -> float:
    return float(f"{number:.6g}")
