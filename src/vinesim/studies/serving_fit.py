"""Fit the formula of a step's time so that a simulated engine serves requests as a real engine did.

The coefficients are found by least squares on the first half of the requests. One part is the logarithms of the times
to the first token, sorted by length, because a request may happen to arrive early or late in a step. The other is the
logarithms of each request's time per token and latency. A tenth of the mean is added to each time, so that short times
count as much as long ones, but very short ones do not dominate. Twice as many requests are simulated, because later
requests share the engine with earlier ones; of the later ones the fit uses only arrivals and tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from vinesim.formats.importers.serving_log import Requests, StepTimes
from vinesim.model.batching import Batching
from vinesim.model.errors import InputError, Problem
from vinesim.model.step_times import StepProfile, StepTime
from vinesim.studies.serving_run import MEASURES, measured_times, simulated_times, statistics

LEAST_REQUESTS = 20
LEAST_STEPS = 20
MOST_SEEN = 1000  # requests; a fit simulates twice this number about 300 times
LEAST_US = (100.0, 1.0, 1.0, 0.001)  # a change of a coefficient that matters; the unit of the search
CHANGES = (0.2, 0.05, 0.01, 0.001)  # relative steps for derivatives, of one search after another
MOST_ROUNDS = 10  # of each search
LEAST_LEFT_OUT = 0.02  # the least share of all times that searches assume a profile to leave unexplained
DIGITS = 4  # of coefficients
MOST_SPANS = 1000
SEARCHES = 3  # searches begin at the best of all starts, because there are several minima
SHORT = 0.1  # this share of the mean time is added to each time


@dataclass(frozen=True, eq=False)
class ServingFit:
    """A fitted step time, and simulated and measured times for comparison."""

    step: StepTime
    of: str  # what was measured: "requests" or "steps"
    names: tuple[str, ...]  # of the M times of each of the N requests or steps
    n_seen: int  # the first of the N, whose times the fit used
    measured_us: np.ndarray  # [M, N]
    fitted_us: np.ndarray  # [M, N]

    @property
    def n(self) -> int:
        """The number of requests or steps measured, N."""
        return self.measured_us.shape[1]

    def statistics(self, *, seen: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the statistics [M, 4] of measured and of fitted times: of what the fit saw, or of the rest."""
        part = slice(0, self.n_seen) if seen else slice(self.n_seen, None)
        return statistics(self.measured_us[:, part]), statistics(self.fitted_us[:, part])


def fit_requests(requests: Requests, engine: Batching, profile: StepProfile | None = None) -> ServingFit:
    """Fit the four coefficients of a step's time, 0 or more, to the first half of the requests, at most ``MOST_SEEN``.

    ``engine`` has the limits; its step is replaced. With a ``profile`` the coefficients are what this leaves out, such
    as the host's work and exchanges between devices. Raises :class:`InputError` for too few requests.
    """
    n = len(requests.queued_us)
    if n < LEAST_REQUESTS:
        raise InputError([Problem("the log", f"at least {LEAST_REQUESTS} requests", f"{n}")])
    n_seen = min(n // 2, MOST_SEEN)
    early = Requests(*(column[: 2 * n_seen] for column in requests))
    measured = measured_times(early)
    is_used = np.isfinite(measured) & (np.arange(2 * n_seen) < n_seen)
    means = np.array([row[used].mean() if used.any() else 1.0 for row, used in zip(measured, is_used, strict=True)])

    def logarithms(times: np.ndarray) -> list[np.ndarray]:
        rows = zip(times, is_used, means, strict=True)
        return [np.log(row[used] + SHORT * mean) for row, used, mean in rows]

    def engine_of(coefficients: np.ndarray) -> Batching:
        return replace(engine, step=_step(coefficients, profile))

    def misses(coefficients: np.ndarray) -> np.ndarray:
        simulated = simulated_times(early, engine_of(coefficients))
        first, *others = zip(logarithms(simulated), logarithms(measured), strict=True)
        return np.concatenate([np.sort(first[0]) - np.sort(first[1]), *(of_fit - true for of_fit, true in others)])

    begin = starts(Requests(*(column[:n_seen] for column in requests)))
    if profile is not None:
        profiled = simulated_times(early, engine_of(np.zeros(4)))
        left_out = 1 - profiled[is_used].sum() / measured[is_used].sum()
        begin = [one * np.clip(left_out, LEAST_LEFT_OUT, 1.0) for one in begin]
    begin = sorted(begin, key=lambda one: float((misses(one) ** 2).sum()))[:SEARCHES]
    found = min((_search(misses, one) for one in begin), key=lambda one: one[0])[1]
    if not np.isfinite(measured[1]).any():
        found[2] = 0.0  # the time for each sequence that decodes: none does, as on an engine for prefill
    step = _step(_rounded(found), profile)
    of_fit = simulated_times(requests, replace(engine, step=step))
    return ServingFit(step, "requests", MEASURES, n_seen, measured_times(requests), of_fit)


def _search(misses: Callable[[np.ndarray], np.ndarray], begin: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the smallest sum of squares found from a start, and its coefficients."""
    from scipy.optimize import least_squares

    cost, at = np.inf, begin
    for change in CHANGES:
        unit = np.maximum(at, LEAST_US)
        found = least_squares(
            lambda x, unit=unit: misses(x * unit), at / unit, bounds=(0, np.inf), diff_step=change, max_nfev=MOST_ROUNDS
        )
        cost, at = found.cost, found.x * unit
    return cost, at


def fit_steps(steps: StepTimes) -> ServingFit:
    """Fit the coefficients to the first half of measured steps, by least squares of relative errors. Raises
    :class:`InputError` for too few steps."""
    n = len(steps.time_us)
    if n < LEAST_STEPS or not steps.time_us.min(initial=np.inf) > 0:
        expected = f"at least {LEAST_STEPS} steps, each with a time above 0"
        raise InputError(
            [Problem("the log", expected, f"{n:,}, the shortest {steps.time_us.min(initial=np.inf):g} us")]
        )
    table = np.stack([np.ones(n), steps.prefill_tokens, steps.sequences, steps.memory_tokens], axis=1)
    coefficients = _rounded(_least_relative(table[: n // 2], steps.time_us[: n // 2]))
    measured, fitted = steps.time_us[None], (table @ coefficients)[None]
    return ServingFit(_step(coefficients, None), "steps", ("step",), n // 2, measured, fitted)


def _rounded(coefficients: np.ndarray) -> np.ndarray:
    """Round coefficients as they are written to a file; those too small to matter become 0."""
    matters = coefficients > np.array(LEAST_US) / 1000
    return np.array([float(f"{value:.{DIGITS}g}") for value in np.where(matters, coefficients, 0.0)])


def _step(coefficients: np.ndarray, profile: StepProfile | None) -> StepTime:
    base_us, prefill_us, sequence_us, memory_us = coefficients.tolist()
    return StepTime(base_us, prefill_us, sequence_us, memory_us, profile)


def starts(requests: Requests) -> list[np.ndarray]:
    """Return coefficients at which searches begin: those of :func:`overlaps`, and several ways to divide the measured
    time between tokens.

    The tokens of prompts take a half or all of the shortest time to a first token; the time between tokens is made up
    of the base and what the sequences of a step, or the tokens in their memory, add to it.
    """
    later = requests.output_tokens - 1.0
    span_us, wait_us = requests.last_token_us - requests.first_token_us, requests.first_token_us - requests.queued_us
    decodes = (later > 0) & (span_us > 0)
    token_us = max(1.0, np.median(span_us[decodes] / later[decodes]) if decodes.any() else wait_us.min())
    busy_us = max(1.0, requests.last_token_us.max() - requests.first_token_us.min())
    n_decode = max(1.0, span_us.sum() / busy_us)
    in_memory = max(1.0, (span_us * (requests.input_tokens + later / 2)).sum() / busy_us)
    prefill_us = (wait_us / requests.input_tokens).min()
    divided = [
        token_us * np.array([base, 0.0, (1 - base) * (1 - memory) / n_decode, (1 - base) * memory / in_memory])
        + [0.0, prefill * prefill_us, 0.0, 0.0]
        for base, prefill, memory in product((0.25, 0.5, 0.75), (0.5, 1.0), (0.0, 0.5, 1.0))
    ]
    return [overlaps(requests), *divided] if decodes.any() else divided


def overlaps(requests: Requests) -> np.ndarray:
    """Return [4] coefficients, us, by least squares on what ran between each request's first token and its last.

    A request takes part in one step per token, unless it was put back. The contents of these steps are estimated from
    the other requests, each of which is assumed to make its tokens at an even rate. Requests missing from the log are
    not accounted for.
    """
    first, last, later = requests.first_token_us, requests.last_token_us, requests.output_tokens - 1.0
    span_us = np.maximum(last - first, 1e-9)
    rows, spans = [], []
    known = np.flatnonzero((later > 0) & (last > first))
    for one in known[:: -(-len(known) // MOST_SPANS)]:
        before, after = (np.clip((at - first) / span_us, 0, 1) * later for at in (first[one], last[one]))
        in_memory = (after - before) * requests.input_tokens + (after**2 - before**2) / 2
        prefilled = requests.input_tokens[(first > first[one]) & (first <= last[one])].sum()
        rows.append([later[one], prefilled, (after - before).sum(), in_memory.sum()])
        spans.append(span_us[one])
    return _least_relative(np.array(rows), np.array(spans))


def _least_relative(table: np.ndarray, times_us: np.ndarray) -> np.ndarray:
    """Return non-negative coefficients with which ``table @ coefficients`` has the least squared relative errors."""
    from scipy.optimize import nnls

    relative = table / times_us[:, None]
    largest = np.maximum(relative.max(axis=0), np.finfo(float).tiny)
    return nnls(relative / largest, np.ones(len(relative)))[0] / largest
