"""The progress line on the terminal while an item of a paper is reproduced."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.terminal import warn


@contextmanager
def following(
    title: str, quiet: bool, out: Path | None
) -> Iterator[tuple[Callable[[Any], None], Callable[[str], None]]]:
    """Give a sweep its ``on_progress`` and ``on_message``: a bar on standard error with the runs done, on a
    terminal.

    On Ctrl-C, say that finished runs are kept in ``out``, and exit with code 130.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from vinesim.cli.console import Console

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"))
    bar = Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet or not console.is_terminal
    )
    shown = bar.add_task(title, total=None)

    def on_progress(progress: Any) -> None:
        bar.update(shown, completed=progress.n_done, total=progress.n_runs)

    def on_message(text: str) -> None:
        if not quiet:
            console.print(f"vinesim: {text}", style="dim")

    with bar:
        try:
            yield on_progress, on_message
        except KeyboardInterrupt:
            bar.stop()
            kept = "" if out is None else f"; finished runs are in {out}, repeat the command to continue"
            warn(f"stopped{kept}")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
