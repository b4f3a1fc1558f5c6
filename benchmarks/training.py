"""Training jobs of 1 to 128 GPUs on nodes of 8, on a load like that of Philly: the model of gangs.py.

The shape of the load follows what Jeon et al. (USENIX ATC 2019) report of Microsoft's cluster: most jobs ask for one
GPU, few for more than 8; most run for minutes or hours, a few for days, and larger ones for longer.
"""

import numpy as np

import vinesim as vs
from vinesim.model.workload import ANYWHERE, NO_GANG

GPUS = 8  # of a node
N_NODES, N_JOBS = 600, 80_000
SIZES = {1: 0.78, 2: 0.06, 4: 0.06, 8: 0.08, 16: 0.015, 32: 0.004, 64: 0.0008, 128: 0.0002}  # GPUs: share of the jobs
MEDIAN_US, SPREAD = 60 * 60e6, 2.5  # of the time of a job of one GPU: lognormal
LONGEST_US = 5 * 86_400e6
GROWTH = 0.25  # a job of twice the GPUs runs 2^0.25 times as long


def scenario(policy: str, load: float, n_jobs: int = N_JOBS, n_nodes: int = N_NODES) -> vs.Scenario:
    """Jobs of whole nodes, if they ask for more than one, else of a part of one; Poisson arrivals."""
    random = np.random.default_rng(1)
    gpus = random.choice(list(SIZES), n_jobs, p=list(SIZES.values()))
    took_us = np.minimum(random.lognormal(np.log(MEDIAN_US), SPREAD, n_jobs) * gpus**GROWTH, LONGEST_US)
    rate = load * n_nodes * GPUS / float((gpus * took_us).mean())
    tasks = -(-gpus // GPUS)
    n = int(tasks.sum())
    work = vs.Workload(
        job_task_type=np.zeros(n_jobs),
        job_first=np.concatenate([[0], np.cumsum(tasks)]),
        arrival_us=np.cumsum(random.exponential(1 / rate, n_jobs)),
        operations=np.repeat(took_us, tasks),
        data_bytes=np.zeros(n),
        data_rack=np.zeros(n),
        data_shelf=np.zeros(n),
        preferred_type=np.full(n, -1),
        units=np.repeat(np.minimum(gpus, GPUS), tasks),
        gang_within=np.where(tasks > 1, ANYWHERE, NO_GANG),
        task_types=(vs.TaskType("TRAINING"),),
    )
    node = np.repeat(np.arange(n_nodes), GPUS)
    center = vs.Datacenter(np.zeros(len(node)), node // 20, node % 20, (vs.ProcessorType("GPU"),))
    return vs.Scenario(center, work, policy, affinity=[[1.0]])
