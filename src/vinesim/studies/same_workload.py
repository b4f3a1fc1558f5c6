"""Whether the replications of a study differ in their workload. A workload from a file differs only if resampled."""

from collections.abc import Mapping
from typing import Any

from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError
from vinesim.model.study import Study

RESAMPLE = (
    "To draw blocks of the file for each seed, add to the scenario's workload: resample: {block: 1 d}, or a shorter "
    "block if the file covers less than two days."
)
FIXED_ARRIVALS = ("iat", "times", "file")  # arrivals that no seed changes


def same_workload(study: Study) -> str | None:
    """Return a note if all replications of a point have the same jobs at the same times; None if they differ."""
    if study.replications < 2 and study.until is None:
        return None
    source = scenario_source(study)
    own = [setting for axis in study.axes for setting in axis.settings if any(map(_decides, setting))]
    for setting in ({}, *own):
        try:
            data = source.changed(setting).data
        except InputError:  # reported elsewhere
            continue
        if is_fixed(data):
            return (
                "Every replication has the same jobs, as the workload comes from a file: intervals do not show how "
                f"results vary with the workload. {RESAMPLE}"
            )
    return None


def _decides(key: str) -> bool:
    return key.split(".")[0] in ("workload", "arrivals")


def is_fixed(data: Mapping[str, Any]) -> bool:
    """Whether a scenario's document gives the same jobs at the same times for every seed."""
    part, arrivals = data.get("workload"), data.get("arrivals")
    if not isinstance(part, Mapping) or part.get("file") is None:
        return False
    has_fixed_arrivals = not isinstance(arrivals, Mapping) or any(name in arrivals for name in FIXED_ARRIVALS)
    return has_fixed_arrivals and not (part.get("resample") or part.get("repeat")) and not part.get("estimate_error")
