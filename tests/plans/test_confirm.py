"""A recommendation is run again: with how much of the error, and with seeds that the search never used."""

import numpy as np
import pytest
from scipy.stats import t

import vinesim as vs
from tests.plans.synthetic import board
from vinesim.model.plan import FRESH
from vinesim.plans import solve
from vinesim.plans.answer import Status
from vinesim.plans.confirm import Confirmation, Outcome, confirm
from vinesim.plans.verdicts import UNSEEN


def share(k: int) -> float:
    """The part of the error that the k-th point may use."""
    return 1 / (k * (k + 1))


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_the_kth_point_may_use_its_share_of_the_error(k):
    """By hand: Student's t bound at that error, of the values and of one more that is worse than all seen."""
    found = board(0, 1000, 115, confirm={"replications": 40, "horizon": 1})
    point = int(found.screened.left[0])
    fresh = confirm(found, point, k, None, ()).fresh
    values = found.runs.values(point, range(FRESH, FRESH + 40), ["jobs.latency_us.p99"])["jobs.latency_us.p99"]
    more = np.append(values, values.max() + UNSEEN * np.ptp(values) / (np.sqrt(40) - 1))

    def upper(of):
        return of.mean() + t.ppf(1 - 0.05 * share(k), len(of) - 1) * of.std(ddof=1) / np.sqrt(len(of))

    assert fresh.n == 40
    assert fresh.judgements[0].high == pytest.approx(max(upper(values), upper(more)), rel=1e-9)


def test_all_points_together_may_use_no_more_than_the_error():
    assert sum(map(share, range(1, 10_000))) == pytest.approx(1, abs=1e-3)
    assert sum(map(share, range(1, 10_000))) < 1


def test_points_that_are_not_confirmed_are_counted(mapping, monkeypatch):
    tried = []

    def refuse(board, point, attempt, out, choice):
        tried.append((point, attempt))
        return Confirmation(Outcome.FAILED if len(tried) < 3 else Outcome.CONFIRMED)

    monkeypatch.setattr(solve, "confirm", refuse)
    found = vs.plan({**mapping, "budget": {"runs": 300}}, workers=1)
    assert [attempt for _, attempt in tried] == [1, 2, 3]
    assert len({point for point, _ in tried}) == 3
    assert [row.point for row, _ in found.not_confirmed] == [point for point, _ in tried[:2]]
    assert found.status is Status.RECOMMENDED


def test_fresh_and_longer_runs_have_seeds_of_their_own(mapping, tmp_path):
    mapping["scenario"]["seed"] = 7
    mapping["limits"] = {"jobs.latency_us.mean": {"below": "20 ms"}}
    mapping |= {"confirm": {"replications": 5, "horizon": 2}, "looks": [3, 5, 8]}
    found = vs.plan(mapping, tmp_path / "out", workers=1)
    here = vs.read_sweep(tmp_path / "out").table
    (folder,) = (tmp_path / "out" / "longer").iterdir()
    longer = vs.read_sweep(folder).table
    assert folder.name == str(found.recommended.point)
    searched = {seed for seed in here["seed"].tolist() if seed < 7 + FRESH}
    assert {7} <= searched <= set(range(7, 15))
    assert set(here["seed"].tolist()) - searched == set(range(7 + FRESH, 12 + FRESH))
    assert longer["seed"].tolist() == list(range(7 + FRESH, 27 + FRESH))


def test_a_point_that_is_not_random_needs_no_other_seeds(mapping, tmp_path):
    mapping["scenario"] |= {"workload": {"generator": "identical", "options": {"n_jobs": 5}}, "arrivals": {"iat": 60}}
    mapping["choose"]["policy"] = ["high"]
    found = vs.plan(mapping, tmp_path / "out", workers=1)
    assert (found.status, found.confirmation.fresh) == (Status.RECOMMENDED, None)
    assert not any(judgement.is_random for judgement in found.recommended.judgements)
    assert max(vs.read_sweep(tmp_path / "out").table["replication"].tolist()) == 0
