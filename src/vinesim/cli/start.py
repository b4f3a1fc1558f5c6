"""The command ``vinesim``, from its first line on: it ends with one line and an exit code whenever a signal comes."""

import os
import signal
import sys
from typing import Any, NoReturn

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import heeded


def main() -> NoReturn:
    """Run the command line. Loading it takes longest, so signals are handled before."""
    _on_signals(_leave)
    _open_standard_streams()
    from vinesim.cli.main import run

    code = run()
    _on_signals(lambda *_: os._exit(code))  # all is written
    sys.exit(code)


def _on_signals(handler: Any) -> None:
    for kind in heeded():
        signal.signal(kind, handler)


def _leave(*_: Any) -> None:
    """End at once: nothing has begun."""
    os.write(2, b"vinesim: interrupted\n")
    os._exit(ExitCode.INTERRUPTED)


def _open_standard_streams() -> None:
    """Open standard streams that the caller has closed. Otherwise the next file would get their numbers, and messages
    would go there.

    Characters that the terminal's encoding lacks are written as escapes.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
                os.close(file)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
