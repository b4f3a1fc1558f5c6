"""The order in which each heuristic starts waiting jobs, and the longest waits: sections 3.2.2 and 3.2.3."""

from collections.abc import Mapping

import numpy as np

from vinesim.engine.simulate import simulate
from vinesim.model.scenario import Scenario
from vinesim.reproduction.item import Changes
from vinesim.reproduction.single import scenario
from vinesim.workloads.estimates import mean_times
from vinesim_papers.rbss.nodes import SYSTEM_1, is_cpu, is_for_cpus

POLICIES = {"FIFO": "rb_fifo", "SJF": "rb_sjf", "LJF": "rb_ljf", "BA": "rb_ljf_ba", "OCL": "rb_ljf_ocl"}


def overtaking(changes: Changes) -> dict[str, int]:
    """Count the jobs that each heuristic starts on a device of their kind while a job earlier in its order waits."""
    return {
        name: _overtaking(scenario(SYSTEM_1, {"policy": policy}, changes), name) for name, policy in POLICIES.items()
    }


def longest_waits(changes: Changes) -> dict[str, float]:
    """Return the longest wait under BA divided by that under LJF, if jobs of group A keep coming for about 40
    minutes."""
    found = {}
    for copies in (4, 8):
        more = {"workload.options.copies": copies, "workload.options.mean_s": 1200, "workload.options.sd_s": 400}
        waits = [_longest_wait(scenario(SYSTEM_1, changes, more, {"policy": POLICIES[name]})) for name in ("BA", "LJF")]
        found[f"{copies} times the jobs"] = waits[0] / waits[1]
    return found


def _longest_wait(given: Scenario) -> float:
    return float((simulate(given).tasks["init_us"] - given.workload.arrival_us).max())


def _overtaking(given: Scenario, name: str) -> int:
    work, tasks = given.workload, simulate(given).tasks
    key = _keys(work.arrival_us, mean_times(work, given.datacenter, given.affinity, given.overhead_us))[name]
    kind, start = is_for_cpus(given), tasks["init_us"]
    is_own = is_cpu(given)[tasks["unit_type"]] == kind
    found = 0
    for job in np.flatnonzero(is_own):
        waits = (work.arrival_us <= start[job]) & (start > start[job]) & (kind == kind[job])
        found += bool((key[waits] < key[job]).any())
    return found


def _keys(submit_us: np.ndarray, estimate_us: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return the keys by which each heuristic orders its queues, smallest first [J]; wait + estimate falls with submit
    - estimate."""
    aged = submit_us - estimate_us
    return {"FIFO": submit_us, "SJF": estimate_us, "LJF": -estimate_us, "BA": aged, "OCL": aged}
