"""Derive the options of the policy ``slurm`` from the files of a site: the parameters under Slurm's own names."""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from vinesim.formats.importers.site_nodes import Nodes, preempts_by
from vinesim.formats.slurm.accounts import PARENT, ROOT, Qos
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import (
    COUNTED,
    LICENCE,
    OF_TYPE,
    UNLIMITED,
    WEIGHED,
    duration_s,
    hosts,
    licences,
    tres,
    weights_of,
)

SCHEDULER = (  # SchedulerParameters with a number, in Slurm's units
    *("bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_max_job_user", "bf_max_job_part"),
    *("bf_max_job_start", "bf_max_job_assoc", "bf_max_job_user_part", "bf_max_job_array_resv", "bf_min_age_reserve"),
    *("bf_min_prio_reserve", "bf_job_part_count_reserve", "default_queue_depth", "partition_job_depth"),
    *("bf_window_linear", "sched_interval", "sched_max_job_start", "batch_sched_delay", "max_switch_wait"),
)
NEVER = ("bf_interval", "sched_interval")  # may be -1
LEAST = dict.fromkeys(("bf_interval", "bf_resolution", "bf_window", "bf_max_job_test", "sched_interval"), 1)
FLAGS = ("preempt_youngest_first", "assoc_limit_stop", "bf_one_resv_per_job", "bf_busy_nodes", "pack_serial_at_end")
WORDS = {"bf_hetjob_prio": ("min", "avg", "max")}
WEIGHTS = {
    "priorityweightage": "priority_weight_age",
    "priorityweightassoc": "priority_weight_assoc",
    "priorityweightfairshare": "priority_weight_fair_share",
    "priorityweightjobsize": "priority_weight_job_size",
    "priorityweightpartition": "priority_weight_partition",
    "priorityweightqos": "priority_weight_qos",
}
DURATIONS = {  # in minutes in slurm.conf; here s
    "prioritymaxage": "priority_max_age",
    "prioritydecayhalflife": "priority_decay_half_life",
    "prioritycalcperiod": "priority_calc_period",
}
LIMITS = {  # a limit in Slurm's tables -> the name of the option
    "GrpJobs": "grp_jobs", "GrpTRES": "grp_tres", "GrpTRESMins": "grp_tres_mins",
    "GrpTRESRunMins": "grp_tres_run_mins", "GrpWall": "grp_wall", "MaxJobs": "max_jobs",
    "MaxTRESPerJob": "max_tres_per_job", "MaxWallDurationPerJob": "max_wall_per_job",
    "MaxTRESPerUser": "max_tres_per_user", "MaxJobsPerUser": "max_jobs_per_user",
    "MaxTRESPerAccount": "max_tres_per_account", "MaxJobsPerAccount": "max_jobs_per_account",
    "GrpSubmitJobs": "grp_submit_jobs", "MaxSubmitJobs": "max_submit_jobs",
    "MaxSubmitJobsPerUser": "max_submit_jobs_per_user", "MaxSubmitJobsPerAccount": "max_submit_jobs_per_account",
    "GrpJobsAccrue": "grp_jobs_accrue", "MaxJobsAccrue": "max_jobs_accrue",
    "MaxJobsAccruePerUser": "max_jobs_accrue_per_user", "MaxJobsAccruePerAccount": "max_jobs_accrue_per_account",
}  # fmt: skip
FLAGS_OF_QOS = {  # by lower-case name
    "denyonlimit": "deny_on_limit", "overpartqos": "over_part_qos", "partitionmaxnodes": "partition_max_nodes",
    "partitionminnodes": "partition_min_nodes", "partitiontimelimit": "partition_time_limit", "nodecay": "no_decay",
}  # fmt: skip
OF_NODES = {
    "minnodes": "min_nodes",
    "maxnodes": "max_nodes",
    "maxcpuspernode": "max_cpus_per_node",
}  # keys of a partition
NO_NORMAL = ("assoc", "part", "qos", "tres")
PRIORITY_FLAGS: dict[str, dict[str, bool]] = {  # -> options
    "NO_FAIR_TREE": {"fair_tree": False},
    "DEPTH_OBLIVIOUS": {"fair_tree": False},
    "SMALL_RELATIVE_TO_TIME": {"small_relative_to_time": True},
    "MAX_TRES": {"max_tres": True},
    "ACCRUE_ALWAYS": {"accrue_always": True},
    "INCR_ONLY": {"incr_only": True},
    "NO_NORMAL_ALL": {f"no_normal_{name}": True for name in NO_NORMAL},
    **{f"NO_NORMAL_{name.upper()}": {f"no_normal_{name}": True} for name in NO_NORMAL},
}
OTHERS = {"Fairshare": "shares", "Priority": "priority"}
_KNOWN = {
    name.lower(): (name, ours) for name, ours in (LIMITS | OTHERS).items()
}  # a dump has other names for some of them


def options_of(site: Site, nodes: Nodes, begin_s: float) -> dict[str, Any]:
    """Return the options. Things with names, such as QOS, are mappings by name."""
    settings, scheduler = site.config.settings, site.config.list_of("schedulerparameters")
    found: dict[str, Any] = {
        name: int(scheduler[name]) for name in SCHEDULER if is_usable(name, scheduler.get(name, ""))
    }
    if is_builtin(site):
        found["bf_interval"] = -1
    if "bf_hetjob_immediate" in scheduler:
        found["bf_hetjob_prio"] = "min"  # implied by it
    found |= {name: scheduler[name] for name in WORDS if is_usable(name, scheduler.get(name, ""))}
    found["start_s"] = begin_s
    found |= dict.fromkeys((name for name in FLAGS if name in scheduler), True)
    over_s = duration_s(settings.get("overtimelimit", "0"))
    if over_s:
        found["over_time_limit"] = over_s / 60.0 if math.isfinite(over_s) else 1e9
    found["priority_type"] = settings.get("prioritytype", "priority/basic").rpartition("/")[2].lower()
    weights_given = {ours: settings.get(name, "") for name, ours in WEIGHTS.items()}
    found |= {ours: float(text) for ours, text in weights_given.items() if text.isdecimal() and int(text)}
    for name, ours in DURATIONS.items():
        seconds = duration_s(settings.get(name, ""))
        if seconds is not None:
            found[ours] = seconds if math.isfinite(seconds) else 0.0
    if weights := settings.get("priorityweighttres"):
        found["priority_weight_tres"] = counted(weights, WEIGHED)
    for flag in priority_flags(settings):
        found |= PRIORITY_FLAGS.get(flag, {})
    if settings.get("priorityfavorsmall", "NO").upper() == "YES":
        found["priority_favor_small"] = True
    found |= _preemption(settings)
    found["nodes"], known = _runs(nodes), {node.name for node in nodes.nodes}
    is_lln = "cr_lln" in settings.get("selecttypeparameters", "").lower().split(",")
    of_qos = {one.name for one in site.qos}
    found["partitions"] = {
        one.name: _partition(one.values, is_lln, of_qos) | _billing(site, one.values, nodes.gpu_types)
        for one in nodes.partitions
        if one.nodes
    }
    if counts := licences(settings.get("licenses", "")):
        found["licenses"] = counts
    if has_switches(site):
        rows = [entry.values for entry in site.topology.entries["switchname"]]
        found["topology"] = {
            row["switchname"]: {name: row[name] for name in ("nodes", "switches") if name in row} for row in rows
        }
        leaf = {name: row["switchname"] for row in rows for name in hosts(row.get("nodes", "")) if name in known}
        for switch, one in found["topology"].items():
            if "nodes" in one:
                names = dict.fromkeys(hosts(one["nodes"]))
                one["nodes"] = _host_list([name for name in names if leaf.get(name) == switch])
            if "switches" in one:
                below = [name for name in hosts(one.pop("switches")) if name in found["topology"]]
                one |= {"switches": _host_list(below)} if below else {"nodes": one.get("nodes", "")}
    if site.qos:
        found["qos"] = {one.name: _limits(one.values) | _of_qos(one, of_qos) for one in site.qos}
    if accounts := _accounts(site):
        found["accounts"] = accounts
    if reservations := [one for one in site.reservations if one.end_s > one.start_s]:
        found["reservations"] = {
            one.name: {
                "start_s": one.start_s - begin_s,
                "end_s": one.end_s - begin_s,
                "nodes": [name for name in one.nodes if name in known],
            }
            for one in reservations
        }
    return found


def is_usable(name: str, text: str) -> bool:
    """Whether a value of SchedulerParameters is valid for the policy; otherwise the default applies, as in Slurm."""
    if name in WORDS:
        return text in WORDS[name]
    return (text == "-1" and name in NEVER) or (text.isdecimal() and int(text) >= LEAST.get(name, 0))


def is_builtin(site: Site) -> bool:
    """Whether a site has no backfill."""
    return site.config.settings.get("schedulertype", "").endswith("builtin")


def has_switches(site: Site) -> bool:
    """Whether nodes are chosen by their place in a tree of switches."""
    return site.config.settings.get("topologyplugin", "").endswith("tree") and "switchname" in site.topology.entries


def counted(text: str, known: Collection[str] = COUNTED) -> dict[str, float]:
    """Return a list of resources, leaving out those that the policy does not count."""
    return {name: amount for name, amount in tres(text).items() if name in known}


def priority_flags(settings: Mapping[str, str]) -> list[str]:
    """Return the PriorityFlags that are set."""
    return [flag.strip() for flag in settings.get("priorityflags", "").upper().split(",") if flag.strip()]


def is_billed(name: str, site: Site, types: Collection[str]) -> bool:
    """Whether a weight of TRESBillingWeights is for a resource that a site with these types of GPUs counts."""
    known = {name.lower() for name in licences(site.config.settings.get("licenses", ""))}
    of_type = name.startswith(OF_TYPE) and name.removeprefix(OF_TYPE) in {one.lower() for one in types}
    return name in WEIGHED or of_type or (name.startswith(LICENCE) and name.removeprefix(LICENCE) in known)


def _billing(site: Site, values: Mapping[str, str], types: Collection[str]) -> dict[str, Any]:
    """Return the billing weights of a partition."""
    weights = weights_of(values.get("tresbillingweights", ""))
    names = {name.lower(): name for name in licences(site.config.settings.get("licenses", ""))}
    found = {}
    for name, weight in weights.items():
        if is_billed(name, site, types):
            licence = names.get(name.removeprefix(LICENCE)) if name.startswith(LICENCE) else None
            found[name if licence is None else LICENCE + licence] = weight
    return {"tres_billing_weights": found} if found else {}


def _runs(nodes: Nodes) -> dict[str, Any]:
    """Return the runs of equal nodes, in order, by the names of their kinds; further runs of a kind get a number."""
    found: dict[str, Any] = {}
    for group, run in nodes.groups():
        key = group if group not in found else f"{group}+{len(found)}"
        features = {"features": list(run[0].features)} if run[0].features else {}
        found[key] = {"names": _host_list([node.name for node in run]), "weight": run[0].weight} | features
    return found


def _host_list(names: list[str]) -> str:
    """Return names as a list of hosts, such as n[01-32] if they are numbered consecutively."""
    found = re.fullmatch(r"(.*?)(\d+)", names[0]) if names else None
    if found is None or len(names) == 1:
        return ",".join(names)
    stem, first = found[1], found[2]
    text = f"{stem}[{first}-{int(first) + len(names) - 1:0{len(first)}d}]"
    return text if hosts(text) == names else ",".join(names)


def _preemption(settings: dict[str, str]) -> dict[str, Any]:
    kind = preempts_by(settings)
    if not kind:
        return {}
    found: dict[str, Any] = {"preempt_type": kind, "preempt_mode": _mode(settings.get("preemptmode", "off"))}
    if exempt_s := duration_s(settings.get("preemptexempttime", "")):
        found |= {"preempt_exempt_time": exempt_s} if math.isfinite(exempt_s) else {}
    return found


def _of_qos(qos: Qos, known: set[str]) -> dict[str, Any]:
    """Return which known QOS this one preempts, how its own jobs are preempted, its usage factor and its flags."""
    values = qos.values
    flags = [FLAGS_OF_QOS[flag.lower()] for flag in qos.flags if flag.lower() in FLAGS_OF_QOS]
    found: dict[str, Any] = dict.fromkeys(flags, True)
    factor = values.get("UsageFactor", "")
    if factor.replace(".", "", 1).isdecimal() and float(factor) != 1.0:
        found["usage_factor"] = float(factor)
    if names := [name for name in values.get("Preempt", "").split(",") if name in known]:
        found["preempt"] = names
    if (mode := values.get("PreemptMode", "cluster").lower()) not in ("", "cluster"):
        found["preempt_mode"] = _mode(mode)
    if grace_s := duration_s(values.get("GraceTime", ""), 1.0):
        found |= {"grace_time": grace_s} if math.isfinite(grace_s) else {}
    exempt_s = duration_s(values.get("PreemptExemptTime", ""))
    if exempt_s is not None and math.isfinite(exempt_s):
        found["preempt_exempt_time"] = exempt_s
    return found


def _mode(text: str) -> str:
    """Return a mode of preemption without the word for gang scheduling."""
    return next((mode for mode in text.lower().split(",") if mode in ("requeue", "cancel", "suspend")), "off")


def _partition(values: dict[str, str], is_lln: bool, known: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"qos": values["qos"]} if values.get("qos") in known else {}
    found |= {ours: int(values[name]) for name, ours in OF_NODES.items() if values.get(name, "").isdecimal()}
    if found.get("min_nodes") == 0:  # scontrol's notation
        del found["min_nodes"]
    if (tier := values.get("prioritytier", "1")) != "1":
        found["priority_tier"] = int(tier)
    if (factor := values.get("priorityjobfactor", "1")) != "1":
        found["priority_job_factor"] = float(factor)
    longest_s = duration_s(values.get("maxtime", "UNLIMITED"))
    if longest_s is not None and math.isfinite(longest_s):
        found["max_time"] = longest_s / 60.0
    if mode := values.get("preemptmode"):
        found["preempt_mode"] = _mode(mode)
    if grace_s := duration_s(values.get("gracetime", ""), 1.0):
        found |= {"grace_time": grace_s} if math.isfinite(grace_s) else {}
    if is_lln or values.get("lln", "NO").upper() == "YES":
        found["lln"] = True
    return found


def _accounts(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = {}
    above = {one.account for one in site.associations if not one.user} - {ROOT}
    for one in site.associations:
        if one.partition:
            continue
        if not one.user:
            if one.account != ROOT:
                parent = {"parent": one.parent} if one.parent in above else {}
                found[one.account] = parent | _limits(one.values)
        elif one.account in found:
            found[one.account].setdefault("users", {})[one.user] = _limits(one.values)
    return found


def _limits(values: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given, text in values.items():
        name, ours = _KNOWN.get(given.lower(), ("", ""))
        if name in OTHERS and text.replace(".", "").isdecimal():
            found[ours] = float(text)
        elif name == "Fairshare" and text == PARENT:
            found[ours] = -1.0
        elif name in LIMITS and (value := _limit(name, text)) is not None:
            found[ours] = value
    return found


def unreadable_limits(values: Mapping[str, str]) -> int:
    """Count the unreadable limits, shares and priorities of an account, a user or a QOS."""
    n = 0
    for given, text in values.items():
        name, _ = _KNOWN.get(given.lower(), ("", ""))
        if not name or text.upper() in UNLIMITED or (name == "Fairshare" and text == PARENT):
            continue
        if "TRES" in name:
            items = [item for item in text.split(",") if item.partition("=")[2].upper() not in UNLIMITED]
            n += len(tres(",".join(items))) < len(items)
        elif "Wall" in name:
            n += duration_s(text) is None
        else:
            n += not text.replace(".", "", 1).isdecimal()
    return n


def _limit(name: str, text: str) -> Any:
    if "TRES" in name:
        return counted(text) or None
    if "Wall" in name:
        seconds = duration_s(text)
        return None if seconds is None or not math.isfinite(seconds) else seconds / 60.0
    return int(text) if text.isdecimal() else None
