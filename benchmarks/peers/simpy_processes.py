"""SimPy, as its documentation does it: a process for each task, a PriorityStore of idle units."""

import numpy as np
import simpy

from benchmarks.cases import CPU, GPU, SPEED, TASKS_A_JOB


def prepare(case):
    arrival, operations = case.arrival_us.tolist(), case.operations.tolist()
    n = len(operations)
    unit_of, start, finish = [-1] * n, [0.0] * n, [0.0] * n
    env = simpy.Environment()
    idle = simpy.PriorityStore(env)
    idle.items = sorted((-SPEED[p], p, i) for p in (CPU, GPU) for i in range(case.n_of_each))

    def task(t):
        unit = yield idle.get()
        unit_of[t], start[t] = unit[2], env.now
        yield env.timeout(operations[t] / -unit[0])
        finish[t] = env.now
        yield idle.put(unit)

    def source():
        for job, at in enumerate(arrival):
            yield env.timeout(max(0.0, at - env.now))
            for t in range(job * TASKS_A_JOB, (job + 1) * TASKS_A_JOB):
                env.process(task(t))

    def run():
        env.process(source())
        env.run()
        return np.array(finish)

    return run
