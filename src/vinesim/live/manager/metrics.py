"""Metrics in Prometheus' text format, over HTTP with the token: ``Authorization: Bearer TOKEN``."""

import asyncio
import contextlib
import hmac
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from vinesim.live.manager.status import NUMBERS, status_of

if TYPE_CHECKING:
    from vinesim.live.manager.core import Core

REQUEST_BYTES = 8192
REQUEST_S = 5.0
STATES = ("up", "starting", "silent", "lost", "absent", "draining")


class Families:
    """What is measured, as ``prometheus_client`` collects it."""

    def __init__(self, core: "Core"):
        self._core = core

    def collect(self) -> Iterator[Any]:
        """Return the metrics with their values now."""
        status = status_of(self._core)
        for name, meaning in NUMBERS.items():
            counter = f"vinesim_{name.removeprefix('n_')}"
            yield CounterMetricFamily(counter, meaning, value=status["counters"][name])
        waiting = GaugeMetricFamily("vinesim_waiting", "Requests and jobs that wait", labels=["application"])
        for application, n in status["waiting"].items():
            waiting.add_metric([application], n)
        yield waiting
        yield GaugeMetricFamily("vinesim_running", "Attempts on devices", value=status["n_running"])
        yield GaugeMetricFamily("vinesim_clients", "Clients that are connected", value=status["n_clients"])
        nodes = GaugeMetricFamily("vinesim_nodes", "Nodes", labels=["state"])
        for state in STATES:
            nodes.add_metric([state], sum(node["state"] == state for node in status["nodes"]))
        yield nodes
        for name, meaning in (("response", "From arrival to answer"), ("dispatch", "From grant to end, not executing")):
            times = GaugeMetricFamily(f"vinesim_{name}_seconds", f"{meaning}, recent", labels=["quantile"])
            for label, quantile in (("p50", "0.5"), ("p99", "0.99")):
                if status[f"{name}_us"]:
                    times.add_metric([quantile], status[f"{name}_us"][label] / 1e6)
            yield times


class MetricsPort:
    """A port that answers ``GET /metrics``, and nothing else."""

    def __init__(self, core: "Core", token: bytes):
        self._registry, self._token = CollectorRegistry(), token.hex()
        self._registry.register(Families(core))
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, host: str, port: int = 0) -> None:
        """Listen; port 0 is any that is free."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=REQUEST_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, body = self._answer(head)
                lines = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                writer.write(f"{lines}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: str) -> tuple[str, bytes]:
        first, *rest = head.split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        given = fields.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return "401 Unauthorized", b"the cluster's token is needed: Authorization: Bearer TOKEN\n"
        if first.split(" ")[:2] != ["GET", "/metrics"]:
            return "404 Not Found", b"only GET /metrics\n"
        return "200 OK", generate_latest(self._registry)
