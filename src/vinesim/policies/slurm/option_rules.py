"""Check the options that are mappings by name: nodes, partitions, QOS, accounts, reservations. Each key has a rule."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vinesim.formats.slurm.accounts import ROOT
from vinesim.formats.slurm.values import COUNTED, LICENCE, OF_TYPE, WEIGHED, hosts
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import Problem, Steps
from vinesim.policies.slurm.codes import PREEMPT_MODES
from vinesim.policies.slurm.prepare_switches import wrong_switches

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

WHERE = ("policy", "options")
Rule = Callable[[Any], str]  # a check of a value: what was expected instead, "" if the value is right
GPU_NAMES = ("gpu", "gpus", "gres/gpus")  # other common names of GPUs


def _is_number(value: Any, least: float = 0.0) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= least


def _amount(value: Any) -> str:
    return "" if _is_number(value) else "a number, 0 or more"


def _shares(value: Any) -> str:
    return "" if _is_number(value, -1.0) else "a number, or -1 for the account's own"


def _minutes(value: Any) -> str:
    return "" if _is_number(value) else "minutes, 0 or more"


def _seconds(value: Any) -> str:
    return "" if _is_number(value, -math.inf) and math.isfinite(value) else "seconds from the beginning"


def _amounts_of(known: Sequence[str], beginnings: tuple[str, ...] = ()) -> Rule:
    """Return the rule for amounts of resources with these names, or with names that have these prefixes."""
    names = [*known, *(f"{beginning}NAME" for beginning in beginnings)]

    def rule(value: Any) -> str:
        if not isinstance(value, Mapping):
            return "a mapping such as {cpu: 64, gres/gpu: 4}"
        for name, amount in value.items():
            is_known = name in known or (str(name).startswith(beginnings) and name not in beginnings)
            if not is_known or not _is_number(amount):
                return f"amounts of {', '.join(names)} only, not {name}: {amount!r}"
        return ""

    return rule


_resources, _weighed = _amounts_of(COUNTED), _amounts_of(WEIGHED)
_billed = _amounts_of(WEIGHED, (OF_TYPE, LICENCE))
OF_RESOURCES = (_resources, _weighed, _billed)


def _near_resource(value: Any) -> str:
    """Return a remedy for the first name that is no resource, or an empty text."""
    names = value if isinstance(value, Mapping) else ()
    wrong = next((str(name) for name in names if name not in COUNTED), "")
    return "Did you mean gres/gpu?" if wrong in GPU_NAMES else did_you_mean(wrong, COUNTED)


def _hosts(value: Any) -> str:
    try:
        hosts(str(value))
    except ValueError:
        return "a list of hosts, such as n[01-32]"
    return ""


def _names(value: Any) -> str:
    is_list = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return "" if is_list else "a list of names"


def _host_lists(value: Any) -> str:
    return _names(value) or next(filter(None, map(_hosts, value)), "")


def _mode(value: Any) -> str:
    return "" if value in PREEMPT_MODES else "one of " + ", ".join(PREEMPT_MODES)


def _name(value: Any) -> str:
    return "" if isinstance(value, str) else "a name"


def _switch(value: Any) -> str:
    return "" if isinstance(value, bool) else "true or false"


def _mapping(value: Any) -> str:
    return "" if value is None or isinstance(value, Mapping) else "a mapping by user"


GROUP = {"grp_jobs": _amount, "grp_tres": _resources, "grp_tres_mins": _resources, "grp_tres_run_mins": _resources,
         "grp_wall": _minutes, "grp_submit_jobs": _amount, "grp_jobs_accrue": _amount}  # fmt: skip
OF_JOB = {"max_tres_per_job": _resources, "max_wall_per_job": _minutes}
OF_ASSOCIATION: dict[str, Rule] = {**GROUP, **OF_JOB, "max_jobs": _amount, "max_jobs_accrue": _amount,
                                   "max_submit_jobs": _amount,
                                   "shares": _shares, "priority": _amount, "usage": _amount}  # fmt: skip
RULES: dict[str, dict[str, Rule]] = {
    "nodes": {"names": _hosts, "weight": _amount, "features": _names},
    "partitions": {"priority_tier": _amount, "priority_job_factor": _amount, "max_time": _minutes,
                   "preempt_mode": _mode, "grace_time": _amount, "lln": _switch, "qos": _name, "min_nodes": _amount,
                   "max_nodes": _amount, "max_cpus_per_node": _amount, "tres_billing_weights": _billed},
    "topology": {"nodes": _hosts, "switches": _hosts},
    "reservations": {"start_s": _seconds, "end_s": _seconds, "nodes": _host_lists},
    "qos": {**GROUP, **OF_JOB, "priority": _amount, "shares": _shares, "max_jobs_per_user": _amount,
            "max_jobs_per_account": _amount, "max_jobs_accrue_per_user": _amount,
            "max_jobs_accrue_per_account": _amount, "max_tres_per_user": _resources,
            "max_tres_per_account": _resources, "preempt": _names, "preempt_mode": _mode,
            "preempt_exempt_time": _seconds, "grace_time": _amount, "max_submit_jobs_per_user": _amount,
            "max_submit_jobs_per_account": _amount, "deny_on_limit": _switch, "over_part_qos": _switch,
            "partition_max_nodes": _switch, "partition_min_nodes": _switch, "partition_time_limit": _switch,
            "usage_factor": _amount, "no_decay": _switch},
    "accounts": {**OF_ASSOCIATION, "parent": _name, "users": _mapping},
}  # fmt: skip


def wrong_options(policy: "Slurm") -> list[Problem]:
    """Return what is wrong with the options that are mappings by name."""
    problems = list[Problem]()
    for what, rules in RULES.items():
        for name, one in getattr(policy, what).items():
            _check((what, name), one, rules, problems)
    for name, one in policy.accounts.items():
        users = one.get("users") if isinstance(one, Mapping) else None
        for user, values in users.items() if isinstance(users, Mapping) else ():
            _check(("accounts", name, "users", user), {} if values is None else values, OF_ASSOCIATION, problems)
    for name, one in policy.reservations.items():
        if isinstance(one, Mapping) and not {"start_s", "end_s"} <= set(one):
            problems.append(Problem((*WHERE, "reservations", name), "start_s and end_s", ", ".join(one) or "none"))
        elif _is_reversed(one):
            place, expected = (*WHERE, "reservations", name, "end_s"), f"a time after start_s, {one['start_s']:g}"
            problems.append(Problem(place, expected, f"{one['end_s']:g}"))
    for name, n in policy.licenses.items():
        if expected := _amount(n):
            problems.append(Problem((*WHERE, "licenses", name), expected, repr(n)[:60]))
    if expected := _weighed(weights := policy.priority_weight_tres):
        at = (*WHERE, "priority_weight_tres")
        problems.append(Problem(at, expected, repr(weights)[:60], _near_resource(weights)))
    return problems or [*_unknown_names(policy), *wrong_switches(policy.topology)]


def _unknown_names(policy: "Slurm") -> list[Problem]:
    """Return a problem for each name of a node, QOS or account that an option refers to and no option has."""
    nodes, problems = dict[str, str](), list[Problem]()
    for run, one in policy.nodes.items():
        for host in hosts(str(one.get("names", ""))):
            if (other := nodes.setdefault(host, run)) != run:
                expected = f"nodes that no other run has: {other} has it too"
                problems.append(Problem((*WHERE, "nodes", run, "names"), expected, repr(host)))
    accounts = {ROOT: {}, **policy.accounts}
    refer: list[tuple[Steps, Mapping[str, Any], list[str]]] = [
        (("topology", name, "nodes"), nodes, hosts(str(one.get("nodes", "")))) for name, one in policy.topology.items()
    ]
    refer += [
        (("reservations", name, "nodes"), nodes, [host for text in one.get("nodes", ()) for host in hosts(text)])
        for name, one in policy.reservations.items()
    ]
    refer += [
        (("partitions", name, "tres_billing_weights"), policy.licenses,
         [one.removeprefix(LICENCE) for one in its.get("tres_billing_weights") or () if one.startswith(LICENCE)])
        for name, its in policy.partitions.items()
    ]  # fmt: skip
    refer += [(("qos", name, "preempt"), policy.qos, list(one.get("preempt", ()))) for name, one in policy.qos.items()]
    refer += [
        (("partitions", name, "qos"), policy.qos, [one["qos"]])
        for name, one in policy.partitions.items()
        if one.get("qos")
    ]
    refer += [
        (("accounts", name, "parent"), accounts, [one.get("parent", ROOT)]) for name, one in policy.accounts.items()
    ]
    for where, known, names in refer:
        kinds = (nodes, "nodes"), (policy.qos, "qos"), (policy.licenses, "licenses")
        kind = next((word for names, word in kinds if known is names), where[0])
        problems += [
            Problem((*WHERE, *where), f"names in options.{kind}", repr(name), did_you_mean(name, known))
            for name in names
            if name not in known
        ]
    return problems


def _is_reversed(reservation: Any) -> bool:
    """Whether a reservation has a start and an end, and ends before it starts."""
    times = [reservation[name] for name in ("start_s", "end_s")] if isinstance(reservation, Mapping) else ["", ""]
    return not any(map(_seconds, times)) and times[1] <= times[0]


def _check(where: Steps, given: Any, rules: Mapping[str, Rule], problems: list[Problem]) -> None:
    if not isinstance(given, Mapping):
        problems.append(Problem((*WHERE, *where), "a mapping", repr(given)[:40]))
        return
    for name, value in given.items():
        place = (*WHERE, *where, name)
        if name not in rules:
            expected = "one of " + ", ".join(rules)
            problems.append(Problem(place, expected, repr(name), did_you_mean(str(name), rules)))
        elif expected := rules[name](value):
            remedy = _near_resource(value) if rules[name] in OF_RESOURCES else ""
            problems.append(Problem(place, expected, repr(value)[:60], remedy))
