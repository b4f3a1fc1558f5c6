"""Requests of client-server applications: a separate stream for each, with random spikes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vinesim.model.catalog import TaskType, codes_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import MAX_TASKS
from vinesim.workloads.distributions import Distribution
from vinesim.workloads.request_arrivals import Process, Spikes, at_profile, profile_of_counts
from vinesim.workloads.request_tokens import TokenCounts, tokens_of
from vinesim.workloads.setting import Setting
from vinesim.workloads.shared_prefixes import prefixes_of
from vinesim.workloads.symphony_applications import DAY_S, REQUESTS_A_DAY, SIZES

Series = tuple[np.ndarray, np.ndarray]  # times, us, and the number of requests from each to the next


def requests(
    setting: Setting,
    *,
    duration_us: float = DAY_S * 1e6,
    rates: dict[str, float] | None = None,
    scale: float = 1.0,
    process: str = "batch_poisson",
    burst: float = 3.5,
    cv: float = 1.0,
    size_low: dict[str, float] | None = None,
    size_high: dict[str, float] | None = None,
    noise: float = 0.05,
    spikes: int = 8,
    spike_height_low: float = 1.25,
    spike_height_high: float = 1.5,
    spike_width_low_us: float = 6e8,
    spike_width_high_us: float = 1.8e9,
    spike_shape: str = "rectangular",
    gang_size: dict[str, float] | None = None,
    task_type: dict[str, str] | None = None,
    copies: int = 1,
    series: dict[str, Series] | None = None,
    input_tokens: dict[str, Distribution] | None = None,
    output_tokens: dict[str, Distribution] | None = None,
    tokens: dict[str, TokenCounts] | None = None,
    prefixes: dict[str, float] | None = None,
    prefix_tokens: dict[str, Distribution] | None = None,
    prefix_zipf: float = 0.0,
) -> Workload:
    """Generate the requests of several applications, each with its own rate, sizes and spikes.

    Any application of the scenario can have a rate. Its task type is the one with its name, unless ``task_type`` gives
    another one. With ``copies``, there are several of each application, such as SEARCH and SEARCH_2. ``rates`` are
    requests per second, multiplied by ``scale``; by default those of the Symphony paper. Sizes are uniform between low
    and high, 1 by default. The true times vary by a lognormal factor; ``noise`` is the standard deviation of its
    logarithm. A ``series`` of an application replaces its rate and spikes. Requests to language models have
    ``input_tokens`` and ``output_tokens``, each from a distribution by application, or both from the requests of a log,
    ``tokens``; they then have neither sizes nor ``noise``. ``prefixes`` is the number of different beginnings of an
    application's prompts, such as system prompts. Each request has one of them, the i-th with a weight of
    1 / i^``prefix_zipf``, and its prompt is longer by the ``prefix_tokens`` of the prefix. Source: Symphony paper,
    section V-A; ``process``, ``burst``, ``noise``, tokens and the number of spikes are not in it.
    """
    names = [t.name for t in setting.task_types]
    given = _rates(rates, series, names)
    low, high = _sizes(size_low, size_high, given, is_paper=rates is None)
    gangs = {name: int((gang_size or {}).get(name, 1)) for name in given}
    kinds = {name: (task_type or {}).get(name, name) for name in given}
    _check(given, low, high, gangs, kinds, names, duration_us=duration_us, scale=scale, noise=noise, copies=copies)
    counts = tokens_of(input_tokens, output_tokens, tokens, list(given))
    if counts is not None:
        low, high, noise = dict.fromkeys(given, 1.0), dict.fromkeys(given, 1.0), 0.0
        if several := [name for name in given if gangs[name] > 1]:
            raise InputError([Problem("gang_size", "1 for requests with tokens", f"{gangs[several[0]]}")])
    how = Process(process, burst, cv)
    bursts = Spikes(
        spikes, (spike_height_low, spike_height_high), (spike_width_low_us, spike_width_high_us), spike_shape
    )
    shared = prefixes_of(prefixes, prefix_tokens, prefix_zipf, list(given) if counts is not None else [])
    applications = [(name, copy) for copy in range(copies) for name in given]
    arrivals, size, factor = [], [], []
    drawn: list[tuple[np.ndarray, ...]] = []
    for name, copy in applications:
        own = f"{name}.{copy}"
        if series and name in series:
            profile = profile_of_counts(*series[name])
            profile = (profile[0], profile[1] * scale)
        else:
            profile = bursts.profile(given[name] * scale / 1e6, duration_us, stream(setting.seed, f"spikes.{own}"))
        if profile[1][-1] * gangs[name] > MAX_TASKS:
            found = f"{profile[1][-1]:,.0f} of {name}"
            raise InputError([Problem(("rates",), f"with duration_us at most {MAX_TASKS:,} requests", found)])
        times = at_profile(profile, how, stream(setting.seed, f"arrivals.{own}"))
        arrivals.append(times)
        size.append(_drawn(low[name], high[name], len(times), stream(setting.seed, f"sizes.{own}")))
        factor.append(_noise(noise, len(times) * gangs[name], stream(setting.seed, f"noise.{own}")))
        if counts is not None:
            drawn.append(counts.draw(name, len(times), setting.seed, own))
            if shared is not None:
                drawn[-1] = shared.added(drawn[-1], name, len(drawn) - 1, setting.seed, own)
    return _merged(setting, applications, arrivals, size, factor, gangs, kinds, drawn)


def _rates(
    rates: Mapping[str, float] | None, series: Mapping[str, Series] | None, names: list[str]
) -> dict[str, float]:
    if rates is None and series is None:
        return {name: n / DAY_S for name, n in REQUESTS_A_DAY.items()}
    given = dict(rates or {})
    return {name: given.get(name, 0.0) for name in [*given, *(n for n in series or {} if n not in given)]}


def _sizes(
    low: Mapping[str, float] | None, high: Mapping[str, float] | None, given: Mapping[str, float], is_paper: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the bounds of the sizes of each application."""
    known = SIZES if is_paper else {}
    least = {name: (low or {}).get(name, known.get(name, (1.0, 1.0))[0]) for name in given}
    most = {name: (high or {}).get(name, max(least[name], known.get(name, (1.0, 1.0))[1])) for name in given}
    return least, most


def _check(
    rates: Mapping[str, float],
    low: Mapping[str, float],
    high: Mapping[str, float],
    gangs: Mapping[str, int],
    kinds: Mapping[str, str],
    names: list[str],
    *,
    duration_us: float,
    scale: float,
    noise: float,
    copies: int,
) -> None:
    problems = []
    for name, rate in rates.items():
        if kinds[name] not in names:
            is_other = kinds[name] != name
            expected = "task types: " + ", ".join(names)
            remedy = "" if is_other else f"Or say of which type it is: task_type: {{{name}: TYPE}}."
            problems.append(Problem("task_type" if is_other else "rates", expected, repr(kinds[name]), remedy))
        if not 0 <= rate < math.inf:
            problems.append(Problem(("rates",), "requests per second, 0 or more", f"{name}: {rate}"))
        if not 0 <= low[name] <= high[name] < math.inf:
            found = f"{name}: {low[name]:g} to {high[name]:g}"
            problems.append(Problem(("size_low",), "finite numbers of 0 or more, low to high", found))
        if gangs[name] < 1:
            problems.append(Problem(("gang_size",), "1 or more", f"{name}: {gangs[name]}"))
    if not 0 < duration_us < math.inf:
        problems.append(Problem(("duration_us",), "a time above 0", f"{duration_us}"))
    if not 0 <= scale < math.inf:
        problems.append(Problem(("scale",), "a finite number, 0 or more", f"{scale}"))
    if not 0 <= noise < 10:
        problems.append(Problem(("noise",), "a number from 0 to 10", f"{noise}"))
    if not 1 <= copies <= 100_000:
        problems.append(Problem(("copies",), "a whole number, 1 to 100,000", f"{copies}"))
    if problems:
        raise InputError(problems)


def _drawn(low: float, high: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.full(n, low) if low == high else rng.uniform(low, high, n)


def _noise(noise: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the factors of the true times, lognormal with mean 1."""
    return np.ones(n) if noise == 0 else rng.lognormal(-0.5 * noise**2, noise, n)


def _merged(
    setting: Setting,
    applications: list[tuple[str, int]],
    arrivals: list[np.ndarray],
    size: list[np.ndarray],
    factor: list[np.ndarray],
    gangs: Mapping[str, int],
    task_type: Mapping[str, str],
    tokens: list[tuple[np.ndarray, ...]],
) -> Workload:
    """Merge all requests in the order of arrival; at equal times in the order of the applications."""
    counts = [len(times) for times in arrivals]
    if not sum(counts):
        raise InputError([Problem(("rates",), "requests within the time", "none", "Raise the rates or the duration.")])
    times = np.concatenate(arrivals)
    order = np.argsort(times, kind="stable")
    code = np.repeat(np.arange(len(applications), dtype=np.int32), counts)[order]
    codes = codes_of(setting.task_types)
    kinds = np.array([codes[task_type[name]] for name, _ in applications], np.int16)
    n_members = np.array([gangs[name] for name, _ in applications])
    sizes, hidden = np.concatenate(size)[order], np.concatenate(factor)
    if (n_members == 1).all():
        first, hidden = np.arange(len(times) + 1), hidden[order]
    else:
        tasks = n_members[code]
        first = np.concatenate(([0], np.cumsum(tasks)))
        begin = np.concatenate(([0], np.cumsum(np.repeat(n_members, counts))))[order]  # index of each in `hidden`
        hidden = hidden[np.repeat(begin - first[:-1], tasks) + np.arange(first[-1])]
        sizes = np.repeat(sizes, tasks)
    n_tasks = int(first[-1])
    of_tokens: dict[str, Any] = {}
    if tokens:
        columns = (np.concatenate(column)[order] for column in zip(*tokens, strict=True))
        of_tokens = dict(zip(("input_tokens", "output_tokens", "prefix", "prefix_tokens"), columns, strict=False))
    return Workload(
        job_task_type=kinds[code],
        job_first=first,
        arrival_us=times[order],
        operations=sizes,
        data_bytes=np.zeros(n_tasks),
        data_rack=np.zeros(n_tasks, np.int32),
        data_shelf=np.zeros(n_tasks, np.int32),
        preferred_type=np.full(n_tasks, -1, np.int16),
        application=code,
        time_factor=None if (hidden == 1.0).all() else hidden,
        task_types=tuple(map(TaskType, codes)),
        application_names=tuple(name if copy == 0 else f"{name}_{copy + 1}" for name, copy in applications),
        **of_tokens,
    )
