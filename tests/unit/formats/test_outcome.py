"""An outcome is read back from the tables of a result as it was: all that is computed from it comes out the same."""

from pathlib import Path

import pytest

import vinesim as vs
from tests.properties import test_invariants as kinds
from tests.serving import disaggregated
from tests.strategies import Limits, SeededDice, seeded_scenario
from vinesim.engine.simulate import result_of
from vinesim.formats.results.folder import TABLES
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.studies import differences

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
HORIZON_US = 3.0
MADE = {
    name: getattr(kinds, name)
    for name in ("plain", "shared", "cores", "parted", "interrupted", "ending", "withdrawn", "requests", "periods")
}
ANY, CALM = Limits(), Limits(slowdown=False, horizons=False)
EARLY = Limits(outages=True, early=True)


def _same_again(scenario: vs.Scenario, folder: Path) -> list[str]:
    """Return what differs if the result is computed from the stored tables."""
    result = vs.simulate(scenario, engine="reference")
    result.save(folder)
    with open_result(folder) as stored:
        outcome = read_outcome(stored, scenario)
    again = result_of(scenario, outcome, lambda: result.provenance)
    found = differences.of_summaries(result.summary, again.summary)
    for name in TABLES:
        one, other = getattr(result, name), getattr(again, name)
        assert (one is None) == (other is None), name
        found += [] if one is None or other is None else differences.of_tables(name, one, other)
    return found


@pytest.mark.parametrize("name", MADE)
def test_each_kind_of_run_comes_back(name, tmp_path):
    assert _same_again(MADE[name](), tmp_path / "out") == []


@pytest.mark.parametrize("seed", range(4))
def test_runs_of_engines_that_only_prefill_or_decode_come_back(seed, tmp_path):
    assert _same_again(disaggregated(SeededDice(seed), "least_requests"), tmp_path / "out") == []


@pytest.mark.parametrize("make", [kinds.plain, kinds.shared, kinds.ending])
def test_a_run_that_was_cut_off_comes_back(make, tmp_path):
    assert _same_again(vs.changed(make(), horizon_us=HORIZON_US), tmp_path / "out") == []


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("policy", "limits"), [("high", ANY), ("easy_backfill", ANY), ("bf", CALM), ("high", EARLY)])
def test_random_runs_come_back(policy, limits, seed, tmp_path):
    assert _same_again(seeded_scenario(seed, policy, {}, limits), tmp_path / "out") == []
