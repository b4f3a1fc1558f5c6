"""Compute the rows of a stored sweep again under other prices of units and electricity, without running anything."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from vinesim.formats.results.table import Table
from vinesim.metrics.by import BY
from vinesim.metrics.numbers import Numbers
from vinesim.metrics.serving import TOKEN_BILL, per_million_tokens
from vinesim.model.electricity import J_PER_KWH, Series
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.study import Study
from vinesim.model.time import US_PER_S
from vinesim.studies.again import check_change, digest_of
from vinesim.studies.expand import Points, scenario_of
from vinesim.studies.own_numbers import functions
from vinesim.studies.sweep import Sweep

_OF_ELECTRICITY = ("energy.kwh", "energy.cost", "energy.carbon_g", TOKEN_BILL)
_AGAIN = "Run it again, in another folder: vinesim sweep DIR --set ... --out NEW."


def repriced(swept: Sweep, study: Study) -> Sweep:
    """Return a sweep with the costs of ``study``, which is its study with other prices. Numbers that depend on prices,
    but do not follow from the rows, are left out; the user's own are kept. Warnings name both.

    Raises :class:`InputError` for any other change, and for a price of electricity that changes over time.
    """
    table = swept.table
    columns = {name: table[name].copy() for name in table}
    was, asked = Points(swept.study), Points(study)
    lost: dict[str, None] = {}
    for point in np.unique(table["point"]).tolist():
        rows = np.flatnonzero(table["point"] == point)
        (old,), (new,) = (points.runs(point, [0]) for points in (was, asked))
        before, scenario = scenario_of(swept.study, old), scenario_of(study, new)
        check_prices(before, scenario, _AGAIN)
        for name, values in _costs(before, scenario, {name: columns[name][rows] for name in columns}).items():
            columns.setdefault(name, np.full(table.n_rows, np.nan))[rows] = values
        gone = before.electricity.rates.keys() - scenario.electricity.rates.keys()
        for name in undecided(before, scenario, columns):
            if not np.isnan(columns[name][rows]).all() and name.removeprefix("energy.") not in gone:
                lost[name] = None
            columns[name][rows] = np.nan
    if lost:
        words = "do not follow from the stored numbers under other prices, and are left out"
        warnings.warn(f"{', '.join(lost)}: {words}. {_AGAIN}", InputWarning, stacklevel=2)
    warn_of_own(study)
    has_values = {name: column.dtype.kind != "f" or not np.isnan(column).all() for name, column in columns.items()}
    return replace(swept, study=study, _rows=Table({name: columns[name] for name in columns if has_values[name]}))


def _costs(before: Scenario, scenario: Scenario, rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the numbers of the runs of a point that depend on prices only."""
    center, electricity = scenario.datacenter, scenario.electricity
    bought = scenario.prices[center.unit_type[np.lexsort((center.shelf, center.rack))]].sum()
    found = {"cost.purchase": np.full(len(rows["point"]), bought)}
    if "energy_j" in rows:
        per_j = electricity.pue / J_PER_KWH
        found["energy.kwh"] = rows["energy_j"] * per_j
        for name, rate in electricity.rates.items():
            if not isinstance(rate, Series):
                found[f"energy.{name}"] = rows["energy_j"] * rate * per_j
            elif f"energy.{name}" in rows:
                found[f"energy.{name}"] = rows[f"energy.{name}"] * (electricity.pue / before.electricity.pue)
    if "energy.cost" in found and {"serving.output_tokens_per_s", "makespan_us"} <= rows.keys():
        n_tokens = rows["serving.output_tokens_per_s"] * rows["makespan_us"] / US_PER_S
        found[TOKEN_BILL] = per_million_tokens(found["energy.cost"], n_tokens)
    return found


def other_prices(before: Scenario, scenario: Scenario) -> tuple[bool, bool]:
    """Return whether units have other prices than before, and whether electricity has another price or emissions."""
    has_units = not np.array_equal(before.prices, scenario.prices, equal_nan=True)
    return has_units, digest_of(before.electricity) != digest_of(scenario.electricity)


def undecided(before: Scenario, scenario: Scenario, names: Iterable[str]) -> list[str]:
    """Return those of the names of a run's numbers that are others under the prices of another scenario, but do not
    follow from the run's other numbers."""
    names = list(names)
    found = _costs(before, scenario, dict.fromkeys(["point", *names], np.zeros(1)))
    has_units, has_electricity = other_prices(before, scenario)
    others = {name for name in names if name.startswith(BY) and name.endswith(".cost")} if has_units else set()
    others |= set(_OF_ELECTRICITY) if has_electricity else set()
    return [name for name in names if name in others and name not in found]


def warn_of_own(study: Study) -> None:
    """Warn of the user's own numbers, which are computed from a run and not again, if a study records any."""
    if own := functions(study.record):
        words = f"{', '.join(own)}: as in the stored runs, under their prices."
        warnings.warn(words, InputWarning, stacklevel=3)


def costs_of(before: Scenario, scenario: Scenario, run: Numbers) -> Numbers:
    """Return the numbers of one run that depend only on prices, under the prices of another scenario."""
    rows = {name: np.array([value]) for name, value in run.items() if isinstance(value, float)}
    return {name: float(values[0]) for name, values in _costs(before, scenario, {"point": np.zeros(1), **rows}).items()}


def check_prices(was: Scenario, asked: Scenario, remedy: str) -> None:
    """Raise :class:`InputError` for changes whose effect the rows do not determine."""
    check_change(was, asked, remedy, has_tables=False)
    old = was.electricity.rates
    problems = [
        Problem("--set", "a constant price", f"a series for {name}", remedy)
        for name, rate in asked.electricity.rates.items()
        if isinstance(rate, Series) and digest_of(rate) != digest_of(old.get(name))
    ]
    if problems:
        raise InputError(problems)
