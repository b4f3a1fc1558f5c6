"""Requests on several nodes: both engines say the same, and all tasks of one begin together, each on its own node,
or none does; also where nodes go down and jobs are killed or withdrawn."""

import os

import numpy as np
import pytest

from tests.properties.equivalence import Refused, run, unlike
from tests.properties.test_gangs import segments
from tests.requests_scenarios import request_scenario, with_gangs
from tests.strategies import all_options
from vinesim.model.application import requests_on_nodes
from vinesim.policies.registry import policies

N_SCENARIOS = int(os.environ.get("VINESIM_SCENARIOS", "60"))
TAKES_BACK = ("fcfs", "deadline_consolidation")  # what outages interrupt
GROUPS = ("application",)
REQUESTS = (*TAKES_BACK, "symphony", "symphony_recommended", "edf", "edf_drop", "least_laxity")


def agree(name, seeds, early, engine="compiled"):
    """Compare the engines; return how many requests on several nodes began, and how many segments ended early."""
    choices, n_gangs, n_early = all_options(policies()[name]), 0, 0
    for seed in seeds:
        options = choices[seed % len(choices)]
        case = with_gangs(request_scenario(seed, name, options, gangs=False), seed, early)
        compiled = run(case, engine)
        assert unlike(compiled, run(case, "reference")) == [], seed
        assert not isinstance(compiled, Refused), (seed, compiled)
        assert list(wrong(case, compiled)) == [], seed
        on_nodes = requests_on_nodes(case.workload, case.applications, GROUPS)
        first = case.workload.job_first[:-1]
        n_gangs += 0 if on_nodes is None else int((on_nodes & (compiled.tasks["unit"][first] >= 0)).sum())
        n_early += 0 if compiled.outcome.early is None else int((compiled.outcome.early.task >= 0).sum())
    return n_gangs, n_early


def wrong(case, done):
    """What contradicts that the tasks of a request begin together, on their own nodes and of one type."""
    work, applications = case.workload, case.applications
    on_nodes = requests_on_nodes(work, applications, GROUPS)
    if on_nodes is None:
        return
    job_of = np.repeat(np.arange(work.n_jobs), np.diff(work.job_first))
    begun = {}
    for task, node, init in segments(done):
        begun.setdefault((int(job_of[task]), init), []).append((task, node))
    known = set()
    for (job, init), members in sorted(begun.items(), key=lambda item: item[0][1]):
        if not on_nodes[job]:
            continue
        nodes = [node for _, node in members]
        if job not in known and len(members) != work.job_first[job + 1] - work.job_first[job]:
            yield f"request {job} began in part at {init}"
        known.add(job)
        if len(set(nodes)) < len(nodes):
            yield f"request {job} has several tasks on one node"
        allowed = applications[work.application[job]].nodes
        if allowed and not set(nodes) <= set(allowed):
            yield f"request {job} is on a node without its data"


def test_the_engines_agree_where_requests_on_several_nodes_end_early():
    """Compiled, they are compared in test_least_busy, where the numbers of tasks on nodes are kept too."""
    n_gangs, n_early = agree("fcfs", range(N_SCENARIOS), early=True, engine="interpreted")
    assert n_gangs > N_SCENARIOS
    assert n_early > N_SCENARIOS / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUESTS)
def test_the_engines_agree_and_requests_begin_together(name):
    assert agree(name, range(2 * N_SCENARIOS), early=False)[0] > N_SCENARIOS
    if name in TAKES_BACK:
        assert agree(name, range(2 * N_SCENARIOS), early=True)[1] > N_SCENARIOS / 2
