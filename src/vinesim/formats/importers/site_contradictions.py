"""Find where the files of a site contradict one another or themselves, and count what each contradiction affects."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from vinesim.formats.importers.made_nodes import ANY_GPU
from vinesim.formats.importers.site_jobs import LONGEST_S, SiteJob, goes_back
from vinesim.formats.importers.site_nodes import Nodes
from vinesim.formats.importers.site_options import has_switches, unreadable_limits
from vinesim.formats.importers.site_parameters import differing
from vinesim.formats.slurm.accounts import ROOT
from vinesim.formats.slurm.jobs import Record
from vinesim.formats.slurm.site import Site
from vinesim.formats.slurm.values import NOTHING, hosts, licences, readable_hosts

FEW_S = 60.0  # smaller differences between the times of a record are not contradictions, s


def contradictions(site: Site, nodes: Nodes, jobs: Sequence[SiteJob]) -> list[tuple[str, int]]:
    """Return the contradictions, in words, with the number of things that each affects."""
    found = Counter[str](_of_jobs(site, nodes, jobs))
    known = {node.name: node.cpus for node in nodes.nodes}
    listed = {row.get("NodeName", ""): row.get("CPUTot", "") for row in site.nodes}
    where = f"{site.files.get('nodes')} and {site.files.get('config')}, which is taken"
    if site.config.entries.get("nodename"):
        found[f"nodes in only one of {where}"] = len(set(known) ^ set(listed)) if listed else 0
        differ = [name for name, cpus in listed.items() if name in known and cpus not in ("", str(known[name]))]
        found[f"nodes with other CPUs in {where}"] = len(differ)
    if "config" in site.files and (differ := differing(site.config.settings, site.shown_config)):
        files = f"{site.files['show config']} and {site.files['config']}, which is taken"
        found[f"parameters with other values in {files}: {', '.join(differ)}"] = len(differ)
    found["nodes with other GPUs in gres.conf: those of the nodes are taken"] = _with_other_gpus(site, nodes)
    for one in site.reservations:
        found[f"reservation {one.name} ends before it begins, and is left out"] = int(one.end_s <= one.start_s)
        found[f"nodes of reservation {one.name} that are not known, and are left out"] = len(
            set(one.nodes) - set(known)
        )
    if has_switches(site):
        rows = [entry.values for entry in site.topology.entries["switchname"]]
        below = Counter(name for row in rows for name in set(hosts(row.get("nodes", ""))))
        found["nodes of switches that are not known, and are left out"] = len(set(below) - set(known))
        found["nodes below several leaf switches: below the last of them"] = sum(
            n > 1 for name, n in below.items() if name in known
        )
        switches = {name for row in rows for name in hosts(row.get("switches", ""))}
        found["switches below others that are not known, and are left out"] = len(
            switches - {row["switchname"] for row in rows}
        )
    qos = {one.name for one in site.qos}
    preempted = {name for one in site.qos for name in one.values.get("Preempt", "").split(",")} - {""}
    found["QOS to preempt that are not in their table, and are left out"] = len(preempted - qos)
    unknown = {name for one in nodes.partitions for name in one.unknown}
    found["nodes and sets of nodes of partitions that are not known, and are left out"] = len(unknown)
    of_partitions = {one.values.get("qos", "") for one in nodes.partitions} - NOTHING
    found["QOS of partitions that are not in their table: without their limits"] = len(of_partitions - qos)
    found["QOS that are in their table twice: the last one is taken"] = len(site.qos) - len(qos)
    limits = [*(one.values for one in site.qos), *(one.values for one in site.associations)]
    found["accounts, users and QOS with limits that cannot be read: without these"] = sum(
        unreadable_limits(values) > 0 for values in limits
    )
    accounts = {one.account for one in site.associations if not one.user}
    above = {one.parent for one in site.associations if not one.user} - {"", ROOT}
    found["accounts above others that are not in their table: the root is taken"] = len(above - accounts)
    found["accounts above themselves: the root is taken"] = len(_in_circles(site))
    found["users of accounts that are not in their table: without their limits"] = sum(
        one.account not in accounts for one in site.associations if one.user and one.account != ROOT
    )
    found["events of nodes that are not known, and are left out"] = sum(one.node not in known for one in site.events)
    ends = [(one.start_s, one.end_s) for one in site.events if one.end_s is not None]
    found["events of nodes that end before they begin, and are left out"] = sum(end < start for start, end in ends)
    return [(words, n) for words, n in found.most_common() if n]


def _with_other_gpus(site: Site, nodes: Nodes) -> int:
    """Count the nodes that gres.conf lists by name and with other GPUs than elsewhere."""
    listed = dict[str, Counter[str]]()
    rows = [entry.values for kind in ("nodename", "name") for entry in site.gres.entries.get(kind, [])]
    for row in rows:
        n = row.get("count") or str(len(readable_hosts(row.get("file", ""))))
        if row.get("name", "").lower() == "gpu" and "nodename" in row and n.isdecimal():
            for name in readable_hosts(row["nodename"]):
                listed.setdefault(name, Counter())[row.get("type", "")] += int(n)
    has = {node.name: node.gpus for node in nodes.nodes}
    return sum(
        name in has
        and (gpus.total() != sum(n for _, n in has[name]) or ("" not in gpus and not _same_types(gpus, has[name])))
        for name, gpus in listed.items()
    )


def _same_types(listed: Counter[str], has: tuple[tuple[str, int], ...]) -> bool:
    """Whether both have the same number of each type of GPU. It is also true if the nodes name no types."""
    return {kind for kind, _ in has} == {ANY_GPU} or dict(has) == dict(listed)


def _in_circles(site: Site) -> set[str]:
    """Return the accounts that are their own ancestors."""
    above, found = {one.account: one.parent for one in site.associations if not one.user}, set[str]()
    for name in above:
        seen, at = set[str](), above[name]
        while at in above and at not in seen:
            seen.add(at)
            at = above[at]
        if name in seen:
            found.add(name)
    return found


def _of_jobs(site: Site, nodes: Nodes, jobs: Sequence[SiteJob]) -> Iterator[str]:
    """Yield a line for each contradiction in a job's records."""
    known = {node.name for node in nodes.nodes}
    qos, users = {one.name for one in site.qos}, {(one.account, one.user) for one in site.associations}
    total = licences(site.config.settings.get("licenses", ""))
    has_nodes: dict[str, bool] = {}
    of_partitions = {one.name: one.nodes for one in nodes.partitions}
    for one in jobs:
        first, last = one.job.records[0], one.job.records[-1]
        if goes_back(first):
            yield "jobs that started before they were submitted, as after a change of the clock: not in back-tests"
        if any(map(_is_off, one.job.records)):
            yield "jobs whose end is not start plus run time, as after a change of the clock: the run time is taken"
        if last.nodes not in has_nodes:
            has_nodes[last.nodes] = last.start_s is None or _are_known(last.nodes, known)
        if not has_nodes[last.nodes]:
            yield "jobs that ran on nodes that are not known"
        if qos and one.job.qos and one.job.qos not in qos:
            yield "jobs of a QOS that is not in its table: without its limits"
        if users and (one.job.account, one.job.user) not in users:
            yield "jobs of users and accounts that are not in their table: without their limits"
        if not all(_are_known(one.job.options.get(option, ""), known) for option in ("nodelist", "exclude")):
            yield "jobs that name or exclude nodes that are not known: without these names"
        if first.start_s is None:
            continue
        if (names := one.request.nodelist) and not any(
            _are_known(names, of_partitions.get(part, frozenset())) for part in one.job.partitions
        ):
            yield "jobs that ran, and name nodes that are not in their partition: they never start"
        if any(n > total[name] for name, n in licences(one.attributes.get("licenses", "")).items() if name in total):
            yield "jobs that ran with more licences than there are: they never start"
        has_limit = one.limit_s < LONGEST_S  # a job without a limit has that of its partition
        if has_limit and (one.job.limit_s or 0.0) > one.limit_s and "time-min" not in one.job.options:
            yield "jobs that ran with a longer limit than their partition has: its own is taken"


def _are_known(text: str, known: Collection[str]) -> bool:
    try:
        return all(name in known for name in hosts(text))
    except ValueError:  # the list is cut off, or has more hosts than there can be
        return False


def _is_off(record: Record) -> bool:
    if record.start_s is None or record.end_s is None:
        return False
    return abs(record.end_s - record.start_s - record.elapsed_s - record.suspended_s) > FEW_S
