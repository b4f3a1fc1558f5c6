"""The labels of each job, such as its user or account, by which a report breaks its numbers down."""

from collections.abc import Sequence

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.model.columns import LABELS
from vinesim.model.workload import Workload


def labels_of(work: Workload) -> Table | None:
    """Return a row per job with its partition, its user, its application and its attributes, such as its account and
    its QOS, as far as the workload has them; None if it has none."""
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
    """[J] the name of each code, its number if it has none; None for a code below 0."""
    known = [*names, *map(str, range(len(names), int(codes.max(initial=-1)) + 1)), None]  # -1 is the last
    return np.array(known, object)[np.maximum(codes, -1)]
