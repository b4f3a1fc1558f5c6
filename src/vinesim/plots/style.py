"""The style of all figures: sizes, colours that colour-blind readers can distinguish, and the output files.

Every series also has its own marker and dash pattern, so that figures can be read in black and white.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.model.packages import is_installed, missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

# Okabe and Ito's palette in order of decreasing contrast, without its yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++")

PANEL_INCHES = (3.5, 2.6)  # width and height of one panel
DPI = 160
RC: Mapping[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "vinesim",
    "svg.fonttype": "none",
}


def matplotlib() -> Any:
    """Return Matplotlib; if it is missing, raise an :class:`InputError` that says how to install it."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise missing("figures", "matplotlib") from None
    return matplotlib


def is_available() -> bool:
    """Whether figures can be drawn."""
    return is_installed("matplotlib")


def save(figure: "Figure", stem: str | os.PathLike[str]) -> list[Path]:
    """Write ``stem``.png and ``stem``.svg, each completely or not at all; the same figure gives the same bytes."""
    paths = []
    with matplotlib().rc_context(dict(RC)):
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
            path = Path(f"{os.fspath(stem)}{suffix}")
            draft = path.with_name(f".{path.name}.draft")
            figure.savefig(draft, dpi=DPI, metadata=metadata, format=suffix[1:])
            os.replace(draft, path)
            paths.append(path)
    return paths
