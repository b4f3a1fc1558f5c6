"""What the commands that run many runs share: a signal ends them, and their messages go to standard error."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def message_printer(console: Callable[[], Any], quiet: bool) -> Callable[[str], None]:
    """Return the ``on_message`` that prints a line on the console, which is made at the first one."""

    def on_message(text: str) -> None:
        if not quiet:
            console().print(f"vinesim: {text}", style="dim", highlight=False)

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
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C and SIGTERM; what policies and Ray print goes to standard error."""
    with raising_on(*SIGNALS), redirect_stdout(sys.stderr):  # standard output holds the result only
        yield


def heeded() -> list[signal.Signals]:
    """Return the signals that end a command, without those that its caller ignores: under nohup, or in a background."""
    return [kind for kind in SIGNALS if signal.getsignal(kind) is not signal.SIG_IGN]
