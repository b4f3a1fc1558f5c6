"""Write the fit of a log as a part of a scenario file: a generator of such jobs, or a serving engine."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from vinesim.formats.importers.any_log import Log
from vinesim.formats.source.files import replacing
from vinesim.formats.source.quantities import format_time_us
from vinesim.formats.source.yaml_writer import as_yaml
from vinesim.model.batching import Batching
from vinesim.model.step_times import StepTime
from vinesim.workloads.distributions import Constant, Distribution
from vinesim.workloads.fit_log import LEAST_DAYS, LogFit
from vinesim.workloads.fitting import POOR, Fitted
from vinesim.workloads.mmpp import MmppGaps
from vinesim.workloads.modulation import DAY_US

N_QUANTILES = 100  # values that describe the number of tasks or the demand
_TIMES = ("mean", "low", "high", "on", "off", "value")


def fitted_document(fit: LogFit, log: Log) -> dict[str, Any]:
    """Return the sections ``workload`` and ``arrivals``; the workload is absent if the log has no sizes."""
    document: dict[str, Any] = {}
    if fit.sizes:
        options: dict[str, Any] = {"n_jobs": fit.n_jobs, "sizes": distribution_text(fit.sizes[0], is_time=log.is_time)}
        if log.n_tasks is not None and log.n_tasks.max() > 1:
            options["tasks_per_job"] = _empirical(log.n_tasks)
        if log.demand is not None and np.isfinite(log.demand).all():
            options["demand"] = _empirical(log.demand)
        if fit.n_users > 1:
            options |= {"n_users": fit.n_users, "user_correlation": float(f"{fit.user_correlation:.2g}")}
        document["workload"] = {"generator": "jobs", "options": options}
    best = fit.gaps[0]
    name = "poisson" if best.name == "exponential" else best.name
    arrivals = distribution_text(best, is_time=True)
    document["arrivals"] = (
        {"iat": _text(best.distribution.value, True)}
        if isinstance(best.distribution, Constant)
        else {name: arrivals[best.name]}
    )
    if fit.daily:
        document["arrivals"]["daily"] = list(fit.daily)
    if fit.weekly:
        document["arrivals"]["weekly"] = list(fit.weekly)
    return document


def distribution_text(fitted: Fitted, *, is_time: bool) -> dict[str, Any]:
    """Return a distribution in the notation of a scenario file, with times in a suitable unit."""
    given: Distribution = fitted.distribution
    values = {item.name: getattr(given, item.name) for item in fields(given)}  # type: ignore[arg-type]
    if isinstance(given, Constant):
        return {"constant": _text(given.value, is_time)}
    if isinstance(given, MmppGaps):
        stay = [_text(value, is_time) for value in given.stay]
        rates = [_number(rate, 4) for rate in given.rates]
        return {fitted.name: {"mean": _text(given.mean, is_time), "rates": rates, "stay": stay}}
    return {fitted.name: {name: _text(value, is_time and name in _TIMES) for name, value in values.items()}}


def _text(value: float, is_time: bool) -> Any:
    return time_text(value) if is_time else _number(value, 4)


def time_text(value: float) -> str:
    """Format a time with four digits in a suitable unit."""
    unit = format_time_us(value).rpartition(" ")[2] if value > 0 else "us"
    unit_us = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9, "d": 8.64e10}[unit]
    return f"{value / unit_us:.4g} {unit}"


def _number(value: float, digits: int) -> int | float:
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() and number < 1e6 else number


def _empirical(values: np.ndarray) -> Any:
    if values.min() == values.max():
        return _number(float(values[0]), 6)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= N_QUANTILES:
        weights = [_number(share, 3) for share in counts / len(values)]
        return {"empirical": {"values": [_number(value, 6) for value in distinct], "weights": weights}}
    at = np.sort(values)[((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES * len(values)).astype(int)]
    return {"empirical": {"values": [_number(value, 6) for value in at]}}


def write_fitted(path: Path, fit: LogFit, log: Log, name: str) -> None:
    """Write the sections as YAML, completely or not at all. Raises :class:`InputError` if it cannot be written."""
    lines = [
        f"# Fitted to {name}: add a datacenter to simulate jobs like these.",
        *(f"# {note}" for note in notes(fit)),
    ]
    text = as_yaml(fitted_document(fit, log))
    with replacing(path) as draft:
        draft.write_text("\n".join(lines) + "\n" + text, encoding="utf-8")


def notes(fit: LogFit) -> list[str]:
    """Return the properties of the log that the fitted distributions lack, in words."""
    found = []
    if fit.span_us < LEAST_DAYS * DAY_US:
        found.append(f"The log is shorter than the {LEAST_DAYS} days that a daily cycle needs to show.")
    for what, fits in (("times between arrivals", fit.gaps), ("sizes", fit.sizes)):
        if fits and fits[0].ks > POOR:
            found.append(f"No distribution fits the {what} well: {fits[0].name} is {fits[0].ks:.3f} away (KS).")
    if fit.is_correlated and fit.gaps[0].name != "mmpp":
        most = max(fit.gap_correlations.values())
        found.append(
            f"The times between arrivals depend on each other (autocorrelations up to {most:.2f}); generated ones do "
            "not. Use mmpp arrivals, or the log itself with resample."
        )
    if fit.n_ties > fit.n_jobs / 100:
        share = fit.n_ties / fit.n_jobs
        found.append(f"{share:.0%} of the jobs arrive at the same time as the job before; generated ones do not.")
    return found


TASK_TYPE = "TASK"  # the task type of a table of requests without task types


def step_document(step: StepTime, profile: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the section ``step`` for the formula, and the section ``profile`` that it was fitted with."""
    times = {
        "base": step.base_us,
        "prefill_token": step.prefill_token_us,
        "sequence": step.sequence_us,
        "memory_token": step.memory_token_us,
    }
    document: dict[str, Any] = {name: time_text(time_us) for name, time_us in times.items()}
    return document if profile is None else {**document, "profile": dict(profile)}


def batching_document(batching: Batching, step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section ``batching`` with a section ``step``."""
    names = ("max_sequences", "max_batched_tokens", "memory_tokens", "block_tokens", "when_full", "prefix_caching")
    return {**{name: getattr(batching, name) for name in names}, "step": dict(step)}


def write_engine(path: Path, name: str, section: Mapping[str, Any], log: str) -> None:
    """Write ``batching`` as a processor type in a file that scenarios can extend, or another section unchanged.

    The file is written completely or not at all. Raises :class:`InputError` if it cannot be written.
    """
    document, use = dict(section), "Put this under batching."
    if "batching" in section:
        use = f"A scenario with `extends: {path.name}` adds a datacenter and requests."
        document = {
            "extends": "none",
            "processor_types": [{"name": name, **section}],
            "task_types": [TASK_TYPE],
            "affinity": {"absolute": {name: {TASK_TYPE: 1}}},
        }
    with replacing(path) as draft:
        draft.write_text(f"# Fitted to {log}. {use}\n{as_yaml(document)}", encoding="utf-8")
