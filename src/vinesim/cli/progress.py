"""Show the progress of a long run on the terminal, and let Ctrl-C end it cleanly."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import heard, message_printer
from vinesim.cli.terminal import warn
from vinesim.model.python_file import same_folder

SHOW_AFTER_S = 1.0
GRACE_S = 5.0


@contextmanager
def watching(n_tasks: int, quiet: bool) -> Iterator[tuple[Callable[[Any], bool], Callable[[str], None]]]:
    """Give ``simulate`` its ``on_progress`` and ``on_message``.

    A line on standard error appears after a second: events, simulated time, share of the tasks, time left. The first
    Ctrl-C ends the run and keeps what is done, a second one ends it at once, as does the first one until the policy is
    compiled. A single SIGTERM is enough: if the run has not ended after GRACE_S, it is ended at once.
    """
    line = _Line(n_tasks)
    n_signals, stopped = 0, False

    from vinesim.engine.compiling import has_begun

    guard = threading.Timer(GRACE_S, signal.pthread_kill, [threading.main_thread().ident, signal.SIGTERM])
    guard.daemon = True

    def stop(kind: int, *_: Any) -> None:
        nonlocal n_signals, stopped
        n_signals += 1
        if n_signals > 1 or not has_begun():
            raise KeyboardInterrupt
        if kind == signal.SIGTERM:
            guard.start()
        warn("stopping; press Ctrl-C again to stop at once")
        stopped = True  # last: from here on the run may be left at any line

    def on_progress(progress: Any) -> bool:
        if not quiet:
            line.show(progress)
        return stopped

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        with same_folder(), heard():
            yield on_progress, message_printer(line.console, quiet)
    except KeyboardInterrupt as stopped_at_once:
        line.hide()
        where = "".join(f"; {note}" for note in getattr(stopped_at_once, "__notes__", ()))
        warn(f"interrupted{where}")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        guard.cancel()
        for kind, handler in before.items():
            signal.signal(kind, handler)
        line.hide()


@contextmanager
def working(words: str) -> Iterator[None]:
    """Say on standard error, after a second, what takes long; nothing where nobody looks."""
    shown: list[Any] = []

    def show() -> None:
        from vinesim.cli.console import Console

        shown.append(Console(stderr=True).status(words))
        shown[0].start()

    timer = threading.Timer(SHOW_AFTER_S, show)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        for status in shown:
            status.stop()


class _Line:
    """The line of progress. What draws it is loaded when it is shown: most runs are over before."""

    def __init__(self, n_tasks: int):
        self._n_tasks, self._begun = n_tasks, time.monotonic()
        self._bar: Any = None

    def show(self, progress: Any) -> None:
        """Show how far the run is, if it has taken long and somebody looks."""
        if time.monotonic() - self._begun <= SHOW_AFTER_S or not sys.stderr.isatty():
            return
        from vinesim.formats.source.quantities import format_time_us

        if self._bar is None:
            self._bar = _bar(self._n_tasks)
            self._bar.start()
        clock = format_time_us(progress.now_us)
        self._bar.update(self._bar.task_ids[0], completed=progress.n_done, events=progress.n_events, clock=clock)

    def console(self) -> Any:
        """Where a message goes: above the line, if it is shown."""
        from vinesim.cli.console import Console

        return Console(stderr=True) if self._bar is None else self._bar.console

    def hide(self) -> None:
        """Take it away."""
        if self._bar is not None:
            self._bar.stop()


def _bar(n_tasks: int) -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from vinesim.cli.console import Console

    bar = Progress(
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} % of the tasks"),
        TextColumn("{task.fields[events]:,} events, at {task.fields[clock]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("run", total=n_tasks, events=0, clock="0 us")
    return bar
