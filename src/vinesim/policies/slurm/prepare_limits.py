"""Find the holders at which each job counts, and which of their limits apply to it.

A job counts at the QOS of its partition, at its own QOS, and at its association and the accounts above it. If several
set the same limit (each resource by itself), the first in this order applies: the partition's QOS, the job's QOS,
associations. A job's QOS with OverPartQOS comes first. The limits of associations in a line all apply, except limits
that users inherit. A partition's QOS does not affect whose age counts. While a job of several partitions is pending, it
counts at the QOS of each. Source: the manual page "Resource Limits", and what Slurm 22.05 was seen to do.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vinesim.formats.slurm.values import COUNTED
from vinesim.policies.slurm.codes import US_PER_MINUTE
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs
from vinesim.policies.slurm.prepare_nodes import Places

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

GROUP = {  # the tables below map the limit of a holder to its option
    "jobs": "grp_jobs", "tres": "grp_tres", "run_minutes": "grp_tres_run_mins", "minutes": "grp_tres_mins",
    "wall": "grp_wall", "submitted": "grp_submit_jobs", "accruing": "grp_jobs_accrue",
}  # fmt: skip
OF_USER = {"jobs": "max_jobs_per_user", "tres": "max_tres_per_user", "accruing": "max_jobs_accrue_per_user",
           "submitted": "max_submit_jobs_per_user"}  # fmt: skip
OF_ACCOUNT = {"jobs": "max_jobs_per_account", "tres": "max_tres_per_account", "accruing": "max_jobs_accrue_per_account",
              "submitted": "max_submit_jobs_per_account"}  # fmt: skip
OF_ASSOCIATION = {
    "jobs": "max_jobs",
    "accruing": "max_jobs_accrue",
    "submitted": "max_submit_jobs",
}  # limits that users inherit from accounts
OF_JOB = {name: name for name in ("max_tres_per_job", "max_wall_per_job")}  # inherited as well
INSTEAD = {name: (OF_USER[ours], OF_ACCOUNT[ours]) for ours, name in OF_ASSOCIATION.items()}  # of a QOS, for each user
OF_QOS = {*GROUP.values(), *OF_USER.values(), *OF_ACCOUNT.values(), *OF_JOB}
OF_AGES = {GROUP["accruing"], OF_USER["accruing"], OF_ACCOUNT["accruing"]}
Limits = dict[str, Any]
Key = tuple[str, ...]


class Case(NamedTuple):
    """The holders of jobs with equal association, user, QOS and partition's QOS, and the limits in force."""

    holders: list[tuple[Key, Limits]]
    of_job: list[tuple[str, str, Limits]]  # limits on single jobs: Slurm's word for each, and its holder
    denies: bool  # whether a job that breaks a limit by itself is refused


def holders_of(policy: "Slurm", jobs: Jobs, accounts: Accounts, places: Places) -> dict[str, Any]:
    """Return the arrays of holders, and the holders at which each job counts; ``holder_keys`` identifies them."""
    numbers, found = dict[tuple[object, ...], int](), list[Case]()
    of_part, of_job, never, denied = list[int](), list[int](), list[bool](), np.zeros(jobs.n, bool)
    together = {frozenset[int](): 0}
    found.append(Case([], [], False))  # for jobs without a known partition
    alone = dict[tuple[int, int, int, float, float], tuple[bool, bool]]()
    for j in range(jobs.n):
        who = jobs.association[j], jobs.qos[j], jobs.user_names[j], jobs.account[j]
        for part in jobs.parts[j]:
            key = *who, qos_of(places, part)
            if key not in numbers:
                numbers[key] = len(found)
                found.append(case_of(policy, jobs, accounts, places, j, part))
            case = numbers[key]
            of_part.append(case)
            limit_us = float(jobs.limit_us[j])
            asked, counted = jobs.asked_in(j, len(of_part) - 1), jobs.amounts_in(len(of_part) - 1)
            like = case, part, int(jobs.request[j]), limit_us, float(asked[-1])
            if like not in alone:
                own_limits = found[case]
                alone[like] = (breaks_alone(own_limits, asked, limit_us), breaks_alone(own_limits, counted, limit_us))
            asks_too_much, is_never = alone[like]
            denied[j] |= asks_too_much and found[case].denies
            qos = policy.qos.get(jobs.qos[j], {})
            refusal, _ = places.refusal(part, qos, jobs.asked[jobs.request[j]], limit_us)
            never.append(is_never or bool(jobs.never[j]) or refusal != "")
        own = frozenset(of_part[len(of_part) - len(jobs.parts[j]) :])
        if own not in together:
            together[own] = next(iter(own)) if len(own) == 1 else len(found)
            found += [_of_each([found[case] for case in sorted(own)])] * (len(own) > 1)
        of_job.append(together[own])
    np.logical_or.at(denied, jobs.known["job_batch"], denied.copy())  # if one component is refused, its whole job is
    keys = list(dict.fromkeys(key for case in found for key, _ in case.holders))
    number = {key: i for i, key in enumerate(keys)}
    limits = [own for case in found for _, own in case.holders]
    amounts = {name: [amounts_of(one.get(name)) for one in limits] for name in ("tres", "run_minutes", "minutes")}
    return {
        "holder_keys": keys,
        "part_never": never,
        "part_case": of_part,
        "job_case": of_job,
        "job_denied": denied,
        "most_tres_per_job": [
            np.min([amounts_of(own.get("max_tres_per_job")) for _, _, own in case.of_job] or [amounts_of(None)], axis=0)
            for case in found
        ],
        "case_first_holder": np.cumsum([0, *(len(case.holders) for case in found)]),
        "case_holder": [number[key] for case in found for key, _ in case.holders],
        "is_limited": [bool(one) for one in limits],
        "most_jobs": [float(one.get("jobs", math.inf)) for one in limits],
        "most_submitted": [float(one.get("submitted", math.inf)) for one in limits],
        "most_accruing": [float(one.get("accruing", math.inf)) for one in limits],
        "most_wall_us": [float(one.get("wall", math.inf)) * US_PER_MINUTE for one in limits],
        "most_tres": amounts["tres"],
        "most_run_minutes": amounts["run_minutes"],
        "most_minutes": amounts["minutes"],
        "holder_decays": [
            not (kind == "qos" and policy.qos.get(names[0], {}).get("no_decay")) for kind, *names in keys
        ],
    }


def _of_each(cases: Sequence[Case]) -> Case:
    """Return the holders of a pending job with several partitions: all of theirs, with the smallest limits."""
    found = dict[Key, Limits]()
    for key, own in (holder for case in cases for holder in case.holders):
        least = found.setdefault(key, {})
        least |= {name: min(own[name], least.get(name, math.inf)) for name in ("submitted", "accruing") if name in own}
    return Case(list(found.items()), [], False)


def qos_of(places: Places, part: int) -> str:
    """Return the QOS of a partition, or "" if it has none."""
    return str(places.options[part].get("qos", ""))


def case_of(policy: "Slurm", jobs: Jobs, accounts: Accounts, places: Places, j: int, part: int) -> Case:
    """Return the holders of a job in a partition, and the limits that apply to it."""
    user, account, association = jobs.user_names[j], jobs.account[j], jobs.association[j]
    own, of_part = jobs.qos[j], qos_of(places, part)
    given = policy.qos.get(own, {})
    names = list(dict.fromkeys((own, of_part) if given.get("over_part_qos") else (of_part, own)))
    taken, case = Limits(), Case([], [], any(policy.qos.get(name, {}).get("deny_on_limit") for name in names))
    for name in names:
        options = {key: value for key, value in policy.qos.get(name, {}).items() if key in OF_QOS}
        in_force = _left({key: value for key, value in options.items() if name == own or key not in OF_AGES}, taken)
        case.of_job.append(("QOS", f"QOS {name}", _chosen(in_force, OF_JOB)))
        for key, words in (
            (("qos", name), GROUP),
            (("user", name, user), OF_USER),
            (("account", name, account), OF_ACCOUNT),
        ):
            if _chosen(options, words):
                case.holders.append((key, _chosen(in_force, words)))
        taken = _joined(taken, in_force)
    of_account = _left(_inherited(accounts, association, OF_JOB), taken)
    case.of_job.append(("Assoc", f"account {account}", of_account))
    for number in accounts.line(association):
        options = {name: value for name, value in accounts.values[number].items() if name in GROUP.values()}
        if accounts.names[number][1]:
            options |= _inherited(accounts, number, {name: name for name in INSTEAD})
        in_force = _left(options, taken)
        group = _chosen(in_force, GROUP)
        for name, most in _chosen(in_force, OF_ASSOCIATION).items():
            group[name] = min(group.get(name, most), most)
        if options:
            case.holders.append((("association", str(number)), group))
    return case


def _left(given: Mapping[str, Any], taken: Limits) -> Limits:
    """Return limits without those that ``taken`` overrides; limits on resources are compared one by one."""
    found: Limits = {}
    for name, value in given.items():
        others = [taken[other] for other in (name, *INSTEAD.get(name, ())) if other in taken]
        if not isinstance(value, Mapping):
            found |= {} if others else {name: value}
        elif rest := {resource: most for resource, most in value.items() if not any(resource in one for one in others)}:
            found[name] = rest
    return found


def _joined(taken: Limits, more: Limits) -> Limits:
    """Return the limits of two holders together, merging limits on resources."""
    both = {
        name: {**taken[name], **more[name]} for name in taken.keys() & more.keys() if isinstance(more[name], Mapping)
    }
    return {**taken, **more, **both}


def _chosen(given: Mapping[str, Any], names: Mapping[str, str]) -> Limits:
    return {ours: given[name] for ours, name in names.items() if name in given}


def _inherited(accounts: Accounts, number: int, names: Mapping[str, str]) -> Limits:
    """Return the limits of an association; a limit that it lacks comes from the account above it."""
    found: Limits = {}
    for above in accounts.line(number):
        found = _chosen(accounts.values[above], names) | found
    return found


def amounts_of(given: Any) -> list[float]:
    """Return a limit for each resource; infinite where there is none."""
    return [float((given or {}).get(name, math.inf)) for name in COUNTED]


def breaks_alone(case: Case, amounts: np.ndarray, limit_us: float) -> bool:
    """Whether a job breaks one of its limits all by itself."""
    return any(_is_beyond(amounts, own.get("tres")) or own.get("jobs", 1) < 1 for _, own in case.holders) or any(
        limit_us > float(own.get("max_wall_per_job", math.inf)) * US_PER_MINUTE
        or _is_beyond(amounts, own.get("max_tres_per_job"))
        for _, _, own in case.of_job
    )


def _is_beyond(amounts: np.ndarray, given: Any) -> bool:
    return given is not None and any(amounts[r] > most for r, most in enumerate(amounts_of(given)))
