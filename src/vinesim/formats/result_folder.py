"""The result folder of a run: written whole or not at all."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from vinesim.formats.parquet import write_table
from vinesim.model.errors import InputError, Problem
from vinesim.model.result import Result

SUMMARY = "summary.json"
TABLES = ("tasks", "jobs", "units", "utilization", "periods")


def check_target(folder: str | Path) -> None:
    """Raise :class:`InputError` unless a result can be written there: a free name, an empty folder or an old result."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError([Problem(f"--out {path}", "a folder", "a file", "Give another name.")])
    if path.is_dir() and any(path.iterdir()) and not (path / SUMMARY).exists():
        raise InputError(
            [Problem(f"--out {path}", "a new or empty folder, or an old result", "a folder with other files in it")]
        )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not os.access(parent if not path.is_dir() else path, os.W_OK):
        raise InputError([Problem(f"--out {path}", "a folder that can be written", f"no permission in {parent}")])


def write_result(folder: str | Path, result: Result) -> None:
    """Write summary.json and the tables; an old result there is replaced when the new one is complete."""
    check_target(folder)
    target = Path(folder).absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as wrong:
        raise InputError([Problem(f"--out {folder}", "a folder that can be made", _what(wrong))]) from None
    try:
        draft.chmod(0o755)
        for name in TABLES:
            table = getattr(result, name)
            if table is not None:
                write_table(draft / f"{name}.parquet", table)
        (draft / SUMMARY).write_text(json.dumps(result.summary, indent=2, default=str) + "\n")
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            os.replace(target, old / "result")
            os.replace(draft, target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.replace(draft, target)
    except OSError as wrong:
        raise InputError(
            [Problem(f"--out {folder}", "room and permission to write", _what(wrong), "Nothing was kept there.")]
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _what(error: OSError) -> str:
    return error.strerror or str(error)
