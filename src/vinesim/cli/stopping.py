"""Signals that end a command, and the messages of long ones."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def heeded() -> list[signal.Signals]:
    """Return the signals that end a command, without those that its caller ignores: under nohup, or in a background."""
    return [kind for kind in SIGNALS if signal.getsignal(kind) is not signal.SIG_IGN]
