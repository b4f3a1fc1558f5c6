"""What the numbers of a run and the axes of a study are called in figures, pages and tables: words, and a unit.

Units are us, J, kWh, g, W, bytes, MB/s, share (of 1), % and "" for counts and for what has no unit that VineSim knows,
such as prices.
"""

import re
from typing import NamedTuple


class Title(NamedTuple):
    """The words for a number or an axis, and its unit."""

    words: str
    unit: str = ""


STATISTICS = {"mean": "mean", "p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "maximum"}
NUMBERS = {  # by the start of the name; a statistic comes before the words, other endings after them
    "jobs.count": Title("jobs"),
    "jobs.finished": Title("finished jobs"),
    "jobs.killed": Title("jobs killed by their limit"),
    "jobs.withdrawn": Title("withdrawn jobs"),
    "jobs.refused": Title("jobs that the policy refused"),
    "jobs.ended": Title("jobs that the policy ended"),
    "jobs.started": Title("jobs that started"),
    "jobs.latency_us": Title("latency of jobs", "us"),
    "jobs.wait_us": Title("waiting time of jobs", "us"),
    "jobs.time_to_start_us": Title("time to the first start of jobs", "us"),
    "jobs.bounded_slowdown": Title("bounded slowdown of jobs"),
    "fairness.users": Title("users with a finished job"),
    "fairness.jain": Title("Jain's index of the users' slowdowns"),
    "fairness.worst_slowdown": Title("largest mean slowdown of a user"),
    "jobs.warm_up.dropped": Title("jobs of the warm-up"),
    "tasks.count": Title("tasks"),
    "tasks.finished": Title("finished tasks"),
    "tasks.by_type": Title("tasks"),
    "tasks.latency_us": Title("latency of tasks", "us"),
    "tasks.wait_us": Title("waiting time of tasks", "us"),
    "tasks.response_us": Title("response time of tasks", "us"),
    "utilization.by_resource": Title("utilisation", "share"),
    "utilization.percentiles": Title("utilisation over units", "share"),
    "utilization.allocated": Title("allocated capacity", "share"),
    "utilization.active": Title("active time of units", "share"),
    "utilization": Title("utilisation", "share"),
    "load": Title("work / capacity while jobs arrive", "share"),
    "makespan_us": Title("makespan", "us"),
    "cost.purchase": Title("cost of purchase"),
    "cost.rent": Title("cost of rent"),
    "cost.electricity": Title("cost of electricity"),
    "cost.carbon": Title("cost of carbon dioxide"),
    "cost.total": Title("total cost"),
    "cost.per_million_tokens": Title("total cost per million output tokens"),
    "units.count": Title("units"),
    "units.by_type": Title("units"),
    "racks.power_w": Title("power with all units busy, rack", "W"),
    "energy_j": Title("energy", "J"),
    "energy.by_type": Title("energy", "J"),
    "energy.by_state": Title("energy", "J"),
    "energy.kwh": Title("energy from the grid", "kWh"),
    "energy.cost": Title("cost of electricity"),
    "energy.carbon_g": Title("carbon dioxide", "g"),
    "deadlines.missed": Title("missed deadlines"),
    "deadlines.missed_pct": Title("missed deadlines", "%"),
    "serving.first_token_us": Title("time to the first token", "us"),
    "serving.token_us": Title("time per output token", "us"),
    "serving.queue_us": Title("time in the queue of an engine", "us"),
    "serving.transfer_us": Title("time to send the cache of a request", "us"),
    "serving.input_tokens_per_s": Title("prompt tokens per second"),
    "serving.output_tokens_per_s": Title("output tokens per second"),
    "serving.goodput_per_s": Title("requests per second within both times"),
    "serving.goodput_pct": Title("requests within both times", "%"),
    "serving.missed": Title("requests not within both times"),
    "serving.memory": Title("memory of engines in use", "share"),
    "serving.prefix_found_pct": Title("prompt tokens found in memory", "%"),
    "serving.j_per_output_token": Title("energy of engines per output token, J"),
    "serving.electricity_per_million_tokens": Title("cost of electricity per million output tokens"),
    "serving.preemptions": Title("preemptions by engines"),
    "outages.restarts": Title("restarts after outages"),
    "outages.lost_us": Title("work lost in outages", "us"),
    "early_ends": Title("segments that ended early"),
    "quotas": Title("quota"),
    "periods.count": Title("periods"),
    "periods.energy_j": Title("energy of the periods", "J"),
    "periods.slav": Title("demand beyond capacity (SLAV)"),
    "periods.bound_j": Title("lower bound of the energy", "J"),
    "periods.gap_pct": Title("energy above the lower bound", "%"),
    "periods.optimum_j": Title("optimal energy", "J"),
    "periods.optimum_gap_pct": Title("energy above the optimum", "%"),
    "periods.infeasible": Title("periods beyond all capacity"),
    "bound.value_us": Title("objective", "us"),
    "bound.bound_us": Title("lower bound of the objective", "us"),
    "bound.gap_pct": Title("objective above the lower bound", "%"),
}
APPLICATIONS = {  # the end of a number of one application, or of all of them
    "requests": Title("requests"),
    "missed": Title("missed deadlines"),
    "missed_pct": Title("missed deadlines", "%"),
    "latency_us": Title("latency", "us"),
    "mean.missed_pct": Title("missed deadlines, mean of the applications", "%"),
    "mean.worst_missed_pct": Title("missed deadlines, worst application", "%"),
    "mean.jain": Title("Jain's index of the applications"),
    "mean.reach_99_pct": Title("applications with 99 % in time"),
}
OF_LABELS = {  # the end of a number of the jobs of one user, partition, hour ...
    "jobs": Title("jobs"),
    "finished": Title("finished jobs"),
    "refused": Title("jobs that the policy refused"),
    "wait_us": Title("mean wait of jobs", "us"),
    "wait_p50_us": Title("p50 wait of jobs", "us"),
    "wait_p90_us": Title("p90 wait of jobs", "us"),
    "wait_p99_us": Title("p99 wait of jobs", "us"),
    "latency_us": Title("mean latency of jobs", "us"),
    "latency_p99_us": Title("p99 latency of jobs", "us"),
    "slowdown": Title("mean bounded slowdown of jobs"),
    "work": Title("share of the work", "share"),
    "utilization": Title("utilisation", "share"),
    "energy_j": Title("energy", "J"),
    "cost": Title("cost"),
}
_ARRIVALS = ("poisson", "gamma", "weibull", "lognormal", "hyperexponential", "on_off", "mmpp")
AXES = {
    "policy": Title("policy"),
    "period_us": Title("period", "us"),
    "arrivals.iat": Title("time between jobs", "us"),
    **{f"arrivals.{name}.mean": Title("mean time between jobs", "us") for name in _ARRIVALS},
    "arrivals.on_off.on": Title("mean time with arrivals", "us"),
    "arrivals.on_off.off": Title("mean time without arrivals", "us"),
    "period": Title("period", "us"),
    "sampling": Title("sampling interval", "us"),
    "horizon": Title("horizon", "us"),
    "workload.options.n_jobs": Title("jobs"),
    "workload.load": Title("load"),
    "workload.first_token_within": Title("limit of the time to the first token", "us"),
    "workload.token_within": Title("limit of the time per output token", "us"),
    "datacenter.power_cap": Title("power cap", "W"),
}
_UNITS_OF_TYPE = re.compile(r"datacenter\.racks(?:\[(\d+)\])?(?:\.nodes(?:\[(\d+)\])?)?\.units\.(.+?)(\.count)?")
_OF_NODES = re.compile(
    r"datacenter\.racks(?:\[(\d+)\])?(?P<nodes>\.nodes(?:\[(\d+)\])?)?\.(?:(count)|(memory)|units\.(.+)\.(cores|capacity))"
)
_QUOTA = re.compile(r"partitions\[(\d+)\]\.(user_quota|quota|borrowing_limit|lending_limit)\.(.+)")
_WEIGHT = re.compile(r"partitions\[(\d+)\]\.weight")
_ONE_OF = re.compile(r"(reservation|outage|application)s\[(\d+)\]\.([a-z_]+)")
_UNITS_OF_KEYS = {  # of keys whose name does not say it
    "us": re.compile(
        r"arrivals\.(start|times\[\d+\]|mmpp\.stay\[\d+\])|affinity\.times\..+|applications\[\d+\]\.relative_deadline"
        r"|failures\[\d+\]\.(repair|until)\.mean|network\.hop_latency|outages\[\d+\]\.(down|up)"
        r"|reservations\[\d+\]\.(start|end)|processor_types\[\d+\]\.batching\.step\..+"
        r"|workload\.(first_token|token)_within\..+|workload\.(repeat|resample)\.(block|session_gap)"
    ),
    "MB/s": re.compile(r"network\.(inter_rack|intra_rack|local)"),
    "W": re.compile(r"datacenter\.racks\[\d+\]\.power_cap"),
    "bytes": re.compile(r"datacenter\.racks(\[\d+\])?\.nodes(\[\d+\])?\.memory"),
}
_OF_QUOTA = {"borrowing_limit": "borrowing limit", "lending_limit": "lending limit"}
_BY_SUFFIX = {"_us": "us", "_j": "J", "_pct": "%", "_g": "g", "_kwh": "kWh", "_w": "W", "_bytes": "bytes"}


def number_title(name: str) -> Title:
    """Return the title of a number of a run, such as ``mean latency of jobs`` in us for ``jobs.latency_us.mean``."""
    if name.startswith("applications."):
        return _of_application(name.split(".")[1:])
    if name.startswith("by."):
        label, _, number = name.split(".", 2)[2].rpartition(".")
        title = number_title(number)
        return Title(f"{title.words}, {label}", title.unit)
    if name in OF_LABELS:
        return OF_LABELS[name]
    start = max((known for known in NUMBERS if f"{name}.".startswith(f"{known}.")), key=len, default=None)
    if start is None:
        return Title(_plain(name), _unit_of(name))
    title = NUMBERS[start]
    words, *more = _with_ends(title.words, name[len(start) :].lstrip(".").split("."))
    return Title(", ".join([words, *more]), title.unit)


def axis_title(column: str) -> Title:
    """Return the title of an axis of a study, such as ``GPU units in rack 0`` for ``datacenter.racks[0].units.GPU``."""
    if column in AXES:
        return AXES[column]
    if found := _OF_NODES.fullmatch(column):
        return Title(_of_nodes(*found.groups()), _unit_of(column))
    if found := _ONE_OF.fullmatch(column):
        section, i, what = found.groups()
        return Title(f"{_plain(what)} of {section} {i}", _unit_of(column))
    if found := _QUOTA.fullmatch(column):
        partition, what, types = found.groups()
        of_user = " of a user" if what == "user_quota" else ""
        return Title(f"{_OF_QUOTA.get(what, 'quota')} of {types}{of_user} in partition {partition}")
    if found := _WEIGHT.fullmatch(column):
        return Title(f"weight of partition {found[1]}")
    if found := _UNITS_OF_TYPE.fullmatch(column):
        rack, node, kind, _ = found.groups()
        where = " in a node" if ".nodes" in column else ""
        where += f" of kind {node}" if node not in (None, "0") else ""
        return Title(f"{kind} units{where}" + (f" of rack {rack}" if rack is not None else ""))
    parts = column.split(".")
    if parts[0] == "options":
        return Title(f"option {_plain('.'.join(parts[1:]))}", _unit_of(column))
    return Title(_plain(parts[-1]), _unit_of(column))


def _of_nodes(
    rack: str | None, nodes: str | None, node: str | None, count: str | None, memory: str | None, kind: str, part: str
) -> str:
    """Say how many racks or nodes an axis counts, or how much of what a node or a unit has."""
    if count and nodes is None:
        return "racks" if rack in (None, "0") else f"racks of kind {rack}"
    here = "" if nodes is None else " in a node"
    words = "nodes" if count else f"memory{here}" if memory else f"{kind} {part}{here}"
    words += f" of kind {node}" if node not in (None, "0") else ""
    return words + (f" of rack {rack}" if rack is not None else "")


def axis_titles(columns: list[str]) -> dict[str, Title]:
    """Return the titles of a study's axes; where two have the same words, both are called by their keys."""
    found = {column: axis_title(column) for column in columns}
    words = [title.words for title in found.values()]
    return {
        column: title if words.count(title.words) == 1 else Title(column, title.unit) for column, title in found.items()
    }


def _with_ends(words: str, rest: list[str]) -> list[str]:
    """Put a statistic before the words and names after them; ``overall`` and the like say nothing."""
    names = [part for part in rest if part and part not in ("overall", "by_type", "by_state", "percentiles")]
    if names and names[-1] in STATISTICS:
        words = f"{STATISTICS[names.pop()]} {words}"
    return [words, *(_plain(name) if name.islower() else name for name in names)]


def _of_application(parts: list[str]) -> Title:
    if title := APPLICATIONS.get(".".join(parts)):
        return title
    who, what, *rest = [*parts, ""]
    title = APPLICATIONS.get(what, Title(_plain(what), _unit_of(what)))
    return Title(f"{_with_ends(title.words, rest)[0]}, {who}", title.unit)


def _plain(name: str) -> str:
    for suffix in _BY_SUFFIX:
        name = name.removesuffix(suffix)
    return name.replace("_", " ")


def _unit_of(name: str) -> str:
    if known := [unit for unit, keys in _UNITS_OF_KEYS.items() if keys.fullmatch(name)]:
        return known[0]
    parts = name.split(".")
    return next((unit for suffix, unit in _BY_SUFFIX.items() if any(part.endswith(suffix) for part in parts)), "")
