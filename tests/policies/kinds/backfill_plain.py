"""Backfilling as the papers describe it, in plain lists, for jobs on one of several equal nodes with cores.

Times are whole numbers, and every job runs for at least 1. Source: Lifka, 1995; Mu'alem and Feitelson, 2001.
"""

import math
from dataclasses import dataclass


@dataclass(eq=False)
class Job:
    arrival: int
    run: int
    estimate: int
    cores: int
    unit: int = -1
    start: int = -1
    promised: int | None = None  # the first reservation's begin
    withdrawn: float = math.inf

    def expected_end(self):
        return self.start + self.estimate


class Cluster:
    """Nodes, what runs on them, and what is reserved: (unit, begin, end, cores)."""

    def __init__(self, n_units, cores):
        self.units, self.cores = range(n_units), cores
        self.running: list[Job] = []
        self.now = 0

    def in_use(self, unit):
        return sum(job.cores for job in self.running if job.unit == unit)

    def load(self, unit, time, reservations):
        """Return the cores expected to be in use at a later time."""
        running = [j for j in self.running if j.unit == unit and j.expected_end() > time]
        reserved = [cores for u, begin, end, cores in reservations if u == unit and begin <= time < end]
        return sum(job.cores for job in running) + sum(reserved)

    def fits(self, job, unit, begin, reservations):
        changes = [begin, *(b for u, b, _, _ in reservations if u == unit and begin < b < begin + job.estimate)]
        return all(self.load(unit, time, reservations) + job.cores <= self.cores for time in changes)

    def earliest(self, job, reservations):
        """Return the earliest (begin, unit), on the first unit among equals."""
        ends = [job.expected_end() for job in self.running] + [end for _, _, end, _ in reservations]
        times = sorted({self.now, *(end for end in ends if end > self.now)})
        return next((t, u) for t in times for u in self.units if self.fits(job, u, t, reservations))

    def unit_now(self, job, reservations):
        """Return the first unit on which the job may start now; None if there is none."""
        for unit in self.units:
            has_room = self.in_use(unit) + job.cores <= self.cores
            if has_room and self.fits(job, unit, self.now, reservations):
                return unit
        return None

    def start(self, job, unit):
        job.unit, job.start = unit, self.now
        self.running.append(job)


def easy(cluster, waiting, _):
    """Start what may start; returns what still waits."""
    while waiting and (unit := cluster.unit_now(waiting[0], [])) is not None:
        cluster.start(waiting.pop(0), unit)
    if not waiting:
        return waiting
    head = waiting[0]
    shadow, unit = cluster.earliest(head, [])
    head.promised = shadow if head.promised is None else head.promised
    still = [head]
    for job in waiting[1:]:
        place = cluster.unit_now(job, [(unit, shadow, shadow + head.estimate, head.cores)])
        if place is None:
            still.append(job)
        else:
            cluster.start(job, place)
    return still


def conservative(cluster, waiting, plan):
    """Start the jobs that may start if each has a reservation; no job runs longer than its estimate here."""
    has_moved = True
    while has_moved:
        has_moved = False
        for job in waiting:
            others = [reservation for key, reservation in plan.items() if key != id(job)]
            begin, unit = cluster.earliest(job, others)
            if id(job) not in plan or begin < plan[id(job)][1]:
                plan[id(job)] = (unit, begin, begin + job.estimate, job.cores)
                job.promised = begin if job.promised is None else job.promised
                has_moved = True
    for job in waiting:
        if plan[id(job)][1] <= cluster.now:
            cluster.start(job, plan.pop(id(job))[0])
    return [job for job in waiting if job.start < 0]


def run(jobs, n_units, cores, rule, passes_at="instant"):
    """All jobs to their ends, or until they are withdrawn, which comes last at an instant; fills units and starts."""
    cluster, waiting, plan, ahead = Cluster(n_units, cores), [], {}, list(jobs)
    while ahead or waiting:
        ends = [job.start + job.run for job in cluster.running]
        cluster.now = min(
            [*ends, *(job.arrival for job in ahead), *(job.withdrawn for job in cluster.running + waiting)]
        )
        over = [job for job in cluster.running if job.start + job.run == cluster.now]
        come = [job for job in ahead if job.arrival == cluster.now]
        ahead = [job for job in ahead if job.arrival > cluster.now]
        for n_left, job in zip(range(len(over + come) - 1, -1, -1), over + come, strict=True):
            if job in over:
                cluster.running.remove(job)
            else:
                waiting.append(job)
            if passes_at == "event" or n_left == 0:
                waiting = rule(cluster, waiting, plan)
        gone = [job for job in cluster.running + waiting if job.withdrawn == cluster.now]
        if gone:
            cluster.running = [job for job in cluster.running if job not in gone]
            plan = {key: mine for key, mine in plan.items() if key not in map(id, gone)}
            waiting = rule(cluster, [job for job in waiting if job not in gone], plan)
    return jobs
