"""The VineSim report: each of its four policies doing the opposite of what its name says."""

from typing import Any

from verification.wrong_policies.wrong import Wrong
from vinesim.policies.online import closer_to_data, flat, high, pref
from vinesim.policies.online.delay import Delay
from vinesim.state.queries import (
    fastest_free,
    first_free,
    next_pending,
    nothing,
    oldest_pending,
    preferred_type,
    start,
    task_type,
)

REPLICATIONS = 3  # of each point: the verdicts are those of ten


def slowest_free(model: Any, state: Any, task: int) -> int:
    """The idle unit with the lowest affinity to the task; -1 if none can run it."""
    own_type = task_type(model, state, task)
    for i in range(model.ranking.shape[1] - 1, -1, -1):
        if model.ranking[own_type, i] >= 0:
            unit = first_free(model, state, task, int(model.ranking[own_type, i]))
            if unit >= 0:
                return unit
    return -1


def fastest_type_free(model: Any, state: Any, task: int) -> int:
    """An idle unit of the type with the highest affinity; -1 if there is none, whatever else is idle."""
    return first_free(model, state, task, int(model.ranking[task_type(model, state, task), 0]))


def across_racks(model: Any, state: Any, view: Any) -> Any:
    """Waits for nothing: the closest idle unit at once, in whichever rack."""
    task = oldest_pending(model, state)
    while task >= 0:
        for distance in range(3):
            unit = first_free(model, state, task, -1, distance)
            if unit >= 0:
                return start(task, unit)
        task = next_pending(model, state, task)
    return nothing()


def another_type(model: Any, state: Any, task: int) -> int:
    """The fastest type for the task that is not the one it prefers."""
    wanted, own_type = preferred_type(model, state, task), task_type(model, state, task)
    for i in range(model.ranking.shape[1]):
        if model.ranking[own_type, i] >= 0 and model.ranking[own_type, i] != wanted:
            return int(model.ranking[own_type, i])
    return wanted


def mirrored(model: Any, state: Any, task: int, processor_type: int, distance: int) -> int:
    """The first idle unit at the other end of the distances."""
    return first_free(model, state, task, processor_type, 2 - distance)


BY_TABLE_1 = ("fig4", "fig5", "fig6", "fig11", "fig12", "fig13", "fig14", "table1", "table2", "table4", "text")
TRANSFERS = ("table4", "fig16", "fig18", "fig18-why")

POLICIES = (
    Wrong(
        of="high",
        version="the slowest idle unit for the fastest",
        patches=((high, "fastest_free", slowest_free),),
        about="F4.3 F4.5 F5.4 F8.2 F11.2 F13.1 F14.2 F16.1 F18.1 W18.7",
    ),
    Wrong(
        of="high",
        version="waits for the fastest type",
        patches=((high, "fastest_free", fastest_type_free),),
        about="F4.9 F11.3 F14.7 F18.2",
    ),
    Wrong(
        of="flat",
        version="the fastest idle unit for one at random",
        patches=((flat, "random_free", fastest_free), (flat, "first_free", fastest_free)),
        about="F11.2 F11.4 F11.5 F14.2 F14.3 F14.8 F16.1 F16.9",
    ),
    Wrong(
        of="pref",
        version="another type than the preferred one",
        patches=((pref, "preferred_type", another_type),),
        about="F14.1 F14.2 F14.3 F14.4 F14.7",
    ),
    Wrong(
        of="closer_to_data",
        version="the farthest idle unit for the closest",
        patches=((closer_to_data, "first_free", mirrored),),
        about="F16.3 F16.4 F16.5 F16.8 F18.5 W18.8 W18.11 W18.12",
    ),
    Wrong(
        of="delay",
        version="waits for nothing",
        patches=((Delay, "decide", staticmethod(across_racks)),),
        about="W18.9 W18.10 W18.11 W18.12",
    ),
)
SCENARIOS = (
    Wrong(
        of="affinity",
        version="GPUs half as fast, and twice as fast for FP_BAD",
        changes={"affinity": {"table": "table1", "peak": {"GPU": {"INT": 600_000, "FP_BAD": 0.04, "FP_GOOD": 1}}}},
        items=BY_TABLE_1,
        about="F4.3 F4.5 F6.1 F6.3",
    ),
    Wrong(
        of="affinity",
        version="FP_BAD and FP_GOOD exchanged on GPUs, and unlike on CPUs",
        changes={
            "affinity": {
                "table": "table1",
                "peak": {
                    "GPU": {"INT": 1_200_000, "FP_BAD": 1, "FP_GOOD": 0.01},
                    "CPU_INTEL": {"INT": 100_000, "FP_BAD": 0.5, "FP_GOOD": 0.6},
                },
            }
        },
        items=BY_TABLE_1,
        about="F4.7 F4.8 F5.1 F5.2 F5.7 F6.1 F6.2",
    ),
    Wrong(
        of="affinity",
        version="FP_BAD as fast as INT on every unit",
        changes={
            "affinity": {
                "table": "table1",
                "peak": {
                    "GPU": {"INT": 1_200_000, "FP_BAD": 1, "FP_GOOD": 1},
                    "CPU_INTEL": {"INT": 100_000, "FP_BAD": 1, "FP_GOOD": 0.6},
                },
            }
        },
        items=("fig4", "fig5", "fig6"),
        about="F4.5 F4.8 F5.2 F5.7 F5.8 F6.1",
    ),
    Wrong(
        of="jobs",
        version="45 tasks, more than there are units",
        changes={"workload.options.tasks_per_job": 45},
        items=("fig4",),
        about="F4.3 F4.6",
    ),
    Wrong(
        of="jobs",
        version="of 5 tasks where the report has 25",
        changes={"workload.options.tasks_per_job": 5},
        items=("fig11",),
        about="F11.7",
    ),
    Wrong(
        of="jobs",
        version="50 where the report has 500",
        changes={"workload.options.n_jobs": 50, "workload.options.n_tasks": 2500},
        items=("fig5", "fig7"),
        about="F5.6 F7.2",
    ),
    Wrong(
        of="affinity",
        version="CPUs five times as fast",
        changes={"affinity.peak.CPU_INTEL": {"INT": 500_000, "FP_BAD": 0.6, "FP_GOOD": 0.6}},
        items=("fig5", "fig7", "text"),
        about="F5.3 F5.5 F5.6 F7.3",
    ),
    Wrong(
        of="affinity",
        version="CPUs a thousand times as slow",
        changes={"affinity.peak.CPU_INTEL": {"INT": 100, "FP_BAD": 0.6, "FP_GOOD": 0.6}},
        items=("fig5", "fig7"),
        about="G2",
    ),
    Wrong(
        of="times of the kernels",
        version="PHI and DFE exchanged, GPUs as good at RGJ as at SGJ",
        changes={
            "affinity.times.DFE": {"SGJ": "500 us", "RGJ": "750 us", "NGJ": "100 us"},
            "affinity.times.PHI": {"SGJ": "300 us", "RGJ": "500 us", "NGJ": "10 us"},
            "affinity.times.GPU": {"SGJ": "100 us", "RGJ": "100 us", "NGJ": "60 us"},
        },
        items=("fig8",),
        about="F8.1",
    ),
    Wrong(
        of="network",
        version="as fast between racks as within",
        changes={"network": {"intra_rack": 1310.72, "inter_rack": 1310.72}},
        items=TRANSFERS,
        about="F16.3 F16.5 F18.3 F18.5",
    ),
    Wrong(
        of="link to a GPU",
        version="a thousand times as fast",
        changes={"network": {"local": "64000 Gb/s"}},
        items=("fig9",),
        about="F9.1",
    ),
)
WRONG = POLICIES + SCENARIOS
