"""Slurm's words for limits that keep a job from starting, with what is held of them."""

from typing import TYPE_CHECKING, Any

from vinesim.formats.slurm.values import COUNTED
from vinesim.policies.slurm.codes import N_COUNTED, US_PER_MINUTE
from vinesim.policies.slurm.limits import N_KINDS, OF_JOBS, OF_MINUTES, OF_RESOURCE, OF_WALL, broken_limit, full_holder
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs
from vinesim.policies.slurm.prepare_limits import amounts_of, limits_of_jobs

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

SHORT = {"cpu": "Cpu", "mem": "Mem", "node": "Node", "gres/gpu": "GRES", "billing": "Billing"}
LONG = {**SHORT, "mem": "Memory"}
LIMIT = {"cpu": "Limit", "node": "Limit"}  # the end of some words


def over_limit(s: Any, keys: list[tuple[str, ...]], accounts: Accounts, job: int, now_us: float) -> tuple[str, str]:
    """Return the reason of a job that would break a limit of what others hold, and the limit in words."""
    for i in range(s.job_first_holder[job], s.job_first_holder[job + 1]):
        holder = int(s.job_holder[i])
        kind, r = broken_limit(s, job, holder, now_us) % N_KINDS, broken_limit(s, job, holder, now_us) // N_KINDS
        if not kind:
            continue
        who, whose = _whose(keys[holder], accounts)
        if kind == OF_JOBS:
            held = f"{whose} may run {s.most_jobs[holder]:g} jobs: {s.holder_jobs[holder]:g} run"
            return {"Assoc": "AssocGrpJobsLimit", "User": "AssocMaxJobsLimit", "QOS": "QOSGrpJobsLimit",
                    "QOSUser": "QOSMaxJobsPerUserLimit", "QOSAccount": "MaxJobsPerAccount"}[who], held  # fmt: skip
        prefix = "Assoc" if who in ("Assoc", "User") else "QOS"
        if kind == OF_WALL:
            return f"{prefix}GrpWallLimit", f"{whose} may run {s.most_wall_us[holder] / US_PER_MINUTE:g} min in all"
        at, name = holder * N_COUNTED + r, COUNTED[r]
        if kind != OF_RESOURCE:
            of = "CPU" if name == "cpu" else (SHORT if prefix == "Assoc" else LONG)[name]
            word = f"{of}{'Minutes' if kind == OF_MINUTES else 'RunMinutes'}{'Limit' if name == 'cpu' else ''}"
            return f"{prefix}Grp{word}", f"{whose}: minutes of {name} are used up"
        asked = s.job_tres[job * N_COUNTED + r]
        held = f"{whose} may hold {name} {s.most_tres[at]:g}: {s.holder_tres[at]:g} held, it asks for {asked:g}"
        if who == "QOSUser":
            return f"QOSMax{LONG[name]}PerUser{LIMIT.get(name, '')}", held
        if who == "QOSAccount":
            return f"Max{LONG[name]}PerAccount", held
        return f"{prefix}Grp{SHORT[name]}{'Limit' if name == 'mem' else LIMIT.get(name, '')}", held
    return "AssociationJobLimit", ""


def refused(
    policy: "Slurm", jobs: Jobs, accounts: Accounts, s: Any, keys: list[tuple[str, ...]], job: int
) -> tuple[str, str]:
    """Return why a job was refused as it was submitted."""
    if s.job_denied[job]:
        reason, detail = forbidden(policy, jobs, accounts, job)
        return reason, f"refused: {detail}"
    n = int((s.job_batch == s.job_batch[job]).sum())
    holder = full_holder(s, job, n)
    who, whose = _whose(keys[holder], accounts)
    word = {"Assoc": "AssocGrpSubmitJobsLimit", "User": "AssocMaxSubmitJobLimit", "QOS": "QOSGrpSubmitJobsLimit",
            "QOSUser": "QOSMaxSubmitJobPerUserLimit", "QOSAccount": "MaxSubmitJobsPerAccount"}[who]  # fmt: skip
    return (
        word,
        f"refused: {whose} may have {s.most_submitted[holder]:g} jobs pending or running, not {n:,} more",
    )


def _whose(key: tuple[str, ...], accounts: Accounts) -> tuple[str, str]:
    """Return what a holder is, and in words."""
    kind, *names = key
    if kind == "association":
        account, user = accounts.names[int(names[0])]
        return ("User", f"user {user} in account {account}") if user else ("Assoc", f"account {account}")
    if kind == "qos":
        return "QOS", f"QOS {names[0]}"
    return ("QOSUser", f"user {names[1]} in QOS {names[0]}") if kind == "user" else (
        "QOSAccount", f"account {names[1]} in QOS {names[0]}")  # fmt: skip


def forbidden(policy: "Slurm", jobs: Jobs, accounts: Accounts, job: int) -> tuple[str, str]:
    """Return the reason of a job that breaks a limit all by itself."""
    if jobs.lacks_named[job]:
        return "BadConstraints", "it names nodes that it excludes, or that lack its features or its partition"
    if jobs.never[job]:
        return "PartitionDown", "none of its partitions is known"
    for prefix, whose, own in limits_of_jobs(policy, jobs, accounts, job):
        longest = own.get("max_wall_per_job")
        if longest is not None and jobs.limit_us[job] > float(longest) * US_PER_MINUTE:
            return f"{prefix}MaxWallDurationPerJobLimit", f"{whose}: jobs of {longest:g} min at most"
        for option, per in (("max_tres_per_job", "PerJob"), ("tres", "")):
            for r, most in enumerate(amounts_of(own.get(option))):
                if jobs.tres[job][r] > most:
                    name = COUNTED[r]
                    detail = f"{whose}: {name} {most:g} at most, it asks for {jobs.tres[job][r]:g}"
                    of = (LONG if per and prefix == "QOS" else SHORT)[name]
                    end = "Limit" if name == "mem" and not per else LIMIT.get(name, "")
                    return f"{prefix}{'Max' if per else own['word']}{of}{per}{end}", detail
        if own.get("jobs", 1) < 1:
            return f"{prefix}MaxJobsLimit", f"{whose} may run no job"
    return "AssociationJobLimit", ""
