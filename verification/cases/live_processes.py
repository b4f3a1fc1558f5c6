"""Live clusters of real processes: what clients, kernels and commands do to them. Without Ray, which starts slowly."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.live.clusters import CLUSTER, processes
from tests.live.test_processes import run, up
from verification.cases.case import case, vinesim
from vinesim.live.client import LiveError
from vinesim.model.errors import InputError

LONG = CLUSTER.replace("lease: 1 s", "lease: 30 s")
ANSWER_S = 20.0  # longer than that is no answer


def command(script: str, **more: Any) -> dict[str, Any]:
    """A job that runs a script."""
    return {"task_type": "COMMAND", "commands": {"*": ["bash", "-c", script]}, "expected_us": 1e6, **more}


async def end_of(work: Awaitable[Any]) -> str:
    """Whether something is answered, an error, or never answered."""
    try:
        await asyncio.wait_for(work, ANSWER_S)
    except TimeoutError:
        return "no answer"
    except (LiveError, InputError):
        return "error"
    return "answer"


def starts(folder: Path) -> int:
    """How often the manager was started."""
    return (folder / "logs" / "manager.jsonl").read_text().count('"manager up"')


@case("live-cancel", right="killed before it starts: cancelled; after the manager died: cancelled; neither runs on")
def cancel(folder: Path) -> str:
    """Jobs that are cancelled while their process starts, and just after the manager died."""

    async def work(session: Any) -> str:
        await up(session, "n1")
        for pid in cluster.devices("n1"):
            os.kill(pid, signal.SIGKILL)  # so that the next job needs a new process
        found = []
        for name in ("killed before it starts", "after the manager died"):
            job = (await session.call("job.submit", job=command("exec sleep 777")))["job"]
            if name.startswith("after"):
                cluster.signal("manager", signal.SIGKILL)
                cluster.start("manager")
            assert (await session.call("job.cancel", job=job))["is_cancelled"]
            ended = (await asyncio.wait_for(session.call("job.wait", job=job), ANSWER_S))["job"]
            found.append(f"{name}: {ended['state']}")
        until = time.monotonic() + ANSWER_S
        while sleeping("777") and time.monotonic() < until:
            await asyncio.sleep(0.2)
        return f"{'; '.join(found)}; {'one' if sleeping('777') else 'neither'} runs on"

    with processes(folder, "manager", "n1", text=LONG) as cluster:
        return served(cluster.folder, work)


def sleeping(seconds: str) -> bool:
    """Whether a job that sleeps so long, a regular expression, runs."""
    return subprocess.run(["pgrep", "-f", f"^sleep {seconds}$"], capture_output=True, check=False).stdout != b""


def served(folder: Path, work: Callable[[Any], Awaitable[str]]) -> str:
    """What a session of the cluster sees."""
    found = []

    async def kept(session: Any) -> None:
        found.append(await work(session))

    run(folder, kept)
    return found[0]


@case("live-clock-step", right="limit: failed, cancel: cancelled, and nothing runs on")
def clock_step(folder: Path) -> str:
    """The date is stepped by three seconds while jobs run: what the agent reads of it, in a mount namespace."""
    stat = folder / "stat"
    stat.write_text(Path("/proc/stat").read_text())
    with processes(folder, "manager", text=LONG) as cluster:
        words = (
            f"mount --bind {stat} /proc/stat && exec {sys.executable} -m vinesim.live.serve agent {cluster.folder} n1"
        )
        agent = subprocess.Popen(["unshare", "-m", "bash", "-c", words], start_new_session=True)
        try:

            async def work(session: Any) -> str:
                await up(session, "n1")
                limited = (await session.call("job.submit", job=command("exec sleep 778", limit_us=4e6)))["job"]
                cancelled = (await session.call("job.submit", job=command("exec sleep 779")))["job"]
                await asyncio.sleep(1.0)
                begun = next(line for line in stat.read_text().splitlines() if line.startswith("btime"))
                stat.write_text(stat.read_text().replace(begun, f"btime {int(begun.split()[1]) + 3}"))
                await session.call("job.cancel", job=cancelled)
                ends = [
                    (await asyncio.wait_for(session.call("job.wait", job=job), ANSWER_S))["job"]["state"]
                    for job in (limited, cancelled)
                ]
                left = "something" if sleeping("77[89]") else "nothing"
                return f"limit: {ends[0]}, cancel: {ends[1]}, and {left} runs on"

            return served(cluster.folder, work)
        finally:
            agent.kill()
            agent.wait()


@case("live-poison", right="16 errors, 2 answers, 0 without; the manager was started once, the devices not again")
def poison(folder: Path) -> str:
    """What kernels return and raise, what clients send, and a call for a job of the number 2^63."""

    async def work(session: Any) -> str:
        await up(session, "n1")
        echo = session.application("ECHO")
        odd = ("set", "object", "objects", "big", "surrogate", "deep", "nan", "bytes keys", "tuple keys")
        found = [await end_of(echo.request(["odd", one])) for one in odd]
        found += [await end_of(echo.request([verb, 3])) for verb in ("exit", "bad_words", "surrogates")]
        found += [await end_of(echo.request(one)) for one in ({1}, 2**70, "\ud800", {(1, 2): 3})]
        found.append(await end_of(session.call("job.wait", job=2**63)))
        job = {"task_type": "ECHO", "kernel": "echo", "payload": ["odd", "bytes keys"], "expected_us": 1e6}
        number = (await session.call("job.submit", job=job))["job"]
        state = (await asyncio.wait_for(session.call("job.wait", job=number), ANSWER_S))["job"]["state"]
        found.append("error" if state == "failed" else state)
        counts = f"{found.count('error')} errors, {found.count('answer')} answers, {found.count('no answer')} without"
        again = (await session.call("client.status"))["counters"]["n_started_again"]
        n, devices = starts(cluster.folder), "again" if again else "not again"
        return f"{counts}; the manager was started {'once' if n == 1 else f'{n} times'}, the devices {devices}"

    with processes(folder, "manager", "n1", text=LONG) as cluster:
        return served(cluster.folder, work)


@case("live-tuple-keys", right="8 errors, a good request along with them: answer; 0 connections lost")
def tuple_keys(folder: Path) -> str:
    """Eight requests whose payloads and results have tuples as keys, on two slots."""

    async def work(session: Any) -> str:
        await up(session, "n1")
        echo = session.application("ECHO")
        bad = [echo.request(["odd", "tuple keys"]) for _ in range(4)] + [echo.request({(1, 2): 3}) for _ in range(4)]
        ends = await asyncio.gather(*map(end_of, bad), end_of(echo.request(["say", 1])))
        log = (cluster.folder / "logs" / "manager.jsonl").read_text()
        lost = log.count('"connection closed"')
        return f"{ends[:8].count('error')} errors, a good request along with them: {ends[8]}; {lost} connections lost"

    with processes(folder, "manager", "n1", text=LONG) as cluster:
        return served(cluster.folder, work)


@case(
    "live-small",
    right="list: exit 0; child of the limited job: gone; reason: ValueError: no; second slot: 1 process each",
)
def small(folder: Path) -> str:
    """A name that looks like markup, a child in its own session, a kernel that raises, and two slots at once."""
    child = folder / "child"

    async def work(session: Any) -> str:
        await up(session, "n1")
        n_devices = len(cluster.devices("n1"))
        await session.call("job.submit", job=command("true", name="[/red]"))
        script = f"setsid bash -c 'echo $$ > {child}; exec sleep 1000' & wait"
        job = (await session.call("job.submit", job=command(script, limit_us=2e6)))["job"]
        await asyncio.wait_for(session.call("job.wait", job=job), ANSWER_S)
        await end_of(session.application("ECHO").request(["raise", "no"]))
        listed = await asyncio.to_thread(vinesim, folder, "live", "list", "--all")
        reason = (await session.call("client.status"))["failures"][-1]["why"]
        is_gone = not Path(f"/proc/{child.read_text().strip()}").exists()
        slots = "1 process each" if n_devices == 2 else f"{n_devices} processes for 2 slots"
        gone = "gone" if is_gone else "runs on"
        return (
            f"list: exit {listed.returncode}; child of the limited job: {gone}; reason: {reason}; second slot: {slots}"
        )

    with processes(folder, "manager", "n1", text=LONG) as cluster:
        os.environ["VINESIM_LIVE"] = str(cluster.folder)
        try:
            return served(cluster.folder, work)
        finally:
            del os.environ["VINESIM_LIVE"]


@case("live-storm", right="12 jobs: 12 accepted once, 12 over, none ended twice, none at most once began twice")
def storm(folder: Path) -> str:
    """Jobs while the manager and an agent are killed again and again."""
    ledger = folder / "ledger"
    ledger.touch()

    async def work(session: Any) -> str:
        await up(session, "n1")

        async def submitted(i: int) -> int:
            script = f"echo B {i} >> {ledger}; sleep 0.3; echo E {i} >> {ledger}"
            return int((await session.call("job.submit", job=command(script, at_most_once=i % 3 == 0)))["job"])

        numbers: list[int] = []
        for i in range(12):
            numbers.append(await submitted(i))
            if i % 4 == 3:
                name = ("manager", "n1", "manager")[i // 4]
                cluster.signal(name, signal.SIGKILL)
                cluster.start(name)
        states = [(await asyncio.wait_for(session.call("job.wait", job=n), 40))["job"]["state"] for n in numbers]
        lines = ledger.read_text().split("\n")
        twice = [i for i in range(12) if lines.count(f"E {i}") > 1]
        once = [i for i in range(0, 12, 3) if lines.count(f"B {i}") > 1]
        over = sum(state in ("ended", "unknown") for state in states)
        words = f"{twice if twice else 'none'} ended twice, {once if once else 'none'} at most once began twice"
        return f"12 jobs: {len(set(numbers))} accepted once, {over} over, {words}"

    with processes(folder, "manager", "n1", text=CLUSTER.replace("limits: {", "limits: {attempts: 30, ")) as cluster:
        return served(cluster.folder, work)
