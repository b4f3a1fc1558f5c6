"""Total times of RBSS against a simulation written from the paper's text, and the ILP against the exact policy."""

from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.papers.rbss_reference import finishes_us, total_us
from vinesim.formats.study.file import read_study
from vinesim.reproduction.registry import items
from vinesim.reproduction.single import changed
from vinesim.studies.expand import expand, scenario_of

GROUPS = {"A": items()["rbss-fig6"].study_file("a"), "B": items()["rbss-fig9"].study_file("b")}
HEURISTICS = ("rb_fifo", "rb_sjf", "rb_ljf", "rb_ljf_ba", "rb_ljf_ocl")
ASSUMPTIONS = ("default", "one start a job", "heavy tail", "burst", "CPUs 1.5 times as fast")


def workload(group: str, point: dict[str, str], seed: int, policy: str):
    """The scenario of a point of the paper's studies, but for the scheduler."""
    study = replace(read_study(GROUPS[group]), replications=1, seed=seed)
    settings = {}
    for axis in study.axes:
        for (label,), setting in zip(axis.labels, axis.settings, strict=True):
            settings |= dict(setting) if point.get(axis.columns[0]) == label else {}
    study = changed(replace(study, axes=()), settings | {"policy": policy})
    return scenario_of(study, expand(study)[0])


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("assumptions", ASSUMPTIONS)
@pytest.mark.parametrize("system", ["S1", "S2"])
def test_total_times_of_group_a_are_those_of_an_independent_simulation(system, assumptions, heuristic):
    given = workload("A", {"system": system, "assumptions": assumptions}, 1, heuristic)
    found = vs.simulate(given, engine="reference").summary["makespan_us"]
    assert found == pytest.approx(total_us(given, heuristic), rel=1e-12)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("assumptions", ["default", "short jobs", "heavy tail", "burst"])
def test_total_times_of_group_b_are_those_of_an_independent_simulation(assumptions, heuristic):
    for seed in (1, 2):
        given = workload("B", {"assumptions": assumptions}, seed, heuristic)
        found = vs.simulate(given, engine="reference").summary["makespan_us"]
        assert found == pytest.approx(total_us(given, heuristic), rel=1e-12)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("assumptions", ["default", "burst"])
def test_jobs_that_are_withdrawn_give_up_their_devices_and_places_in_queues(assumptions, heuristic):
    """A third of them, before they start and after: each of the others ends as in the independent simulation."""
    given = workload("A", {"system": "S2", "assumptions": assumptions}, 1, heuristic)
    work, random = given.workload, np.random.default_rng(3)
    late = work.arrival_us + random.uniform(0, 2, work.n_jobs) * np.median(work.times_us)
    chosen = random.integers(0, 3, work.n_jobs) == 0
    given = replace(given, workload=replace(work, withdraw_us=np.where(chosen, late, np.inf)))
    done = vs.simulate(given, engine="reference")
    assert done.tasks["finish_us"] == pytest.approx(finishes_us(given, heuristic), rel=1e-12, nan_ok=True)
    left = done.segments["outcome"] == "withdrawn"
    assert left.any()  # after they had started
    assert np.isnan(done.tasks["finish_us"]).sum() > left.sum()  # and before


@pytest.mark.parametrize("assumptions", ["default", "one start a job", "heavy tail"])
def test_the_optimum_ends_with_the_one_job_that_can_end_last(assumptions):
    pytest.importorskip("ortools")
    given = workload("A", {"system": "S1", "assumptions": assumptions}, 1, "optimal")
    used = np.unique(given.datacenter.unit_type)
    alone = given.workload.arrival_us + given.workload.times_us[:, used].min(axis=1)
    assert vs.simulate(given, engine="reference").summary["makespan_us"] == pytest.approx(alone.max(), rel=1e-6)


@pytest.mark.parametrize(("n_jobs", "seed"), [(4, 1), (6, 1), (6, 2), (7, 3)])
def test_the_papers_programme_and_the_exact_policy_find_the_same_total_time(n_jobs, seed):
    pytest.importorskip("ortools")
    from vinesim_papers.rbss.ilp import solve

    node = [{"units": {"XEON_12C": 1, "K20": 1, "K40": 1}, "count": 1}]
    study = replace(read_study(GROUPS["A"]), axes=(), replications=1, seed=seed)
    few = {"datacenter.racks[0].nodes": node, "workload.options.n_jobs": n_jobs, "options.workers": 1}
    study = changed(study, few | {"policy": "optimal"})
    given = scenario_of(study, expand(study)[0])
    programme = solve(given, 60.0, 1)
    assert programme.is_optimal
    assert programme.gap_pct == pytest.approx(0.0, abs=1e-6)
    exact = vs.simulate(given, engine="reference").summary
    assert exact["bound"]["gap_pct"] < 1e-3
    assert programme.total_us == pytest.approx(exact["makespan_us"], abs=n_jobs * 1000.0)  # it counts in ms


def test_a_programme_without_time_finds_nothing_and_says_so():
    pytest.importorskip("ortools")
    from vinesim_papers.rbss.ilp import Solved, solve

    given = workload("A", {"system": "S2", "assumptions": "default"}, 1, "rb_fifo")
    found = solve(given, 0.0, 1)
    assert (found.gap_pct, found.is_optimal) == (100.0, False)
    assert Solved(200.0, 150.0, False).gap_pct == 25.0
    assert Solved(np.inf, 150.0, False).gap_pct == 100.0
