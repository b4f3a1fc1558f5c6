"""Backfilling of gangs on nodes with several units, in plain lists.

A node has GPUs, cores and memory. A job is a gang of equal tasks, each with some of the GPUs of one node, and with
cores and memory there. All amounts are whole numbers, and the tasks of a job run equally long. Source: Lifka, 1995;
Mu'alem and Feitelson, 2001. The docstrings of the policies define reservations on several units.
"""

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Job:
    arrival: int
    n_tasks: int
    gpus: int  # of each task, 1 or more
    cores: int
    memory: int
    run: int
    estimate: int
    within_node: bool = False
    places: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)  # of each task: node, GPUs
    start: int = -1
    begin: int | None = None  # of its reservation
    promised: int | None = None  # the first one
    withdrawn: float = math.inf

    def ends_by(self, time: int, estimated: bool) -> bool:
        return self.start + (self.estimate if estimated else self.run) <= time


@dataclass
class Node:
    """The free GPUs, cores and memory of a node."""

    gpus: set[int]
    cores: int
    memory: int

    def takes(self, job: Job) -> int:
        found = len(self.gpus) // job.gpus
        found = min(found, self.cores // job.cores) if job.cores else found
        return min(found, self.memory // job.memory) if job.memory else found

    def hold(self, job: Job) -> tuple[int, ...]:
        mine = tuple(sorted(self.gpus)[: job.gpus])
        self.gpus -= set(mine)
        self.cores -= job.cores
        self.memory -= job.memory
        return mine


class Cluster:
    def __init__(self, n_nodes: int, gpus: int, cores: int, memory: int):
        self.nodes, self.sizes = range(n_nodes), (gpus, cores, memory)
        self.running: list[Job] = []
        self.now = 0
        self.reserved: tuple[Job, int, bool, list[Any]] | None = None  # EASY: job, shadow time, firm, places

    def free(self, taken: list[tuple[Job, list[Any]]]) -> list[Node]:
        """Return what jobs at their places leave free."""
        gpus, cores, memory = self.sizes
        found = [Node(set(range(gpus)), cores, memory) for _ in self.nodes]
        for job, places in taken:
            for node, mine in places:
                found[node].gpus -= set(mine)
                found[node].cores -= job.cores
                found[node].memory -= job.memory
        return found

    def place(self, job: Job, free: list[Node], homes: Any = None) -> list[Any] | None:
        """Return a packed place: fill the first node from which it succeeds, then those with room for most tasks."""
        for home in homes or self.nodes:
            rooms = [Node(set(n.gpus), n.cores, n.memory) for n in free]
            if rooms[home].takes(job) == 0:
                continue
            order = [home]
            left = job.n_tasks - rooms[home].takes(job)
            if not job.within_node and left > 0:
                others = [node for node in self.nodes if node != home]
                order += sorted(others, key=lambda node: -min(left, rooms[node].takes(job)))
            found: list[Any] = []
            for node in order:
                while len(found) < job.n_tasks and rooms[node].takes(job) > 0:
                    found.append((node, rooms[node].hold(job)))
            if len(found) == job.n_tasks:
                return found
        return None

    def at(self, time: int, late: bool = False) -> list[tuple[Job, list[Any]]]:
        """Return what is expected to run at a time; ``late`` includes jobs that overrun."""
        return [(j, j.places) for j in self.running if late or not j.ends_by(time, True)]

    def begin(self, job: Job, places: list[Any]) -> None:
        job.places, job.start = places, self.now
        self.running.append(job)


def easy(cluster: Cluster, waiting: list[Job], news: str) -> list[Job]:
    """Start what may start; returns what still waits."""
    now = cluster.now
    if cluster.reserved is not None and (news == "other" or not cluster.reserved[2]):
        cluster.reserved = None
    while waiting:
        head, kept = waiting[0], cluster.reserved
        if kept is not None and kept[0] is head and now < kept[1]:
            break
        cluster.reserved = None
        places = cluster.place(head, cluster.free(cluster.at(now, late=True)))
        if places is None:
            ends = sorted({max(now, j.start + j.estimate) for j in cluster.running})
            firm = all(j.start + j.estimate > now for j in cluster.running)
            tries = ((t, cluster.place(head, cluster.free(cluster.at(t)))) for t in ends)
            shadow, places = next((t, found) for t, found in tries if found is not None)
            cluster.reserved = head, shadow, firm, places
            head.promised = shadow if head.promised is None else head.promised
            break
        cluster.begin(waiting.pop(0), places)
    if not waiting or cluster.reserved is None:
        return waiting
    shadow = cluster.reserved[1]
    still = [waiting[0]]
    for job in waiting[1:]:
        free = cluster.free(cluster.at(now, late=True))
        if now + job.estimate > shadow:
            then = cluster.free(cluster.at(shadow))
            places = cheapest(cluster, job, free, then, waiting[0])
        else:
            places = cluster.place(job, free)
        if places is None:
            still.append(job)
        else:
            cluster.begin(job, places)
    return still


def slots(node: Node, head: Job) -> int:
    """Return how many tasks of the head a node has room for; if they need one node, whether it has room for all."""
    n = min(head.n_tasks, node.takes(head))
    return n // head.n_tasks if head.within_node else n


def cheapest(cluster: Cluster, job: Job, free: list[Node], then: list[Node], head: Job) -> list[Any] | None:
    """Return the place that takes the fewest slots of the head, found node by node; None if it takes too many."""
    before = [slots(node, head) for node in then]
    spare = sum(before) - (1 if head.within_node else head.n_tasks)
    item, chosen = job.n_tasks if job.within_node else 1, [0] * len(free)

    def lost(node: int, n: int) -> int:
        rest = Node(set(range(len(then[node].gpus) - n * job.gpus)), then[node].cores - n * job.cores,
                    then[node].memory - n * job.memory)  # fmt: skip
        return before[node] - slots(rest, head)

    left = job.n_tasks
    while left > 0:
        steps = [
            ((lost(node, chosen[node] + n) - lost(node, chosen[node])) / n, node, -n)
            for node in cluster.nodes
            for n in range(item, min(left, free[node].takes(job) - chosen[node]) + 1, item)
        ]
        if not steps:
            return None
        _, node, n = min(steps)
        chosen[node], left = chosen[node] - n, left + n
    if sum(lost(node, n) for node, n in enumerate(chosen)) > spare:
        return None
    home = next(node for node, n in enumerate(chosen) if n > 0)
    order = [home, *sorted((node for node in cluster.nodes if node != home), key=lambda node: -chosen[node])]
    return [(node, free[node].hold(job)) for node in order for _ in range(chosen[node])]


def conservative(cluster: Cluster, waiting: list[Job], news: str) -> list[Job]:
    """Start the jobs that may start if every job has a reservation: its ``begin`` and ``places``."""
    now = cluster.now
    for job in waiting:
        if job.begin is not None and job.begin < now:
            job.begin = None
    settle(cluster, waiting, news == "other")
    while True:
        started = next_begin(cluster, waiting)
        if started is None and not cluster.running and waiting:
            for job in waiting:
                job.begin = None
            settle(cluster, waiting, False)
            started = next_begin(cluster, waiting)
        if started is None:
            return waiting
        waiting.remove(started)


def settle(cluster: Cluster, waiting: list[Job], is_freed: bool) -> None:
    has_moved = True
    while has_moved:
        has_moved = False
        for job in waiting:
            if job.begin is None or (is_freed and job.begin > cluster.now):
                found = earliest(cluster, job, waiting)
                if job.begin is None or found[0] < job.begin:
                    has_moved |= job.begin is not None
                    job.begin, job.places = found
                    job.promised = job.begin if job.promised is None else job.promised


def earliest(cluster: Cluster, job: Job, waiting: list[Job]) -> tuple[int, list[Any]]:
    others = [j for j in waiting if j is not job and j.begin is not None]
    ends = {j.start + j.estimate for j in cluster.running} | {j.begin + j.estimate for j in others}
    tries = [(cluster.now, True), *((t, False) for t in sorted({max(cluster.now, end) for end in ends}))]
    for time, is_now in tries:
        places = cluster.place(job, through(cluster, others, time, is_now, time + job.estimate))
        if places is not None:
            return time, places
    raise AssertionError("it fits when all is over")


def through(cluster: Cluster, others: list[Job], begin: int, is_now: bool, until: int) -> list[Node]:
    """Return what is free during a whole interval."""
    moments = [begin, *(j.begin for j in others if begin < j.begin < until)]
    frees = []
    for moment in moments:
        planned = [(j, j.places) for j in others if j.begin <= moment < j.begin + j.estimate]
        frees.append(cluster.free(cluster.at(moment, late=is_now and moment == begin) + planned))
    return [
        Node(set.intersection(*(n.gpus for n in same)), min(n.cores for n in same), min(n.memory for n in same))
        for same in zip(*frees, strict=True)
    ]


def next_begin(cluster: Cluster, waiting: list[Job]) -> Job | None:
    for job in waiting:
        if job.begin is not None and job.begin <= cluster.now:
            others = [j for j in waiting if j is not job and j.begin is not None]
            free = through(cluster, others, cluster.now, True, cluster.now + job.estimate)
            places = cluster.place(job, free)
            if places is not None:
                cluster.begin(job, places)
                return job
    return None


def fcfs(cluster: Cluster, waiting: list[Job], _: str) -> list[Job]:
    """Start jobs in order of arrival, each from the node with the fewest running tasks."""
    while waiting:
        tasks = [sum(node == n for j in cluster.running for n, _ in j.places) for node in cluster.nodes]
        homes = sorted(cluster.nodes, key=lambda node: tasks[node])
        places = cluster.place(waiting[0], cluster.free(cluster.at(cluster.now, late=True)), homes)
        if places is None:
            break
        cluster.begin(waiting.pop(0), places)
    return waiting


def run(jobs: list[Job], cluster: Cluster, rule: Any) -> list[Job]:
    """Run all jobs until they end or are withdrawn, which comes last at an instant; set places and starts."""
    waiting: list[Job] = []
    ahead = list(jobs)
    while ahead or waiting:
        ends = [job.start + job.run for job in cluster.running]
        arrivals = [job.arrival for job in ahead]
        now = cluster.now = int(min([*ends, *arrivals, *(job.withdrawn for job in cluster.running + waiting)]))
        over = [job for job in cluster.running if job.ends_by(now, False)]
        news = "other" if any(job.run != job.estimate for job in over) else "expected"
        cluster.running = [job for job in cluster.running if job not in over]
        waiting += [job for job in ahead if job.arrival == now]
        ahead = [job for job in ahead if job.arrival > now]
        if now in ends + arrivals:
            waiting = rule(cluster, waiting, news)
        gone = [job for job in cluster.running + waiting if job.withdrawn == now]
        if gone:
            cluster.running = [job for job in cluster.running if job not in gone]
            waiting = rule(cluster, [job for job in waiting if job not in gone], "other")
    return jobs
