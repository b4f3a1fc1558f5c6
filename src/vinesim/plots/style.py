"""The style of all figures: sizes, colours that colour-blind readers can distinguish, and the output files.

Every series also has its own marker and dash pattern, so that figures can be read in black and white.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    "pdf.fonttype": 42,  # TrueType: publishers refuse Matplotlib's default
}
MANY_DECADES = 500.0  # relative range of a logarithmic axis from which powers of 10 are enough
SMALL = "small"  # of texts inside a chart, relative to the font size
FONT_SIZES = tuple(name for name in RC if name.endswith("size") and name != "lines.markersize")
NO_DATES: Mapping[str, Mapping[str, None]] = {  # so that the same figure gives the same bytes
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Look:
    """What a user may change: width and height in inches, the size of the text in points, and the font's name."""

    inches: tuple[float, float] | None = None  # None: as the figure needs
    font_points: float | None = None
    font: str | None = None

    @property
    def rc(self) -> dict[str, Any]:
        """Matplotlib's settings."""
        rc = dict(RC)
        if self.font_points is not None:
            rc |= {name: RC[name] * self.font_points / RC["font.size"] for name in FONT_SIZES}
        if self.font is not None:
            rc |= {"font.family": self.font}
        return rc

    def size(self, width: float, height: float) -> tuple[float, float]:
        """Return the figure's size, inches: the user's, or else this one."""
        return self.inches or (width, height)


PLAIN = Look()


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


def font_names() -> list[str]:
    """Return the names of the fonts that can be used."""
    from matplotlib import font_manager

    return sorted({*font_manager.get_font_names(), "serif", "sans-serif", "monospace"})


def save(figure: "Figure", stem: str | os.PathLike[str]) -> list[Path]:
    """Write ``stem``.png and ``stem``.svg."""
    return [write(figure, f"{os.fspath(stem)}{suffix}") for suffix in (".png", ".svg")]


def write(figure: "Figure", path: str | os.PathLike[str], dpi: float = DPI, look: Look = PLAIN) -> Path:
    """Write a PNG, SVG or PDF file, completely or not at all; the same figure gives the same bytes.

    ``dpi`` is the resolution of a PNG file, ``look`` that with which it was drawn. Raises :class:`InputError` for other
    suffixes.
    """
    if problems := suffix_problems(path):
        raise InputError(problems)
    suffix = Path(path).suffix
    with replacing(path) as draft, matplotlib().rc_context(look.rc):
        figure.savefig(os.fspath(draft), dpi=dpi, metadata=dict(NO_DATES[suffix]), format=suffix[1:])
    return Path(path)


def suffix_problems(path: str | os.PathLike[str]) -> list[Problem]:
    """Return the problem with a file name that is not of a kind that can be written, if it has one."""
    if Path(path).suffix in NO_DATES:
        return []
    return [Problem(str(path), f"a name that ends in {', '.join(NO_DATES)}", Path(path).suffix or "none")]
