"""The error found by a back-test, kept next to the workload; answers about that workload repeat it.

``vinesim backtest site.yaml`` writes it to ``site.backtest.json`` for ``site.parquet``. It holds only for this
workload, which its checksum identifies, and for the policy and options that were tested.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.formats.results.folder import SCENARIO, to_json
from vinesim.formats.scenario.file import read_source
from vinesim.formats.source.files import read_bytes, replacing
from vinesim.formats.source.quantities import format_time_us
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.study import Study
from vinesim.policies.code import file_content

if TYPE_CHECKING:
    from vinesim.studies.backtest import Backtest

SUFFIX = ".backtest.json"


def record_file(data: Mapping[str, Any], folder: Path) -> Path | None:
    """Return the path of a scenario's record, whether it exists or not; None if no file has the workload."""
    part = data.get("workload")
    name = part.get("file") if isinstance(part, Mapping) else None
    return (folder / name).with_suffix(SUFFIX) if isinstance(name, str) else None


def write_record(found: "Backtest", data: Mapping[str, Any], folder: Path) -> Path | None:
    """Write the record, replacing an earlier one, and return its file; None if no file has the workload."""
    file = record_file(data, folder)
    if file is None:
        return None
    document = {"policy": str(data.get("policy")), "workload": file_content(folder / data["workload"]["file"])}
    with replacing(file) as draft:
        draft.write_text(to_json({**document, **found.as_document()}), encoding="utf-8")
    return file


def read_record(data: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the record for a scenario's document; None if there is none, or if the workload has changed since."""
    file = record_file(data, folder)
    if file is None or not file.is_file():
        return None
    try:
        found = json.loads(read_bytes(file))
        is_same = found["workload"] == file_content(folder / data["workload"]["file"])
        return {name: found[name] for name in CARRIED} if is_same else None
    except (ValueError, KeyError, TypeError, InputError):  # not written by this version
        return None


CARRIED = ("policy", "jobs", "replications", "actual_s", "predicted_s", "error_s", "band_s")


def record_of(study: Study) -> dict[str, Any] | None:
    """Return the record of a study's own scenario."""
    return read_record(scenario_source(study).data, study.folder)


def record_of_run(folder: Path) -> dict[str, Any] | None:
    """Return the record of the scenario in a result folder; None also if the folder has no scenario."""
    file = folder / SCENARIO
    return read_record(read_source(file).data, folder) if file.is_file() else None


def error_note(study: Study) -> str | None:
    """Return a sentence about the model's error, which a study's intervals do not include; None if it is unknown."""
    return note_of(record_of(study))


def note_of(found: Mapping[str, Any] | None) -> str | None:
    """Return a sentence about the error in a record; None without a record."""
    if found is None:
        return None
    actual_s, predicted_s = found["actual_s"]["mean"], found["predicted_s"]["mean"]
    off = f"{abs(predicted_s / actual_s - 1) * 100:.0f} % off" if actual_s else "0 in truth"
    actual, predicted, error = (format_time_us(s * 1e6) for s in (actual_s, predicted_s, found["error_s"]))
    return (
        f"Error of the model, which no interval contains: the back-test of {found['jobs']:,} jobs under "
        f"{found['policy']} predicted a mean wait, from when jobs are eligible, of {predicted} where {actual} "
        f"happened, {off}; a job's wait was off by {error} in the mean."
    )
