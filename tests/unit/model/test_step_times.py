"""The time of a step of a serving engine: by a formula, by profiled tables, by what devices exchange."""

import types
from collections import namedtuple
from itertools import product

import numpy as np
import pytest
from numba import njit

from vinesim.model import step_times
from vinesim.model.errors import InputError
from vinesim.model.step_times import NO_TABLE, Exchange, StepProfile, StepTime, step_columns

AXES = ([0, 16, 64], [0, 10, 100], [0, 1, 4], [0, 16, 64])


def profile(attention=None):
    axes = tuple(np.array(axis, float) for axis in AXES)
    if attention is None:
        attention = np.random.default_rng(1).random((3, 3, 3, 3)) * 100
    one = np.array([1.0, 8.0, 64.0])
    return StepProfile(one, np.array([3.0, 10.0, 66.0]), np.array([1.0, 4.0]), np.array([1.0, 7.0]), axes, attention)


def times_of(*steps, max_tokens=64, max_sequences=4):
    return types.SimpleNamespace(**step_columns(steps, max_tokens, max_sequences))


def step_us(step, *content):
    return step_times.step_us(times_of(step), 0, *content)


def test_the_formula_adds_what_is_in_a_step():
    step = StepTime(base_us=1000.0, prefill_token_us=10.0, sequence_us=3.0, memory_token_us=0.5)
    assert step_us(step, 20, 1, 100, 4, 60) == 1000 + 20 * 10 + 4 * 3 + (100 + 60) * 0.5


def test_exchanges_count_all_tokens_of_a_step():
    step = StepTime(base_us=5.0, exchange=Exchange(base_us=20.0, token_us=0.5, times=8))
    assert step_us(step, 20, 1, 100, 4, 60) == 5 + 8 * (20 + 24 * 0.5)


def test_a_profile_is_on_the_line_between_its_entries():
    nothing = np.zeros((3, 3, 3, 3))
    assert step_us(StepTime(profile=profile(nothing)), 0, 0, 0, 1, 5) == 3 + 1
    assert step_us(StepTime(profile=profile(nothing)), 34, 1, 0, 2, 5) == pytest.approx(38 + 5)


def test_attention_is_linear_along_each_axis_and_beyond_its_end():
    axes = [np.array(axis, float) for axis in AXES]
    grid = np.zeros((3, 3, 3, 3))
    for i, j, k, m in product(range(3), repeat=4):
        grid[i, j, k, m] = 2 * axes[0][i] + axes[1][j] + 5 * axes[2][k] + 0.25 * axes[3][m]
    times = times_of(StepTime(profile=profile(grid)))
    for point in ((10, 7, 3, 20), (64, 100, 4, 64), (80, 200, 6, 1000), (0, 0, 0, 0), (64, 0, 2, 16)):
        expected = 2 * point[0] + point[1] + 5 * point[2] + 0.25 * point[3]
        assert step_times.attention_us(times, 0, *point) == pytest.approx(expected)


def test_memory_is_the_mean_of_the_sequences():
    grid = np.zeros((3, 3, 3, 3))
    grid[...] = np.array(AXES[3])  # the time is the mean memory of the sequences that decode
    times = times_of(StepTime(profile=profile(grid)))
    alone = step_times.step_us(times, 0, 0, 0, 0, 4, 0)
    assert step_times.step_us(times, 0, 0, 0, 0, 4, 120) - alone == pytest.approx(30)


def test_numba_gives_the_same_bits_as_python():
    steps = (StepTime(profile=profile(), exchange=Exchange(20.0, 0.64, 128)), StepTime(10.0, 1.0, 0.3, 0.01))
    columns = step_columns(steps, 64, 4)
    arrays = namedtuple("Arrays", columns)(**columns)  # noqa: PYI024
    names = dict(vars(step_times))
    for name in ("cell", "along", "attention_us", "step_us"):
        names[name] = njit(error_model="numpy")(types.FunctionType(getattr(step_times, name).__code__, names))
    random = np.random.default_rng(2)
    for _ in range(500):
        content = [int(random.integers(most)) for most in (61, 2, 150, 4, 300)]
        for kind in (0, 1):
            assert names["step_us"](arrays, kind, *content) == step_times.step_us(arrays, kind, *content)


def test_steps_without_profiles_need_no_tables():
    columns = step_columns([StepTime(1.0), StepTime(2.0)], 2048, 256)
    assert columns["step_coefficients"].shape == (2, 4)
    assert all(
        array.size == 0 for name, array in columns.items() if name not in ("step_coefficients", "step_axis_length")
    )
    assert not columns["step_axis_length"].any()


def test_a_table_that_a_profile_lacks_takes_no_time():
    axes, grid = (NO_TABLE,) * 4, np.zeros((1, 1, 1, 1))
    part = StepProfile(np.array([1.0, 64.0]), np.array([3.0, 3.0]), NO_TABLE, np.zeros(1), axes, grid)
    assert step_us(StepTime(profile=part), 10, 1, 50, 3, 50) == 3
    assert part.short_of(64, 1000) == []


def test_it_says_which_tables_end_too_early():
    assert profile().short_of(64, 4) == []
    assert profile().short_of(100, 8) == [
        "tokens up to 64, below 100",
        "sequences up to 4, below 8",
        "prefill_chunk of attention up to 64, below 100",
        "n_decode of attention up to 4, below 8",
    ]


def test_every_wrong_number_is_reported():
    with pytest.raises(InputError) as wrong:
        StepTime(base_us=-1.0, sequence_us=np.inf, exchange=Exchange(token_us=np.nan))
    assert [problem.where for problem in wrong.value.problems] == [
        "step.base_us",
        "step.sequence_us",
        "step.exchange.token_us",
    ]


def test_a_step_takes_time():
    with pytest.raises(InputError, match="a time above 0, or a profile"):
        StepTime()
    with pytest.raises(InputError, match="a time above 0, or a profile"):
        StepTime(exchange=Exchange(0.0, 0.0, 128))
