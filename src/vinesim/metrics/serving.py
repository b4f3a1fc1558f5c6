"""Results of requests with tokens on serving engines: times of their tokens, tokens per second, goodput.

Source: Zhong et al., DistServe, OSDI 2024 (goodput: requests per second that meet the limits of both times).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vinesim.metrics.record import Record
from vinesim.metrics.tables import Tables
from vinesim.model.electricity import J_PER_KWH
from vinesim.model.result import PREFILLED, Outcome, Serving
from vinesim.model.time import US_PER_S

_BILL, PER_TOKENS = "electricity_per_million_tokens", 1e6
TOKEN_BILL = f"serving.{_BILL}"
Spread = Callable[[np.ndarray, str], dict[str, Any]]  # values and a name -> the distribution of the values


def serving_of(tables: Tables) -> Serving:
    """Return what the serving engines of a run did; the run must have some."""
    assert tables.outcome.serving is not None
    return tables.outcome.serving


def queue_us(tables: Tables) -> np.ndarray:
    """Return [N] the time from each request's arrival until an engine first computes for it, us; NaN: never."""
    return np.asarray(serving_of(tables).scheduled_us - tables.task_arrival_us)


def transfer_us(outcome: Outcome) -> np.ndarray:
    """Return [N] how long the cache of each request took to move from the engine that prefilled it, us; NaN: no move.

    The transfer begins when the policy has chosen the engine that decodes.
    """
    found = np.full(len(outcome.task_start_us), np.nan)
    if outcome.early is not None:
        sent = outcome.early.task[outcome.early.why == PREFILLED]
        found[sent] = (outcome.task_start_us - outcome.task_init_us)[sent]
    return found


def to_first_token_us(tables: Tables) -> np.ndarray:
    """Return [N] the time from each request's arrival to its first output token, us; NaN: it has none."""
    return np.asarray(serving_of(tables).first_token_us - tables.task_arrival_us)


def per_token_us(tables: Tables) -> np.ndarray:
    """Return [N] the mean time between output tokens, us; NaN for a request that did not finish or has only one."""
    output = tables.scenario.workload.output_tokens
    assert output is not None
    return between_tokens_us(serving_of(tables).first_token_us, tables.outcome.task_finish_us, output)


def between_tokens_us(first_us: np.ndarray, finish_us: np.ndarray, output_tokens: np.ndarray) -> np.ndarray:
    """Return [N] the time per output token after the first, us; NaN where there is none."""
    n_more = output_tokens - 1.0
    return np.divide(finish_us - first_us, n_more, out=np.full(len(n_more), np.nan), where=n_more > 0)


def in_time(
    to_first_us: np.ndarray,
    token_us: np.ndarray,
    has_finished: np.ndarray,
    first_within_us: np.ndarray | None,
    token_within_us: np.ndarray | None,
) -> np.ndarray | None:
    """Return [N] whether each request met both of its limits; None if no request has a limit."""
    if first_within_us is None and token_within_us is None:
        return None
    kept = has_finished.copy()
    if first_within_us is not None:
        kept &= to_first_us <= first_within_us
    if token_within_us is not None:
        kept &= np.isnan(token_us) | (token_us <= token_within_us)
    return kept


def of_each(total: Any, n_tokens: Any) -> Any:
    """Return a total per token, for numbers or arrays; NaN where there are no tokens."""
    return total / np.where(n_tokens > 0, n_tokens, np.nan)


def per_million_tokens(total: Any, n_tokens: Any) -> Any:
    """Return a total per million tokens, for numbers or arrays; NaN where there are no tokens."""
    return of_each(total * PER_TOKENS, n_tokens)


def per_token(serving: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the energy and cost per token as titles and texts, from the ``serving`` part of a summary."""
    given = {
        "Energy per output token": (serving["j_per_output_token"], " J"),
        "Electricity per million output tokens": (serving.get(_BILL), ""),
    }
    return [(title, f"{value:,.4g}{unit}") for title, (value, unit) in given.items() if value is not None]


def memory_used(tables: Tables, record: Record) -> dict[str, Any]:
    """Return the mean share of all engines' memory that held tokens, and the largest share that one engine reached."""
    serving, is_engine = serving_of(tables), np.isfinite(tables.memory_tokens)
    size = tables.memory_tokens[is_engine]
    found: dict[str, Any] = {}
    if record("serving.memory.mean"):
        all_of_it = size.sum() * tables.makespan_us
        found["mean"] = serving.memory_us[is_engine].sum() / all_of_it if all_of_it > 0 else 0.0
    if record("serving.memory.peak"):
        found["peak"] = (serving.memory_peak[is_engine] / size).max()
    return found


def measured(tables: Tables, kept: slice, spread: Spread, record: Record) -> dict[str, Any]:
    """Return the numbers of the serving engines; distributions cover the tasks ``kept``."""
    work, makespan_s = tables.scenario.workload, tables.makespan_us / US_PER_S
    times = {"first_token_us": to_first_token_us, "token_us": per_token_us, "queue_us": queue_us}
    if tables.scenario.is_disaggregated:
        times["transfer_us"] = lambda tables: transfer_us(tables.outcome)
    found: dict[str, Any] = {
        name: spread(of(tables)[kept], f"serving.{name}") for name, of in times.items() if record(f"serving.{name}")
    }
    has_finished = np.isfinite(tables.outcome.task_finish_us)

    def rate(total: Any) -> Any:
        return total / makespan_s if makespan_s > 0 else 0.0

    def n_answered() -> Any:
        assert work.output_tokens is not None
        return work.output_tokens[has_finished].sum()

    for name in ("input_tokens", "output_tokens"):
        if record(f"serving.{name}_per_s"):
            found[f"{name}_per_s"] = rate(getattr(work, name)[has_finished].sum())
    within = (work.first_token_within_us, work.token_within_us)
    good = in_time(to_first_token_us(tables), per_token_us(tables), has_finished, *within)
    if good is not None:
        n_good = int(good.sum())
        goodput = {
            "goodput_per_s": rate(n_good),
            "goodput_pct": 100.0 * n_good / len(good),
            "missed": len(good) - n_good,
        }
        found |= {name: value for name, value in goodput.items() if record(f"serving.{name}")}
    found |= {"memory": used} if (used := memory_used(tables, record)) else {}
    if record("serving.prefix_found_pct") and work.prefix is not None and work.input_tokens is not None:
        is_scheduled = np.isfinite(serving_of(tables).scheduled_us)
        n_tokens = work.input_tokens[is_scheduled].sum()
        n_found = serving_of(tables).found_tokens[is_scheduled].sum()
        found["prefix_found_pct"] = 100.0 * n_found / n_tokens if n_tokens else 0.0
    if record("serving.j_per_output_token"):
        energy_j = tables.unit_energy_j[np.isfinite(tables.memory_tokens)].sum()
        found["j_per_output_token"] = of_each(energy_j, n_answered())
    electricity = tables.scenario.electricity
    if record(TOKEN_BILL) and electricity.price_per_kwh is not None and not np.isnan(tables.unit_energy_j).any():
        bill = tables.energy_at(electricity.price_per_kwh) * electricity.pue / J_PER_KWH
        found[_BILL] = per_million_tokens(bill, n_answered())
    if record("serving.preemptions"):
        found["preemptions"] = serving_of(tables).n_preemptions.sum()
    return found
