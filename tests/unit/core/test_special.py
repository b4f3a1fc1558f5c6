"""Which functions are compiled with a policy."""

import numba
import pytest

from vinesim.core.special import Special
from vinesim.state.queries import nothing, oldest_pending, priority, started_us


@numba.njit
def urgency(model, state, task):
    return priority(model, state, task)


@numba.njit
def has_begun(model, state, task):
    return started_us(model, state, task) >= 0.0


@pytest.mark.parametrize(("helper", "query"), [(urgency, priority), (has_begun, started_us)])
def test_a_helper_that_the_user_has_compiled_may_call_any_query(helper, query):
    def decide(model, state, view):
        helper(model, state, oldest_pending(model, state))
        return nothing()

    assert query in Special(frozenset(), {"decide": decide}).reach(decide).functions
