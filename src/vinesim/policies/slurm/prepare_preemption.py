"""Who may preempt whom: jobs of partitions of upper tiers, or of QOS that name those that they preempt."""

from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.policies.slurm.codes import PREEMPT_MODES, US_PER_S
from vinesim.policies.slurm.prepare_jobs import Jobs
from vinesim.policies.slurm.prepare_nodes import Places

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm


def classes_of(policy: "Slurm", jobs: Jobs, places: Places) -> dict[str, Any]:
    """Return the classes of jobs: partitions, or QOS, the last of which has the jobs of unknown ones."""
    by_qos = policy.preempt_type == "qos"
    exempt_s = {name: one.get("preempt_exempt_time", policy.preempt_exempt_time) for name, one in policy.qos.items()}
    if by_qos:
        names, given = [*policy.qos, ""], [*policy.qos.values(), {}]
        rank = np.array([int(one.get("priority", 0)) for one in given])
        may = np.array([[name in one.get("preempt", ()) for name in names] for one in given])
        number = {name: i for i, name in enumerate(names)}
        own = [number.get(name, len(names) - 1) for name in jobs.qos]
    else:
        given, own = places.options, [-1] * jobs.n
        rank = np.array([int(one.get("priority_tier", 1)) for one in given])
        may = rank[:, None] > rank
    preempt = np.array([PREEMPT_MODES[one.get("preempt_mode", policy.preempt_mode)] for one in given])
    level = may.any(axis=1).astype(int) if by_qos else np.unique(rank, return_inverse=True)[1]
    n_levels = int(level.max()) + 1
    return {
        "job_class": own,
        "class_may": may,
        "class_preempt": preempt,
        "class_grace_us": [float(one.get("grace_time", 0.0)) * US_PER_S for one in given],
        "class_rank": rank,
        "class_level": level,
        "class_spared": np.where(preempt == PREEMPT_MODES["off"], n_levels - 1, level),
        "n_levels": n_levels if policy.preempt_type != "none" and policy.preempt_mode == "suspend" else 0,
        "job_exempt_us": [float(exempt_s.get(name, policy.preempt_exempt_time)) * US_PER_S for name in jobs.qos],
    }
