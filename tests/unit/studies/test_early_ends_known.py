"""Preemption, failures and limits against closed forms, on a small scale; verification does it on a large one."""

import pytest

from verification.early_ends import systems, verify


@pytest.mark.parametrize("known", systems(), ids=lambda known: known.name)
def test_the_exact_value_lies_in_the_interval(known):
    n = 40 if "failures" in known.name else 1500
    _, half, holds = verify(known, 8, n, 3, "reference")
    assert holds
    assert half < known.expected
