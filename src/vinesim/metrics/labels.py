"""The labels of jobs, such as user or account, by which reports group their numbers."""

from collections.abc import Sequence

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.model.columns import LABELS
from vinesim.model.workload import Workload


def labels_of(work: Workload) -> Table | None:
    """Return a row per job with the partition, user, application and attributes (account, QOS and so on) that the
    workload has; None if it has none of them."""
    kinds = {
        "partition": (work.partition, work.partition_names),
        "user": (work.user, work.user_names),
        "application": (work.application, work.application_names),
    }
    for name, codes in (work.attributes or {}).items():
        kinds.setdefault(name, (codes, (work.attribute_words or {})[name]))
    found = {
        name: _texts(codes, names) for name, (codes, names) in kinds.items() if codes is not None and name != "job"
    }
    return Table(LABELS.of({"job": np.arange(work.n_jobs), **found})) if found else None


def _texts(codes: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return [J] the name of each code, or the number itself if it has no name; None for a negative code."""
    known = [*names, *map(str, range(len(names), int(codes.max(initial=-1)) + 1)), None]  # -1 is the last
    return np.array(known, object)[np.maximum(codes, -1)]
