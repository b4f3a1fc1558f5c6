"""Power caps: both engines say the same, and no rack draws more than its cap, counted from the tables."""

import os
from dataclasses import replace

import pytest

from tests.invariants import violations
from tests.policies.kinds.most_room import MostRoom
from tests.power_caps import capped_scenario
from tests.properties.equivalence import Refused, alike, contents, run, unlike
from tests.properties.test_gangs import POLICIES
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "40"))
ASKING = {name: one for name, one in POLICIES.items() if not name.startswith("rb_")}
IN_ALL = {**ASKING, **{name: (name, {}) for name in ("fgd", "gpu_packing", "random_fit", "symphony")}}


def is_of_one_loop(case):
    """Whether a run has caps, gangs and early ends: of the loops that a policy is compiled into one."""
    work = case.workload
    may_end_early = bool(case.outages or case.failures or work.may_end_early)
    has_all = case.datacenter.has_power_caps and work.has_vectors and work.gang_within is not None and may_end_early
    return has_all and bool(work.gang_within.any())


@pytest.mark.slow
def test_the_engines_agree_where_tasks_of_gangs_hold_several_units_under_caps():
    n_done = 0
    for seed in range(2 * N_SCENARIOS):
        case = capped_scenario(seed, "fcfs", early=True)
        if is_of_one_loop(case):
            compiled = run(case, "compiled")
            assert unlike(compiled, run(case, "reference")) == [], seed
            n_done += not isinstance(compiled, Refused)
    assert n_done > N_SCENARIOS / 4


@pytest.mark.slow
def test_the_engines_find_room_for_as_many_tasks_at_a_node_under_caps():
    """Tasks of one unit, of which many nodes have room for several, and of several."""
    n_done = 0
    for seed in range(2 * N_SCENARIOS):
        case = capped_scenario(seed, MostRoom, early=True)
        if is_of_one_loop(case):
            compiled = run(case, "compiled")
            assert unlike(compiled, run(case, "reference")) == [], seed
            n_done += not isinstance(compiled, Refused)
    assert n_done > N_SCENARIOS / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_ALL)
def test_the_engines_agree(name):
    policy, options = IN_ALL[name]
    for seed in range(N_SCENARIOS):
        case = capped_scenario(seed, policy, options, early=seed % 2 == 1)
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed


@pytest.mark.parametrize("name", ["high", "easy_backfill", "conservative_backfill", "srtf", "delay"])
def test_no_rack_draws_more_than_its_cap(name):
    policy, options = IN_ALL[name]
    n_held_back = 0
    for seed in range(N_SCENARIOS // 2):
        case = capped_scenario(seed, policy, options, early=seed % 2 == 1)
        done = run(case, "reference")
        if isinstance(done, Refused) or not case.datacenter.has_power_caps:
            continue
        assert violations(case, done, resolve(policy, options)) == [], seed
        uncapped = replace(case.datacenter, power_cap_w=None, rack_power_cap_w=None)
        free = run(replace(case, datacenter=uncapped), "reference")
        n_held_back += not alike(contents(free)["tasks"], contents(done)["tasks"])
    assert n_held_back > 1  # the caps made a difference
