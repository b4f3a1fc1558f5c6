"""Jobs drawn from measured times."""

from dataclasses import replace

import numpy as np
import pytest

from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import InputError
from vinesim.workloads.measured import Measured, measured_jobs

MEASURED = Measured(
    (ProcessorType("A"), ProcessorType("B")),
    (TaskType("X"), TaskType("Y"), TaskType("Z")),
    np.array([[10.0, np.nan, 40.0], [5.0, 3.0, 80.0]]),
    np.array([0.0, 0.2, 1.0]),
)


def test_each_job_has_the_measured_times_of_its_type():
    work = measured_jobs(MEASURED, 3000)
    np.testing.assert_array_equal(work.times_us, MEASURED.time_us.T[work.job_task_type])
    assert (work.operations == 1).all()
    assert work.time_factor is None
    assert work.estimate_us is None
    shares = np.bincount(work.job_task_type) / 3000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.04)  # 4 standard errors
    assert work.arrival_us[0] == 0


def test_durations_are_lognormal_on_the_fastest_type():
    work = measured_jobs(MEASURED, 3000, median_us=1e6, sd=0.5)
    fastest_us = np.nanmin(work.times_us, axis=1)
    assert np.median(fastest_us) == pytest.approx(1e6, rel=0.05)
    assert np.log(fastest_us).std() == pytest.approx(0.5, rel=0.06)
    assert (work.operations == np.round(work.operations)).all()
    np.testing.assert_allclose(work.times_us[:, 1] / work.operations, MEASURED.time_us[1, work.job_task_type])


def test_at_load_1_jobs_arrive_as_fast_as_all_units_do_such_a_mix():
    work = measured_jobs(MEASURED, 20_000, nodes=3, load=0.5)
    rate = 3 / np.mean([10, 40]) + 3 / np.mean([5, 3, 80])
    assert work.n_jobs / work.arrival_us[-1] == pytest.approx(0.5 * rate, rel=0.04)


def test_noise_has_mean_1_and_the_measured_spread():
    work = measured_jobs(MEASURED, 60_000, is_noisy=True)
    for kind, spread in enumerate(MEASURED.spread):
        factor = work.time_factor[work.job_task_type == kind]
        assert factor.mean() == pytest.approx(1, abs=0.03)
        assert factor.std() == pytest.approx(spread, rel=0.08, abs=1e-12)
    assert measured_jobs(replace(MEASURED, spread=None), 10, is_noisy=True).time_factor is None


def test_noise_and_load_leave_the_jobs_as_they_were():
    one, other = measured_jobs(MEASURED, 50, seed=3), measured_jobs(MEASURED, 50, seed=3, is_noisy=True, load=0.45)
    np.testing.assert_array_equal(one.job_task_type, other.job_task_type)
    np.testing.assert_allclose(other.arrival_us, 2 * one.arrival_us)
    assert not np.array_equal(one.job_task_type, measured_jobs(MEASURED, 50, seed=4).job_task_type)


def test_all_wrong_options_are_reported():
    with pytest.raises(InputError) as caught:
        measured_jobs(MEASURED, 0, nodes=0, load=0, median_us=0, sd=-1, seed=-1)
    assert [p.where for p in caught.value.problems] == ["jobs", "nodes", "load", "duration", "duration-sd", "seed"]
