"""Show the progress of a long run on the terminal, and let Ctrl-C end it cleanly."""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode

SHOW_AFTER_S = 1.0
GRACE_S = 5.0


@contextmanager
def watching(n_tasks: int, quiet: bool) -> Iterator[tuple[Callable[[Any], bool], Callable[[str], None]]]:
    """Give ``simulate`` its ``on_progress`` and ``on_message``.

    A line on standard error appears after a second: events, simulated time, share of the tasks, time left. The first
    Ctrl-C ends the run and keeps what is done, a second one ends it at once. A single SIGTERM is enough: if the run has
    not ended after GRACE_S, it is ended at once.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} % of the tasks"),
        TextColumn("{task.fields[events]:,} events, at {task.fields[clock]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    shown = bar.add_task("run", total=n_tasks, events=0, clock="0 us")
    begun = time.monotonic()
    stopped = False

    guard = threading.Timer(GRACE_S, _thread.interrupt_main, [signal.SIGTERM])
    guard.daemon = True

    def stop(kind: int, *_: Any) -> None:
        nonlocal stopped
        if stopped:
            raise KeyboardInterrupt
        stopped = True
        if kind == signal.SIGTERM:
            guard.start()
        print("vinesim: stopping; press Ctrl-C again to stop at once", file=sys.stderr)  # noqa: T201

    def on_progress(progress: Any) -> bool:
        from vinesim.formats.source.quantities import format_time_us

        if not quiet and time.monotonic() - begun > SHOW_AFTER_S:
            bar.start()
            bar.update(
                shown, completed=progress.n_done, events=progress.n_events, clock=format_time_us(progress.now_us)
            )
        return stopped

    def on_message(text: str) -> None:
        if not quiet:
            console.print(f"vinesim: {text}", style="dim", highlight=False)

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield on_progress, on_message
    except KeyboardInterrupt as stopped_at_once:
        bar.stop()
        where = "".join(f"; {note}" for note in getattr(stopped_at_once, "__notes__", ()))
        print(f"vinesim: interrupted{where}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        guard.cancel()
        for kind, handler in before.items():
            signal.signal(kind, handler)
        bar.stop()
