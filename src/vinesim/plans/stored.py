"""Read the answer in the folder of a plan. It is refused if damaged, or if the study next to it is another one."""

import json
from pathlib import Path
from typing import Any

from vinesim.formats.results.checksums import is_intact
from vinesim.formats.results.folder import STUDY
from vinesim.formats.source.files import read_bytes
from vinesim.model.errors import InputError, Problem
from vinesim.plans.record import FORMAT, PLAN_JSON, study_digest
from vinesim.plans.run_ids import joined, parted
from vinesim.studies.damage import intact_parts
from vinesim.studies.rows import stored_ids

AGAIN = "Repeat `vinesim plan` with this folder: finished runs are kept."


def read_answer(folder: Path) -> dict[str, Any]:
    """Return the contents of ``plan.json``. Raises :class:`InputError`."""
    file = folder / PLAN_JSON
    if not file.exists():
        expected = f"the folder of a plan with {PLAN_JSON}"
        raise InputError([Problem(str(folder), expected, "none", "vinesim plan writes one.")])
    data = read_bytes(file)
    try:
        answer = json.loads(data)
        form = answer.get("format")
    except (ValueError, AttributeError, RecursionError):
        raise InputError([Problem(str(file), "an answer that vinesim plan wrote", "something else", AGAIN)]) from None
    if form != FORMAT:
        raise InputError([Problem(str(file), f"an answer of format {FORMAT}", f"format {form}", AGAIN)])
    if not is_intact(data):
        raise InputError([Problem(str(file), "an answer whose checksum matches", "a damaged or edited file", AGAIN)])
    if answer["study"] != study_digest(folder):
        expected = f"the answer to the {STUDY} next to it"
        raise InputError([Problem(str(file), expected, "the answer to another study", AGAIN)])
    _check_runs(folder, answer)
    return dict(answer)


def _check_runs(folder: Path, answer: dict[str, Any]) -> None:
    """Raise :class:`InputError` if runs that the answer rests on are not in the folder."""
    known = parted(joined(id_ for ids in stored_ids(intact_parts(folder)).values() for id_ in ids))
    wanted = parted(answer["run_ids"])
    if missing := len(wanted - known):
        expected, found = f"the {len(wanted):,} runs of the answer", f"{len(wanted) - missing:,} of them"
        raise InputError([Problem(str(folder / "runs"), expected, found, AGAIN)])
