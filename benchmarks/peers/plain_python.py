"""Plain Python with heapq, no framework: a loop over two sources of events."""

from collections import deque
from heapq import heappop, heappush

import numpy as np

from benchmarks.cases import CPU, GPU, SPEED, TASKS_A_JOB


def prepare(case):
    arrival, operations = case.arrival_us.tolist(), case.operations.tolist()
    n = len(operations)
    unit_of, start, finish = [-1] * n, [0.0] * n, [0.0] * n
    n_of_each = case.n_of_each
    gpus, cpus = list(range(n_of_each, 2 * n_of_each)), list(range(n_of_each))

    def run():
        heap, pending, job = [], deque(), 0
        next_arrival = arrival[0]
        while heap or job < len(arrival):
            if heap and heap[0][0] <= next_arrival:
                now, unit = heappop(heap)
                (gpus if unit >= n_of_each else cpus).append(unit)
            else:
                now = next_arrival
                pending.extend(range(job * TASKS_A_JOB, (job + 1) * TASKS_A_JOB))
                job += 1
                next_arrival = arrival[job] if job < len(arrival) else float("inf")
            while pending and (gpus or cpus):
                t = pending.popleft()
                unit = gpus.pop() if gpus else cpus.pop()
                unit_of[t], start[t] = unit, now
                finish[t] = end = now + operations[t] / SPEED[GPU if unit >= n_of_each else CPU]
                heappush(heap, (end, unit))
        return np.array(finish)

    return run
