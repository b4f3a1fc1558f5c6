"""Describe a workload before it runs, and report what looks wrong with it: span, gaps, durations, load, duplicates.

A finding is odd if it would change the results of a simulation: a gap of a tenth of the span, rounded arrivals, more
work than capacity, jobs too large for every node, duplicate rows, durations that were cut off.
"""

from collections.abc import Sequence

import numpy as np

from vinesim.formats.importers.report import Finding
from vinesim.formats.source.quantities import format_time_us
from vinesim.model.alone import alone_us
from vinesim.model.datacenter import Datacenter
from vinesim.model.workload import NO_PARTITION, Workload
from vinesim.state.demand import amounts
from vinesim.state.demand_classes import DemandClasses, classes_on

ODD_GAP = 0.1  # of the span, without an arrival
ODD_TOGETHER = 0.5  # of the jobs; if more arrive at the same instant as another one, times were probably rounded
ODD_LOAD = (0.01, 1.0)
ODD_CLIPPED = 0.01  # of the jobs; if more take exactly the longest time, durations were probably cut off
FEW = 5  # up to this many jobs may take exactly the longest time by chance
SHOWN = 5
BINS = 10


def sanity_of(work: Workload, center: Datacenter, affinity: np.ndarray) -> list[Finding]:
    """Return the findings about a workload and its load on a datacenter; ``affinity`` [P, task types]."""
    classes = classes_on(work, center, affinity, np.full(work.n_jobs, NO_PARTITION))
    is_engine = np.array([p.batching is not None for p in center.processor_types])
    times_us = np.where(is_engine, np.nan, _times_us(work, affinity))  # its steps say how long a request takes
    found = [*of_arrivals(work.arrival_us), *_tokens(work)]
    if np.isfinite(times_us).any():
        found += [*_durations(work, times_us), *_loads(work, center, classes, times_us)]
    is_never = ~classes.can_lead.any(axis=1)
    found.append(_never(work, np.asarray(is_never)[classes.of_task]))
    return [*found, *_duplicates(work, classes.of_task, times_us)]


def of_arrivals(arrival_us: np.ndarray) -> list[Finding]:
    """Return the findings about increasing times of arrival."""
    n, span_us = len(arrival_us), float(np.ptp(arrival_us))
    gaps_us = np.diff(arrival_us)
    found = [Finding("jobs", f"{n:,}", numbers={"jobs": n})]
    if span_us <= 0:
        return [*found, Finding("span", "none: all jobs arrive at once", n > 1, {"span_us": span_us})]
    mean = format_time_us(span_us / (n - 1))
    words = f"{format_time_us(span_us)} from the first to the last arrival, one every {mean}"
    found.append(Finding("span", words, numbers={"span_us": span_us}))
    longest = np.argsort(-gaps_us, kind="stable")[:3]
    words = "; ".join(f"{format_time_us(gaps_us[i])} from {format_time_us(arrival_us[i])} on" for i in longest)
    numbers = {"longest_us": gaps_us[longest].tolist(), "from_us": arrival_us[longest].tolist()}
    found.append(Finding("longest gaps", words, bool(gaps_us[longest[0]] >= ODD_GAP * span_us), numbers))
    n_together = int((gaps_us == 0).sum())
    words = f"{n_together:,} jobs ({n_together / n:.1%}) arrive at the same instant as the previous one"
    is_odd = n_together >= ODD_TOGETHER * n
    words += ": are the times rounded?" if is_odd else ""
    return [*found, Finding("same instant", words, is_odd, {"together": n_together})]


def _times_us(work: Workload, affinity: np.ndarray) -> np.ndarray:
    """[N, P] how long each task takes on each processor type; NaN where it cannot run."""
    task_type = np.repeat(work.job_task_type, np.diff(work.job_first))
    speed = affinity.T[task_type]
    found = alone_us(work.operations[:, None], speed, work.times_us)
    return np.asarray(np.where((speed > 0) & np.isfinite(found), found, np.nan))


def _durations(work: Workload, times_us: np.ndarray) -> list[Finding]:
    """Return the findings about job durations: the longest task of each job, each on its fastest type.

    Withdrawn jobs hardly run and are left out, unless all are withdrawn.
    """
    fastest = np.fmin.reduce(times_us, axis=1)
    jobs_us = np.maximum.reduceat(np.nan_to_num(fastest), work.job_first[:-1])[work.stays]
    limit_us = None if work.limit_us is None else work.limit_us[work.stays]
    quantiles = np.quantile(jobs_us, [0, 0.5, 0.99, 1], method="inverted_cdf").tolist()
    least, median, p99, longest = map(format_time_us, quantiles)
    numbers = dict(zip(("min_us", "p50_us", "p99_us", "max_us"), quantiles, strict=True))
    words = f"{least} to {longest}, median {median}, p99 {p99}, on the fastest type"
    found = [Finding("durations", words, quantiles[0] <= 0, numbers)]
    n_longest = int((jobs_us == quantiles[-1]).sum())
    is_cut = n_longest >= max(FEW, ODD_CLIPPED * len(jobs_us)) and quantiles[-1] > quantiles[1]
    words = f"{n_longest:,} jobs take exactly the longest time" + (": was it cut off?" if is_cut else "")
    found.append(Finding("clipped", words, is_cut, {"longest": n_longest}))
    if limit_us is not None:
        n_over = int((jobs_us > limit_us).sum())
        words = f"{n_over:,} jobs take longer than their limit, and are killed"
        found.append(Finding("beyond limit", words, n_over > 0, {"over": n_over}))
    return found


def _tokens(work: Workload) -> list[Finding]:
    """Return the findings about the prompt and answer tokens of requests."""
    found = []
    for title, column in (("prompts", work.input_tokens), ("answers", work.output_tokens)):
        if column is not None:
            quantiles = np.quantile(column, [0, 0.5, 0.99, 1], method="inverted_cdf").tolist()
            least, median, p99, longest = (f"{value:,.0f}" for value in quantiles)
            words = f"{least} to {longest} tokens, median {median}, p99 {p99}"
            found.append(Finding(title, words, numbers=dict(zip(("min", "p50", "p99", "max"), quantiles, strict=True))))
    return found


def _loads(work: Workload, center: Datacenter, classes: DemandClasses, times_us: np.ndarray) -> list[Finding]:
    """Return the load of each processor type: its work / its capacity while jobs arrive.

    Tasks that may run on several types are spread over them in proportion to capacity / time on the type, as if every
    unit always took the next task. Work beyond a job's limit does not count. Withdrawn jobs do not count either, unless
    all are withdrawn.
    """
    counts = np.diff(work.job_first)
    arrival_us = np.repeat(work.arrival_us, counts)
    times_us = np.minimum(times_us, np.repeat(np.where(work.stays, work.longest_us, 0.0), counts)[:, None])
    span_us = float(np.ptp(work.arrival_us))
    if span_us <= 0:
        return []
    capacity = np.bincount(center.unit_type, center.unit_capacity, len(center.processor_types))
    of_unit = np.array([center.unit_capacity[center.unit_type == p].max(initial=0.0) for p in range(len(capacity))])
    offered = np.where(classes.can_lead, capacity, 0.0)[classes.of_task]  # [N, P]
    rates = np.divide(offered, times_us, out=np.zeros(times_us.shape), where=(offered > 0) & (times_us > 0))
    shares = rates / np.maximum(rates.sum(axis=1, keepdims=True), 1e-300)
    known_us = np.nan_to_num(times_us) * shares
    held = (classes.units[:, None] * amounts(classes.share[:, None], of_unit[None, :]))[classes.of_task]
    area = known_us * held + known_us.sum(axis=1, keepdims=True) * classes.companion[classes.of_task]
    tenth = np.minimum(((arrival_us - work.arrival_us[0]) / span_us * BINS).astype(int), BINS - 1)
    found = []
    for p in np.flatnonzero(area.any(axis=0)).tolist():
        name, total = center.processor_types[p].name, float(area[:, p].sum())
        load = total / (capacity[p] * span_us)
        peak = float(np.bincount(tenth, area[:, p], BINS).max()) / (capacity[p] * span_us / BINS)
        words = f"{load:.1%} of the capacity; of the busiest tenth of the span {peak:.1%}"
        is_odd = not ODD_LOAD[0] <= load <= ODD_LOAD[1]
        found.append(Finding(f"load, {name}", words, is_odd, {"type": name, "load": load, "busiest_tenth": peak}))
    return found


def _never(work: Workload, is_never: np.ndarray) -> Finding:
    jobs = np.unique(np.searchsorted(work.job_first, np.flatnonzero(is_never), side="right") - 1)
    words = f"{len(jobs):,} jobs that no node can ever hold" + _listed(jobs)
    return Finding("never run", words, len(jobs) > 0, {"never": len(jobs), "jobs": jobs[:SHOWN].tolist()})


def _duplicates(work: Workload, demand_class: np.ndarray, times_us: np.ndarray) -> list[Finding]:
    """Return the findings about jobs with another job's id, and jobs equal to another in all that affects a run."""
    first = work.job_first[:-1]
    found = []
    arrays = work.words_of("array")
    place = np.where(np.array(arrays) == "", -1, np.arange(work.n_jobs))  # tasks of an array may well be equal
    if work.job_id is not None:
        of_array = [name == str(number) for name, number in zip(arrays, work.job_id.tolist(), strict=True)]
        again = _again([work.job_id, np.where(of_array, place, -1)])  # some tasks have only the number of their array
        words = f"{len(again):,} jobs have the number of an earlier one" + _listed(again)
        found.append(Finding("job numbers", words, len(again) > 0, {"again": len(again)}))
    fastest = np.nan_to_num(np.fmin.reduce(times_us, axis=1))
    columns = [work.arrival_us, np.diff(work.job_first), np.add.reduceat(fastest, first), demand_class[first]]
    columns.append(place)
    columns += [column for column in (work.user, work.job_task_type, work.application) if column is not None]
    tokens = (work.input_tokens, work.output_tokens)
    columns += [np.add.reduceat(column, first) for column in tokens if column is not None]
    again = _again(columns)
    is_odd = len(again) >= ODD_CLIPPED * work.n_jobs and len(again) > 0
    words = f"{len(again):,} jobs are equal in everything to another that arrives with them" + _listed(again)
    return [*found, Finding("duplicates", words, is_odd, {"equal": len(again), "jobs": again[:SHOWN].tolist()})]


def _again(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return the indices of jobs that equal an earlier job in all columns."""
    table = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
    first = np.unique(table, axis=0, return_index=True)[1]
    return np.setdiff1d(np.arange(len(table)), first)


def _listed(jobs: np.ndarray) -> str:
    """Return the first few jobs as text that follows their count."""
    if not len(jobs):
        return ""
    return ": " + ", ".join(map(str, jobs[:SHOWN].tolist())) + (", ..." if len(jobs) > SHOWN else "")
