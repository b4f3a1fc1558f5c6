"""The values of a site's configuration that the import looks at: numbers, durations and lists of hosts."""

from collections.abc import Callable, Iterator, Mapping

from vinesim.formats.importers.site_options import DURATIONS, WEIGHTS
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import NOTHING, duration_s, hosts
from vinesim.model.errors import InputError, Problem

Check = tuple[Callable[[str], bool], str]  # whether a value is right, and what is expected


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _is_list(text: str) -> bool:
    try:
        hosts(text)
    except ValueError:
        return False
    return True


WHOLE: Check = (str.isdecimal, "a whole number")
NUMBER: Check = (_is_number, "a number")
TIME: Check = (lambda text: duration_s(text) is not None, "a time, such as 90 minutes or 1-12:00:00, or UNLIMITED")
HOSTS: Check = (_is_list, "a list of hosts, such as n[01-32]")
OF_NODES = {
    "nodename": HOSTS,
    **dict.fromkeys(("cpus", "cputot", "cpuefctv", "sockets", "socketsperboard", "corespersocket"), WHOLE),
    **dict.fromkeys(("threadspercore", "realmemory", "memspeclimit", "weight"), WHOLE),
}
OF_PARTITIONS = {
    "nodes": HOSTS, "maxtime": TIME, "defaulttime": TIME, "prioritytier": WHOLE, "priorityjobfactor": NUMBER,
}  # fmt: skip
OF_SETTINGS = {**dict.fromkeys(WEIGHTS, WHOLE), **dict.fromkeys((*DURATIONS, "overtimelimit"), TIME)}
OF_SWITCHES = {"nodes": HOSTS, "switches": HOSTS}


def check_values(site: Site) -> None:
    """Raise :class:`InputError` with all values that cannot be read."""
    settings, problems = site.config.settings, list[Problem]()
    for name, (is_right, expected) in OF_SETTINGS.items():
        if (text := settings.get(name, "")) not in NOTHING and not is_right(text):
            problems.append(Problem(site.config.places[name], f"{expected} as {name}", repr(text)[:60]))
    for where, values, checks in _things(site):
        for name, (is_right, expected) in checks.items():
            if (text := values.get(name, "")) not in NOTHING and not is_right(text):
                problems.append(Problem(where, f"{expected} as {name}", repr(text)[:60]))
    if problems:
        raise InputError(problems)


def _things(site: Site) -> Iterator[tuple[str, Mapping[str, str], Mapping[str, Check]]]:
    """Yield where each node, partition and switch is described, its values, and what they must be."""
    for config, kind, checks in (
        (site.config, "nodename", OF_NODES),
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
