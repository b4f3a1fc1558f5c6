"""NAS benchmarks as OpenCL jobs on CPUs and GPUs: the workload groups A and B of the RBSS paper.

Source: RBSS paper, 5.2 and Table 3 (benchmarks, classes, sizes, requests, submit times). The paper gives no times; here
they are operations / sustained speed, with the benchmarks' own operation counts and assumed speeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.time import US_PER_S
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting

PROCESSOR_TYPES = (  # Table 1; idle powers are assumed
    ProcessorType("PHENOM_6C", idle_power_w=40.0, attributes={"cores": 6}),
    ProcessorType("XEON_12C", idle_power_w=60.0, attributes={"cores": 12}),
    ProcessorType("XEON_16C", idle_power_w=70.0, attributes={"cores": 16}),
    ProcessorType("GTX460", idle_power_w=20.0, attributes={"sms": 7}),
    ProcessorType("K20", idle_power_w=25.0, attributes={"sms": 13}),
    ProcessorType("K40", idle_power_w=25.0, attributes={"sms": 15}),
)
MOPS_PER_S = np.array([2600.0, 6000.0, 9000.0, 4000.0, 9000.0, 11500.0])  # sustained; assumed
BENCHMARKS, CLASSES = ("BT", "CG", "EP", "LU", "SP"), ("S", "W")
TASK_TYPES = tuple(TaskType(f"{name}.{size}") for name, size in product(BENCHMARKS, CLASSES))
ITERATIONS = {"BT": (60, 200), "CG": (15, 15), "EP": (1, 1), "LU": (50, 300), "SP": (100, 400)}  # Table 3
GRID = {"BT": (12, 24), "LU": (12, 33), "SP": (12, 36)}  # n of n x n x n
ROWS, NONZEROS = (1400, 7000), (7, 8)  # CG
PAIRS = (24, 25)  # EP: log2
KERNELS = {"BT": 14, "CG": 130, "EP": 1, "LU": 20, "SP": 18}  # launches per iteration; assumed, CG: 25 x 5 + 5
GPU_EFFICIENCY = {"SP.W": 0.3}  # share of the sustained speed, otherwise 1; assumed: the paper calls it better on a CPU
LONGER = (1, 2, 4)  # multiples of the iterations of Table 3: 30 jobs, of which the two longest are left out
GROUPS = {"A": (76, 3, 6, 7), "B": (28, 1, 12, 15)}  # jobs, most executions per job, cores, SMs
N_BASE = 28


def affinity() -> np.ndarray:
    """Return [P, T] all 1: every type can run every benchmark, and the measured times give the speeds."""
    return np.ones((len(PROCESSOR_TYPES), len(TASK_TYPES)))


def operations(benchmark: str, size: int) -> float:
    """Return the operations of one run, as the NAS benchmarks 3 count them; ``size`` 0 is class S, 1 class W."""
    if benchmark == "EP":
        return 2.0 ** (PAIRS[size] + 1)
    steps = ITERATIONS[benchmark][size]
    if benchmark == "CG":
        row = NONZEROS[size] * (NONZEROS[size] + 1)
        return 2.0 * steps * ROWS[size] * (3 + row + 25 * (5 + row) + 3)
    n = float(GRID[benchmark][size])
    by_step = {
        "BT": 3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n,
        "LU": 1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010.0,
        "SP": 881.174 * n**3 - 4683.91 * n**2 + 11484.5 * n - 19272.4,
    }
    return steps * by_step[benchmark]


@dataclass(frozen=True)
class Costs:
    """The costs added to operations / sustained speed."""

    fixed_s: float
    gpu_launch_us: float
    cpu_launch_us: float
    gpu_efficiency: Mapping[str, float]


def computing_us(task_type: int, longer: int, costs: Costs) -> np.ndarray:
    """Return [P] the time of one run of a benchmark on each processor type, us, without the fixed cost."""
    benchmark, size = BENCHMARKS[task_type // 2], task_type % 2
    is_gpu = np.array(["sms" in p.attributes for p in PROCESSOR_TYPES])
    efficiency = costs.gpu_efficiency.get(TASK_TYPES[task_type].name, costs.gpu_efficiency.get(benchmark, 1.0))
    mops_per_s = MOPS_PER_S * np.where(is_gpu, efficiency, 1.0)
    launches = KERNELS[benchmark] * ITERATIONS[benchmark][size] * longer
    launch_us = np.where(is_gpu, costs.gpu_launch_us, costs.cpu_launch_us)
    return operations(benchmark, size) * longer / mops_per_s + launches * launch_us


def rbss_nas(
    setting: Setting,
    *,
    group: str = "A",
    n_jobs: int | None = None,
    copies: int = 1,
    cores: int | None = None,
    sms: int | None = None,
    mean_s: float = 60.0,
    sd_s: float = 20.0,
    scale: float = 3.0,
    fixed_s: float = 40.0,
    gpu_launch_us: float = 10.0,
    cpu_launch_us: float = 10.0,
    gpu_efficiency: dict[str, float] | None = None,
    is_fixed_once: bool = False,
    jitter: float = 0.0,
) -> Workload:
    """NAS benchmarks BT, CG, EP, LU and SP, classes S and W, with times on six devices and requests of cores and SMs.

    28 jobs: the ten benchmarks with 1, 2 and 4 times their iterations, without the two longest. Group A: 76 jobs, each
    of the 28 executed once, twice and three times in a row, without the eight longest; they request what the weakest
    node has (6 cores, 7 SMs). Group B: the 28, which request what the strongest of 16 nodes has (12 cores, 15 SMs). A
    smaller ``n_jobs`` leaves out more of the longest; ``copies`` repeats the whole group. Submit times are whole
    seconds, normal with ``mean_s`` and ``sd_s``, sorted. A time is ``scale`` x executions x (``fixed_s`` x a number
    from 0.8 to 1.2 for the job + kernel launches + operations / (sustained speed x ``gpu_efficiency``)). The efficiency
    is given by benchmark, or by class as in the default {SP.W: 0.3}. ``is_fixed_once``: the fixed cost is per job, not
    per execution. ``jitter``: the true times have a lognormal factor with that sd.
    """
    _check(group, mean_s=mean_s, sd_s=sd_s, fixed_s=fixed_s, gpu_launch_us=gpu_launch_us, cpu_launch_us=cpu_launch_us)
    _check(group, jitter=jitter)
    efficiency = {**GPU_EFFICIENCY, **(gpu_efficiency or {})}
    known = {*BENCHMARKS, *(t.name for t in TASK_TYPES)}
    wrong = [name for name, value in efficiency.items() if name not in known or not value > 0]
    if wrong or not scale > 0:
        where, found = ("gpu_efficiency", ", ".join(wrong)) if wrong else ("scale", f"{scale}")
        expected = "a number above 0" + (" for " + ", ".join(sorted(known)) if wrong else "")
        raise InputError([Problem(where, expected, found)])
    most, executions, own_cores, own_sms = GROUPS[group]
    wanted = most if n_jobs is None else n_jobs
    check_counts(n_jobs=wanted, copies=copies)
    kind, executed, compute_us = _jobs(executions, Costs(fixed_s, gpu_launch_us, cpu_launch_us, efficiency))
    if wanted > len(kind):
        raise InputError([Problem(("n_jobs",), f"at most {len(kind)}; copies repeats them", f"{n_jobs}")])
    starts = np.ones_like(executed) if is_fixed_once else executed
    mean_us = starts * fixed_s * US_PER_S + executed * compute_us.mean(axis=1)
    kept = np.sort(np.argsort(mean_us, kind="stable")[:wanted])
    chosen = setting.sizes().permutation(np.tile(kept, copies))
    n = len(chosen)
    fixed_us = fixed_s * US_PER_S * stream(setting.seed, "fixed").uniform(0.8, 1.2, n)
    starting_us = starts[chosen] * fixed_us
    times_us = scale * (starting_us[:, None] + executed[chosen, None] * compute_us[chosen])
    submit_s = np.sort(np.maximum(0.0, np.rint(stream(setting.seed, "arrivals").normal(mean_s, sd_s, n))))
    common = setting.common() | {"task_types": TASK_TYPES, "processor_types": PROCESSOR_TYPES}
    return replace(
        assemble(np.ones(n, np.int64), kind[chosen], 1.0, **common),
        arrival_us=submit_s * US_PER_S,
        times_us=times_us,
        time_factor=np.exp(stream(setting.seed, "jitter").normal(0.0, jitter, n)) if jitter > 0 else None,
        requests={
            "cores": np.full(n, own_cores if cores is None else cores, np.float64),
            "sms": np.full(n, own_sms if sms is None else sms, np.float64),
        },
    )


def _jobs(executions: int, costs: Costs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all jobs of a group, the longest included: task type, consecutive executions, and computing time [., P] of
    one execution."""
    base = [(kind, computing_us(kind, longer, costs)) for kind in range(len(TASK_TYPES)) for longer in LONGER]
    base = sorted(base, key=lambda job: float(job[1].mean()))[:N_BASE]
    rows = [(kind, n, us) for n in range(1, executions + 1) for kind, us in base]
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def _check(group: str, **numbers: float) -> None:
    problems = [] if group in GROUPS else [Problem(("group",), "A or B", repr(group))]
    problems += [Problem(name, "0 or more", f"{value}") for name, value in numbers.items() if not value >= 0]
    if problems:
        raise InputError(problems)
