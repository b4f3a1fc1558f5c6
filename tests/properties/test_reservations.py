"""Reservations: both engines say the same, and nothing starts where it is expected to run into one."""

import os
from dataclasses import replace

import pytest

from tests.invariants import violations
from tests.properties.equivalence import Refused, alike, contents, run, unlike
from tests.properties.test_gangs import POLICIES
from tests.reservations import reserved_scenario
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "40"))
ASKING = {name: one for name, one in POLICIES.items() if not name.startswith("rb_")}
IN_ALL = {**ASKING, **{name: (name, {}) for name in ("gpu_packing", "random_fit")}}


@pytest.mark.slow  # compiles loops with all features
@pytest.mark.parametrize("name", IN_ALL)
def test_the_engines_agree(name):
    policy, options = IN_ALL[name]
    for seed in range(N_SCENARIOS):
        case = reserved_scenario(seed, policy, options, early=seed % 2 == 1)
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed


@pytest.mark.parametrize("name", ["high", "easy_backfill", "conservative_backfill", "srtf", "delay"])
def test_nothing_starts_where_it_is_expected_to_run_into_a_reservation(name):
    policy, options = IN_ALL[name]
    n_held_back = 0
    for seed in range(N_SCENARIOS // 2):
        case = reserved_scenario(seed, policy, options, early=seed % 2 == 1)
        done = run(case, "reference")
        if isinstance(done, Refused) or not case.reservations:
            continue
        assert violations(case, done, resolve(policy, options)) == [], seed
        free = run(replace(case, reservations=()), "reference")
        n_held_back += not alike(contents(free)["tasks"], contents(done)["tasks"])
    assert n_held_back > 1  # the reservations made a difference
