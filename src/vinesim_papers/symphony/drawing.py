"""The figures of Symphony's tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vinesim.reproduction.data import Data
from vinesim_papers.symphony.measures import interval

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

MISSED_LABEL = "requests that miss their deadline, %"
DIGITS = 2  # for the numbers above the bars


def bars(
    data: Data,
    study: str,
    categories: Sequence[str],
    groups: Sequence[Mapping[str, Any]],
    series: Sequence[str],
    scale: str = "linear",
    column: str = "scheduler",
    labels: Mapping[str, str] | None = None,
) -> "Figure":
    """Draw one group per category, one bar per item of ``series``, with 95 % intervals; ``labels`` rename them."""
    from vinesim.plots.bars import Bars, bar_figure

    drawn = []
    for name in series:
        found = [interval(data, study, **{column: name}, **group) for group in groups]
        low = [max(i.low, i.estimate / 10) for i in found]  # a logarithmic axis cannot show 0
        drawn.append(
            Bars(
                (labels or {}).get(name, name), [round(i.estimate, DIGITS) for i in found], low, [i.high for i in found]
            )
        )
    return bar_figure(list(categories), drawn, "", MISSED_LABEL, scale=scale)
