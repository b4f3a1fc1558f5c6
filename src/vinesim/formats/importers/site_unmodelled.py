"""List what the policy ``slurm`` does not, or only partly, model of a site, and count the affected jobs."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from vinesim.formats.importers.site_jobs import SiteJob
from vinesim.formats.importers.site_nodes import Nodes
from vinesim.formats.importers.site_options import (
    FLAGS,
    FLAGS_OF_QOS,
    PRIORITY_FLAGS,
    SCHEDULER,
    WORDS,
    has_switches,
    is_billed,
    is_builtin,
    is_usable,
    priority_flags,
)
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import COUNTED, duration_s, licences, tres, weights_of

PARAMETERS = frozenset(  # SchedulerParameters that are modelled or make no difference
    (
        *SCHEDULER,
        *FLAGS,
        *WORDS,
        *("bf_continue", "bf_yield_interval", "bf_yield_sleep", "defer", "sched_min_interval"),
        *("enable_user_top", "kill_invalid_depend", "nohold_on_prolog_fail"),
        # these affect only submissions, steps and scripts, so the log has their effects
        *("max_array_tasks", "max_script_size", "allow_zero_lic", "ignore_prefer_validation", "disable_job_shrink"),
        *("step_retry_count", "step_retry_time", "enable_hetjob_steps", "disable_hetjob_steps", "whole_hetjob"),
        *("salloc_wait_nodes", "sbatch_wait_nodes", "no_env_cache", "no_backup_scheduling", "spec_cores_first"),
    )
)
OPTIONS = {  # options of a submission
    "contiguous": "contiguous nodes",
    "core-spec": "cores for the system (--core-spec)",
    "mincpus": "--mincpus",
    "tmp": "local disk (--tmp)",
    "gpus": "GPUs of the whole job (--gpus)",
    "gpus-per-task": "GPUs by task",
    "mem-per-gpu": "memory by GPU",
    "ntasks-per-core": "tasks by core",
    "ntasks-per-socket": "tasks by socket",
    "deadline": "--deadline",
}
OTHER_LIMITS = frozenset(("MinTRESPerJob", "MaxTRESMinsPerJob", "MaxTRESPerNode"))  # limits of associations and QOS
OF_PARTITIONS = {  # limits of a partition, by lower-case name
    "maxmempernode": "MaxMemPerNode",
    "allowaccounts": "AllowAccounts",
    "denyaccounts": "DenyAccounts",
    "allowqos": "AllowQos",
    "denyqos": "DenyQos",
    "allowgroups": "AllowGroups",
    "exclusiveuser": "ExclusiveUser",
}
CORES_AND_MEMORY = {"CR_CORE_MEMORY", "CR_CPU_MEMORY"}
IDLE_FLAGS = ("CALCULATE_RUNNING", "FAIR_TREE")  # PriorityFlags that do not affect what starts
NO_LICENCES = "licences that are not in slurm.conf, or a choice of them: any number is free"
JOBS: dict[str, Callable[[SiteJob], bool]] = {
    "constraints with counts or brackets, taken as words": lambda one: any(c in one.request.constraint for c in "[*("),
    "no time limit: that of their partition is used, or a year": lambda one: (
        one.job.limit_s is None or not math.isfinite(one.job.limit_s)
    ),
    "no start in the log: they run until their limits, and are not in back-tests": lambda one: (
        one.job.records[-1].start_s is None and one.job.records[-1].state not in ("PENDING", "CANCELLED")
    ),
    "still pending when the log ended": lambda one: one.job.records[-1].state == "PENDING",
    "still running when the log ended: they end when they were seen last": lambda one: (
        one.job.records[-1].state in ("RUNNING", "SUSPENDED")
    ),
}


def unmodelled(site: Site, nodes: Nodes, jobs: Sequence[SiteJob]) -> list[tuple[str, int]]:
    """Return what is not modelled, with the number of jobs affected."""
    found = Counter[str]()
    n = len(jobs)
    for one in jobs:
        found.update(words for option, words in OPTIONS.items() if option in one.job.options)
        found.update(words for words, touches in JOBS.items() if touches(one))
    n_components = sum(one.job.component is not None for one in jobs)
    settings = site.config.settings
    known = licences(settings.get("licenses", ""))
    found[NO_LICENCES] = sum("licenses" in one.attributes and not _are_counted(one, known) for one in jobs)
    for name, text in site.config.list_of("schedulerparameters").items():
        if name not in PARAMETERS:
            found[f"SchedulerParameters={name}"] = n_components if name.startswith("bf_hetjob") else n
        elif name in (*SCHEDULER, *WORDS) and not is_usable(name, text):
            found[f"SchedulerParameters={name}={text}: the default is taken"] = n
    kind = settings.get("schedulertype", "sched/backfill")
    if not kind.endswith("backfill") and not is_builtin(site):
        found[f"SchedulerType={kind}: jobs are backfilled nevertheless"] = n
    if "multifactor" in settings.get("prioritytype", ""):
        flags = [flag for flag in priority_flags(settings) if flag not in (*PRIORITY_FLAGS, *IDLE_FLAGS)]
        found |= Counter({f"PriorityFlags={flag}": n for flag in flags})
        if "DEPTH_OBLIVIOUS" in priority_flags(settings):
            found["PriorityFlags=DEPTH_OBLIVIOUS: taken as the classic fair share"] = n
    if (
        "topology" in settings.get("topologyplugin", "")
        and not settings["topologyplugin"].endswith(("none", "default", "flat"))
        and not has_switches(site)
    ):
        found["topology: nodes are chosen as without switches"] = n
    if (duration_s(settings.get("completewait", "0"), 1.0) or 0.0) > 0:
        found["CompleteWait"] = n
    if site.config.entries.get("downnodes"):
        found["DownNodes: these nodes are up"] = n
    if settings.get("epilog"):
        found["Epilog: takes no time"] = n
    selects = settings.get("selecttypeparameters", "CR_Core_Memory")
    if not CORES_AND_MEMORY & set(selects.upper().split(",")):
        found[f"SelectTypeParameters={selects}, taken as CR_Core_Memory"] = n
    for word in selects.split(","):
        if word.upper() in ("CR_PACK_NODES", "CR_ONE_TASK_PER_CORE"):
            found[f"SelectTypeParameters={word}"] = n
    by_partition = Counter(name for one in jobs for name in one.job.partitions)
    for part in nodes.partitions:
        weights = weights_of(part.values.get("tresbillingweights", ""))
        if others := [name for name in weights if not is_billed(name, site, nodes.gpu_types)]:
            found[f"partition {part.name}: TRESBillingWeights of {', '.join(others)}"] = by_partition[part.name]
    sharing = Counter(name for one in jobs if "oversubscribe" in one.job.options for name in one.job.partitions)
    for name, _, values, _ in nodes.partitions:
        mode = values.get("oversubscribe", "NO").upper()
        if mode.startswith(("YES", "FORCE")) and not mode.endswith(":1"):
            of_mode = by_partition if mode.startswith("FORCE") else sharing  # YES: jobs that request it
            found[f"partition {name}: OverSubscribe={mode}: jobs do not share CPUs"] = of_mode[name]
        for key, words in OF_PARTITIONS.items():
            if values.get(key, "").upper() not in ("", "ALL", "UNLIMITED", "0", "NONE", "NO"):
                found[f"partition {name}: {words}"] = by_partition[name]
    by_qos = Counter(one.job.qos for one in jobs)
    for qos in site.qos:
        if others := [flag for flag in qos.flags if flag.lower() not in FLAGS_OF_QOS]:
            found[f"QOS {qos.name}: {', '.join(others)}"] = by_qos[qos.name]
        found.update({f"QOS {qos.name}: {words}": by_qos[qos.name] for words in _not_counted(qos.values)})
    by_account = Counter(one.job.account for one in jobs)
    by_user = Counter((one.job.account, one.job.user) for one in jobs)
    for its in site.associations:
        n_jobs = by_user[its.account, its.user] if its.user else by_account[its.account]
        who = f"user {its.user} of {its.account}" if its.user else f"account {its.account}"
        found.update({f"{who}: {words}": n_jobs for words in _not_counted(its.values)})
    return [(words, count) for words, count in found.most_common() if count]


def _are_counted(one: SiteJob, known: Mapping[str, float]) -> bool:
    """Whether the cluster counts all licences that a job requests."""
    asked = licences(one.attributes.get("licenses", ""))
    return bool(asked) and set(asked) <= set(known)


def _not_counted(values: Mapping[str, str]) -> list[str]:
    """Return the limits that are not modelled, or are on resources that are not counted, such as GPUs of one type."""
    others = [name for name in values if name in OTHER_LIMITS]
    limits = {name: sorted(set(tres(text)) - set(COUNTED)) for name, text in values.items() if "TRES" in name}
    return others + [
        f"{name} of {', '.join(some)}" for name, some in limits.items() if some and name not in OTHER_LIMITS
    ]
