"""Jobs of very different sizes: many small ones, some medium, a few large."""

import numpy as np

from vinesim.model.catalog import code_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import assemble, check_counts
from vinesim.workloads.setting import Setting

SMALL, MEDIUM = (1, 20), (21, 200)  # tasks per job, inclusive


def sized(
    setting: Setting,
    *,
    n_jobs: int = 500,
    n_tasks: int = 25_000,
    small_share: float = 0.90,
    medium_share: float = 0.08,
    operations: float = 30e6,
    task_type: str = "FP_GOOD",
    preferred: str | None = None,
) -> Workload:
    """90 % small jobs (1 to 20 tasks), 8 % medium (21 to 200), 2 % large, ``n_tasks`` tasks in all, shuffled.

    Small and medium sizes are uniform. The large jobs share the rest of ``n_tasks`` in random proportions between 1 and
    3, and each has over 200 tasks. Source: VineSim report, section 7.2 (90 % small, 10 % medium and very large); the
    split of the 10 % and the total are VineSim's reading.
    """
    check_counts(n_jobs=n_jobs)
    check_counts(n_tasks=n_tasks)
    if not (small_share >= 0 and medium_share >= 0 and small_share + medium_share <= 1):
        found = f"{small_share} and {medium_share}"
        raise InputError([Problem(("small_share",), "with medium_share: 0 or more, up to 1 in all", found)])
    n_small = round(small_share * n_jobs)
    n_medium = min(round(medium_share * n_jobs), n_jobs - n_small)
    n_large = n_jobs - n_small - n_medium
    rng = setting.sizes()
    small = rng.integers(SMALL[0], SMALL[1] + 1, n_small)
    medium = rng.integers(MEDIUM[0], MEDIUM[1] + 1, n_medium)
    left = n_tasks - int(small.sum()) - int(medium.sum())
    least = MEDIUM[1] + 1
    if n_large == 0 or left < n_large * least:
        needed = n_tasks - left + n_large * least
        problem = Problem(
            ("n_tasks",), f"at least {needed} tasks and a large job, for these {n_jobs} jobs", f"{n_tasks}"
        )
        raise InputError([problem])
    size = np.concatenate([small, medium, least + _split(left - n_large * least, n_large, rng)])
    rng.shuffle(size)
    code = code_of(("task_type",), task_type, setting.task_types)
    return assemble(size, np.full(n_jobs, code), operations, preferred=preferred, **setting.common())


def _split(total: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Split ``total`` into n whole numbers in random proportions between 1 and 3."""
    ends = np.cumsum(rng.uniform(1, 3, n))
    return np.diff(np.floor(ends / ends[-1] * total).astype(np.int64), prepend=0)
