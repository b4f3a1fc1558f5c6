"""Backfill passes over what cannot matter: that changes no start."""

import numpy as np
import pytest

import vinesim as vs
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario
from vinesim.policies.slurm import backfill
from vinesim.policies.slurm.codes import NO_KIND
from vinesim.policies.slurm.holding import suppose
from vinesim.policies.slurm.nodes import choose, choose_in_use

CONF = """NodeName=c[1-4] CPUs=4 RealMemory=8000 Weight=1
NodeName=g1 CPUs=8 RealMemory=16000 Gres=gpu:a100:2 Weight=5
PartitionName=batch Nodes=ALL Default=YES MaxTime=600
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=5000
SchedulerParameters=bf_interval=10,bf_max_job_user=7
"""
REQUESTS = ("-N1 -n1", "-N1 -n4", "-N3 -n12 --ntasks-per-node=4", "-n6", "-N1 -n2 --gpus-per-node=1", "-N1 -n8",
            "-N2 -n2 --ntasks-per-node=1 --exclusive", "-N1 -n1 --mem=7000", "-n6 -w c2", "-N2 -n8 -w c[1,3]",
            "-N1 -n4 -x c[1-3]")  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "more"),
    [(1, ""), (2, ""), (3, ",bf_busy_nodes,bf_min_age_reserve=90,bf_window_linear=5"),
     (4, ",bf_job_part_count_reserve=4,pack_serial_at_end")],
)  # fmt: skip
def test_starts_are_those_of_the_whole_plan(tmp_path, monkeypatch, seed, more):
    """Jobs of many shapes on five nodes."""
    rng = np.random.default_rng(seed)
    jobs = [
        job(i + 1, submit, int(rng.integers(20, 400)), REQUESTS[rng.integers(len(REQUESTS))],
            limit=int(rng.integers(3, 12)), user="ann" if rng.random() < 0.6 else "bob")
        for i, submit in enumerate(np.sort(rng.integers(0, 600, 30)))
    ]  # fmt: skip
    conf = CONF.replace("user=7", f"user=7{more}")
    import_site(write_site(tmp_path / "site", jobs, conf), tmp_path / "site.parquet")
    scenario = read_scenario(tmp_path / "site.yaml")
    quick = vs.simulate(scenario, engine="reference")
    monkeypatch.setattr(backfill, "end_of_startable", lambda s, options, first, end, now_us: end)
    monkeypatch.setattr(backfill, "keep_unplanned", _keep_unplanned)
    among_all = lambda s, request, _, *free: choose(s, request, s.may, *free)  # noqa: E731
    monkeypatch.setattr(backfill, "choose", among_all)
    in_use = lambda s, request, _, *free: choose_in_use(s, request, s.may, *free)  # noqa: E731
    monkeypatch.setattr(backfill, "choose_in_use", in_use)
    monkeypatch.setattr(backfill, "suppose_ends", _suppose_ends)
    for counts in ("may_be_ready", "n_in", "cpus_after"):
        monkeypatch.setattr(backfill, counts, lambda *_: 10**6)  # there may be enough at any time
    whole = vs.simulate(scenario, engine="reference")
    assert np.array_equal(quick.tasks["start_us"], whole.tasks["start_us"], equal_nan=True)
    assert len(np.unique(whole.tasks["start_us"])) > 15


def _suppose_ends(s, end):
    """On all nodes, in place of those that are able."""
    suppose(s)
    for k in range(end):
        node, row = s.end_node[k], s.end_row[k]
        s.then_cpus[node] += s.row_cpus[row]
        s.then_memory[node] += s.row_memory[row]
        if s.row_kind[row] != NO_KIND:
            s.then_kinds[node * s.n_kinds[0] + s.row_kind[row]] += s.row_gpus[row]


def _keep_unplanned(s, begin_us, until_us, end_us):
    """All records of a stretch, looked at each time."""
    n, width = s.n_records[0], s.may.shape[0]
    for i in range(n):
        if s.record_end_us[i] > begin_us and s.record_begin_us[i] <= until_us:
            s.may[:] &= s.record_nodes[s.record_row[i] * width : (s.record_row[i] + 1) * width]
    return min((us for us in s.record_end_us[:n] if begin_us < us < end_us), default=backfill.NEVER)
