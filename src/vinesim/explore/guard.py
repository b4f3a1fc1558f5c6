"""Who may ask: only pages of this server, on this machine, that know its token."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
MAX_BODY = 1_000_000  # bytes
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",  # the address holds the token
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Refuses what has another host (DNS rebinding), another origin, or not the token: 403, and 401 without one."""

    def __init__(self, app: ASGIApp, token: str, port: Callable[[], int]):
        self._app, self._token, self._port = app, token, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        refused = self._refused(scope)
        await (self._app if refused is None else refused)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Callable[[Scope, Receive, Send], Awaitable[None]] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        own = [f"{host}:{self._port()}" for host in HOSTS]
        if headers.get("host") not in own:
            return PlainTextResponse("This server answers to its own address only.", 403)
        origin = headers.get("origin")
        if origin is not None and origin not in [f"http://{host}" for host in own]:
            return PlainTextResponse("This server answers its own pages only.", 403)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY or "transfer-encoding" in headers:
            return PlainTextResponse("Too long.", 413)
        given = _token_of(scope, headers)
        if given is None:
            return PlainTextResponse("Open the address that vinesim explore has printed: it holds a token.", 401)
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return PlainTextResponse("This is not the token of this server.", 403)
        return None


def _token_of(scope: Any, headers: dict[str, str]) -> str | None:
    """Return the token of a request: of the page in its address, of all others in a header."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind == "Bearer":
        return token
    if scope["path"] != "/" or scope["method"] != "GET":
        return None
    query = scope["query_string"].decode("latin-1")
    return next((part[len("token=") :] for part in query.split("&") if part.startswith("token=")), None)
