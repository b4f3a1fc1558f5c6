"""Signals that end a command, and the messages of long ones."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN_S = 0.05


def message_printer(console: Callable[[], Any], quiet: bool) -> Callable[[str], None]:
    """Return the ``on_message`` that prints a line on the console, which is made at the first one."""

    def on_message(text: str) -> None:
        if not quiet:
            console().print(f"vinesim: {text}", style="dim")

    return on_message


@contextmanager
def raising_on(*signals: signal.Signals) -> Iterator[None]:
    """Raise KeyboardInterrupt on these signals."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {kind: signal.getsignal(kind) for kind in signals}
    try:
        for kind in signals:
            signal.signal(kind, stop)
        with heard(*signals[:1]):
            yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def heard(kind: signal.Signals = signal.SIGINT) -> Iterator[None]:
    """Deliver a signal again, which raises KeyboardInterrupt, if Python loses the exception: in a callback of the
    compiler or of the garbage collector."""
    report_lost, again = sys.unraisablehook, list[threading.Timer]()

    def lose(lost: Any) -> None:
        if lost.exc_type is KeyboardInterrupt:
            timer = threading.Timer(AGAIN_S, signal.pthread_kill, [threading.main_thread().ident, kind])
            again.append(timer)
            timer.start()
        else:
            report_lost(lost)

    sys.unraisablehook = lose
    try:
        yield
    finally:
        sys.unraisablehook = report_lost
        for timer in again:
            timer.cancel()


def heeded() -> list[signal.Signals]:
    """Return the signals that end a command, without those that its caller ignores, as under nohup or in the
    background."""
    return [kind for kind in SIGNALS if signal.getsignal(kind) is not signal.SIG_IGN]
