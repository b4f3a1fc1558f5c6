"""Load: the requests of a scenario, sent to a running cluster at their times."""

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vinesim.live.client import LiveError, Session
from vinesim.live.kernels import payload_for
from vinesim.live.manager.failures import first_line
from vinesim.model.application import application_names
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload


@dataclass
class Played:
    """What clients saw: by application, the response time of each request, infinite if it failed."""

    response_us: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[tuple[str, str], int] = field(default_factory=dict)  # by kind and reason
    late_us: float = 0.0  # how much later than planned the last request was sent, at worst


async def play(session: Session, work: Workload, kernels: dict[str, str], speed: float = 1.0, seed: int = 0) -> Played:
    """Send the jobs of a workload as requests: job k at its arrival time / ``speed`` from now, whatever the answers.

    ``kernels`` gives each application's kernel, which makes the payloads. Raises :class:`InputError` for a workload
    whose jobs are of no application that the cluster serves, or wait for others.
    """
    if work.application is None:
        raise InputError([Problem(("workload",), "jobs of applications", "jobs without an application")])
    if work.after is not None:
        expected = "jobs that wait for no others: requests are sent at their times, whatever the answers"
        raise InputError([Problem(("workload", "after"), expected, "jobs that wait for others", "Simulate them.")])
    names = [application_names(work)[code] for code in work.application.tolist()]
    unknown = sorted(set(names) - set(kernels))
    if unknown:
        expected = f"applications of the cluster: {', '.join(kernels)}"
        raise InputError([Problem(("workload",), expected, ", ".join(unknown))])
    random, played, loop = np.random.default_rng(seed), Played(), asyncio.get_running_loop()
    sizes = work.operations[work.job_first[:-1]].tolist()
    payloads = [payload_for(kernels[name], size, random) for name, size in zip(names, sizes, strict=True)]
    begin_s, waiting = loop.time() + 0.1, []
    for job, at_us in enumerate(work.arrival_us.tolist()):
        due_s = begin_s + at_us / speed / 1e6
        if due_s > loop.time():
            await asyncio.sleep(due_s - loop.time())
        played.late_us = max(played.late_us, (loop.time() - due_s) * 1e6)
        waiting.append(loop.create_task(_one(session, names[job], payloads[job], sizes[job], played)))
    await asyncio.gather(*waiting)
    return played


async def _one(session: Session, name: str, payload: Any, size: float, played: Played) -> None:
    loop, response_us = asyncio.get_running_loop(), math.inf
    begin_s = loop.time()
    try:
        await session.application(name).request(payload, size)
        response_us = (loop.time() - begin_s) * 1e6
    except LiveError as wrong:
        reason = wrong.kind, first_line(wrong.why)
        played.failures[reason] = played.failures.get(reason, 0) + 1
    played.response_us.setdefault(name, []).append(response_us)
