"""What a cluster has done and still has to do, as a result that ``vinesim explain`` reads: requests that were
processed, and all jobs with each of their attempts. Times are those of the cluster, from its first start on."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vinesim.engine.simulate import result_of
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.live.folder import JOURNAL, cluster_in
from vinesim.live.journal import Journal
from vinesim.live.record import NO_NETWORK, check_units, provenance
from vinesim.live.registered import with_registered
from vinesim.model.cluster import Cluster
from vinesim.model.errors import InputError, Problem
from vinesim.model.outage import Outage
from vinesim.model.result import INTERRUPTED, EarlyEnds, ExitReason, Outcome
from vinesim.model.scenario import Scenario
from vinesim.model.workload import NO_PREFERENCE, Workload

Run = tuple[int, float, float]  # unit, begin, end; an end of NaN: it still runs


@dataclass
class Row:
    """A request or a job."""

    arrival_us: float
    task_type: str
    demand: float
    size: float
    runs: list[Run]  # the last of them is the one that counts
    requests: dict[str, float]
    job: int = 0  # 0: a request


def write_history(folder: Path, job: int, out: Path, now_us: float = 0.0) -> tuple[int, list[str]]:
    """Write the result folder that explains a job of a cluster: up to now, or to the last entry of the journal. Returns
    the job's number in it, and what to call each of its jobs.

    Raises :class:`InputError` for a job that does not exist, or was cancelled before it started.
    """
    cluster, journal = cluster_in(folder), Journal(folder / JOURNAL)
    try:
        cluster = with_registered(cluster, journal)
        state = journal.one("SELECT state FROM jobs WHERE id = ?", job)
        if state is None:
            raise InputError([Problem("vinesim live explain", "the number of a job", str(job))])
        rows = sorted([*_requests(cluster, journal), *_jobs(journal)], key=lambda row: row.arrival_us)
        until_us = max(now_us, journal.latest_us())
        outages = _outages(cluster, journal)
    finally:
        journal.close()
    place = next((i for i, row in enumerate(rows) if row.job == job), None)
    if place is None:
        found = f"{job}, which was {state['state']} before it started"
        raise InputError([Problem("vinesim live explain", "a job that waits or has started", found)])
    check_units(folder, cluster, max(unit for row in rows for unit, _, _ in row.runs))
    scenario = _scenario(cluster, rows)
    result = result_of(scenario, _outcome(cluster, rows, until_us), lambda: provenance(cluster, until_us))
    write_result(out, result, lambda draft: write_record(draft, scenario, outages))
    return place, [f"job {row.job}" if row.job else f"a request of {row.task_type}" for row in rows]


def _requests(cluster: Cluster, journal: Journal) -> list[Row]:
    by_name = {one.application.name: one for one in cluster.applications}
    found = []
    for row in journal.rows("SELECT * FROM requests WHERE outcome = 'done' AND issued_us IS NOT NULL"):
        one = by_name.get(row["application"])
        if one is not None:
            run = (row["unit"], row["issued_us"], row["ended_us"])
            found.append(Row(row["arrival_us"], one.task_type, one.demand, row["size"], [run], {}))
    return found


def _jobs(journal: Journal) -> list[Row]:
    runs: dict[int, list[Run]] = {}
    for row in journal.rows("SELECT * FROM attempts ORDER BY id"):
        end_us = math.nan if row["state"] == "running" else row["ended_us"]
        runs.setdefault(row["job"], []).append((row["unit"], row["issued_us"], end_us))
    found = []
    for row in journal.rows("SELECT * FROM jobs ORDER BY id"):
        spec = json.loads(row["spec"])
        mine = runs.get(row["id"], [])
        if mine or row["state"] == "waiting":
            wanted = {name: float(least) for name, least in spec.get("requests", {}).items()}
            size = float(spec["expected_us"])
            is_again = row["state"] == "waiting" and bool(mine)  # its runs are over, and it waits again
            one = Row(row["submitted_us"], spec["task_type"], float(spec["demand"]), size, mine, wanted, row["id"])
            one.runs += [(-1, math.nan, math.nan)] if is_again or not mine else []
            found.append(one)
    return found


def _outages(cluster: Cluster, journal: Journal) -> list[Outage]:
    """When each node got no work: it was down, draining, or its devices were not ready."""
    places, found = {node.name: node for node in cluster.nodes}, []
    down_us: dict[str, float] = {}
    for row in journal.rows("SELECT * FROM node_changes ORDER BY id"):
        if row["node"] not in places:
            continue
        if not row["is_open"]:
            down_us.setdefault(row["node"], row["time_us"])
        elif row["node"] in down_us:
            node = places[row["node"]]
            found.append(Outage(node.rack, node.shelf, down_us.pop(row["node"]), row["time_us"]))
    found += [Outage(places[name].rack, places[name].shelf, since_us) for name, since_us in down_us.items()]
    return sorted(found, key=lambda outage: outage.down_us)


def _scenario(cluster: Cluster, rows: list[Row]) -> Scenario:
    n, tasks = len(rows), [one.name for one in cluster.task_types]
    names = sorted({name for row in rows for name in row.requests})
    work = Workload(
        job_task_type=np.array([tasks.index(row.task_type) for row in rows]),
        job_first=np.arange(n + 1),
        arrival_us=np.array([row.arrival_us for row in rows]),
        operations=np.array([row.size for row in rows]),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, NO_PREFERENCE),
        demand=np.array([row.demand for row in rows]),
        requests={name: np.array([row.requests.get(name, 0.0) for row in rows]) for name in names} or None,
        task_types=cluster.task_types,
    )
    return Scenario(cluster.datacenter, work, cluster.policy, cluster.options, cluster.affinity, network=NO_NETWORK)


def _outcome(cluster: Cluster, rows: list[Row], until_us: float) -> Outcome:
    unit, begin_us, end_us = (np.array(column) for column in zip(*(row.runs[-1] for row in rows), strict=True))
    early = [
        (task, at, since_us, since_us, ended_us, 1.0, INTERRUPTED, False)
        for task, row in enumerate(rows)
        for at, since_us, ended_us in row.runs[:-1]
    ]
    return Outcome(
        task_unit=unit.astype(np.int32),
        task_init_us=begin_us.astype(np.float64),
        task_start_us=begin_us.astype(np.float64),
        task_finish_us=end_us.astype(np.float64),
        unit_order=np.arange(cluster.datacenter.n_units),
        shares_units=True,
        exit_reason=ExitReason.INTERRUPTED,
        reason="",
        end_us=until_us,
        n_events=len(rows),
        early=EarlyEnds.of(sorted(early, key=lambda segment: segment[4])),
    )
