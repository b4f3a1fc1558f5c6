"""Figures of the user's sweeps and runs, drawn by the functions that draw the papers' figures."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vinesim.formats.results.folder import STUDY, SUMMARY, write_result
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import InputError, Problem
from vinesim.plots.style import DPI, Look, font_names, matplotlib, suffix_problems, write
from vinesim.plots.wanted import LOG, Wanted
from vinesim.result import Result
from vinesim.studies.sweep import Sweep, read_sweep

if TYPE_CHECKING:
    from vinesim.plots.style import Figure

Source = Sweep | Result | str | os.PathLike[str]
INCHES = (0.5, 100.0)
POINTS = (1.0, 100.0)


def plot(
    source: Source | Sequence[Source],
    output: str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    panel: str | None = None,
    where: Mapping[str, Any] | None = None,
    log: str = "",
    x_unit: str | None = None,
    y_unit: str | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    title: str | None = None,
    inches: tuple[float, float] | None = None,
    font_points: float | None = None,
    font: str | None = None,
    dpi: float = DPI,
    confidence: float = 0.95,
    from_us: float | str = 0.0,
    to_us: float | str | None = None,
    color: str = "auto",
) -> "Figure":
    """Draw a figure of a sweep, of a run or of several runs; return it, and write it to ``output`` (.pdf, .svg, .png).

    ``source`` is a sweep, a result, a folder of either, or a list of runs.

    For a sweep, ``kind`` is lines (the number ``y`` along the axis ``x``), bars or heat (``by`` down, ``x`` across),
    all with means and their intervals over the replications, or points (the number ``y`` over the number ``x``, one
    point per run). The figure has one line per label of the axis ``by`` and one panel per label of the axis ``panel``;
    ``where`` fixes the other axes.

    For runs, ``kind`` is tail, cumulative or histogram (of the time ``x`` of jobs or tasks), timeline (``y``: queue,
    utilization or active) or gantt, from ``from_us`` to ``to_us`` (us, a text such as ``3 h``, or a date if the run has
    dates).

    ``log`` names the logarithmic axes: x, y or xy. ``inches`` is (width, height); ``font_points`` is the size of the
    text. Raises :class:`InputError`.
    """
    look = Look(inches, font_points, font)
    _check(output, log, look, dpi)
    wanted = Wanted(
        kind=kind, x=x, y=y, by=by, panel=panel, where=where or {}, log=log, x_unit=x_unit, y_unit=y_unit,
        x_label=x_label, y_label=y_label, title=title, confidence=confidence, from_us=from_us, to_us=to_us, color=color,
        look=look,
    )  # fmt: skip
    sources: Sequence[Source] = [source] if isinstance(source, Sweep | Result | str | os.PathLike) else source
    with ExitStack() as stack:
        found = [_opened(one, stack) for one in sources]
        figure = _figure(found, wanted)
    if output is not None:
        write(figure, output, dpi, look)
    return figure


def _check(output: Any, log: str, look: Look, dpi: float) -> None:
    """Raise :class:`InputError` for options that are invalid in every figure."""
    problems = [] if output is None else suffix_problems(output)
    if log not in LOG:
        problems.append(Problem("--log", "x, y or xy", repr(log)))
    for name, values, (low, high) in (
        ("--size", look.inches or (), INCHES),
        ("--font-size", () if look.font_points is None else (look.font_points,), POINTS),
        ("--dpi", (dpi,), (10.0, 2400.0)),
    ):
        problems += [
            Problem(name, f"{low:g} to {high:g}", f"{value:g}") for value in values if not low <= value <= high
        ]
    if look.font is not None:
        problems += _font_problems(look.font)
    if problems:
        raise InputError(problems)


def _font_problems(font: str) -> list[Problem]:
    matplotlib()
    known = font_names()
    return (
        []
        if font in known
        else [Problem("--font", "a font that Matplotlib finds", repr(font), did_you_mean(font, known))]
    )


def _opened(source: Source, stack: ExitStack) -> Sweep | tuple[str, Path]:
    """Return a sweep, or a run's name and its folder; a result in memory is written to a temporary one."""
    if isinstance(source, Sweep):
        return source
    if isinstance(source, Result):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vinesim-plot-"))) / "run"
        write_result(folder, source)
        return str(source.provenance.get("policy", "run")), folder
    path = Path(source)
    if (path / STUDY).exists() and not (path / SUMMARY).exists():
        return read_sweep(path)
    return path.resolve().name, path


def _figure(found: Sequence[Any], wanted: Wanted) -> "Figure":
    from vinesim.plots.run_figure import run_figure
    from vinesim.plots.sweep_figure import sweep_figure

    sweeps = [one for one in found if isinstance(one, Sweep)]
    if not found or (sweeps and len(found) > 1):
        expected, given = "the folder of one sweep, or of runs", f"{len(sweeps)} sweeps of {len(found)} folders"
        raise InputError([Problem("the figure", expected, given)])
    if sweeps:
        return sweep_figure(sweeps[0], wanted)
    names = [name for name, _ in found]
    again = [name for name in names if names.count(name) > 1]
    folders = {f"{name} ({number + 1})" if name in again else name: path for number, (name, path) in enumerate(found)}
    return run_figure(folders, wanted)
