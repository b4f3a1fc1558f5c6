"""What a job of a Slurm site requests: its options or, without them, what sacct shows."""

import math
import re
from collections.abc import Collection

from vinesim.formats.slurm.jobs import SlurmJob
from vinesim.formats.slurm.requests import ALL, Request
from vinesim.formats.slurm.values import duration_s, hosts, memory_mib

_GRES = re.compile(r"gpu(?::([A-Za-z]\w*))?(?::(\d+))?(?:\(.*\))?$")


def request_of(job: SlurmJob, hosts_known: Collection[str]) -> Request:
    """Return what a job requests: its options or, without them, what sacct shows.

    Unknown nodes that it names or excludes are ignored.
    """
    options, asked = job.options, job.requested
    least, most = _range(options.get("nodes", ""))
    if not least and "ntasks" not in options and "ntasks-per-node" not in options and asked.get("node", 1) > 1:
        least = most = int(asked["node"])
    cpus = _whole(options.get("cpus-per-task", ""), 1)
    per_node = _whole(options.get("ntasks-per-node", ""), 0)
    tasks = _whole(options.get("ntasks", ""), 0)
    n_named, named = _known_hosts(
        options.get("nodelist", ""), hosts_known, tasks
    )  # at least one task per node, as in Slurm
    least, most = max(least, n_named), max(most, n_named) if most else 0
    if not tasks:
        known = int(asked.get("cpu", 0)) // cpus
        tasks = per_node * max(1, least) if per_node else (max(1, least) if options else max(known, 1, least))
    mem_cpu, mem_node = _memory(job, tasks * cpus, max(1, least))
    gpus, gpu_type = _gpus(job, max(1, least))
    return Request(
        least, most, tasks, cpus, per_node, mem_cpu, mem_node, gpus, gpu_type, "exclusive" in options,
        job.constraint.replace(" ", ""), *_switches(options.get("switches", "")), named,
        _known_hosts(options.get("exclude", ""), hosts_known)[1],
    )  # fmt: skip


def _known_hosts(text: str, known: Collection[str], most: int = 0) -> tuple[int, str]:
    """Return the number of known names in a list of hosts, of at most the first ``most`` unless that is 0, and the list
    of these. An unreadable list gives none."""
    try:
        listed = list(dict.fromkeys(hosts(text)))
    except ValueError:
        return 0, ""
    names = [name for name in listed if name in known][: most or None]
    return len(names), text if names == listed else ",".join(names)


def _switches(text: str) -> tuple[int, float]:
    """Return the most leaf switches that a job wants, and how long it waits for them, s."""
    n, _, wait = text.partition("@")
    seconds = duration_s(wait) if wait else math.inf
    return _whole(n, 0), math.inf if seconds is None else seconds


def _whole(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() else default


def _range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    least = _whole(low, 0)
    return least, _whole(high, 0) if dash else least


def _memory(job: SlurmJob, n_cpus: int, n_nodes: int) -> tuple[float, float]:
    """Return the memory of each CPU and of each node, MiB."""
    for option, of_cpu in (("mem-per-cpu", True), ("mem", False)):
        found = memory_mib(job.options.get(option, ""))
        if found is not None:
            amount = found[0] if found[0] or of_cpu else ALL
            return (amount, 0.0) if of_cpu else (0.0, amount)
    if "mem" in job.requested:
        return (0.0, job.requested["mem"] / n_nodes) if n_nodes > 1 else (job.requested["mem"] / max(1, n_cpus), 0.0)
    return 0.0, 0.0


def _gpus(job: SlurmJob, n_nodes: int) -> tuple[int, str]:
    """Return the GPUs of each node, and their type."""
    for option in ("gres", "gpus-per-node"):
        for item in job.options.get(option, "").split(","):
            word = item if option == "gres" or not item else f"gpu:{item}"
            if match := _GRES.match(word):
                return int(match[2] or 1), match[1] or ""
    for name, amount in sorted(job.requested.items(), reverse=True):  # with a type first
        if name.startswith("gres/gpu"):
            return math.ceil(amount / n_nodes), name.partition(":")[2]
    return 0, ""
