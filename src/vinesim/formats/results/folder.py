"""The result folder of a run, written completely or not at all."""

import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from vinesim.formats.results.checksums import SUMS, listed, write_sums
from vinesim.formats.results.parquet import write_table
from vinesim.formats.source.drafts import draft_of, is_draft, remove_drafts
from vinesim.formats.source.files import exchanged
from vinesim.model.columns import LABELS, OF_RUNS
from vinesim.model.errors import InputError, Problem

SUMMARY, STUDY = "summary.json", "study.yaml"  # of a run; of a sweep or a plan
TABLES = tuple(table.name for table in OF_RUNS)
REPORT, TIMELINE = "report.html", "timeline.json"  # files made later from a result; a new result replaces them too
EXPLAIN_TYPES, EXPLAIN_TASKS = "explain.json", "explain.parquet"  # only if requested, for vinesim explain
SCENARIO, ORIGIN, INPUTS = "scenario.yaml", "origin.json", Path("inputs")  # what is needed to repeat the run
CHECKED = {
    SUMMARY,
    SCENARIO,
    ORIGIN,
    EXPLAIN_TYPES,
    EXPLAIN_TASKS,
    *(f"{name}.parquet" for name in (*TABLES, LABELS.name)),
}  # files with a checksum
FILES = {*CHECKED, SUMS, REPORT, TIMELINE, f"{TIMELINE}.gz"}


def check_target(folder: str | Path) -> None:
    """Raise :class:`InputError` unless a result can be written there: a new name, an empty folder or an old result."""
    try:
        path = Path(folder).resolve()
        if path.exists() and not path.is_dir():
            raise InputError([Problem(f"--out {folder}", "a folder", "a file", "Choose another name.")])
        names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    except OSError as wrong:
        raise InputError([Problem(f"--out {folder}", "a folder that can be used", _what(wrong))]) from None
    if other := sorted(name for name in names if not is_draft(name, FILES) and not _is_of_result(path, name)):
        found = ", ".join(other[:3]) + (" ..." if len(other) > 3 else "")
        raise InputError([Problem(f"--out {folder}", "a new or empty folder, or only an old result", f"also {found}")])
    there = path
    while not there.exists():
        there = there.parent
    if not os.access(there, os.W_OK) or not os.access(path.parent if path.is_dir() else there, os.W_OK):
        raise InputError([Problem(f"--out {folder}", "a writable folder", f"no permission in {there}")])


def _is_of_result(folder: Path, name: str) -> bool:
    """Whether an entry of a folder belongs to a result. Inputs must be listed, so that a study's files do not count."""
    if name in (SCENARIO, ORIGIN):
        return name in listed(folder)
    if name == INPUTS.name:
        files = [file for file in (folder / name).rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        known = listed(folder)
        return all(file.is_symlink() or file.relative_to(folder).as_posix() in known for file in files)
    return name in FILES


def to_json(summary: Mapping[str, Any]) -> str:
    """Return the text of summary.json; numbers that JSON cannot represent, such as infinity, become null."""
    return json.dumps(_finite(summary), indent=2, default=str, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Measured(Protocol):
    """The contents of a result folder. Each of TABLES, and LABELS, is also an attribute, and may be None."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The numbers of summary.json."""


def write_result(folder: str | Path, result: Measured, also: Callable[[Path], None] | None = None) -> None:
    """Write summary.json, the tables, what ``also`` writes, and a list of their checksums to a folder.

    An old result is replaced only when the new one is complete. Raises :class:`InputError`.
    """
    check_target(folder)
    target = Path(folder).resolve()
    draft = draft_of(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_drafts(target)
        _end_replacement(target)
    except OSError as wrong:
        raise InputError([Problem(f"--out {folder}", "a folder that can be created", _what(wrong))]) from None
    try:
        draft.mkdir()
        for name in (*TABLES, LABELS.name):
            table = getattr(result, name)
            if table is not None:
                write_table(draft / f"{name}.parquet", table)
        (draft / SUMMARY).write_text(to_json(result.summary))
        if also is not None:
            also(draft)
        write_sums(draft)
        _replace(target, draft)
    except OSError as wrong:
        raise InputError(
            [Problem(f"--out {folder}", "room and permission to write", _what(wrong), "Nothing was written.")]
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _replace(target: Path, draft: Path) -> None:
    """Move the draft to its target. The old target is then under the draft's name, or removed."""
    if not target.exists():
        os.replace(draft, target)
    elif not exchanged(draft, target):
        try:
            os.replace(target, _set_aside(target))
            os.replace(draft, target)
        finally:
            _end_replacement(target)


def _end_replacement(target: Path) -> None:
    """Finish a replacement that may have stopped between its two renames: restore the old result if there is no new
    one, otherwise remove it."""
    old = _set_aside(target)
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(old, target)


def _set_aside(target: Path) -> Path:
    """Return the name of an old result during its replacement, on systems that cannot exchange two folders."""
    return target.with_name(f".{target.name}.vinesim-old")


def _what(error: OSError) -> str:
    return error.strerror or str(error)
