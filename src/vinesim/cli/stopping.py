"""What the commands that run many runs share: a signal ends them, and their messages go to standard error."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


def message_printer(console: Callable[[], Any], quiet: bool) -> Callable[[str], None]:
    """Return the ``on_message`` that prints a line on the console, which is made at the first one."""

    def on_message(text: str) -> None:
        if not quiet:
            console().print(f"vinesim: {text}", style="dim", highlight=False)

    return on_message


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C and SIGTERM; what policies and Ray print goes to standard error."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(sys.stderr):  # standard output holds the result only
            yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
