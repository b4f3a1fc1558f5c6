"""SimPy without processes: timeouts with callbacks, a list of idle units for each type."""

from collections import deque

import numpy as np
import simpy

from benchmarks.cases import CPU, GPU, SPEED, TASKS_A_JOB


def prepare(case):
    arrival, operations = case.arrival_us.tolist(), case.operations.tolist()
    n = len(operations)
    unit_of, start, finish = [-1] * n, [0.0] * n, [0.0] * n
    env = simpy.Environment()
    idle = [(SPEED[p], [(p, i) for i in range(case.n_of_each)]) for p in (GPU, CPU)]
    pending = deque()

    def dispatch():
        for speed, units in idle:
            while units and pending:
                t = pending.popleft()
                unit = units.pop()
                unit_of[t], start[t] = unit[1], env.now
                timeout = env.timeout(operations[t] / speed, (t, units, unit))
                timeout.callbacks.append(done)

    def done(event):
        t, units, unit = event.value
        finish[t] = env.now
        units.append(unit)
        if pending:
            dispatch()

    def arrive(event):
        job = event.value
        pending.extend(range(job * TASKS_A_JOB, (job + 1) * TASKS_A_JOB))
        dispatch()
        wait(job + 1)

    def wait(job):
        if job < len(arrival):
            env.timeout(max(0.0, arrival[job] - env.now), job).callbacks.append(arrive)

    def run():
        wait(0)
        env.run()
        return np.array(finish)

    return run
