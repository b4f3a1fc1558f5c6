"""The pairwise comparisons of an axis's labels that a sweep's page shows."""

from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError
from vinesim.model.study import Study
from vinesim.report.rounding import rounded
from vinesim.studies.compare import compare
from vinesim.studies.sweep import read_sweep

MAX_LABELS = 6  # labels of an axis of numbers
MAX_NAMES = 12  # labels of an axis of names, such as policies
MAX_PAIRS = 3000  # on the page
MAX_RUNS = 200_000  # of which the rows are read


def verdicts(folder: Path, study: Study, names: list[str], confidence: float) -> list[dict[str, Any]]:
    """Return the pairs of each axis with few labels, for each number, as ``vinesim compare`` gives them.

    Axes of names come first: readers ask more often which policy is better than which load.
    """
    if study.n_runs > MAX_RUNS:
        return []
    swept, n_pairs = read_sweep(folder), 0
    found: list[dict[str, Any]] = []
    for column in _compared(study):
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
                            "p": rounded([pair.p_corrected], 4)[0],
                            "significant": pair.significant,
                            "equal": pair.is_equal,
                            "stalled": bool(pair.stalled),
                            "better": pair.better,
                        }
                        for pair in comparison.pairs
                    ],
                }
            )
    return found


def _compared(study: Study) -> list[str]:
    """Return the columns whose labels are compared: first those of names, then those of numbers."""
    named, numeric = list[str](), list[str]()
    for axis in study.axes:
        for c, column in enumerate(axis.columns):
            labels = [label[c] for label in axis.labels]
            is_numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in labels)
            if 1 < len(axis) <= (MAX_LABELS if is_numeric else MAX_NAMES):
                (numeric if is_numeric else named).append(column)
    return named + numeric
