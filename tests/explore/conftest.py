"""Scenarios to explore, and requests like those of a page."""

import asyncio
import json
from pathlib import Path

import pytest

from vinesim.explore.jobs import Watch
from vinesim.explore.state import Explored

EXAMPLES = Path(__file__).parents[2] / "examples"
GPUS = "datacenter.racks[0].units.GPU"
SMALL = ("workload.options.n_jobs=40",)


@pytest.fixture
def quickstart():
    """Return the example of the README with fewer jobs, in plain Python."""
    return Explored(EXAMPLES / "quickstart.yaml", SMALL, "reference")


class Listener:
    """Records the messages of a job, and stops it after ``stops_after`` of them."""

    def __init__(self, stops_after=10**9):
        self.progress, self.stops_after = [], stops_after

    @property
    def watch(self):
        return Watch(
            lambda reported: self.progress.append(dict(reported)), lambda: len(self.progress) >= self.stops_after
        )


def asked(app, method, path, headers, body=None):
    """Return the status, headers and text of an ASGI application's answer."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode(), "more_body": False}

    async def send(message):
        sent.append(message)

    name, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": name, "raw_path": name.encode(), "query_string": query.encode()}
    scope |= {"headers": [(k.encode(), v.encode()) for k, v in headers.items()], "http_version": "1.1", "root_path": ""}
    asyncio.run(app(scope | {"scheme": "http", "server": ("127.0.0.1", 80), "client": None}, receive, send))
    found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]).decode()
