"""The options of a figure, as given to ``vinesim plot`` or ``vinesim.plot``, and their checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem
from vinesim.plots.style import Look

OF_SWEEPS = ("lines", "bars", "heat", "points")
OF_RUNS = ("tail", "cumulative", "histogram", "timeline", "gantt")
LOG = ("", "x", "y", "xy")


@dataclass(frozen=True)
class Wanted:
    """The requested options of a figure; None means the figure's default."""

    kind: str | None = None
    x: str | None = None
    y: str | None = None
    by: str | None = None
    panel: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""  # the logarithmic axes
    x_unit: str | None = None
    y_unit: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    title: str | None = None
    confidence: float = 0.95
    from_us: float | str = 0.0  # us, a text with a unit, or a date if the run has dates
    to_us: float | str | None = None
    color: str = "auto"
    look: Look = field(default_factory=Look)

    def scale(self, axis: str) -> str:
        """Return the scale of the x or the y axis."""
        return "log" if axis in self.log else "linear"

    def check_kind(self, kinds: tuple[str, ...], of: str) -> None:
        """Raise :class:`InputError` for a kind of figure that does not exist for a sweep or a run."""
        if self.kind is not None and self.kind not in kinds:
            other = " It needs the folder of a sweep." if self.kind in OF_SWEEPS else ""
            other = " It needs the folders of runs." if self.kind in OF_RUNS else other
            remedy = (did_you_mean(self.kind, [*OF_SWEEPS, *OF_RUNS]) if not other else "") + other
            raise InputError(
                [Problem("--kind", f"a figure of {of}: {', '.join(kinds)}", repr(self.kind), remedy.strip())]
            )

    def check_unused(self, kind: str, names: tuple[str, ...]) -> None:
        """Raise :class:`InputError` for options that this kind of figure does not use."""
        plain = Wanted()
        problems = [
            Problem(
                f"--{name.replace('_us', '').replace('_', '-')}",
                f"an option of --kind {kind}",
                "one that it does not use",
                "Leave it out.",
            )
            for name in names
            if getattr(self, name) != getattr(plain, name)
        ]
        if problems:
            raise InputError(problems)
