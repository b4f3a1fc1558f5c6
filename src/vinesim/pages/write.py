"""Write the page of a run, a sweep or a plan, or of two runs or sweeps, from their folders."""

from pathlib import Path

from vinesim.formats.results.folder import SUMMARY
from vinesim.model.errors import InputError, Problem
from vinesim.report.markup import Content
from vinesim.report.page import write_page
from vinesim.studies.backtest_record import note_of, record_of_run


def write_report(folder: str | Path, output: str | Path, other: str | Path | None = None) -> int:
    """Write the page about a run or a sweep, or about two of them; return its size in bytes.

    Raises :class:`~vinesim.model.errors.InputError` if the folder holds neither, if something in it is damaged, or if
    the page cannot be written.
    """
    content = _content(Path(folder)) if other is None else _of_two(Path(folder), Path(other))
    return write_page(content, output)


def _is_sweep(folder: Path) -> bool:
    return (folder / "study.yaml").exists() and not (folder / SUMMARY).exists()


def are_sweeps(first: Path, second: Path) -> bool:
    """Whether two folders are of sweeps, not of runs. Raises :class:`InputError` if they differ in that."""
    kinds = {_is_sweep(first), _is_sweep(second)}
    if len(kinds) > 1:
        found = ", ".join(f"{folder}: a {'sweep' if _is_sweep(folder) else 'run'}" for folder in (first, second))
        raise InputError([Problem("the folders", "two runs or two sweeps", found)])
    return True in kinds


def _of_two(first: Path, second: Path) -> Content:
    if are_sweeps(first, second):
        from vinesim.pages.two_sweeps import two_sweeps_page

        return two_sweeps_page(first, second)
    from vinesim.pages.two_runs import two_runs_page

    return two_runs_page(first, second)


def _content(folder: Path) -> Content:
    if _is_sweep(folder):
        if not (folder / "runs").is_dir():
            expected, found = "the folder of a run or of a sweep", "a study.yaml without runs/ next to it"
            raise InputError([Problem(str(folder), expected, found, "vinesim sweep STUDY.yaml --out DIR writes one.")])
        from vinesim.pages.sweep import sweep_page

        return sweep_page(folder)
    from vinesim.report.run import run_page

    return run_page(folder, note_of(record_of_run(folder)))
