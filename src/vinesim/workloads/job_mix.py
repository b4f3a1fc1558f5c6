"""A mix of several kinds of jobs, each with its own arrivals, sizes and demands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream, stream_seed
from vinesim.model.workload import Workload
from vinesim.workloads.arrivals import Arrivals
from vinesim.workloads.assemble import check_counts
from vinesim.workloads.select_jobs import merged
from vinesim.workloads.setting import Setting


@dataclass(frozen=True)
class JobKind:
    """A kind of jobs: its name, when its jobs arrive, and its options of the generator ``jobs``."""

    name: str
    arrivals: Arrivals
    options: Mapping[str, Any] = field(default_factory=dict)


def job_mix(setting: Setting, *, n_jobs: int, kinds: list[JobKind]) -> Workload:
    """The first ``n_jobs`` jobs of several kinds with independent arrivals; the generator ``jobs`` makes each kind.

    The name of a kind becomes its application; with several users, there is one application for each. Its arrivals are
    given like a scenario's section ``arrivals``, everything else as options of ``jobs``, data included. Each kind has
    its own random streams, so adding or changing a kind leaves the times and sizes of the others unchanged.
    """
    check_counts(n_jobs=n_jobs)
    names = [kind.name for kind in kinds]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError([Problem(("kinds",), "each name once", f"{twice} twice")])
    seeds = [stream_seed(setting.seed, f"kind.{name}") >> 1 for name in names]
    times = [_times(kind, n_jobs, seed) for kind, seed in zip(kinds, seeds, strict=True)]
    of_kind = np.repeat(np.arange(len(kinds)), [len(own) for own in times])
    order = np.argsort(np.concatenate(times), kind="stable")[:n_jobs]
    counts = np.bincount(of_kind[order], minlength=len(kinds))
    if len(order) < n_jobs:
        raise InputError(
            [Problem(("n_jobs",), f"at most the {len(order):,} jobs that the kinds' arrivals give", f"{n_jobs}")]
        )
    return merged([_part(setting, kind, times[k][: counts[k]], seeds[k]) for k, kind in enumerate(kinds) if counts[k]])


def _times(kind: JobKind, n_jobs: int, seed: int) -> np.ndarray:
    if kind.arrivals.kind == "list":
        return np.asarray(kind.arrivals.times_us, np.float64)[:n_jobs]
    return kind.arrivals.draw(n_jobs, stream(seed, "arrivals"))


def _part(setting: Setting, kind: JobKind, times: np.ndarray, seed: int) -> Workload:
    """Return the jobs of one kind."""
    from vinesim.workloads.registry import GENERATORS  # here, because the registry imports this module

    options = {**kind.options, "n_jobs": len(times), "arrivals": Arrivals("list", times_us=times)}
    try:
        made = GENERATORS["jobs"].generate(
            options,
            seed=seed,
            nodes=setting.placement.nodes,
            task_types=setting.task_types,
            processor_types=setting.processor_types,
        )
    except InputError as error:
        raise InputError([replace(p, at=("kinds", kind.name, *p.path)) for p in error.problems]) from None
    if made.application is None:
        return replace(made, application=np.zeros(len(times), np.int32), application_names=(kind.name,))
    return replace(made, application_names=tuple(f"{kind.name}.{user}" for user in made.application_names))
