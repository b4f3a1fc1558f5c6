"""The process that simulates: it does the jobs of the pages one at a time, and looks up whether it is to stop."""

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from multiprocessing.connection import Connection
from typing import Any

from vinesim.engine.engine_choice import Engine
from vinesim.explore.jobs import JOBS, Stopped, Watch
from vinesim.explore.state import Explored
from vinesim.model.errors import VineSimError

STOP, DROP = "stop", "drop"  # end the job and tell what it has, or nothing


def serve(connection: Connection, path: str, overrides: Sequence[str], engine: Engine, niceness: int) -> None:
    """Do jobs until the other end of the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    with suppress(OSError):
        os.nice(niceness)
    explored = Explored(path, overrides, engine)
    with redirect_stdout(sys.stderr):  # what policies print
        while True:
            try:
                question = connection.recv()
            except (EOFError, OSError):
                return
            if question in (STOP, DROP):  # what it was to end has ended
                continue
            with suppress(BrokenPipeError):
                connection.send(_done(connection, explored, *question))


def _done(connection: Connection, explored: Explored, job: str, question: Mapping[str, Any]) -> tuple[str, Any]:
    """Do a job. Returns how it ended: done with JSON, failed with a text, or stopped."""
    orders: list[str] = []

    def is_to_stop() -> bool:
        while connection.poll():
            orders.append(connection.recv())
        return bool(orders)

    watch = Watch(lambda progress: connection.send(("progress", dict(progress))), is_to_stop, lambda: DROP in orders)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = JOBS[job](explored, question, watch)
        except Stopped:
            return "stopped", None
        except VineSimError as wrong:
            return "failed", str(wrong)
        except Exception as wrong:  # a bug, or a policy of the user: the page says it, the terminal has the rest
            traceback.print_exc()
            return "failed", f"{type(wrong).__name__}: {wrong}"
    texts = [str(each.message) for each in warned if issubclass(each.category, UserWarning)]
    return "done", json.dumps({**found, "warnings": list(dict.fromkeys(texts))}, allow_nan=False)
