"""By hand in Numba, for HIGH and two types only: a binary heap and two stacks, on flat arrays."""

import numba
import numpy as np

from benchmarks.cases import CPU, GPU, SPEED, TASKS_A_JOB


@numba.njit(cache=True, error_model="numpy")
def kernel(arrival, operations, n_of_each, slow, fast, unit_of, start, finish, idle, heap_us, heap_unit):
    n_jobs = arrival.shape[0]
    n_gpu, n_cpu, size, job, head = n_of_each, n_of_each, 0, 0, 0
    while size > 0 or job < n_jobs:
        next_arrival = arrival[job] if job < n_jobs else np.inf
        if size > 0 and heap_us[0] <= next_arrival:
            now, unit = heap_us[0], heap_unit[0]
            size -= 1
            last_us, last_unit = heap_us[size], heap_unit[size]
            hole = 0
            child = 1
            while child < size:
                if child + 1 < size and heap_us[child + 1] < heap_us[child]:
                    child += 1
                if heap_us[child] >= last_us:
                    break
                heap_us[hole], heap_unit[hole] = heap_us[child], heap_unit[child]
                hole = child
                child = 2 * hole + 1
            heap_us[hole], heap_unit[hole] = last_us, last_unit
            if unit >= n_of_each:
                idle[1, n_gpu] = unit
                n_gpu += 1
            else:
                idle[0, n_cpu] = unit
                n_cpu += 1
        else:
            now = next_arrival
            job += 1
        arrived = job * TASKS_A_JOB
        while head < arrived and n_gpu + n_cpu > 0:
            if n_gpu > 0:
                n_gpu -= 1
                unit, speed = idle[1, n_gpu], fast
            else:
                n_cpu -= 1
                unit, speed = idle[0, n_cpu], slow
            end = now + operations[head] / speed
            unit_of[head], start[head], finish[head] = unit, now, end
            head += 1
            hole = size
            size += 1
            while hole > 0:
                parent = (hole - 1) >> 1
                if heap_us[parent] <= end:
                    break
                heap_us[hole], heap_unit[hole] = heap_us[parent], heap_unit[parent]
                hole = parent
            heap_us[hole], heap_unit[hole] = end, unit


def prepare(case):
    n, u = case.n_tasks, case.n_of_each
    idle = np.stack([np.arange(u), np.arange(u, 2 * u)])
    finish = np.full(n, np.nan)
    arrays = (np.full(n, -1, np.int32), np.full(n, np.nan), finish, idle, np.zeros(2 * u), np.zeros(2 * u, np.int64))

    def run():
        kernel(case.arrival_us, case.operations, u, SPEED[CPU], SPEED[GPU], *arrays)
        return finish

    return run
