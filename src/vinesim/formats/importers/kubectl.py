"""Import nodes, pods, and jobs of Kueue and Volcano from the output of ``kubectl get ... -o json``.

A pod becomes a job of one task. Pods of a group, and the pods of one job of Kueue or Volcano, start together. Pods of
DaemonSets run on every node, so what they hold is subtracted from the nodes.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from vinesim.formats.importers.declaration import Argument, Imported, Importer, Option
from vinesim.formats.importers.job_rows import Job, Node, check_output, keep_jobs, write_jobs
from vinesim.formats.importers.kube_jobs import Found, gang_of, is_job, job_of, joined, pod_of
from vinesim.formats.importers.kube_objects import (
    Holds,
    at,
    each,
    gpu_type_of,
    held,
    items_of,
    requested,
    seconds,
    texts,
)
from vinesim.formats.importers.report import Finding, ImportReport
from vinesim.model.errors import InputError, Problem

EVERYWHERE = ("DaemonSet", "Node")  # owners of pods that run on every node
LEFT_OUT = (
    "where and, except for a back-test, when pods ran: the simulated policy decides",
    "quotas, preemption, taints and tolerations",
    "pods that Kubernetes has deleted: the list has only those that are left",
)


def import_kubectl(
    objects: Annotated[Path, Argument("The output of kubectl get nodes,pods -A -o json, or of workloads or vcjobs.")],
    output: Annotated[Path, Option("The jobs, a CSV file; a scenario is written next to it.", short="-o")],
    nodes: Annotated[Path | None, Option("The nodes, if they are in another file.")] = None,
) -> Imported:
    """Import nodes, pods, and jobs of Kueue and Volcano, as kubectl prints them as JSON."""
    check_output(output)
    items = items_of(objects)
    report = ImportReport(str(objects), left_out=LEFT_OUT, time_zone="as the dates say")
    places = _nodes(items if nodes is None else items_of(nodes), items, objects if nodes is None else nodes)
    jobs = keep_jobs(_jobs(items, report), report)
    kinds = {number: str(item.get("kind")) for number, item in enumerate(items, 1)}
    report.count_lines("kind", {number: kind for number, kind in kinds.items() if kind != "Node"})
    most_of = {group: 1 for job in jobs for group in job.groups}
    if most_of and not places:
        n = sum(bool(job.groups) for job in jobs)
        report.findings.append(Finding("anti-affinity", f"not imported, as there are no nodes: {n:,} jobs", True))
        jobs, most_of = [job._replace(groups=()) for job in jobs], {}
    elif most_of:
        words = f"{len(most_of):,} groups of which a node takes one pod, as resources; names of nodes are left out"
        report.notes.append(words)
    return write_jobs(output, jobs, report, f"Jobs of a Kubernetes cluster, from {objects.name}.", places, most_of)


IMPORTER = Importer("kubectl", import_kubectl)


def _nodes(items: list[dict[str, Any]], pods: list[dict[str, Any]], path: Path) -> list[Node]:
    """Return the nodes, without what pods on every node hold. Raises :class:`InputError`."""
    taken: dict[str, list[Holds]] = {}
    for item in pods:
        if item.get("kind") == "Pod" and _is_everywhere(item) and at(item, "spec", "nodeName"):
            taken.setdefault(str(at(item, "spec", "nodeName")), []).append(requested(at(item, "spec")))
    found, problems = [], []
    for number, item in enumerate(items, 1):
        if item.get("kind") != "Node":
            continue
        name = str(at(item, "metadata", "name") or f"node{number}")
        amounts = at(item, "status", "allocatable") or at(item, "status", "capacity")
        has = held(amounts if isinstance(amounts, dict) else {})
        cores, memory = (
            getattr(has, what) - sum(getattr(one, what) for one in taken.get(name, []))
            for what in ("cores", "memory_bytes")
        )
        if cores <= 0 or memory <= 0:
            where = f"{path}: items[{number - 1}], node {name}"
            problems.append(Problem(where, "cores and memory for pods", f"{cores:g} cores, {memory:g} bytes"))
        found.append(Node(name, cores, memory, int(has.gpus), gpu_type_of(texts(item, "metadata", "labels"))))
    if problems:
        raise InputError(problems[:20], len(problems))
    return found


def _is_everywhere(item: Any) -> bool:
    return any(one.get("kind") in EVERYWHERE for one in each(item, "metadata", "ownerReferences"))


def _jobs(items: list[dict[str, Any]], report: ImportReport) -> list[Job]:
    """Return the jobs; ``line`` is the number of the object in the list."""
    now = max((t for item in items for t in _times(item)), default=0.0)
    listed = _listed(items)
    found, gangs = list[Found](), dict[str, list[Job]]()
    for number, item in enumerate(items, 1):
        if item.get("kind") == "Node":
            continue
        report.n_lines += 1
        one = _read(number, item, now, listed)
        if one.job is None:
            report.drop(one.why_not, number)
            continue
        found.append(one)
        if item.get("kind") == "Pod" and (gang := gang_of(item)):
            gangs.setdefault(gang, []).append(one.job)
    in_gangs = {job.line for jobs in gangs.values() for job in jobs}
    jobs = [one.job for one in found if one.job is not None and one.job.line not in in_gangs]
    if n := sum(one.is_cut for one in found):
        words = f"{n:,} jobs still ran when the list was printed: they end after the time that they had run"
        report.findings.append(Finding("cut off", words, True, {"cut_off": n}))
    if n := sum(one.has_other_rules for one in found):
        words = f"{n:,} jobs ask for nodes by labels, spread or affinity: not imported, they may run on any"
        report.findings.append(Finding("rules of placement", words, True, {"rules": n}))
    return jobs + [joined(some) for some in gangs.values()]


def _read(number: int, item: Any, now: float, listed: Counter[str]) -> Found:
    if is_job(item):
        return job_of(number, item, now)
    if item.get("kind") != "Pod":
        return Found(None, f"a {item.get('kind')}, which is neither a pod nor a job of Kueue or Volcano")
    if _is_everywhere(item):
        return Found(None, "a pod of a DaemonSet, or of a node: it is taken off its node")
    if any(
        f"{at(item, 'metadata', 'namespace')}/{one.get('name')}" in listed
        for one in each(item, "metadata", "ownerReferences")
    ):
        return Found(None, "a pod of a job in the list")
    return pod_of(number, item, now)


def _listed(items: list[dict[str, Any]]) -> Counter[str]:
    """Count the jobs in the list by the names under which their pods refer to them."""
    names: Counter[str] = Counter()
    for item in filter(is_job, items):
        space = at(item, "metadata", "namespace")
        names[f"{space}/{at(item, 'metadata', 'name')}"] += 1
        names.update(f"{space}/{one.get('name')}" for one in each(item, "metadata", "ownerReferences"))
    return names


def _times(item: Any) -> list[float]:
    """Return all times in an object; the list was printed after the last of them."""
    values = [at(item, "metadata", "creationTimestamp"), at(item, "status", "startTime")]
    for one in each(item, "status", "conditions"):
        values += [one.get("lastTransitionTime"), one.get("lastHeartbeatTime")]
    for one in each(item, "status", "containerStatuses"):
        values += [at(one, "state", "terminated", "finishedAt"), at(one, "state", "running", "startedAt")]
    return [second for value in values if (second := seconds(value)) is not None]
