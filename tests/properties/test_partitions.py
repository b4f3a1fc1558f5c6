"""Partitions and quotas: both engines say the same, and every result keeps them."""

import os
from dataclasses import replace
from functools import cache

import pytest

import vinesim as vs
from tests.gangs import gang_scenario
from tests.invariants import violations
from tests.partitions import partition_scenario
from tests.policies.kinds.urgent import Urgent
from tests.properties.equivalence import Refused, alike, contents, run, unlike
from tests.properties.test_gangs import POLICIES
from tests.real_nodes import real_scenario
from tests.strategies import with_policy
from vinesim.model.workload import NO_PARTITION
from vinesim.policies.contract import OnlinePolicy
from vinesim.policies.registry import policies, resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "40"))
IN_ALL = {**POLICIES, **{name: (name, {}) for name in ("fgd", "gpu_packing", "random_fit", "earliest_finish")}}


def is_of_one_loop(case):
    """Whether a run has gangs, partitions and early ends: of the loops that a policy is compiled into one."""
    work = case.workload
    return (
        work.partition is not None
        and work.gang_within is not None
        and bool(case.outages or case.failures or work.may_end_early)
    )


def test_the_engines_agree_where_jobs_of_partitions_are_gangs_and_end_early():
    n_bound = 0
    for seed in range(2 * N_SCENARIOS):
        case = partition_scenario(seed, "fcfs", early=True)
        if is_of_one_loop(case):
            compiled = run(case, "compiled")
            assert unlike(compiled, run(case, "reference")) == [], seed
            n_bound += 0 if isinstance(compiled, Refused) else int((case.workload.partition != NO_PARTITION).sum())
    assert n_bound > N_SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_ALL)
def test_the_engines_agree(name):
    policy, options = IN_ALL[name]
    for seed in range(2 * N_SCENARIOS):
        case = partition_scenario(seed, policy, options, early=seed % 2 == 1, has_rates=True)
        assert unlike(run(case, "compiled"), run(case, "reference")) == [], seed


@cache
def of_seed(seed):
    """The scenario of a seed, to be run under each of the policies."""
    return partition_scenario(seed, early=seed % 2 == 1, has_rates=True)


@pytest.mark.parametrize("name", ["high", "easy_backfill", "conservative_backfill", "priority", "drf"])
def test_every_result_keeps_partitions_and_quotas(name):
    policy, options = IN_ALL[name]
    n_held_back = 0
    for seed in range(N_SCENARIOS // 2):
        case = with_policy(of_seed(seed), policy, options)
        done = run(case, "reference")
        if isinstance(done, Refused) or case.workload.partition is None:
            continue
        bound = resolve(policy, options)
        found = violations(case, done, bound)
        assert found == [], seed
        no_cohort = {"cohort": None, "borrowing_limit": None, "lending_limit": None, "weight": 1.0}
        without = tuple(replace(one, quota={}, user_quota={}, **no_cohort) for one in case.partitions)
        free = run(replace(case, partitions=without), "reference")
        n_held_back += not alike(contents(free)["tasks"], contents(done)["tasks"])
    assert n_held_back > 1  # the quotas made a difference


@pytest.mark.parametrize("seed", [1000123, 1000141, 1000157, 1000161])
def test_a_node_that_goes_down_after_the_last_start_is_not_opened_by_backfilling(seed):
    case = partition_scenario(seed, "conservative_backfill", early=True)
    assert violations(case, run(case, "reference"), resolve("conservative_backfill", {})) == []


@pytest.mark.parametrize("name", ["high", "easy_backfill", "las"])
def test_a_partition_of_all_nodes_without_quotas_changes_nothing(name):
    policy, options = IN_ALL[name]
    for seed in range(N_SCENARIOS // 3):
        case = gang_scenario(seed, policy, options) if seed % 2 else real_scenario(seed, policy, options=options)
        if not case.workload.has_vectors:
            continue
        n_jobs = case.workload.n_jobs
        work = replace(case.workload, partition=[0] * n_jobs, partition_names=("all",))
        every = replace(case, workload=work, partitions=(vs.Partition("all"),))
        one, other = contents(run(case, "reference")), contents(run(every, "reference"))
        if "refused" in one:
            continue
        for table in ("tasks", "segments", "units"):
            assert alike(one[table], other[table]), (seed, table)


def test_a_policy_that_takes_one_unit_each_refuses():
    cases = (partition_scenario(seed, "high") for seed in range(100))
    case = next(case for case in cases if case.workload.partition is not None)
    for name in ("earliest_completion", "rb_fifo", "ff"):
        with pytest.raises(vs.InputError, match="tasks that hold one unit each"):
            vs.simulate(replace(case, policy=name, options={}), engine="reference")


def test_all_that_take_nodes_and_gangs_are_here():
    takes = {
        n
        for n, p in policies().items()
        if issubclass(p, OnlinePolicy) and p.supports_multi_unit_tasks and p.takes_gangs
    }
    assert takes - set(IN_ALL) <= {
        "edf_drop",
        "least_laxity",
        "least_requests",
        "least_tokens",
        "power_of_two",
        "prefix_aware",
    }
    assert Urgent.name not in takes
