"""Show errors to the user: every problem, no traceback, and an exit code."""

import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer

from vinesim.cli.exit_codes import ExitCode
from vinesim.cli.stopping import heeded, raising_on
from vinesim.cli.terminal import say, warn
from vinesim.model.errors import InputError, InputWarning, VineSimError


def report_errors(command: Callable[[], Any]) -> int:
    """Call a command and print its errors to standard error. Returns the exit code."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    _tell_log()
    try:
        try:
            with raising_on(*heeded()):
                command()
        finally:
            sys.stdout.flush()
    except InputError as wrong:
        n = wrong.n_problems
        warn(f"{n} problem{'s' if n != 1 else ''} in the input")
        for line in wrong.lines:
            say(f"  {line}", err=True)
        return ExitCode.BAD_INPUT
    except VineSimError as wrong:
        first, *more = str(wrong).splitlines()
        warn(first)
        for line in more:
            say(line, err=True)
        return ExitCode.BAD_INPUT
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except MemoryError as wrong:
        warn(f"not enough memory{f': {wrong}' if str(wrong) else ''}")
        return ExitCode.BAD_INPUT
    except OSError as wrong:
        if wrong.filename is not None:
            warn(f"{wrong.filename}: {wrong.strerror or wrong}")
        else:  # inputs and results have names, so this is standard output
            warn(f"cannot write the output: {wrong.strerror or wrong}")
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return ExitCode.BAD_INPUT
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # Rich and Typer exit with 1
            return 0
        if isinstance(end.__context__, typer.Exit) and isinstance(end.__context__.__cause__, KeyboardInterrupt):
            return _interrupted()  # Typer says nothing
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _interrupted() -> int:
    warn("interrupted")
    return ExitCode.INTERRUPTED


class _OnceHandler(logging.Handler):
    """Prints each message once to standard error, for example which policy file is run."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self._shown:
            self._shown.add(text)
            warn(text)


def _tell_log() -> None:
    log = logging.getLogger("vinesim")
    log.handlers[:] = [_OnceHandler()]  # only that of this command
    log.setLevel(logging.INFO)


def _show_warning(message: Any, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    where = "" if issubclass(category, InputWarning) else f" ({filename}:{lineno})"
    warn(f"warning: {message}{where}")
