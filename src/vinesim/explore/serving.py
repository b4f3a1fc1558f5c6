"""Serve the page until Ctrl-C."""

import webbrowser
from collections.abc import Callable

import uvicorn

from vinesim.explore.server import Server, listening
from vinesim.explore.state import Explored
from vinesim.model.errors import InputError, Problem

GRACE_S = 1  # for answers that are on their way when the server ends


def serve_page(explored: Explored, port: int, say: Callable[[str], object], *, opens_browser: bool) -> None:
    """Serve the page of a scenario on the loopback. Raises :class:`InputError` for a wrong scenario or a taken port."""
    server = Server(explored)
    try:
        listener = listening(port)
    except OSError as wrong:
        found = f"{port}: {wrong.strerror or wrong}"
        raise InputError([Problem("--port", "a free port", found, "Give another one, or none.")]) from None
    server.port = listener.getsockname()[1]
    say(f"{explored.path}: {server.address}")
    say("Ctrl-C ends it.")
    if opens_browser:
        webbrowser.open(server.address)
    config = uvicorn.Config(server.app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn passes Ctrl-C on after it has ended
        pass
    finally:
        listener.close()
