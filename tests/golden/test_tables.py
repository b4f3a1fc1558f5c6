"""Result tables of a fixed set of scenarios, a few for each policy, do not change by themselves.

A table's digest is of its values to 12 digits, so that another machine's logarithms do not count. When a change of
meaning is meant, ``python -m tests.golden.test_tables`` writes the file again, and the diff names what it touched.
"""

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.properties.any_scenario import any_scenario
from tests.properties.equivalence import options_of, without_plans
from vinesim.formats.results.folder import TABLES

FILE = Path(__file__).with_name("tables.json")
SEEDS = (3, 14, 15, 92, 65, 35)
POLICIES = without_plans()


def digest(table: vs.Table | None) -> str:
    """Of a table's columns and values."""
    if table is None:
        return "none"
    found = hashlib.sha256()
    for name, column in table.items():
        values = [f"{value:.12g}" if isinstance(value, float) else str(value) for value in np.asarray(column).tolist()]
        found.update(f"{name} {' '.join(values)}\n".encode())
    return found.hexdigest()[:16]


def digests(name: str) -> dict[str, dict[str, str]]:
    """Of all tables of each scenario of a policy, by seed; the reason where it is refused."""
    policy, found = POLICIES[name], {}
    choices = options_of(policy)
    for seed in SEEDS:
        try:
            result = vs.simulate(any_scenario(seed, policy, choices[seed % len(choices)]), engine="reference")
        except vs.VineSimError as wrong:
            found[str(seed)] = {"refused": type(wrong).__name__}
            continue
        found[str(seed)] = {table: digest(getattr(result, table)) for table in TABLES}
    return found


@pytest.mark.filterwarnings("ignore::vinesim.InputWarning")
@pytest.mark.parametrize("name", POLICIES)
def test_the_tables_are_what_they_were(name):
    assert digests(name) == json.loads(FILE.read_text())[name]


if __name__ == "__main__":
    warnings.simplefilter("ignore", vs.InputWarning)
    FILE.write_text(json.dumps({name: digests(name) for name in POLICIES}, indent=1) + "\n")
