"""The time of a step of a serving engine, fitted to what was measured of it."""

from dataclasses import replace

import numpy as np
import pytest

from vinesim.formats.importers.serving_log import Requests, StepTimes
from vinesim.model.batching import Batching
from vinesim.model.errors import InputError
from vinesim.model.step_times import NO_TABLE, StepProfile, StepTime
from vinesim.studies.serving_fit import fit_requests, fit_steps
from vinesim.studies.serving_run import engine_with, measured_times, simulated_times, statistics

KNOWN = StepTime(base_us=8_000.0, prefill_token_us=40.0, sequence_us=100.0, memory_token_us=0.3)
LIMITS = Batching(max_sequences=16, max_batched_tokens=256, memory_tokens=6_000, step=KNOWN)
PROFILE = StepProfile(
    np.array([1.0, 256.0]), np.array([5_000.0, 5_000 + 255 * 30.0]), NO_TABLE, np.zeros(1), (NO_TABLE,) * 4,
    np.zeros((1, 1, 1, 1)),
)  # fmt: skip


def requests_of(step, n=60, gap_us=15_000, answers=(1, 60)):
    """Requests with the times that an engine with that step has; some wait, as its memory fills."""
    random = np.random.default_rng(3)
    tokens, n_answer = random.integers(20, 400, n), random.integers(*answers, n)
    queued = np.cumsum(random.exponential(gap_us, n))
    queued -= queued[0]
    asked = Requests(tokens, n_answer, queued, queued, queued)
    first, _, latency = simulated_times(asked, replace(LIMITS, step=step))
    return Requests(tokens, n_answer, queued, queued + first, queued + latency)


def coefficients(step):
    return [step.base_us, step.prefill_token_us, step.sequence_us, step.memory_token_us]


@pytest.fixture(scope="module")
def fitted():
    return fit_requests(requests_of(KNOWN), LIMITS)


def test_known_coefficients_are_found_again(fitted):
    assert coefficients(fitted.step) == pytest.approx(coefficients(KNOWN), rel=0.01)
    measured, of_fit = fitted.statistics(seen=False)
    assert of_fit == pytest.approx(measured, rel=0.01)
    assert (fitted.of, fitted.n, fitted.n_seen) == ("requests", 60, 30)


def test_an_engine_with_few_requests_at_a_time_is_fitted_too():
    """Then a first token waits for a step that has begun at any time."""
    found = fit_requests(requests_of(KNOWN, 200, gap_us=100_000), LIMITS)
    assert coefficients(found.step)[:2] == pytest.approx(coefficients(KNOWN)[:2], rel=0.15)
    measured, of_fit = found.statistics(seen=False)
    assert of_fit[:, 0] == pytest.approx(measured[:, 0], rel=0.04)


def test_an_engine_that_only_prefills_is_fitted_to_answers_of_one_token():
    """No sequence decodes there, so what one would take is not known, and left out."""
    found = fit_requests(requests_of(KNOWN, answers=(1, 2)), LIMITS)
    assert coefficients(found.step)[:2] == pytest.approx(coefficients(KNOWN)[:2], rel=0.01)
    assert found.step.sequence_us == 0


def test_the_second_half_is_not_seen(fitted):
    requests, later = requests_of(KNOWN), np.arange(60) >= 30
    slower = requests._replace(
        first_token_us=requests.first_token_us + later * 1e6, last_token_us=requests.last_token_us + later * 2e6
    )
    found = fit_requests(slower, LIMITS)
    assert coefficients(found.step) == coefficients(fitted.step)
    measured, of_fit = found.statistics(seen=False)
    assert (of_fit < measured)[:, 0].all()


def test_what_a_profile_leaves_out_is_found():
    left_out = StepTime(base_us=3_000.0, prefill_token_us=10.0, sequence_us=100.0, memory_token_us=0.3)
    found = fit_requests(requests_of(replace(left_out, profile=PROFILE)), LIMITS, PROFILE)
    assert found.step.profile is PROFILE
    assert coefficients(found.step)[:2] == pytest.approx(coefficients(left_out)[:2], rel=0.25)
    measured, of_fit = found.statistics(seen=False)
    assert of_fit == pytest.approx(measured, rel=0.02)


def test_answers_of_one_token_tell_what_prompts_take():
    requests = requests_of(KNOWN, answers=(1, 2))
    found = fit_requests(requests, LIMITS)
    assert found.step.prefill_token_us == pytest.approx(KNOWN.prefill_token_us, rel=0.1)
    measured, of_fit = found.statistics(seen=False)
    assert of_fit[[0, 2]] == pytest.approx(measured[[0, 2]], rel=0.02)
    assert np.isnan(measured[1]).all()


def test_few_requests_are_refused():
    few = Requests(*(column[:19] for column in requests_of(KNOWN)))
    with pytest.raises(InputError, match="at least 20 requests, found 19"):
        fit_requests(few, LIMITS)


def steps_of(step, n=200):
    random = np.random.default_rng(4)
    prefill, sequences, memory = random.integers(0, 500, n), random.integers(0, 60, n), random.integers(0, 40_000, n)
    return StepTimes(
        prefill, sequences, memory,
        step.base_us + step.prefill_token_us * prefill + step.sequence_us * sequences + step.memory_token_us * memory,
    )  # fmt: skip


def test_steps_tell_the_coefficients():
    found = fit_steps(steps_of(KNOWN))
    assert coefficients(found.step) == pytest.approx(coefficients(KNOWN), rel=1e-3)
    assert (found.of, found.n, found.n_seen) == ("steps", 200, 100)


def test_a_coefficient_is_never_below_0():
    steps = steps_of(replace(KNOWN, sequence_us=0.0))
    less = steps._replace(time_us=steps.time_us - 20 * steps.sequences)
    assert fit_steps(less).step.sequence_us == 0


def test_steps_take_time():
    steps = steps_of(KNOWN)
    with pytest.raises(InputError, match="each with a time above 0"):
        fit_steps(steps._replace(time_us=steps.time_us * 0))
    with pytest.raises(InputError, match="at least 20 steps"):
        fit_steps(StepTimes(*(column[:5] for column in steps)))


def test_a_request_with_one_token_has_no_time_per_token():
    requests = Requests(*np.array([[5, 5], [1, 3], [0, 0], [1e6, 2e6], [1e6, 4e6]]))
    assert measured_times(requests).tolist() == [[1e6, 2e6], [pytest.approx(np.nan, nan_ok=True), 1e6], [1e6, 4e6]]
    assert statistics(measured_times(requests))[1].tolist() == [1e6] * 4
    assert np.isnan(statistics(np.full((1, 3), np.nan))).all()


def test_an_engine_needs_its_limits():
    with pytest.raises(InputError) as wrong:
        engine_with({"memory_tokens": 100}, requests_of(KNOWN))
    assert [problem.where for problem in wrong.value.problems] == ["--max-sequences", "--max-batched-tokens"]
    with pytest.raises(InputError, match=r"batching\.max_sequences: expected a whole number"):
        engine_with({"max_sequences": 0, "max_batched_tokens": 10}, requests_of(KNOWN))


def test_a_memory_of_unknown_size_never_fills():
    requests = requests_of(KNOWN)
    engine = engine_with({"max_sequences": 16, "max_batched_tokens": 256, "block_tokens": 10}, requests)
    assert engine.n_blocks == sum(-(-t // 10) for t in (requests.input_tokens + requests.output_tokens).tolist())
