"""Secure the Ray that a sweep starts or joins: it requires the user's token and listens on the loopback interface.

Ray's processes run any code that they are sent. If any of them does not require the token, nothing is started. A Ray
that a sweep starts listens only on the loopback interface; Ray's default is all addresses of the machine.
"""

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vinesim.model.errors import InputError, Problem

MODE = "RAY_AUTH_MODE"
CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # without clusters Ray uses the loopback, on every system
LOOPBACK = ("127.0.0.1", "::1")
PRIVATE = 0o600


def ask_for_token() -> None:
    """Make this program and its children require Ray's token. Raises :class:`InputError` if settings forbid it."""
    mode = os.environ.get(MODE, "token")
    if mode.lower() != "token":
        expected = f"{MODE}=token: without it, anyone who reaches Ray runs code as you"
        raise InputError([Problem("--backend ray", expected, mode, f"Remove {MODE} from the environment.")])
    os.environ[MODE] = mode
    ray = sys.modules.get("ray")
    if ray is not None and not ray.is_initialized():
        with suppress(AttributeError):
            ray._raylet.Config.initialize("")  # reads the environment again


def check_token(ray: Any) -> None:
    """Leave the Ray that was joined and raise :class:`InputError`, unless it requires the token."""
    with suppress(ImportError):  # Ray is too old
        from ray._private.authentication.authentication_utils import is_token_auth_enabled

        if is_token_auth_enabled():
            return
    ray.shutdown()
    remedy = f"Set {MODE}=token, and use Ray 2.60 or later."
    raise InputError([Problem("--backend ray", "a Ray that requires its token", "one that does not", remedy)])


def make_token() -> None:
    """Create Ray's default token, readable only by the user; other users could read the one that Ray creates."""
    file = Path.home() / ".ray" / "auth_token"
    if os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH") or file.exists():
        return
    with suppress(OSError):  # Ray will report it
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "w") as stream:
            stream.write(secrets.token_hex(32))


@contextmanager
def on_loopback(ray: Any, on_message: Callable[[str], None]) -> Iterator[None]:
    """Make a Ray that is started inside this context listen only on the loopback interface."""
    constants, before = ray._private.ray_constants, os.environ.get(CLUSTERS)
    is_enabled = getattr(constants, "ENABLE_RAY_CLUSTER", None)  # read by Ray when it was imported
    os.environ[CLUSTERS] = "0"
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
        if ray.util.get_node_ip_address() not in LOOPBACK:
            on_message("this version of Ray listens on all addresses of this machine; it requires its token")
    finally:
        constants.ENABLE_RAY_CLUSTER = is_enabled
        if before is None:
            del os.environ[CLUSTERS]
        else:
            os.environ[CLUSTERS] = before
