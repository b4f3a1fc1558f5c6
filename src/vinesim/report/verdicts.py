"""Which label of an axis is better, pair by pair: the comparisons that a sweep's page shows."""

from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError
from vinesim.model.study import Study
from vinesim.report.rounding import rounded
from vinesim.studies.compare import compare
from vinesim.studies.sweep import read_sweep

MAX_LABELS = 6
MAX_PAIRS = 3000  # on the page
MAX_RUNS = 200_000  # of which the rows are read


def verdicts(folder: Path, study: Study, names: list[str], confidence: float) -> list[dict[str, Any]]:
    """Return the pairs of each axis with few labels in each of these numbers, as ``vinesim compare`` gives them."""
    if study.n_runs > MAX_RUNS:
        return []
    swept, n_pairs = read_sweep(folder), 0
    found: list[dict[str, Any]] = []
    columns = [column for axis in study.axes for column in axis.columns if 1 < len(axis) <= MAX_LABELS]
    for column in columns:
        for name in names:
            try:
                comparison = compare(swept, column, name, confidence=confidence)
            except InputError:  # no run has the number yet, or only one label has runs
                continue
            n_pairs += len(comparison.pairs)
            if n_pairs > MAX_PAIRS:
                return found
            found.append(
                {
                    "by": column,
                    "of": name,
                    "n": comparison.n_comparisons,
                    "pairs": [
                        {
                            "point": list(pair.point.values()),
                            "first": pair.first,
                            "second": pair.second,
                            "means": rounded([pair.first_mean, pair.second_mean]),
                            "difference": rounded(
                                [pair.difference.low, pair.difference.estimate, pair.difference.high]
                            ),
                            "n": pair.difference.n,
                            "p": rounded([pair.p_corrected], 3)[0],
                            "significant": pair.significant,
                            "better": pair.better,
                        }
                        for pair in comparison.pairs
                    ],
                }
            )
    return found
