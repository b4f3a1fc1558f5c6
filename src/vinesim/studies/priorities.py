"""Priorities and fair shares at a time of a run under the policy ``slurm``, as in ``sprio -l`` and ``sshare -l``."""

from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.codes import ELIGIBLE
from vinesim.policies.slurm.policy import Slurm
from vinesim.policies.slurm.prepare_accounts import Accounts

WATCHED = (
    *("entry_job", "entry_part", "entry_priority", "n_entries", "job_state", "job_priority"),
    *("job_association", "job_first_part", "job_part", "job_nice", "usage", "levels", "fair_share", "raw_shares"),
    *("sibling_shares", "parent"),
)
Row = dict[str, Any]
_decide = Slurm.decide  # aliased, because the queries that a policy calls are found by name


@dataclass(frozen=True)
class Priorities:
    """What ``sprio`` and ``sshare`` would print at a time, s after the beginning."""

    at_s: float
    jobs: list[Row]  # pending jobs, most urgent first; a job has an entry for each of its partitions
    shares: list[Row]  # accounts and users, parents before children


def priorities_at(scenario: Scenario, at_s: float) -> Priorities:
    """Run a scenario up to a time and read the queue. Raises :class:`InputError` for another policy."""
    policy = resolve(scenario.policy, scenario.options)
    if not isinstance(policy, Slurm):
        raise InputError([Problem(("policy",), "slurm, which has such priorities", str(scenario.policy))])
    seen = dict[str, np.ndarray]()

    class Watched(Slurm):
        """The policy ``slurm``, which also records its queue at one time."""

        @staticmethod
        def decide(model: Any, state: Any, view: Any) -> Any:
            if not seen and view.now_us >= at_s * 1e6:
                seen.update((name, getattr(view.scratch, name).copy()) for name in WATCHED)
            return _decide(model, state, view)

    watched = Watched(**{item.name: getattr(policy, item.name) for item in fields(policy)})
    simulate(replace(scenario, policy=watched, options={}), engine="reference", on_progress=lambda _: bool(seen))
    if not seen:
        raise InputError([Problem("--at", "a time before the end of the run", f"{at_s:g} s")])
    return Priorities(at_s, list(_jobs(policy, scenario, seen)), list(_shares(policy, seen)))


def _jobs(policy: Slurm, scenario: Scenario, seen: dict[str, np.ndarray]) -> list[Row]:
    """Return a row for each entry of the queue; the parts of a priority are weighted, as in ``sprio``."""
    work = scenario.workload
    of_part = _prepared(replace(policy, priority_weight_tres={}), scenario)["part_share"]
    known = _prepared(policy, scenario)
    names = [one.name for one in scenario.partitions]
    qos, account = work.words_of("qos"), work.words_of("account")
    found = []
    for i in range(int(seen["n_entries"][0])):
        job, part = int(seen["entry_job"][i]), int(seen["entry_part"][i])
        if seen["job_state"][job] != ELIGIBLE:
            continue
        first, last = seen["job_first_part"][job : job + 2]
        k = int(first) + seen["job_part"][first:last].tolist().index(part)
        association = int(seen["job_association"][job])
        of_association, size, of_qos = (float(known[f"{name}_share"][job]) for name in ("association", "size", "qos"))
        fair = policy.priority_weight_fair_share * float(seen["fair_share"][association]) if association >= 0 else 0.0
        found.append({
            "job_id": job if work.job_id is None else int(work.job_id[job]),
            "partition": names[part],
            "user": "" if work.user is None else work.user_names[work.user[job]],
            "account": account[job],
            "qos": qos[job],
            "priority": float(seen["entry_priority"][i]),
            "age": max(0.0, float(seen["job_priority"][job]) - (size + of_association + of_qos) - fair),
            "assoc": of_association,
            "fair_share": fair,
            "job_size": size,
            "partition_factor": float(of_part[k]),
            "qos_factor": of_qos,
            "nice": float(seen["job_nice"][job]),
            "tres": float(known["part_share"][k] - of_part[k]),
        })  # fmt: skip
    return found


def _prepared(policy: Slurm, scenario: Scenario) -> dict[str, np.ndarray]:
    return cast(dict[str, np.ndarray], vars(policy.suited_to(scenario))["arrays"])


def _shares(policy: Slurm, seen: dict[str, np.ndarray]) -> list[Row]:
    """Return a row for each association."""
    usage, parent = seen["usage"], seen["parent"]
    total = float(usage[0]) if len(usage) else 0.0
    found = []
    for i, (account, user) in enumerate(Accounts.of(policy.accounts).names):
        above, siblings, raw = float(usage[parent[i]]), float(seen["sibling_shares"][i]), float(seen["raw_shares"][i])
        level = float(seen["levels"][i])
        found.append({
            "account": account,
            "user": user,
            "raw_shares": raw,
            "norm_shares": raw / siblings if siblings > 0 and parent[i] >= 0 else 1.0,
            "raw_usage": float(usage[i]),
            "norm_usage": float(usage[i]) / total if total else 0.0,
            "usage_of_account": float(usage[i]) / above if parent[i] >= 0 and above else 0.0,
            "fair_share": float(seen["fair_share"][i]) if user else None,
            "level": level if np.isfinite(level) and parent[i] >= 0 else None,
        })  # fmt: skip
    return found
