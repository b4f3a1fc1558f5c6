"""Find when each job of a run became eligible, which is when Slurm begins to count its wait.

A job is eligible once it is submitted, its begin time has come and its dependencies are met.
"""

import numpy as np

from vinesim.model.workload import Workload

STARTED = ("after",)  # types of dependencies that wait for a start, not for an end


def eligible_s(work: Workload, begin_s: np.ndarray, end_s: np.ndarray) -> np.ndarray:
    """Return [J] when each job became eligible, s, given the first start and the end of all jobs in a run."""
    found = work.arrival_us / 1e6
    for j, text in enumerate(work.words_of("begin_s")):
        if text and text != "never":
            found[j] = max(found[j], float(text))
    members = work.jobs_by_number()
    last = dict[tuple[str, int], int]()
    names = work.words_of("name")
    for j, text in enumerate(work.words_of("dependency")):
        for part in filter(None, text.replace("?", ",").split(",")):
            kind, _, rest = part.partition(":")
            others = [k for target in rest.split(":") for k in members.get(target.split("_")[0].split("+")[0], [])]
            if kind == "singleton":
                key = names[j], 0 if work.user is None else int(work.user[j])
                others = [last[key]] if key in last else []
                last[key] = j
            times = (begin_s if kind in STARTED else end_s)[others]
            found[j] = max(found[j], times[np.isfinite(times)].max(initial=0.0))
    _throttled(work, members, found, begin_s, end_s)
    return found


def _throttled(
    work: Workload, members: dict[str, list[int]], found: np.ndarray, begin_s: np.ndarray, end_s: np.ndarray
) -> None:
    """Delay the eligibility of jobs in throttled arrays until fewer jobs of the array run than its limit."""
    most = work.words_of("throttle")
    for array in {a for a, text in zip(work.words_of("array"), most, strict=True) if a and text.isdecimal()}:
        jobs = np.array(members[array])
        limit = int(most[jobs[0]] or 0)
        if limit == 0:
            continue
        running, since_s, ends = 0, -np.inf, np.sort(end_s[jobs])
        for j in jobs[np.argsort(begin_s[jobs], kind="stable")]:
            while len(ends) and ends[0] <= begin_s[j]:
                running, since_s, ends = running - 1, ends[0] if running >= limit else since_s, ends[1:]
            found[j], running = max(found[j], since_s), running + 1
