"""The style of all figures: sizes, colours that colour-blind readers can distinguish, and the output files.

Every series also has its own marker and dash pattern, so that figures can be read in black and white.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.source.files import replacing
from vinesim.model.errors import InputError, Problem
from vinesim.model.packages import is_installed, missing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

# Okabe and Ito's palette in order of decreasing contrast, without its yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++")

PANEL_INCHES = (3.5, 2.6)  # width and height of one panel
USUAL_INCHES = (4.9, 3.25)  # size of a figure with one panel
LEAST_SCALE, LEAST_TEXT = 0.45, 0.72  # least scales of lines and marks, and of text, in a small figure
LETTER_EM, HANDLE_EM = 0.55, 4.2  # widths in a legend: of a letter, of a line with the space around it
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
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "vinesim",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # TrueType: publishers refuse Matplotlib's default
}
MANY_DECADES = 500.0  # a logarithmic axis with at least this relative range shows only powers of 10
HOLLOW = "hollow: stalled"  # the legend's text for marks of stalled runs
SMALL = "small"  # size of texts inside a chart, relative to the font size
THICKNESSES = ("grid.linewidth", "lines.linewidth", "lines.markersize", "axes.linewidth")
FONT_SIZES = tuple(name for name in RC if name.endswith("size") and name != "lines.markersize")
NO_DATES: Mapping[str, Mapping[str, None]] = {  # without these, equal figures would differ in their bytes
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Look:
    """The look of a figure that a user may set: width and height in inches, text size in points, and the font."""

    inches: tuple[float, float] | None = None  # None: as the figure needs
    font_points: float | None = None  # None: RC's, less in a small figure
    font: str | None = None

    @property
    def scale(self) -> float:
        """The relative size of lines and marks: less than 1 in a figure that is smaller than usual."""
        if self.inches is None:
            return 1.0
        own = min(mine / usual for mine, usual in zip(self.inches, USUAL_INCHES, strict=True))
        return min(1.0, max(LEAST_SCALE, own))

    @property
    def points(self) -> float:
        """The size of the text, points."""
        return RC["font.size"] * max(self.scale, LEAST_TEXT) if self.font_points is None else self.font_points

    @property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's settings."""
        rc = {**RC, **{name: RC[name] * self.scale for name in THICKNESSES}}
        rc |= {name: RC[name] * self.points / RC["font.size"] for name in FONT_SIZES}
        if self.font is not None:
            rc |= {"font.family": self.font}
        return rc

    def size(self, width: float, height: float) -> tuple[float, float]:
        """Return the figure's size, inches: the user's, otherwise this one."""
        return self.inches or (width, height)


PLAIN = Look()


def matplotlib() -> Any:
    """Return Matplotlib; if it is missing, raise an :class:`InputError` that says how to install it."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise missing("figures", "matplotlib") from None
    return matplotlib


@contextmanager
def drawing(
    look: Look,
    size: tuple[float, float],
    columns: int = 1,
    rows: int = 1,
    *,
    has_grid: bool = True,
    sharex: bool = False,
    sharey: bool = False,
) -> Iterator[tuple["Figure", np.ndarray]]:
    """Yield a figure and the axes of its panels, row by row. The look applies to what is drawn inside the context.

    ``size`` is in inches; the look's own takes precedence. ``sharex`` and ``sharey`` are as in Matplotlib.
    """
    with matplotlib().rc_context(look.rc | {"axes.grid": has_grid}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=look.size(*size), layout="constrained")
        yield figure, figure.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False).ravel()


def is_available() -> bool:
    """Whether figures can be drawn."""
    return is_installed("matplotlib")


def set_scale(axes: Any, which: str, scale: str) -> None:
    """Set the scale of the x or the y axis; a logarithmic one of few decades shows plain numbers, not powers."""
    getattr(axes, f"set_{which}scale")(scale)
    low, high = getattr(axes, f"get_{which}lim")()
    if scale != "log" or not 0 < low < high or high / low > MANY_DECADES:
        return
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullFormatter

    axis = getattr(axes, f"{which}axis")
    parts = (1, 2, 5) if high / low > 5 else (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    axis.set_major_locator(FixedLocator([part * 10.0**power for power in powers for part in parts]))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def show_dates(axes: Any) -> None:
    """Make the x axis, in days since 1970, show dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))


def name_places(axes: Any, names: Sequence[str], inches: float, look: Look) -> None:
    """Write names below the positions 0, 1, 2, ... of the x axis; rotate them if one is wider than ``inches``."""
    axes.set_xticks(range(len(names)), names)
    em = look.rc["xtick.labelsize"] / 72
    if (1 + max(map(len, names), default=0)) * em * LETTER_EM > inches:
        axes.tick_params(axis="x", labelrotation=35)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def legend_above(figure: "Figure", handles: Sequence[Any], labels: Sequence[str], look: Look, least: int = 2) -> None:
    """Draw a legend above the figure, in as many columns as fit; none for fewer labels than ``least``."""
    if len(labels) < least and HOLLOW not in labels:
        return
    em = look.rc["legend.fontsize"] / 72
    each = em * (LETTER_EM * max(map(len, labels)) + HANDLE_EM)
    columns = max(1, min(len(labels), int(figure.get_size_inches()[0] / each)))
    spaces = {"columnspacing": 1.2, "handlelength": 2.6, "labelspacing": 0.3, "borderpad": 0.2}
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, **spaces)


def handles_of(grid: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """Return the legend handles of some axes and their labels, each label once, in order."""
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def hollow_among(is_hollow: np.ndarray | None, values: Any) -> np.ndarray:
    """Return [n] which of the values are drawn hollow because their runs stalled."""
    return np.zeros(len(values), bool) if is_hollow is None else is_hollow & np.isfinite(values)


def stalled_entry(axes: Any) -> None:
    """Add an entry to the legend that explains hollow marks."""
    axes.plot([], [], "o", color="#777777", markerfacecolor="white", label=HOLLOW)


def font_names() -> list[str]:
    """Return the names of the fonts that can be used."""
    from matplotlib import font_manager

    return sorted({*font_manager.get_font_names(), "serif", "sans-serif", "monospace"})


def save(figure: "Figure", stem: str | os.PathLike[str]) -> list[Path]:
    """Write ``stem``.png and ``stem``.svg."""
    return [write(figure, f"{os.fspath(stem)}{suffix}") for suffix in (".png", ".svg")]


def write(figure: "Figure", path: str | os.PathLike[str], dpi: float = DPI, look: Look = PLAIN) -> Path:
    """Write a PNG, SVG or PDF file, completely or not at all; the same figure gives the same bytes.

    ``dpi`` is the resolution of a PNG file, and ``look`` is the one that the figure was drawn with. Raises
    :class:`InputError` for other suffixes.
    """
    if problems := suffix_problems(path):
        raise InputError(problems)
    suffix = Path(path).suffix
    with replacing(path) as draft, matplotlib().rc_context(look.rc):
        figure.savefig(os.fspath(draft), dpi=dpi, metadata=dict(NO_DATES[suffix]), format=suffix[1:])
    return Path(path)


def suffix_problems(path: str | os.PathLike[str]) -> list[Problem]:
    """Return the problem with a file name whose suffix is not supported; empty if it is."""
    if Path(path).suffix in NO_DATES:
        return []
    return [Problem(str(path), f"a name that ends in {', '.join(NO_DATES)}", Path(path).suffix or "none")]
