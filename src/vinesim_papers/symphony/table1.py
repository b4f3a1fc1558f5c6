"""Table I: the calls between applications and the scheduler; here those of ``vinesim.Scheduler``."""

import heapq
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from vinesim.engine.simulate import simulate
from vinesim.live.grant import Grant, Place
from vinesim.live.scheduler import Scheduler
from vinesim.reproduction.claim import Claim, Kind
from vinesim.reproduction.criteria import Each, Equal
from vinesim.reproduction.data import Data
from vinesim.reproduction.item import Item
from vinesim.reproduction.single import scenario

STUDY = Path(__file__).with_name("day.yaml")
NODES = (3, 7)
CALLS = {  # of Table I: the method here, and its arguments
    "newAppRegistration": (
        Scheduler.register,
        ("relative_deadline_us", "average_load", "nodes", "gang_size", "max_consolidated"),
    ),
    "newRequestNotification": (Scheduler.new_request, ("application", "now_us", "size")),
    "canIssueRequests": (Scheduler.can_issue, ("now_us", "application")),
    "requestComplete": (Scheduler.complete, ("grant", "now_us")),
}


def alike(changes: Mapping[str, Any]) -> dict[str, float]:
    """Return the percent of requests that the component starts on the same unit and at the same time as a run, when the
    four calls report the run's events; by nodes, a minute each."""
    short = {"workload.options.duration_us": "1 min", "workload.options.spikes": 0, "policy": "symphony"}
    return {
        f"{n} nodes": _share(scenario(STUDY, {**short, "datacenter.racks[0].nodes[0].count": n}, changes))
        for n in NODES
    }


def _share(made: Any) -> float:
    tasks, work = simulate(made).tasks, made.workload
    scheduler, same = Scheduler.of(made), 0
    events = [(now_us, "request", request) for request, now_us in enumerate(work.arrival_us.tolist())]
    while events:
        now_us, kind, which = heapq.heappop(events)
        if kind == "request":
            scheduler.new_request(int(work.application[which]), now_us, float(work.operations[which]))
        else:
            scheduler.complete(which, now_us)
        if events and events[0][0] == now_us:
            continue
        while (grant := scheduler.can_issue(now_us)) is not None:
            finish_us = float(tasks["finish_us"][grant.requests[0]])
            heapq.heappush(events, (max(now_us, finish_us), "completion", grant.id))
            for request in grant.requests:
                same += tasks["unit"][request] == grant.places[0].unit and tasks["init_us"][request] == now_us
    return 100.0 * same / work.n_tasks


def _missing(_: Data) -> dict[str, int]:
    """Count the missing arguments of each call, and the answers of Table I that a grant does not give."""
    found = {
        name: len(set(arguments) - set(inspect.signature(cast(Callable[..., Any], call)).parameters))
        for name, (call, arguments) in CALLS.items()
    }
    given = {field.name for kind in (Grant, Place) for field in fields(kind)}
    return found | {"answers": len({"id", "requests", "places", "shelf", "processor_type"} - given)}


ITEM = Item(
    id="symphony-table1",
    title="The calls between applications and Symphony",
    source="section III-C, Table I",
    runs={"alike": alike},
    claims=(
        Claim(
            id="ST1.1",
            kind=Kind.GIVEN,
            source="section III-C, Table I",
            statement="The four calls have the arguments of Table I, and a go-ahead says which requests, id, nodes and "
            "resources: how many are missing",
            expected="0",
            measure=_missing,
            judge=Each(Equal(0)),
            note="besides Table I, registration answers with the application's number, as a call must say whose it is, "
            "and every call is given the time",
        ),
        Claim(
            id="ST1.2",
            source="section III-C",
            statement="These calls are all that Symphony needs to know of applications: if they report a run's events, "
            "it starts this share of requests where and when the simulation does",
            expected="100 %",
            measure=lambda data: data.result("alike"),
            judge=Each(Equal(100)),
            unit="%",
        ),
    ),
)
