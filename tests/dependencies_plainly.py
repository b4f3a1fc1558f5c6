"""A simple event-by-event list scheduling of jobs with dependencies on equal units under ``high``."""

import heapq
import math


def plainly(work, n_units):
    """Return when each task starts. A task takes as long as its operations; the oldest one gets any idle unit."""
    n_jobs, first = work.n_jobs, work.job_first.tolist()
    waits = [set() for _ in range(n_jobs)]
    if work.after is not None:
        waits = [set(work.after[work.after_first[j] : work.after_first[j + 1]].tolist()) for j in range(n_jobs)]
    to_come, left = list(range(n_jobs)), [first[j + 1] - first[j] for j in range(n_jobs)]
    job_of = [j for j in range(n_jobs) for _ in range(left[j])]
    starts, pending, running, now, idle = [math.nan] * len(job_of), [], [], 0.0, n_units
    sequence = 0
    while True:
        sequence += 1
        ready = [j for j in to_come if all(left[other] == 0 for other in waits[j])]
        arrival = max(float(work.arrival_us[ready[0]]), now) if ready else math.inf
        finish = running[0][0] if running else math.inf
        now = min(arrival, finish)
        if now == math.inf:
            return starts
        if finish == now:  # an end comes before an arrival at the same time
            left[job_of[heapq.heappop(running)[2]]] -= 1
            idle += 1
        else:
            to_come.remove(ready[0])
            pending = sorted(pending + list(range(first[ready[0]], first[ready[0] + 1])))
        while pending and idle:
            task, idle = pending.pop(0), idle - 1
            starts[task] = now
            heapq.heappush(running, (now + float(work.operations[task]), sequence * 1000 + task, task))
