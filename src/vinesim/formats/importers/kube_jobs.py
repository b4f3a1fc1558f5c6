"""Convert pods, and jobs of Kueue and Volcano, to jobs of a workload.

Kueue: ``kind: Workload`` of ``kueue.x-k8s.io`` lists the pods of a job in ``spec.podSets``; its times are in the
conditions Admitted and Finished. Volcano: ``kind: Job`` of ``batch.volcano.sh`` lists them in ``spec.tasks``; its times
are in the condition Running and the condition that ends it.
"""

import math
import re
from typing import Any, NamedTuple

from vinesim.formats.importers.job_rows import Job, Tasks
from vinesim.formats.importers.kube_objects import (
    at,
    each,
    has_other_rules,
    keeps_apart,
    quantity,
    requested,
    seconds,
    texts,
    wanted_gpus,
    when,
)

KUEUE, VOLCANO = "kueue.x-k8s.io/", "batch.volcano.sh/"
GROUPS = ("scheduling.k8s.io/group-name", "kueue.x-k8s.io/pod-group-name", "scheduling.x-k8s.io/pod-group")
OVER = ("Completed", "Failed", "Aborted", "Terminated", "Completing", "Terminating", "Aborting")
_GO_TIME = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


class Found(NamedTuple):
    """A job with notes for the report, or the reason why the object is not a job."""

    job: Job | None
    why_not: str = ""
    is_cut: bool = False  # whether it was still running when the list was printed
    has_other_rules: bool = False  # whether it restricts its nodes in a way that is not imported


def is_job(item: Any) -> bool:
    """Whether an object is a job of Kueue or Volcano."""
    kind, version = item.get("kind"), str(item.get("apiVersion", ""))
    return (kind == "Workload" and version.startswith(KUEUE)) or (kind == "Job" and version.startswith(VOLCANO))


def job_of(line: int, item: Any, now: float) -> Found:
    """Return the job of an object of Kueue or Volcano; ``line`` is its number in the list."""
    if item.get("kind") == "Workload":
        start, end = when(item, "Admitted"), when(item, "Finished")
        if start is None and end is not None:  # some versions withdraw the admission of finished jobs
            start = when(item, "PodsReady")
        sets = [(one.get("count", 1), one.get("template")) for one in each(item, "spec", "podSets")]
        queue, priority = at(item, "spec", "queueName"), at(item, "spec", "priority")
        limit = at(item, "spec", "maximumExecutionTimeSeconds")
    else:
        start, end = _volcano_times(item)
        sets = [(one.get("replicas", 1), one.get("template")) for one in each(item, "spec", "tasks")]
        queue, priority, limit = at(item, "spec", "queue"), None, None
    tasks = [_tasks(n, template) for n, template in sets]
    apart = [bool(keeps_apart(template, at(template, "spec"))) for _, template in sets]
    others = any(has_other_rules(at(template, "spec")) for _, template in sets)
    return _found(
        line, item, now, start, end, tuple(one for one in tasks if one.n), str(queue or ""), quantity(priority or 0),
        limit=quantity(limit or 0), per_node=int(bool(apart) and all(apart)), others=others,
    )  # fmt: skip


def pod_of(line: int, item: Any, now: float) -> Found:
    """Return the job of a pod."""
    spec = at(item, "spec")
    ends = [
        second
        for one in each(item, "status", "containerStatuses")
        if (second := seconds(at(one, "state", "terminated", "finishedAt"))) is not None
    ]
    is_over = at(item, "status", "phase") in ("Succeeded", "Failed")
    start = when(item, "PodScheduled") or seconds(at(item, "status", "startTime"))
    end = max(ends) if is_over and ends else None
    if is_over and end is None:
        return Found(None, "it ended, but its containers do not say when")
    group = keeps_apart(item, spec)
    priority = quantity(at(spec, "priority") or 0)
    limit = quantity(at(spec, "activeDeadlineSeconds") or 0)
    return _found(
        line, item, now, start, end, (_tasks(1, item),), "", priority,
        limit=limit, groups=(group,) if group else (), others=has_other_rules(spec),
    )  # fmt: skip


def gang_of(item: Any) -> str:
    """Return the name of the group with which a pod starts; empty if it is in none."""
    marks = texts(item, "metadata", "labels") | texts(item, "metadata", "annotations")
    name = next((marks[key] for key in GROUPS if marks.get(key)), "")
    return f"{at(item, 'metadata', 'namespace')}/{name}" if name else ""


def joined(jobs: list[Job]) -> Job:
    """Join the pods of a group into one job: they start together, and each holds its node until the last one ends."""
    groups = tuple(sorted({group for job in jobs for group in job.groups}))
    first = min(jobs, key=lambda job: job.submitted_s)
    return first._replace(
        submitted_s=max(job.submitted_s for job in jobs),
        run_s=max(job.run_s for job in jobs),
        started_s=max(job.started_s for job in jobs),
        tasks=tuple(task for job in jobs for task in job.tasks),
        groups=groups if all(job.groups for job in jobs) else (),
    )


def _found(
    line: int, item: Any, now: float, start: float | None, end: float | None, tasks: tuple[Tasks, ...], queue: str,
    priority: float, *, limit: float = 0.0, per_node: int = 0, groups: tuple[str, ...] = (), others: bool = False,
) -> Found:  # fmt: skip
    created = seconds(at(item, "metadata", "creationTimestamp"))
    if created is None:
        return Found(None, "no creationTimestamp")
    if start is None:
        return Found(None, "it had not started" if end is None else "it ended, but does not say when it began")
    space, name = (str(at(item, "metadata", key) or "") for key in ("namespace", "name"))
    run = (now if end is None else end) - start
    job = Job(line, name, space, queue, created, run, tasks, None, limit or math.inf, priority, per_node, start, groups)
    return Found(job, is_cut=end is None, has_other_rules=others)


def _tasks(n: Any, template: Any) -> Tasks:
    spec = at(template, "spec")
    holds = requested(spec)
    count = int(n) if isinstance(n, int) else 0
    return Tasks(count, holds.cores, holds.memory_bytes, holds.gpus, wanted_gpus(spec) if holds.gpus else "")


def _volcano_times(item: Any) -> tuple[float | None, float | None]:
    """Return the start and end of a job of Volcano, s since 1970."""
    times: dict[str, float] = {}
    for one in [*each(item, "status", "conditions"), at(item, "status", "state") or {}]:
        name, second = str(one.get("status", one.get("phase"))), seconds(one.get("lastTransitionTime"))
        if second is not None:
            times.setdefault(name, second)
    end = next((times[name] for name in OVER if name in times), None)
    start = times.get("Running")
    clock = _GO_TIME.fullmatch(str(at(item, "status", "runningDuration") or "-"))
    if start is None and end is not None and clock is not None:
        hours, minutes, secs = (float(part or 0) for part in clock.groups())
        start = end - (hours * 3600 + minutes * 60 + secs)
    return start, end
