"""The figures of RBSS: one dot per workload."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vinesim.reproduction.data import Data
from vinesim_papers.rbss.measures import SYSTEMS, interval, ocl_gains

if TYPE_CHECKING:
    from vinesim.plots.dots import Dots
    from vinesim.plots.style import Figure


def rows(values: Mapping[str, np.ndarray]) -> list["Dots"]:
    """Return a row of dots for each label."""
    from vinesim.plots.dots import Dots

    found = []
    for label, each in values.items():
        mean = interval(each)
        found.append(Dots(label, each, mean.estimate, mean.low, mean.high))
    return found


def ocl_figure(data: Data, number: str, x_label: str, marks: Mapping[str, float] | None = None) -> "Figure":
    """Draw the gain of OCL in a number, for each system and set of assumptions."""
    from vinesim.plots.dots import DotsPanel, dots_figure

    assumptions = data.labels("a", "assumptions")
    panels = []
    for system in SYSTEMS:
        values = {name: ocl_gains(data, number, system, name) for name in assumptions}
        panels.append(DotsPanel(f"system {system[1]}", rows(values), x_label, marks or {}))
    return dots_figure(panels)
