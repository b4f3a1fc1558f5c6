"""Slurm's words for limits that keep a job from starting, and how much of them is in use."""

from typing import Any

from vinesim.formats.slurm.values import COUNTED
from vinesim.policies.slurm.billing import count_asked, place_of
from vinesim.policies.slurm.codes import N_COUNTED, US_PER_MINUTE
from vinesim.policies.slurm.limits import (
    N_KINDS,
    OF_JOBS,
    OF_MINUTES,
    OF_RESOURCE,
    OF_WALL,
    broken_limit,
    full_holder,
)
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs
from vinesim.policies.slurm.prepare_limits import Case, Key, amounts_of

SHORT = {"cpu": "Cpu", "mem": "Mem", "node": "Node", "gres/gpu": "GRES", "billing": "Billing"}
LONG = {**SHORT, "mem": "Memory"}
LIMIT = {"cpu": "Limit", "node": "Limit"}  # the ending of some of Slurm's words


def over_limit(s: Any, keys: list[Key], accounts: Accounts, job: int, part: int, now_us: float) -> tuple[str, str]:
    """Return the reason of a job that would break a limit because of what others hold, and the limit in words."""
    case = s.part_case[place_of(s, job, part)]
    for i in range(s.case_first_holder[case], s.case_first_holder[case + 1]):
        holder = int(s.case_holder[i])
        kind, r = broken_limit(s, job, i, now_us) % N_KINDS, broken_limit(s, job, i, now_us) // N_KINDS
        if not kind:
            continue
        who, whose = _whose(keys[holder], accounts)
        if kind == OF_JOBS:
            held = f"{whose} may run {s.most_jobs[i]:g} jobs: {s.holder_jobs[holder]:g} run"
            return {"Assoc": "AssocGrpJobsLimit", "User": "AssocMaxJobsLimit", "QOS": "QOSGrpJobsLimit",
                    "QOSUser": "QOSMaxJobsPerUserLimit", "QOSAccount": "MaxJobsPerAccount"}[who], held  # fmt: skip
        prefix = "Assoc" if who in ("Assoc", "User") else "QOS"
        if kind == OF_WALL:
            return f"{prefix}GrpWallLimit", f"{whose} may run {s.most_wall_us[i] / US_PER_MINUTE:g} min in all"
        at, name = holder * N_COUNTED + r, COUNTED[r]
        if kind != OF_RESOURCE:
            of = "CPU" if name == "cpu" else (SHORT if prefix == "Assoc" else LONG)[name]
            word = f"{of}{'Minutes' if kind == OF_MINUTES else 'RunMinutes'}{'Limit' if name == 'cpu' else ''}"
            return f"{prefix}Grp{word}", f"{whose}: minutes of {name} are used up"
        asked = s.job_tres[job * N_COUNTED + r]
        most = s.most_tres[i * N_COUNTED + r]
        held = f"{whose} may hold {name} {most:g}: {s.holder_tres[at]:g} held, it asks for {asked:g}"
        if who == "QOSUser":
            return f"QOSMax{LONG[name]}PerUser{LIMIT.get(name, '')}", held
        if who == "QOSAccount":
            return f"Max{LONG[name]}PerAccount", held
        return f"{prefix}Grp{SHORT[name]}{'Limit' if name == 'mem' else LIMIT.get(name, '')}", held
    return "AssociationJobLimit", ""


def full(s: Any, keys: list[Key], accounts: Accounts, job: int) -> tuple[str, str]:
    """Return the reason of a job that was refused because too many jobs were submitted."""
    n = int((s.job_batch == s.job_batch[job]).sum())
    i = full_holder(s, job, n)
    who, whose = _whose(keys[s.case_holder[i]], accounts)
    word = {"Assoc": "AssocGrpSubmitJobsLimit", "User": "AssocMaxSubmitJobLimit", "QOS": "QOSGrpSubmitJobsLimit",
            "QOSUser": "QOSMaxSubmitJobPerUserLimit", "QOSAccount": "MaxSubmitJobsPerAccount"}[who]  # fmt: skip
    return word, f"{whose} may have {s.most_submitted[i]:g} jobs pending or running, not {n:,} more"


def _whose(key: tuple[str, ...], accounts: Accounts) -> tuple[str, str]:
    """Return the prefix of Slurm's word for a holder, and the holder in words."""
    kind, *names = key
    if kind == "association":
        account, user = accounts.names[int(names[0])]
        return ("User", f"user {user} in account {account}") if user else ("Assoc", f"account {account}")
    if kind == "qos":
        return "QOS", f"QOS {names[0]}"
    return ("QOSUser", f"user {names[1]} in QOS {names[0]}") if kind == "user" else (
        "QOSAccount", f"account {names[1]} in QOS {names[0]}")  # fmt: skip


def forbidden(
    s: Any, jobs: Jobs, case: Case, keys: list[Key], accounts: Accounts, job: int, part: int
) -> tuple[str, str]:
    """Return the reason of a job that breaks a limit all by itself."""
    if jobs.lacks_named[job]:
        return "BadConstraints", "it names nodes that it excludes, or that lack its features or its partition"
    if jobs.never[job]:
        return "PartitionDown", "none of its partitions is known"
    for prefix, whose, own in case.of_job:
        longest = own.get("max_wall_per_job")
        if longest is not None and jobs.limit_us[job] > float(longest) * US_PER_MINUTE:
            return f"{prefix}MaxWallDurationPerJobLimit", f"{whose}: jobs of {longest:g} min at most"
        amounts = jobs.amounts_in(place_of(s, job, part))
        for name, most, asked in zip(COUNTED, amounts_of(own.get("max_tres_per_job")), amounts, strict=True):
            if asked > most:
                word = (LONG if prefix == "QOS" else SHORT)[name]
                return (
                    f"{prefix}Max{word}PerJob{LIMIT.get(name, '')}",
                    f"{whose}: {name} {most:g} at most, it asks for {asked:g}",
                )
    count_asked(s, job, place_of(s, job, part))
    return over_limit(s, keys, accounts, job, part, 0.0)
