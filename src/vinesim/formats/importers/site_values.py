"""Read values of a site's configuration: numbers, durations and lists of hosts."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vinesim.formats.importers.site_options import DURATIONS, WEIGHTS
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import NOTHING, UNLIMITED, duration_s, hosts
from vinesim.model.errors import InputError, Problem

DIGITS, MOST_CPUS = 15, 10**6
_GPU, _COMMA = re.compile(r"gpu(:[^:()]+){0,2}:\d+[KMG]?(\([^)]*\))?"), re.compile(r",(?![^(]*\))")
Check = tuple[Callable[[str], bool], str]  # the check of a value, and the expected value in words


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _is_list(text: str) -> bool:
    try:
        hosts(text)
    except ValueError:
        return False
    return True


def _is_whole(text: str, most: float = math.inf) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS and int(text) <= most


def _are_gpus(text: str) -> bool:
    """Whether the GPUs in a list of generic resources have numbers; other resources are ignored."""
    return all(_GPU.fullmatch(item) for item in _COMMA.split(text) if item.split(":")[0] == "gpu")


WHOLE: Check = (_is_whole, "a whole number")
CPUS: Check = (partial(_is_whole, most=MOST_CPUS), f"a whole number up to {MOST_CPUS:,}")
GRES: Check = (_are_gpus, "GPUs with their number, such as gpu:a100:4,")
NUMBER: Check = (_is_number, "a number")
TIME: Check = (lambda text: duration_s(text) is not None, "a time, such as 90 minutes or 1-12:00:00, or UNLIMITED")
NODES: Check = (lambda text: _is_whole(text) or text.upper() in UNLIMITED, "a whole number, or UNLIMITED")
HOSTS: Check = (_is_list, "a list of hosts, such as n[01-32]")
OF_NODES = {
    "nodename": HOSTS,
    **dict.fromkeys(("cpus", "cputot", "cpuefctv", "sockets", "socketsperboard", "corespersocket"), CPUS),
    **dict.fromkeys(("threadspercore", "realmemory", "memspeclimit", "weight"), WHOLE),
    "gres": GRES,
}
OF_PARTITIONS = {
    "nodes": HOSTS, "maxtime": TIME, "defaulttime": TIME, "prioritytier": WHOLE, "priorityjobfactor": NUMBER,
    **dict.fromkeys(("minnodes", "maxnodes", "maxcpuspernode"), NODES),
}  # fmt: skip
OF_SETTINGS = {**dict.fromkeys(WEIGHTS, WHOLE), **dict.fromkeys((*DURATIONS, "overtimelimit"), TIME)}
OF_NODE_SETS = {"nodes": HOSTS}
OF_SWITCHES = {"nodes": HOSTS, "switches": HOSTS}


def check_values(site: Site) -> None:
    """Raise :class:`InputError` that lists all unreadable values."""
    problems = [
        Problem(where, f"{expected} as {name}", repr(text)[:60])
        for where, values, checks in _things(site)
        for name, (is_right, expected) in checks.items()
        if (text := values.get(name, "")) not in NOTHING and not is_right(text)
    ]
    if problems := problems or [*_again(site)]:
        raise InputError(problems)


def _again(site: Site) -> Iterator[Problem]:
    """Yield a problem for each node, set of nodes, partition and switch that is described twice."""
    for config, kind, what in (
        (site.config, "nodename", "node"),
        (site.config, "nodeset", "set of nodes"),
        (site.config, "partitionname", "partition"),
        (site.topology, "switchname", "switch"),
    ):
        known = dict[str, str]()
        for entry in config.entries.get(kind, []):
            for name in hosts(entry.values[kind]) if kind == "nodename" else [entry.values[kind]]:
                if name in known:
                    yield Problem(entry.where, f"a {what} that {known[name]} does not have", repr(name))
                    break
                known[name] = entry.where


def _things(site: Site) -> Iterator[tuple[str, Mapping[str, str], Mapping[str, Check]]]:
    """Yield the place of each setting, node, set of nodes, partition and switch, its values, and their checks."""
    for name in OF_SETTINGS.keys() & site.config.settings.keys():
        yield site.config.places[name], site.config.settings, {name: OF_SETTINGS[name]}
    for config, kind, checks in (
        (site.config, "nodename", OF_NODES),
        (site.config, "nodeset", OF_NODE_SETS),
        (site.config, "partitionname", OF_PARTITIONS),
        (site.topology, "switchname", OF_SWITCHES),
    ):
        for entry in config.entries.get(kind, []):
            yield entry.where, entry.values, checks
    for rows, kind, name, checks in (
        (site.nodes, "nodes", "NodeName", OF_NODES),
        (site.partitions, "partitions", "PartitionName", OF_PARTITIONS),
    ):
        for row in rows:
            values = {key.lower(): value for key, value in row.items()}
            yield f"{site.folder / site.files[kind]}: {row[name]}", values, checks
