"""What limits count of jobs with nodes to themselves. As real Slurm 22.05 had it, in 20 small experiments."""

import math
from pathlib import Path

import pytest

from tests.policies.slurm.test_partition_qos import Values, qos_table, waits
from tests.policies.slurm.test_slurm import run, starts_s
from tests.small_site import job

CONF = """NodeName=n[1-4] CPUs=16 RealMemory=64000 Gres=gpu:a:4
NodeName=s1 CPUs=8 RealMemory=64000 Weight=5
NodeName=b1 CPUs=32 RealMemory=64000 Weight=9
PartitionName=p Nodes=n[1-4] MaxTime=60
PartitionName=x Nodes=n[1-4] MaxTime=60 OverSubscribe=EXCLUSIVE
PartitionName=u Nodes=s1,b1 MaxTime=60
PriorityType=priority/multifactor
SchedulerParameters=bf_interval=10
"""
RUN_S, SOON_S = 100.0, 12.0
WHOLE, GROUP = "-pp -N1 -n1 --exclusive", {"GrpTRES": "cpu=20"}


@pytest.mark.parametrize(
    ("limits", "first", "second", "reason"),  # of the second job, which waits for the first; "": it does not wait
    [
        (GROUP, WHOLE, "-pp -N1 -n5", "QOSGrpCpuLimit"),
        (GROUP, WHOLE, "-pp -N1 -n4", ""),
        (GROUP, "-pp -N1 -n10", WHOLE, "QOSGrpCpuLimit"),
        (GROUP, "-pp -N1 -n4", WHOLE, ""),
        (GROUP, "-px -N1 -n1", "-pp -N1 -n5", "QOSGrpCpuLimit"),
        (GROUP, "-pp -N1 -n10", "-px -N1 -n1", "QOSGrpCpuLimit"),
        ({"MaxTRESPU": "cpu=20"}, WHOLE, "-pp -N1 -n5", "QOSMaxCpuPerUserLimit"),
        ({"MaxTRESPU": "cpu=20"}, "-pp -N1 -n10", WHOLE, "QOSMaxCpuPerUserLimit"),
        ({"GrpTRES": "gres/gpu=4"}, WHOLE, "-pp -N1 -n1 --gres=gpu:1", "QOSGrpGRES"),
        ({"GrpTRES": "gres/gpu=4"}, "-pp -N1 -n1 --gres=gpu:1", WHOLE, "QOSGrpGRES"),
        ({"GrpTRES": "mem=70000"}, f"{WHOLE} --mem=1000", "-pp -N1 -n1 --mem=60000", ""),
        ({"GrpTRES": "mem=20000"}, f"{WHOLE} --mem-per-cpu=1000", "-pp -N1 -n1 --mem=10000", "QOSGrpMemLimit"),
        ({"GrpTRES": "cpu=32"}, "-pp -N2 -n2 --exclusive", "-pp -N1 -n1", "QOSGrpCpuLimit"),
    ],
)
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_all_of_their_nodes_counts(
    tmp_path: Path, engine: str, limits: Values, first: str, second: str, reason: str
) -> None:
    """Pending and running: CPUs and GPUs that they did not ask for too, and the memory of all CPUs if that is asked."""
    rows = [_row(number, options) for number, options in ((1, first), (2, second))]
    found = starts_s(run(tmp_path, rows, CONF, engine, qos=qos_table(normal=limits)))
    assert found[0] < SOON_S
    assert RUN_S <= found[1] < RUN_S + SOON_S if reason else found[1] < 2 * SOON_S
    assert waits(tmp_path, found, 1) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("limits", "options", "reason"),
    [
        ({"GrpTRES": "cpu=8"}, WHOLE, "QOSGrpCpuLimit"),
        ({"MaxTRES": "cpu=8"}, WHOLE, "QOSMaxCpuPerJobLimit"),
        ({"MaxTRES": "cpu=8", "Flags": "DenyOnLimit"}, WHOLE, "QOSMaxCpuPerJobLimit"),  # it asks for less: not refused
        ({"GrpTRES": "gres/gpu=2"}, f"{WHOLE} --gres=gpu:1", "QOSGrpGRES"),
        (GROUP, "-pu -N1 -n1 --exclusive -wb1", "QOSGrpCpuLimit"),
    ],
)
def test_a_job_whose_nodes_are_beyond_a_limit_never_starts(
    tmp_path: Path, limits: Values, options: str, reason: str
) -> None:
    found = starts_s(run(tmp_path, [_row(1, options)], CONF, qos=qos_table(normal=limits)))
    assert math.isnan(found[0])
    assert waits(tmp_path, found, 0) == [reason]


@pytest.mark.parametrize("limits", [{"GrpTRES": "cpu=10"}, {"MaxTRES": "cpu=10"}])
@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_the_nodes_that_it_would_get_decide(tmp_path: Path, engine: str, limits: Values) -> None:
    """A whole node of 8 CPUs is within the limit: the job waits for it while that of 32 is free. Jobs behind it go."""
    rows = [_row(1, "-pu -N1 -n8 -ws1", qos="other"), _row(2, "-pu -N1 -n1 --exclusive"), _row(3, "-pu -N1 -n2")]
    found = starts_s(run(tmp_path, rows, CONF, engine, qos=qos_table(normal=limits, other={})))
    assert found[0] < SOON_S
    assert RUN_S <= found[1] < RUN_S + 2 * SOON_S
    assert found[2] < 4 * SOON_S


@pytest.mark.parametrize("limits", [{"GrpTRES": "cpu=10"}, {}])
def test_it_has_no_plan_on_nodes_that_are_beyond_the_limit(tmp_path: Path, limits: Values) -> None:
    """The large node has room for a short job, which a plan for the whole node, as without the limit, keeps off it."""
    rows = [
        job(1, 0, 300, "-pu -N1 -n8 -ws1 --mem=500", partition="u", qos="other", limit=6),
        job(2, 0, 150, "-pu -N1 -n16 -wb1 --mem=500", partition="u", qos="other", limit=3),
        job(3, 10, 60, "-pu -N1 -n1 --exclusive --mem=500", partition="u", limit=5),
        job(4, 40, 30, "-pu -N1 -n1 -wb1 --mem=500", partition="u", qos="other", limit=10),
    ]
    found = starts_s(run(tmp_path, rows, CONF, qos=qos_table(normal=limits, other={})))
    if limits:
        assert 300 <= found[2] < 300 + 2 * SOON_S
        assert found[3] < 40 + SOON_S
    else:
        assert 150 <= found[2] < 150 + 2 * SOON_S
        assert found[3] > found[2]


def _row(number: int, options: str, qos: str = "normal") -> str:
    """A job of 100 s, 10 s after the one before it."""
    more = "" if "--mem" in options else " --mem=500"
    return job(number, 10 * number - 10, RUN_S, options + more, partition=options[2], qos=qos, limit=5)
