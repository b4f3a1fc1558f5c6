"""Live clusters: what the manager answers, on a clock that the case moves."""

from pathlib import Path
from typing import Any

import numpy as np

import vinesim as vs
from tests.live.clusters import CLUSTER, CoreTest, every, only
from tests.live.test_record_exact import OWN
from verification.cases.case import case
from vinesim.live.decisions import Arrive, Complete, SchedulerDecisions, SetUp
from vinesim.live.registration import Cluster
from vinesim.live.scheduler import Scheduler
from vinesim.model.application import Application
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.policies.registry import resolve

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")
JOB = {"task_type": "COMMAND", "commands": {"*": ["true"]}, "expected_us": 1e6}
MINE = {"op": "client.register", "n": 1, "name": "MINE", "relative_deadline_us": 1e5, "task_type": "ECHO"}
CPU = (vs.ProcessorType("CPU"),)


def started(folder: Path, text: str = LONG) -> CoreTest:
    """A manager with a client and two nodes."""
    folder.mkdir(exist_ok=True)
    core = CoreTest(folder, text)
    core.client()
    core.agent("n0")
    core.agent("n1")
    return core


def node_of(sent: list[Any]) -> str:
    """To which node an order went."""
    return str(next(peer for peer, message in sent if message["op"] == "run"))


@case("live-add-node", right="refused, refused, refused, refused; the manager goes on")
def add_node(folder: Path) -> str:
    """Names that Ray or a file system does not take."""
    core, found = started(folder), []
    for n, name in enumerate(("gpu_", "-x", "..", "x" * 64)):
        sent = core.turn(("c", {"op": "client.add", "n": n, "node": name, "units": {"CPU": 1}}))
        found.append("refused" if every(sent, "refused") else "joins")
    goes_on = every(core.turn(("c", {"op": "client.status", "n": 9})), "reply") and not core.core.is_changing
    return f"{', '.join(found)}; the manager {'goes on' if goes_on else 'begins again'}"


@case("live-closed-zero", right="fcfs: none, edf: none, symphony: none, easy_backfill: none")
def closed_zero(folder: Path) -> str:
    """What takes nothing of a closed unit, whose load rounding has left just below 0."""
    center, found = vs.Datacenter.of([("CPU", 0, 0)], CPU), []
    cluster = Cluster(center, (vs.TaskType("A"),), np.ones((1, 1)), None, 0)
    for policy in ("fcfs", "edf", "symphony", "easy_backfill"):
        one = SchedulerDecisions(cluster, resolve(policy, {}))
        of = {demand: one.register(Application(f"{demand}", 1e9), "A", demand) for demand in (0.0, 0.1, 0.4)}
        grant = {d: one.turn(0.0, [Arrive(of[d], 10.0, 0.0)]).grants[0].id for d in of}
        one.turn(1.0, [SetUp((0,), False)])
        one.turn(2.0, [Complete(grant[0.4], 0)])
        one.turn(3.0, [Complete(grant[0.1], 0)])
        grants = one.turn(4.0, [Arrive(of[0.0], 10.0, 4.0)]).grants
        found.append(f"{policy}: {'granted' if grants else 'none'}")
    return ", ".join(found)


@case("live-core", right="cancelled; one job; runs once; the reader is answered; all or nothing")
def core_cases(folder: Path) -> str:
    """Races in the manager, and a handler that fails half way."""
    core = started(folder / "a")
    run = only(sent := core.submit(), "run")
    died = {"attempt": run["attempt"], "epoch": 1, "outcome": "killed", "why": "died"}
    ended = (node_of(sent), {"op": "agent.ended", "ends": [died]})
    core.turn(ended, ("c", {"op": "job.cancel", "n": 2, "job": 1}))
    found = [core.job(1)["state"]]
    core = started(folder / "b")
    for _ in range(2):
        core.turn(("c", {"op": "job.submit", "n": 7, "job": JOB}))  # again, as the answer was lost
        core.begin()
        core.client()
    found.append("one job" if core.core.journal.one("SELECT count(*) AS n FROM jobs")["n"] == 1 else "two jobs")
    core = started(folder / "c", LONG.replace("policy: fcfs", "policy: symphony"))
    run = only(sent := core.request("1"), "run")
    node = node_of(sent)
    core.begin()
    core.client()
    for key in "123":
        core.request(key)
    core.core.decisions.component._scheduler.cancel = lambda *_: False  # type: ignore[attr-defined]
    sent = core.agent(node, epoch=1, running=[{"attempt": run["attempt"], "unit": run["unit"], "items": run["items"]}])
    sent += core.agent("n1" if node == "n0" else "n0", epoch=1) + core.turn()
    again = "1" in [item[4] for order in every(sent, "run") for item in order["items"]]
    found.append("runs twice" if again else "runs once")
    core = started(folder / "d")
    run = only(sent := core.submit(), "run")
    core.end(node_of(sent), run["attempt"], exit_code=0)
    core.turn(("c", {"op": "job.output", "n": 5, "job": 1, "stream": "out"}))
    core.core.closed(node_of(sent))
    found.append("the reader is answered" if every(core.turn(), "refused") else "the reader waits")
    core.core.jobs._item = lambda *_: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    n_before = core.core.journal.one("SELECT count(*) AS n FROM jobs")["n"]
    core.turn(("c", {"op": "job.submit", "n": 9, "job": JOB}))
    is_same = core.core.journal.one("SELECT count(*) AS n FROM jobs")["n"] == n_before
    found.append("all or nothing" if is_same else "half")
    return "; ".join(found)


@case("live-hello-refused", right="welcome, serves; welcome, serves")
def hello_refused(folder: Path) -> str:
    """An agent comes back to a new manager with a request of an application that a client has registered, and with an
    end that has no form in JSON."""
    found = []
    for name in ("registered", "odd end"):
        core = started(folder / name)
        if name == "registered":
            core.turn(("c", {**MINE, "kernel": "echo"}))
            request = {"op": "client.request", "key": "k", "application": "MINE", "size": 1.0, "payload": b"\1"}
            run = only(sent := core.turn(("c", request)), "run")
            hello = {"running": [{"attempt": run["attempt"], "unit": run["unit"], "items": run["items"]}]}
        else:
            job = {"task_type": "ECHO", "kernel": "echo", "payload": 1, "expected_us": 1e6}
            run = only(sent := core.turn(("c", {"op": "job.submit", "n": 1, "job": job})), "run")
            end = {"attempt": run["attempt"], "epoch": 1, "outcome": "done", "results": [{"result": {b"a": 1}}]}
            hello = {"ended": [end]}
        core.begin()
        core.client()
        sent = core.agent("n1" if node_of(sent) == "n0" else "n0", epoch=1) + core.agent(
            node_of(sent), epoch=1, **hello
        )
        answer = "welcome" if len(every(sent, "welcome")) == 2 else "refused"
        served = every(core.request("other") + core.turn(), "run")
        found.append(f"{answer}, {'serves' if served else 'is stuck'}")
    return "; ".join(found)


@case("live-request-ignored", right="fcfs: refused, refused; easy_backfill: runs, refused; rb_fifo: runs, refused")
def request_ignored(folder: Path) -> str:
    """Jobs that request 2 and 99 cores where units have 2."""
    found = []
    for policy in ("fcfs", "easy_backfill", "rb_fifo"):
        text = LONG.replace("policy: fcfs", f"policy: {policy}").replace(
            "{name: CPU, capacity: 2}", "{name: CPU, capacity: 2, attributes: {cores: 2}}"
        )
        core, ends = started(folder / policy, text), []
        for cores in (2, 99):
            sent = core.submit(requests={"cores": cores}) + core.turn(after_us=1e6)
            ends.append("refused" if every(sent, "refused") else "runs" if every(sent, "run") else "waits")
        found.append(f"{policy}: {', '.join(ends)}")
    return "; ".join(found)


@case("live-same-instant", right="live: SLOW first, simulated: SLOW first")
def same_instant(folder: Path) -> str:
    """Two requests of one instant, under a policy that does not wait for the second."""
    (folder / "slack.py").write_text(OWN.replace("SEES", "False"))
    policy, center = resolve(f"{folder}/slack.py:Slack", {}), vs.Datacenter.of([("CPU", 0, 0)], CPU)
    applications = (Application("SLOW", 60_000.0), Application("FAST", 40_000.0))
    one = Scheduler(center, policy, task_types=(vs.TaskType("A"),), affinity=np.ones((1, 1)))
    for application in applications:
        one.register_application(application, "A")
    for number in range(2):
        one.new_request(number, 10.0, 100.0)
    grant = one.can_issue(10.0)
    assert grant is not None
    work = Workload(
        job_task_type=np.zeros(2, int),
        job_first=np.arange(3),
        arrival_us=np.full(2, 10.0),
        operations=np.full(2, 100.0),
        data_bytes=np.zeros(2),
        data_rack=np.zeros(2),
        data_shelf=np.zeros(2),
        preferred_type=np.full(2, NO_PREFERENCE),
        application=np.arange(2),
        task_types=(vs.TaskType("A"),),
        application_names=("SLOW", "FAST"),
    )
    scenario = vs.Scenario(center, work, policy, affinity=np.ones((1, 1)), applications=applications)
    first = int(np.argmin(vs.simulate(scenario, engine="reference").tasks["init_us"]))
    names = [application.name for application in applications]
    return f"live: {names[grant.application]} first, simulated: {names[first]} first"
