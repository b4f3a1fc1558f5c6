"""Recompute the numbers of a stored run under other prices, powers or rates, from its tables, without a new run."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vinesim.engine.simulate import result_of
from vinesim.formats.results.folder import SCENARIO
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.formats.scenario.file import read_source
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.datacenter import Datacenter
from vinesim.model.digest import counted, feed
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.run_numbers import QUANTILES
from vinesim.model.scenario import Scenario
from vinesim.policies.contract import BatchPolicy
from vinesim.policies.documents import scenario_from
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve
from vinesim.result import Result
from vinesim.studies.origin import read_origin

_AFTER = ("electricity", "sampling_us")  # settings that the engine never sees
_POWERS = ("power_w", "accounting")  # settings that matter only to the accounting of a batch policy's periods
_TYPE_POWERS = ("idle_power_w", "dynamic_power_w", "sleep_power_w", "power_curve_w")


def read_result(
    folder: str | os.PathLike[str],
    settings: Mapping[str, Any] | None = None,
    *,
    changes: Iterable[str] = (),
    quantiles: Mapping[str, float] = QUANTILES,
) -> Result:
    """Return the result in a folder that ``vinesim run --out`` wrote, without running anything.

    ``settings`` maps keys of the scenario to new values; ``changes`` are the same as texts, ``key=value``. Prices,
    powers, electricity, sampling and the start date can be changed. ``quantiles`` maps names in the summary to
    quantiles. Raises :class:`InputError` for a change that would affect what happens in a run, and for a folder that
    cannot be read.
    """
    path = Path(folder)
    percentiles = read_origin(path, "run")["percentiles"]
    changes = list(changes)
    scenario = _scenario(read_source(path / SCENARIO, changes).changed(settings or {}), path)
    if settings or changes:
        check_change(
            _scenario(read_source(path / SCENARIO), path), scenario, f"Run it again: vinesim run {path} --set ..."
        )
    with open_result(path) as stored:
        outcome = read_outcome(stored, scenario)
        provenance = stored.summary["provenance"]
    return result_of(
        scenario,
        outcome,
        lambda: {**provenance, "content_id": content_id(scenario)},
        percentiles=percentiles,
        quantiles=quantiles,
    )


def check_change(was: Scenario, asked: Scenario, remedy: str, *, has_tables: bool = True) -> None:
    """Raise :class:`InputError` if two scenarios differ in anything that affects what happens in a run. Without the
    run's tables, powers count too."""
    with_powers = not has_tables or isinstance(resolve(asked.policy, asked.options), BatchPolicy)
    pairs = zip(_decisive(was, with_powers), _decisive(asked, with_powers), strict=True)
    if names := [name for (name, one), (_, other) in pairs if one != other]:
        expected = f"a change of prices, {'' if with_powers else 'powers, '}electricity or sampling"
        found = ", ".join(name.removesuffix("_w").removesuffix("_us") for name in names)
        raise InputError([Problem("--set", expected, f"a change of {found}", remedy)])


def _decisive(scenario: Scenario, with_powers: bool) -> Iterator[tuple[str, bytes]]:
    """Yield digests of the parts of a scenario that affect what happens in a run; powers only with a batch policy."""
    for item in fields(scenario):
        name = item.name
        if name in _AFTER or name not in counted(scenario) or (name in _POWERS and not with_powers):
            continue
        value = getattr(scenario, name)
        yield name, digest_of(_unpriced(value, with_powers) if isinstance(value, Datacenter) else value)


def digest_of(value: Any) -> bytes:
    """Return a hash of a part of a scenario, equal for equal values."""
    digest = hashlib.sha256()
    feed(digest, value)
    return digest.digest()


def _unpriced(center: Datacenter, with_powers: bool) -> Datacenter:
    """Return a datacenter whose types have no prices, and no powers unless they count."""
    defaults = {item.name: item.default for item in fields(center.processor_types[0])}
    names = ["price", *(() if with_powers else _TYPE_POWERS)]
    without: dict[str, Any] = {name: defaults[name] for name in names}
    return replace(center, processor_types=tuple(replace(one, **without) for one in center.processor_types))


def _scenario(source: YamlSource, folder: Path) -> Scenario:
    with warnings.catch_warnings():  # known, because the run had them
        warnings.simplefilter("ignore", InputWarning)
        return scenario_from(source, folder, check_policy=resolve)
