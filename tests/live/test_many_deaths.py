"""Jobs under many deaths of the manager and of agents: each ends, none is lost."""

import asyncio
import random
import signal
from collections import Counter

import pytest

from tests.live.clusters import CLUSTER, processes
from tests.live.test_processes import run, up

SLOTS = CLUSTER.replace("lease: 1 s", "lease: 20 s").replace("pending: 50", "pending: 2000, attempts: 50")


async def through_deaths(session, cluster, notes, n_jobs, n_deaths):
    """Submit jobs while the manager and the agents are killed in turn. Returns the jobs as the journal has them."""
    await up(session, "n0", "n1")
    dice, done = random.Random(1), []

    async def job(number):
        command = ["sh", "-c", f"echo {number} >> {notes}; sleep 0.05"]
        spec = {"task_type": "COMMAND", "commands": {"CPU": command}, "expected_us": 50e3}
        found = (await session.call("job.submit", job=spec, key=f"job {number}"))["job"]
        done.append((await session.call("job.wait", job=found))["job"])

    waiting = [asyncio.ensure_future(job(number)) for number in range(n_jobs)]
    for death in range(n_deaths):
        seen = len(done)
        while len(done) < min(seen + n_jobs // (2 * n_deaths), n_jobs - 1):
            await asyncio.sleep(0.01)
        name = ("manager", "n0", "manager", "n1")[death % 4]
        await asyncio.sleep(dice.random() * 0.05)  # at any moment; nothing waits for this time
        cluster.signal(name, signal.SIGKILL)
        cluster.start(name)
        await up(session, "n0", "n1")
    await asyncio.gather(*waiting)
    return done


def check(tmp_path, n_jobs, n_deaths, text=SLOTS):
    notes, found = tmp_path / "notes", []

    async def work(session):
        found.extend(await through_deaths(session, cluster, notes, n_jobs, n_deaths))

    with processes(tmp_path, "manager", "n0", "n1", text=text) as cluster:
        run(cluster.folder, work, patience_s=1500)
    runs = Counter(notes.read_text().split())
    assert len(found) == n_jobs
    assert {job["state"] for job in found} == {"ended"}
    assert set(runs) == {str(number) for number in range(n_jobs)}
    again = sum(n - 1 for n in runs.values())
    assert again <= sum(job["n_attempts"] - 1 for job in found)  # each second run is known to the journal
    return again


def test_some_jobs_through_some_deaths(tmp_path):
    check(tmp_path, 24, 4)


@pytest.mark.slow
def test_a_thousand_jobs_through_forty_deaths(tmp_path, record_property):
    record_property("ran again", check(tmp_path, 1000, 40))
