"""Random scenarios of queues in cohorts that are short of units: jobs of several priorities, some of them gangs."""

import numpy as np

import vinesim as vs
from tests.strategies import SeededDice
from vinesim.model.workload import ANYWHERE, NO_GANG

OPTIONS = (
    {},
    {"reclaim_within_cohort": "any", "within_cluster_queue": "lower_priority"},
    {
        "reclaim_within_cohort": "lower_priority",
        "borrow_within_cohort": "lower_priority",
        "max_priority_threshold": 1.0,
        "within_cluster_queue": "lower_or_newer_equal_priority",
    },
    {"reclaim_within_cohort": "any", "queueing_strategy": "strict_fifo"},
    {"fair_sharing": True, "reclaim_within_cohort": "any", "within_cluster_queue": "lower_priority"},
    {"fair_sharing": True, "reclaim_within_cohort": "any", "preemption_strategies": "initial_share"},
    {"fair_sharing": True, "reclaim_within_cohort": "lower_priority", "preemption_strategies": "final_share"},
    {
        "within_cluster_queue": "lower_or_newer_equal_priority",
        "reclaim_within_cohort": "any",
        "borrow_within_cohort": "lower_priority",
    },
)


def cohort_scenario(seed: int, policy: str = "kueue", options: dict | None = None, n_nodes: int = 2) -> vs.Scenario:
    """The scenario of a seed: 2 to 4 queues on nodes of 6 GPUs and 16 cores; by default the options of a seed."""
    dice = SeededDice(seed + 40_000)
    queues = []
    for i in range(dice.integer(2, 4)):
        share = dice.integer(0, 6) * n_nodes / 2
        quota = {"GPU": float(share)} | ({"CPU": 6.0 * n_nodes} if dice.integer(0, 1) else {})
        terms = {"cohort": dice.pick(("x", "x", "y")), "weight": dice.pick((0.0, 1.0, 1.0, 3.0))}
        if dice.integer(0, 3) == 0:
            terms["borrowing_limit"] = {"GPU": float(dice.integer(0, 4))}
        if dice.integer(0, 3) == 0:
            terms["lending_limit"] = {"GPU": min(quota["GPU"], float(dice.integer(0, 4)))}
        user_quota = {"GPU": 5.0} if dice.integer(0, 4) == 0 else {}
        queues.append(vs.Partition(f"q{i}", None, quota, user_quota, **terms))
    n = dice.integer(12, 30) * n_nodes // 2
    cores = [float(dice.integer(0, 4)) for _ in range(n)]
    gpus = [dice.pick((1, 1, 2, 3)) for _ in range(n)]
    of = [dice.integer(0, len(queues) - 1) if dice.integer(0, 9) else -1 for _ in range(n)]
    sizes = [2 if dice.integer(0, 4) == 0 and g == 1 else 1 for g in gpus]
    first = np.concatenate([[0], np.cumsum(sizes)])
    n_tasks = int(first[-1])
    work = vs.Workload(
        [0] * n, first, np.sort([float(dice.integer(0, 25)) for _ in range(n)]),
        np.repeat([float(dice.integer(3, 20)) for _ in range(n)], sizes), *np.zeros((3, n_tasks)), [-1] * n_tasks,
        units=np.repeat(gpus, sizes), companions={"CPU": np.repeat(cores, sizes)},
        priority=[float(dice.integer(0, 2)) for _ in range(n)], task_types=(vs.TaskType("T"),),
        gang_within=[ANYWHERE if size > 1 else NO_GANG for size in sizes],
        user=[dice.integer(0, 1) for _ in range(n)], user_names=("ada", "bob"),
        partition=of, partition_names=tuple(one.name for one in queues),
    )  # fmt: skip
    units = [("GPU", 0, node) for node in range(n_nodes) for _ in range(6)]
    units += [("CPU", 0, node) for node in range(n_nodes)]
    center = vs.Datacenter.of(units, [vs.ProcessorType("GPU"), vs.ProcessorType("CPU", capacity=16.0)])
    chosen = OPTIONS[seed % len(OPTIONS)] if options is None and policy == "kueue" else options or {}
    return vs.Scenario(
        center, work, policy, chosen, affinity=[[1.0], [0.0]], partitions=tuple(queues),
        preemption=dice.pick(("resume", "restart")),
    )  # fmt: skip
