"""The generator ``requests``: rates, bursts, spikes, series, streams."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.workloads import symphony_applications
from vinesim.workloads.request_arrivals import Process, Spikes, at_profile, profile_of_counts

MINUTE = 6e7


def made(seed=0, **options):
    return vs.generator("requests").generate({"duration_us": 10 * MINUTE, "spikes": 0, **options}, seed=seed)


@pytest.mark.parametrize("process", ["poisson", "batch_poisson", "gamma"])
def test_the_rates_are_met(process):
    work = made(process=process, cv=2.0)
    n = np.bincount(work.application)
    expected = np.array(list(symphony_applications.REQUESTS_A_DAY.values())) / 144
    spread = {"poisson": 1.0, "batch_poisson": 6.0, "gamma": 4.0}[process]  # variance over mean
    assert (abs(n - expected) < 5 * np.sqrt(spread * expected)).all()
    assert (np.diff(work.arrival_us) >= 0).all()


def test_bursts_are_geometric_and_gamma_gaps_have_their_cv():
    rng = np.random.default_rng(1)
    points = Process("batch_poisson", burst=3.5).draw(1e5, rng)
    _, sizes = np.unique(points, return_counts=True)
    assert abs(sizes.mean() - 3.5) < 0.1
    assert abs((sizes == 1).mean() - 1 / 3.5) < 0.02
    gaps = np.diff(Process("gamma", cv=3.0).draw(1e5, rng))
    assert abs(gaps.std() / gaps.mean() - 3.0) < 0.15
    assert abs(gaps.mean() - 1.0) < 0.05


@pytest.mark.parametrize(("shape", "share"), [("rectangular", 1.0), ("triangular", 0.5)])
def test_a_spike_adds_its_area(shape, share):
    times, expected = Spikes(1, (2.0, 2.0), (100.0, 100.0), shape).profile(3.0, 1000.0, np.random.default_rng(0))
    assert expected[-1] == pytest.approx(3.0 * (1000.0 + 100.0 * share), rel=1e-3)
    assert times[0] == 0.0
    assert times[-1] == 1000.0
    assert (np.diff(expected) >= 0).all()


def test_more_spikes_than_can_be_drawn_are_refused():
    with pytest.raises(vs.InputError, match="spikes: expected a number from 0 to 100,000"):
        made(spikes=1_000_000_000)


def test_spikes_of_applications_are_independent_and_leave_the_sizes_alone():
    plain, spiky = made(), made(spikes=3, spike_width_low_us=MINUTE, spike_width_high_us=MINUTE)
    assert spiky.n_jobs > plain.n_jobs
    one, other = (w.operations[w.application == 1] for w in (plain, spiky))
    n = min(len(one), len(other))
    assert np.array_equal(one[:n], other[:n])
    assert one.min() >= 4
    assert one.max() <= 45


def test_a_seed_gives_one_workload():
    assert made(3).arrival_us.tobytes() == made(3).arrival_us.tobytes()
    assert made(3).arrival_us.tobytes() != made(4).arrival_us.tobytes()


def test_a_series_of_counts_is_followed():
    profile = profile_of_counts(np.arange(4) * MINUTE, np.array([1000.0, 0.0, 3000.0, 500.0]))
    times = at_profile(profile, Process(), np.random.default_rng(0))
    counts = np.histogram(times, np.arange(5) * MINUTE)[0]
    assert counts[1] == 0
    assert (abs(counts - [1000, 0, 3000, 500]) < 250).all()


def test_several_nodes_a_request_and_copies():
    work = made(gang_size={"SQL": 2}, copies=2, rates={"SQL": 5.0, "OPTION": 1.0})
    tasks = np.diff(work.job_first)
    names = np.array(work.application_names)[work.application]
    assert set(work.application_names) == {"SQL", "OPTION", "SQL_2", "OPTION_2"}
    assert (tasks[np.isin(names, ["SQL", "SQL_2"])] == 2).all()
    assert (tasks[np.isin(names, ["OPTION", "OPTION_2"])] == 1).all()
    assert work.time_factor is not None
    assert len(work.time_factor) == work.n_tasks


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"rates": {"NO": 1.0}}, "rates"),
        ({"rates": {"SQL": -1.0}}, "rates"),
        ({"burst": 0.5}, "burst"),
        ({"process": "weekly"}, "process"),
        ({"spike_height_low": 3.0}, "spike_height"),
        ({"size_low": {"SQL": 5.0}, "size_high": {"SQL": 1.0}}, "size_low"),
        ({"noise": -1.0}, "noise"),
        ({"copies": 0}, "copies"),
        ({"rates": {"SQL": 0.0}}, "rates"),
    ],
)
def test_wrong_options_are_refused(options, where):
    with pytest.raises(vs.InputError) as error:
        made(**options)
    assert any(where in problem.where for problem in error.value.problems)


OWN = [vs.TaskType("ECHO"), vs.TaskType("SUM")]


def of_own_types(**options):
    return vs.generator("requests").generate({"duration_us": MINUTE, "spikes": 0, **options}, task_types=OWN)


def test_any_application_of_the_scenario_can_be_loaded():
    work = of_own_types(rates={"ECHO": 9.0, "MINE": 3.0}, task_type={"MINE": "SUM"}, size_low={"MINE": 2.0})
    assert work.application_names == ("ECHO", "MINE")
    assert [one.name for one in work.task_types] == ["ECHO", "SUM"]
    assert np.array_equal(work.job_task_type, work.application)
    assert set(work.operations[work.application == 1]) == {2.0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rates": {"MINE": 1.0}}, "ECHO, SUM, found 'MINE'. Or say of which type it is: task_type: {MINE: TYPE}"),
        ({"rates": {"MINE": 1.0}, "task_type": {"MINE": "NONE"}}, "task_type: expected task types: ECHO, SUM"),
        ({"rates": {"ECHO": 1.0}, "task_type": {"ECHO": 3}}, "a mapping of names to names"),
        ({}, "ECHO, SUM, found 'SEARCH'"),
    ],
)
def test_an_application_needs_a_task_type_of_the_scenario(options, words):
    with pytest.raises(vs.InputError) as wrong:
        of_own_types(**options)
    assert words in str(wrong.value)
