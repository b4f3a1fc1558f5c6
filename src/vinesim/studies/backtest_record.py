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
    """Return where the record of a scenario's document is, or would be; None if its workload is from no file."""
    part = data.get("workload")
    name = part.get("file") if isinstance(part, Mapping) else None
    return (folder / name).with_suffix(SUFFIX) if isinstance(name, str) else None


def write_record(found: "Backtest", data: Mapping[str, Any], folder: Path) -> Path | None:
    """Write the record, in place of an earlier one. Returns its file; None if the workload is from no file."""
    file = record_file(data, folder)
    if file is None:
        return None
    document = {"policy": str(data.get("policy")), "workload": file_content(folder / data["workload"]["file"])}
    with replacing(file) as draft:
        draft.write_text(to_json({**document, **found.as_document()}), encoding="utf-8")
    return file


def read_record(data: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the record of a scenario's document; None if there is none, or the workload is another one by now."""
    file = record_file(data, folder)
    if file is None or not file.is_file():
        return None
    try:
        found = json.loads(read_bytes(file))
        is_same = found["workload"] == file_content(folder / data["workload"]["file"])
        return {name: found[name] for name in CARRIED} if is_same else None
    except (ValueError, KeyError, TypeError, InputError):  # no record of this version
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
    """Return the error of the model that the answers of a study have besides their intervals; None if unknown."""
    return note_of(record_of(study))


def note_of(found: Mapping[str, Any] | None) -> str | None:
    """Say what a record says, in a sentence; None without one."""
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
