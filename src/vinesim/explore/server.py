"""Serve the page on the loopback interface, with a token, until Ctrl-C."""

import asyncio
import json
import secrets
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from vinesim.explore import saving
from vinesim.explore.guard import Guard
from vinesim.explore.line import Line, Ticket
from vinesim.explore.page import explore_page
from vinesim.explore.question import read_question
from vinesim.explore.state import Explored
from vinesim.model.errors import InputError, Problem, VineSimError
from vinesim.report.page import policy_of, render

TOKEN_BYTES = 24
BACKGROUND = 10  # niceness of what the page does not wait for
NEEDED = {"save": ("kind",), "differences": ("variants",), "curve": ("key", "values")}  # fields without a default


class Server:
    """A page about a scenario: ``app`` answers, ``address`` is what the browser opens."""

    def __init__(self, explored: Explored, port: int = 0):
        self.explored, self.token = explored, secrets.token_urlsafe(TOKEN_BYTES)
        self.port = port
        self.fronts, self.back = [Line(explored), Line(explored)], Line(explored, BACKGROUND)  # the first front serves
        self._prepared: dict[str, asyncio.Task[bool]] = {}  # compiled loops, by policy
        self._page = render(explore_page(explored))
        routes = [
            Route("/", self.page),
            Route("/show", self.show, methods=["POST"]),
            Route("/differences", self.differences, methods=["POST"]),
            Route("/curve", self.curve, methods=["POST"]),
            Route("/stop", self.stop, methods=["POST"]),
            Route("/save", self.save, methods=["POST"]),
        ]
        guard = Middleware(Guard, token=self.token, port=lambda: self.port)
        refusing = {VineSimError: _refused}
        self.app = Starlette(routes=routes, middleware=[guard], exception_handlers=refusing, lifespan=self._lifespan)

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.fronts[0].submit("start", "show", {"changes": {}})  # so that all is loaded when the page asks
        yield
        for task in self._prepared.values():
            task.cancel()
        await asyncio.gather(*(line.close() for line in (*self.fronts, self.back)))

    async def page(self, request: Request) -> Response:
        """Return the page."""
        return HTMLResponse(self._page, headers={"content-security-policy": policy_of(self._page)})

    async def show(self, request: Request) -> Response:
        """Run a variant and tell the charts; then prepare the compiled engine for its policy."""
        return await self._answered(request, self.fronts[0], "show", self._with_code)

    async def differences(self, request: Request) -> Response:
        """Tell how variants differ, in the background."""
        return await self._answered(request, self.back, "differences")

    async def curve(self, request: Request) -> Response:
        """Tell the points along a control, in the background."""
        return await self._answered(request, self.back, "curve")

    async def stop(self, request: Request) -> Response:
        """End what runs for a page."""
        question = read_question(await request.body())
        job = str(question.get("job"))
        for line in (*self.fronts, self.back):
            line.stop(_owner(question, job))
        return JSONResponse({})

    async def save(self, request: Request) -> Response:
        """Return a variant as a text: kind is scenario, command or plan."""
        question = read_question(await request.body(), NEEDED["save"])
        return JSONResponse({"text": await run_in_threadpool(self._saved, question)})

    def _saved(self, question: Mapping[str, Any]) -> str:
        kind, changes = question["kind"], question["changes"]
        if kind == "plan":
            vary, pinned = question.get("vary", []), question.get("pinned", [])
            return saving.plan_text(self.explored, changes, vary, question.get("p99_us"), pinned)
        return (saving.command if kind == "command" else saving.scenario_text)(self.explored, changes)

    async def _answered(
        self,
        request: Request,
        line: Line,
        job: str,
        then: Callable[[Mapping[str, Any], dict[str, Any]], AsyncIterator[str]] | None = None,
    ) -> Response:
        """Put a job into the line; answer with a line of JSON for each message."""
        question = read_question(await request.body(), NEEDED.get(job, ()))
        ticket = line.submit(_owner(question, job), job, question)
        return StreamingResponse(self._lines(line, ticket, then), media_type="application/x-ndjson")

    async def _lines(self, line: Line, ticket: Ticket, then: Any) -> AsyncIterator[str]:
        try:
            async for kind, data in ticket.messages():
                yield f'{{"kind": "{kind}", "data": {data if kind == "done" else json.dumps(data)}}}\n'
                if kind == "done" and then is not None:
                    async for text in then(ticket.question, json.loads(data)):
                        yield text
        finally:
            if not ticket.is_over:
                line.leave(ticket)

    async def _with_code(self, question: Mapping[str, Any], shown: dict[str, Any]) -> AsyncIterator[str]:
        """Compile the policy's loop in the background, then load it where the page's runs are; tell about both."""
        if shown["isCodeReady"] is not False:
            return
        names = {key: value for key, value in question["changes"].items() if key.split(".")[0] in ("policy", "options")}
        key = json.dumps(names, sort_keys=True)
        if key not in self._prepared:
            self._prepared[key] = asyncio.create_task(self._prepare(key, {"changes": question["changes"]}))
        yield '{"kind": "compiling", "data": null}\n'
        is_ready = await asyncio.shield(self._prepared[key])
        yield f'{{"kind": "compiled", "data": {json.dumps(is_ready)}}}\n'

    async def _prepare(self, key: str, question: Mapping[str, Any]) -> bool:
        """Compile in the background and load the code in the front that does not serve; then it serves, and the other
        one loads it too. So a page never waits for the compiler."""
        other = self.fronts[1]
        for line in (self.back, other):
            if not await _is_done(line.submit(f"prepare {key}", "prepare", question)):
                return False
        if self.fronts[1] is other:
            self.fronts.reverse()
        return await _is_done(self.fronts[1].submit(f"prepare {key}", "prepare", question))


async def _is_done(ticket: Ticket) -> bool:
    """Wait for the end of a job. Returns whether it was done."""
    return [kind async for kind, _ in ticket.messages()][-1] == "done"


async def _refused(request: Request, wrong: Exception) -> Response:
    """Say what is wrong with the question."""
    return JSONResponse({"error": str(wrong)}, 422)


def _owner(question: Mapping[str, Any], job: str) -> str:
    return f"{job} {str(question.get('page'))[:64]}"


def listening(port: int) -> socket.socket:
    """Return a socket that listens on the loopback; port 0: a free one. Raises :class:`OSError`."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
        found.listen()  # from now on a browser waits for the server instead of being refused
    except OSError:
        found.close()
        raise
    return found


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
