"""A live run as a scenario and as a result in the simulator's own schema.

The requests of the scenario arrive at the times at which they arrived, with their sizes. On the type on which it ran,
each has the time that it took there (its share, if it was consolidated); on other types, the median of its application.
The overhead is the time that a grant takes beyond its execution: the median by application and type. ``drawn`` instead
gives each request one of the measured times. Requests that the policy dropped are included, although they ran nowhere.
A request that was cancelled while it waited is withdrawn at that time; one that was cancelled while others ran with it
stays among these.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.engine.simulate import result_of, simulate
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.live.decider import usable
from vinesim.live.dispatch import Dispatches, waiting_at
from vinesim.live.folder import JOURNAL, cluster_in
from vinesim.live.journal import CANCELLED, DROPPED, Journal
from vinesim.live.left_out import LeftOut, divided, left_out
from vinesim.live.registered import with_registered
from vinesim.model.cluster import Cluster
from vinesim.model.errors import InputError, Problem
from vinesim.model.network import Network
from vinesim.model.result import ExitReason, Outcome
from vinesim.model.scenario import Scenario
from vinesim.model.speed_curves import curves_of
from vinesim.model.version import code_version
from vinesim.model.workload import NO_PREFERENCE, Workload
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve
from vinesim.result import Result

SCENARIO, WORKLOAD, RESULT = "scenario.yaml", "workload.parquet", "result"
TINY_US = 1e-12
NOWHERE = -1
NO_NETWORK = Network(None, None, None, 0.0)


@dataclass(frozen=True)
class Recorded:
    """A live run: which requests came, and what was done with them."""

    scenario: Scenario
    result: Result
    in_full: Scenario  # the same requests, as ``repeated`` needs them
    begin_us: float  # when the first request came, by the cluster's clock
    left_out: tuple[LeftOut, ...]  # what else has happened
    dispatches: Dispatches

    def drawn(self, replication: int) -> Scenario:
        """Return the same requests with other dispatches, drawn from those that were measured."""
        random = np.random.default_rng([self.scenario.seed, replication])
        times_us = self.scenario.workload.times_us
        assert times_us is not None
        times_us = times_us + self.dispatches.draw(times_us.shape[1], random)
        return replace(self.scenario, workload=replace(self.scenario.workload, times_us=times_us), overhead_us=None)

    def repeated(self, **engine: Any) -> Result:
        """Simulate the same requests: each grant takes as long as it took in all, and the policy expects what it
        expected.

        The policy is given the cluster's own times, because sums of floats round by how large they are.
        """
        again = simulate(self.in_full, **engine)
        scenario = replace(self.in_full, workload=_work_since(self.begin_us, self.in_full.workload))
        return result_of(scenario, _outcome_since(self.begin_us, again.outcome), lambda: again.provenance)


def record(folder: Path) -> Recorded:
    """Return the live run of a cluster's folder. Raises :class:`InputError` if no request was processed."""
    cluster, journal = cluster_in(folder), Journal(folder / JOURNAL)
    cluster = with_registered(cluster, journal)
    rows = [dict(row) for row in journal.rows("SELECT * FROM requests ORDER BY arrival_us, number, id")]
    policy = usable(resolve(cluster.policy, cluster.options))
    names = [one.application.name for one in cluster.applications]
    known, rest = divided(rows, lambda row: row["application"] in names and _is_simulated(row, policy.can_withdraw))
    if not any(map(_has_run, known)):
        journal.close()
        raise InputError([Problem(str(folder), "a cluster that has processed requests", _instead(rows))])
    columns = _columns(known)
    begin_us = float(columns["arrival_us"].min())
    code = np.array([names.index(name) for name in columns["application"].tolist()])
    _check_single(folder, cluster, np.unique(code))
    check_units(folder, cluster, columns["unit"].max())
    unit_type = np.where(columns["unit"] >= 0, cluster.datacenter.unit_type[columns["unit"]], NOWHERE)
    columns["begun_us"] = _begun(cluster, columns)
    _, batch, n_consolidated = np.unique(columns["attempt"], return_inverse=True, return_counts=True)
    share_us = columns["execution_us"] / n_consolidated[batch]
    overhead_us = _overhead(cluster, columns, code, unit_type)
    times_us = _times(cluster, columns["size"], share_us, code, unit_type)
    at_own_times = _workload(cluster, columns, code, times_us)
    scenario = Scenario(
        cluster.datacenter,
        _work_since(begin_us, at_own_times),
        cluster.policy,
        cluster.options,
        cluster.affinity,
        overhead_us,
        network=NO_NETWORK,
        seed=cluster.seed,
        applications=tuple(one.application for one in cluster.applications),
    )
    leaders = np.unique(batch, return_index=True)[1]
    factor = _factor(cluster, columns, code, unit_type, batch, leaders)
    work = replace(at_own_times, times_us=None, time_factor=factor)
    in_full = replace(scenario, workload=work, overhead_us=cluster.overhead_us)
    outcome = _outcome_since(begin_us, _outcome(cluster, columns, leaders))
    made_by = provenance(cluster, outcome.end_us)
    result = result_of(scenario, outcome, lambda: {**made_by, "content_id": content_id(scenario)})
    dispatches = Dispatches(
        code,
        unit_type,
        columns["size"],
        waiting_at(np.fmin(columns["issued_us"], _gone_us(columns)), columns["arrival_us"]),
        _beyond(columns) / n_consolidated[batch],
    )
    span_us = begin_us, begin_us + outcome.end_us
    others = left_out(cluster, journal, rest, known, span_us)
    journal.close()
    begun_us = columns["issued_us"][leaders]
    others = tuple(replace(one, n_starts=int((begun_us >= one.since_us).sum())) for one in others)
    return Recorded(scenario, result, in_full, begin_us, others, dispatches)


def _work_since(begin_us: float, work: Workload) -> Workload:
    """Return a workload with its times counted from ``begin_us``."""
    assert work.deadline_us is not None
    withdraw_us = None if work.withdraw_us is None else work.withdraw_us - begin_us
    arrival_us, deadline_us = work.arrival_us - begin_us, work.deadline_us - begin_us
    return replace(work, arrival_us=arrival_us, deadline_us=deadline_us, withdraw_us=withdraw_us)


def _outcome_since(begin_us: float, outcome: Outcome) -> Outcome:
    """Return an outcome with its times counted from ``begin_us``."""
    names = ("task_init_us", "task_start_us", "task_finish_us", "end_us", "granted_us", "dropped_us")
    times = {name: getattr(outcome, name) for name in names}
    since: dict[str, Any] = {name: None if us is None else us - begin_us for name, us in times.items()}
    return replace(outcome, **since)


def _has_run(row: dict[str, Any]) -> bool:
    """Whether a kernel has processed a request, alone or with others, whatever was answered."""
    return row["issued_us"] is not None and row["execution_us"] is not None


def _is_simulated(row: dict[str, Any], can_withdraw: bool) -> bool:
    """Whether the simulation repeats what happened to a request."""
    return _has_run(row) or row["outcome"] == DROPPED or (can_withdraw and _is_withdrawn(row))


def _is_withdrawn(row: dict[str, Any]) -> bool:
    """Whether a request was cancelled while it waited for its first start, and the policy knew of it."""
    return row["outcome"] == CANCELLED and row["n_attempts"] == 0 and (row["number"] or 0) >= 0


def _columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the journal's columns of requests, and when each was dropped or withdrawn. Such a request is on unit
    ``NOWHERE``, with an attempt of its own, and has no times of one that ran."""
    found = {
        name: np.array([row[name] for row in rows]) for name in ("application", "size", "arrival_us", "deadline_us")
    }
    for name in ("issued_us", "execution_us", "ended_us"):
        found[name] = np.array([row[name] if _has_run(row) else np.nan for row in rows], np.float64)
    for name, outcome in (("dropped_us", DROPPED), ("withdrawn_us", CANCELLED)):
        is_it = [row["outcome"] == outcome and not _has_run(row) for row in rows]
        found[name] = np.where(is_it, np.array([row["ended_us"] for row in rows], np.float64), np.nan)
    found["unit"] = np.array([row["unit"] if _has_run(row) else NOWHERE for row in rows])
    found["attempt"] = np.array([row["attempt"] if _has_run(row) else -1 - i for i, row in enumerate(rows)])
    return found


def _outcome(cluster: Cluster, columns: dict[str, np.ndarray], leaders: np.ndarray) -> Outcome:
    """Return what happened to the requests. Requests that are no leaders ran together with one."""
    n_requests = len(columns["unit"])
    return Outcome(
        task_unit=columns["unit"].astype(np.int32),
        task_init_us=columns["begun_us"],
        task_start_us=columns["begun_us"],
        task_finish_us=columns["ended_us"],
        unit_order=np.arange(len(cluster.datacenter.unit_type)),
        shares_units=True,
        exit_reason=ExitReason.ALL_DONE,
        reason="",
        end_us=float(np.fmax(columns["ended_us"], _gone_us(columns)).max()),
        n_events=n_requests,
        followers=np.setdiff1d(np.arange(n_requests), leaders),
        granted_us=columns["issued_us"] if cluster.datacenter.takes_ahead else None,
        dropped_us=columns["dropped_us"] if resolve(cluster.policy, cluster.options).may_drop else None,
    )


def _gone_us(columns: dict[str, Any]) -> np.ndarray:
    """[N] us: when each request was dropped or withdrawn; NaN for one that ran."""
    return np.asarray(np.fmin(columns["dropped_us"], columns["withdrawn_us"]))


def _beyond(columns: dict[str, Any]) -> np.ndarray:
    """[N] us: what the grant of each request took beyond its execution; NaN for one that did not run."""
    return np.maximum(columns["ended_us"] - columns["begun_us"] - columns["execution_us"], 0.0)


def _begun(cluster: Cluster, columns: dict[str, Any]) -> np.ndarray:
    """[N] us: when each request was issued or, where units take requests ahead, when its unit had finished those before
    it."""
    begun_us, unit = columns["issued_us"].copy(), columns["unit"].astype(int)
    ahead = np.array([one.ahead for one in cluster.processor_types])[cluster.datacenter.unit_type]
    last: dict[int, tuple[int, float, float]] = {}  # of a unit: its last grant, when that began, and when it ended
    for i in np.lexsort((columns["attempt"], columns["ended_us"])):
        if unit[i] != NOWHERE and ahead[unit[i]] > 0:
            grant, began_us, ended_us = last.get(unit[i], (-1, 0.0, -np.inf))
            is_same = columns["attempt"][i] == grant
            begun_us[i] = began_us if is_same else max(begun_us[i], ended_us)
            last[unit[i]] = (columns["attempt"][i], begun_us[i], columns["ended_us"][i])
    return begun_us


def _instead(rows: list[dict[str, Any]]) -> str:
    """Say how requests ended where none was processed, with the most frequent reason of each end."""
    ends = Counter(row["outcome"] for row in rows)
    found = []
    for outcome, n in ends.most_common():
        reasons = Counter(row["why"] for row in rows if row["outcome"] == outcome and row["why"])
        why = "".join(f" ({n_of:,} of them: {reason})" for reason, n_of in reasons.most_common(1))
        found.append(f"{n:,} {'processed by their clients' if outcome == 'done' else outcome}{why}")
    return "; ".join(found) or "none"


def provenance(cluster: Cluster, took_us: float) -> dict[str, Any]:
    """Return what a result says of where it comes from."""
    return {
        "version": code_version(),
        "seed": cluster.seed,
        "policy": str(cluster.policy),
        "options": dict(cluster.options),
        "engine": "live",
        "processor_types": [one.name for one in cluster.processor_types],
        "task_types": [one.name for one in cluster.task_types],
        "reason": "",
        "wall_s": took_us / 1e6,
    }


def _check_single(folder: Path, cluster: Cluster, codes: np.ndarray) -> None:
    """Raise :class:`InputError` if requests ran on several nodes."""
    used = [cluster.applications[code].application for code in codes]
    if several := [f"gang_size {one.gang_size} of {one.name}" for one in used if one.gang_size > 1]:
        remedy = "The journal has the first unit of a request only, so it cannot be simulated."
        raise InputError([Problem(str(folder), "requests on one node each", ", ".join(several), remedy)])


def check_units(folder: Path, cluster: Cluster, last: int) -> None:
    """Raise :class:`InputError` if something ran on a unit that the cluster file does not have any more."""
    n_units = cluster.datacenter.n_units
    if last >= n_units:
        remedy = "Add the nodes that had joined to the cluster file, last."
        raise InputError([Problem(str(folder), f"work on units 0 to {n_units - 1}", f"unit {last}", remedy)])


def _overhead(cluster: Cluster, columns: dict[str, Any], code: np.ndarray, unit_type: np.ndarray) -> np.ndarray:
    """[P, T] us: what a grant took beyond its execution; the median."""
    beyond_us = _beyond(columns)
    table = np.full(cluster.affinity.shape, float(np.nanmedian(beyond_us)))
    for a, one in enumerate(cluster.applications):
        t = [one.name for one in cluster.task_types].index(one.task_type)
        for p in range(len(cluster.processor_types)):
            here = (code == a) & (unit_type == p)
            if here.any():
                table[p, t] = np.median(beyond_us[here])
    return table


def _factor(
    cluster: Cluster,
    columns: dict[str, Any],
    code: np.ndarray,
    unit_type: np.ndarray,
    batch: np.ndarray,
    leaders: np.ndarray,
) -> np.ndarray:
    """[N]: by how much longer than the policy expected each grant held its unit. The simulation adds and multiplies in
    the same order, so a grant ends at the same time in it, and completions of one turn stay at one instant."""
    tasks = [one.name for one in cluster.task_types]
    t = np.array([tasks.index(one.task_type) for one in cluster.applications])[code]
    overhead_us = np.zeros(len(t)) if cluster.overhead_us is None else cluster.overhead_us[unit_type, t]
    own_us = columns["size"] / np.where(unit_type == NOWHERE, 1.0, cluster.affinity[unit_type, t])
    expected_us = (overhead_us + own_us)[leaders]
    followers = np.setdiff1d(np.arange(len(batch)), leaders)
    np.add.at(expected_us, batch[followers], (overhead_us + own_us - overhead_us)[followers])
    begun_us, ended_us = columns["begun_us"][leaders], columns["ended_us"][leaders]
    factor = (ended_us - begun_us) / np.maximum(expected_us, TINY_US)
    for _ in range(2):
        end_us = begun_us + expected_us * factor
        factor = np.where(end_us < ended_us, np.nextafter(factor, np.inf), factor)
        factor = np.where(end_us > ended_us, np.nextafter(factor, 0.0), factor)
    has_waited = begun_us > columns["issued_us"][leaders]  # it may have ended with the one before it
    factor = np.where(columns["unit"][leaders] == NOWHERE, 1.0, factor)
    return np.maximum(factor, np.where(has_waited, np.finfo(float).tiny, TINY_US))[batch]


def _times(
    cluster: Cluster, size: np.ndarray, share_us: np.ndarray, code: np.ndarray, unit_type: np.ndarray
) -> np.ndarray:
    """[N, P] us: the time of each request on each type; NaN where it cannot run."""
    times_us = np.full((len(size), len(cluster.processor_types)), np.nan)
    per_size_us = share_us / np.maximum(size, 1e-12)
    for a, one in enumerate(cluster.applications):
        t = [one.name for one in cluster.task_types].index(one.task_type)
        of_a = code == a
        for p in range(len(cluster.processor_types)):
            if cluster.affinity[p, t] <= 0:
                continue
            here = of_a & (unit_type == p)
            rate_us = float(np.median(per_size_us[here])) if here.any() else 1.0 / float(cluster.affinity[p, t])
            times_us[of_a, p] = size[of_a] * rate_us
            times_us[here, p] = share_us[here]
    return times_us


def _workload(cluster: Cluster, columns: dict[str, Any], code: np.ndarray, times_us: np.ndarray) -> Workload:
    n = len(code)
    tasks = [one.name for one in cluster.task_types]
    return Workload(
        job_task_type=np.array([tasks.index(one.task_type) for one in cluster.applications])[code],
        job_first=np.arange(n + 1),
        arrival_us=columns["arrival_us"],
        operations=columns["size"],
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, NO_PREFERENCE),
        demand=np.array([one.demand for one in cluster.applications])[code],
        deadline_us=columns["deadline_us"],
        withdraw_us=_withdraw_us(columns),
        application=code,
        times_us=times_us,
        task_types=cluster.task_types,
        application_names=tuple(one.application.name for one in cluster.applications),
    )


def _withdraw_us(columns: dict[str, Any]) -> np.ndarray | None:
    """[N] us: when each request was withdrawn; infinite: never. None if none was."""
    at_us = columns["withdrawn_us"]
    return np.where(np.isnan(at_us), np.inf, at_us) if np.isfinite(at_us).any() else None


def write_scenario(folder: Path, scenario: Scenario) -> None:
    """Write the scenario as a file and a workload next to it, for ``vinesim run`` and sweeps."""
    folder.mkdir(parents=True, exist_ok=True)
    types, tasks = scenario.datacenter.processor_types, scenario.workload.task_types
    write_workload(folder / WORKLOAD, scenario.workload, types)
    center = scenario.datacenter
    affinity, overhead = np.asarray(scenario.affinity), np.asarray(scenario.overhead_us)
    names = [task.name for task in tasks]
    document = {
        "description": "A live run, as it was recorded",
        "extends": "none",
        "processor_types": [_type(one) for one in types],
        "task_types": names,
        "affinity": {
            "absolute": {
                one.name: {name: float(v) for name, v in zip(names, affinity[p], strict=True) if v > 0}
                for p, one in enumerate(types)
            }
        },
        "overhead": {
            one.name: {name: float(v) for name, v in zip(names, overhead[p], strict=True)}
            for p, one in enumerate(types)
        },
        "applications": [_application(one) for one in scenario.applications],
        "datacenter": {
            "units": [
                {"type": types[kind].name, "rack": int(rack), "shelf": int(shelf)}
                for kind, rack, shelf in zip(center.unit_type, center.rack, center.shelf, strict=True)
            ]
        },
        "network": "none",
        "workload": {"file": WORKLOAD},
        "policy": str(scenario.policy),
        "options": dict(scenario.options or {}),
        "seed": scenario.seed,
    }
    (folder / SCENARIO).write_text(as_yaml(json.loads(json.dumps(document))), encoding="utf-8")


def _type(one: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": one.name, "capacity": one.capacity}
    if one.parallelism is not None:
        found["parallelism"] = one.parallelism
    if one.rates is not None:
        found["rates"] = {name: list(curve) for name, curve in curves_of(one.rates).items()}
    if one.ahead:
        found["ahead"] = one.ahead
    if one.attributes:
        found["attributes"] = dict(one.attributes)
    return found


def _application(one: Any) -> dict[str, Any]:
    found = {
        "name": one.name,
        "relative_deadline": one.relative_deadline_us,
        "per_size": one.per_size,
        "average_load": one.average_load,
        "max_consolidated": one.max_consolidated,
        "gang_size": one.gang_size,
    }
    if one.nodes:
        found["nodes"] = [{"rack": rack, "shelf": shelf} for rack, shelf in one.nodes]
    return found
