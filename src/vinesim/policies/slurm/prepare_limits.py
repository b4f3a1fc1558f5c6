"""Limits of associations and QOS: who is limited, and at which of them each job counts."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.values import COUNTED
from vinesim.policies.slurm.codes import N_COUNTED, US_PER_MINUTE
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

GROUP = {  # of all that is below: the limit of a holder -> the option
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
}  # inherited from accounts
OF_JOB = ("max_tres_per_job", "max_wall_per_job")  # inherited too
Limits = dict[str, Any]


def holders_of(policy: "Slurm", jobs: Jobs, accounts: Accounts) -> dict[str, Any]:
    """Return the arrays of holders, and at which ones each job counts; ``holder_keys`` are who they are."""
    numbers: dict[tuple[str, ...], int] = {}
    limits: list[Limits] = []
    first, holder = [0], list[int]()
    never = np.zeros(jobs.n, bool)
    alike: dict[tuple[object, ...], tuple[list[int], list[Limits]]] = {}
    for j in range(jobs.n):
        who = jobs.association[j], jobs.qos[j], jobs.user_names[j], jobs.account[j]
        if who not in alike:
            alike[who] = [], _of_jobs(policy, jobs, accounts, j)
            for key, own in _of_job(policy, jobs, accounts, j):
                if own and key not in numbers:
                    numbers[key] = len(limits)
                    limits.append(own)
                if own:
                    alike[who][0].append(numbers[key])
        holders, largest = alike[who]
        holder += holders
        first.append(len(holder))
        tres = jobs.tres[j]
        never[j] = any(_breaks_alone(tres, limits[h]) for h in holders)
        never[j] |= any(_breaks_of_job(tres, jobs.limit_us[j], own) for own in largest)
    denied = (never & [bool(policy.qos.get(name, {}).get("deny_on_limit")) for name in jobs.qos]).astype(bool)
    np.logical_or.at(denied, jobs.known["job_batch"], denied.copy())  # one component refuses all of its job
    amounts = {name: [amounts_of(one.get(name)) for one in limits] for name in ("tres", "run_minutes", "minutes")}
    return {
        "holder_keys": list(numbers),
        "job_never": never | jobs.never,
        "job_denied": denied,
        "job_first_holder": first,
        "job_holder": holder,
        "holder_is_limited": [True] * len(limits),
        "most_jobs": [float(one.get("jobs", math.inf)) for one in limits],
        "most_submitted": [float(one.get("submitted", math.inf)) for one in limits],
        "most_accruing": [float(one.get("accruing", math.inf)) for one in limits],
        "most_wall_us": [float(one.get("wall", math.inf)) * US_PER_MINUTE for one in limits],
        "most_tres": amounts["tres"],
        "most_run_minutes": amounts["run_minutes"],
        "most_minutes": amounts["minutes"],
        "holder_decays": [not one.get("no_decay") for one in limits],
    }


def _of_job(policy: "Slurm", jobs: Jobs, accounts: Accounts, j: int) -> Iterator[tuple[tuple[str, ...], Limits]]:
    """Yield the holders at which a job counts, with their limits."""
    for number in accounts.line(jobs.association[j]):
        own = _chosen(accounts.values[number], GROUP)
        if accounts.names[number][1]:
            for name, most in _inherited(accounts, number, OF_ASSOCIATION).items():
                own[name] = min(own.get(name, most), most)
        yield ("association", str(number)), own
    qos = policy.qos.get(jobs.qos[j], {})
    yield ("qos", jobs.qos[j]), _chosen(qos, GROUP | {"no_decay": "no_decay"})
    yield ("user", jobs.qos[j], jobs.user_names[j]), _chosen(qos, OF_USER)
    yield ("account", jobs.qos[j], jobs.account[j]), _chosen(qos, OF_ACCOUNT)


def _chosen(given: Mapping[str, Any], names: Mapping[str, str]) -> Limits:
    return {ours: given[name] for ours, name in names.items() if name in given}


def _inherited(accounts: Accounts, number: int, names: Mapping[str, str]) -> Limits:
    """Return limits of an association; those that it has not are those of the account above it."""
    found: Limits = {}
    for above in accounts.line(number):
        found = _chosen(accounts.values[above], names) | found
    return found


def amounts_of(given: Any) -> list[float]:
    """Return a limit by resource, infinite where there is none."""
    return [float((given or {}).get(name, math.inf)) for name in COUNTED]


def _breaks_alone(amounts: np.ndarray, limits: Limits) -> bool:
    most = amounts_of(limits.get("tres"))
    return any(amounts[r] > most[r] for r in range(N_COUNTED)) or limits.get("jobs", 1) < 1


def _of_jobs(policy: "Slurm", jobs: Jobs, accounts: Accounts, j: int) -> list[Limits]:
    """Return the limits of any single job of the association and QOS of a job; none where there are none."""
    names = {name: name for name in OF_JOB}
    both = _inherited(accounts, jobs.association[j], names), _chosen(policy.qos.get(jobs.qos[j], {}), names)
    return [own for own in both if own]


def _breaks_of_job(amounts: np.ndarray, limit_us: float, limits: Limits) -> bool:
    """Whether a job is larger or longer than any job of its association or QOS may be."""
    most = amounts_of(limits.get("max_tres_per_job"))
    is_long = limit_us > float(limits.get("max_wall_per_job", math.inf)) * US_PER_MINUTE
    return is_long or any(amounts[r] > most[r] for r in range(N_COUNTED))


def limits_of_jobs(policy: "Slurm", jobs: Jobs, accounts: Accounts, j: int) -> Iterator[tuple[str, str, Limits]]:
    """Yield all limits that a job may break by itself: of what in Slurm's words, of whom, and the limits."""
    names = {name: name for name in OF_JOB}
    qos = policy.qos.get(jobs.qos[j], {})
    yield "Assoc", f"account {jobs.account[j]}", _inherited(accounts, jobs.association[j], names)
    yield "QOS", f"QOS {jobs.qos[j]}", _chosen(qos, names)
    words = {"association": ("Assoc", "Grp", f"account {jobs.account[j]}"), "qos": ("QOS", "Grp", f"QOS {jobs.qos[j]}"),
             "user": ("QOS", "Max", f"user {jobs.user_names[j]} in QOS {jobs.qos[j]}"),
             "account": ("QOS", "Max", f"account {jobs.account[j]} in QOS {jobs.qos[j]}")}  # fmt: skip
    for (kind, *_), own in _of_job(policy, jobs, accounts, j):
        prefix, word, whose = words[kind]
        yield prefix, whose, own | {"word": word}
