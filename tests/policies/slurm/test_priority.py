import numpy as np
import pytest

from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.priority import (
    age,
    of_largest,
    of_resource,
    size,
    total,
    whole_minutes,
)  # fmt: skip


def test_age_counts_up_to_whole_minutes():
    assert whole_minutes(1000.0) == 1020.0
    assert whole_minutes(1020.0) == 1020.0
    assert age(40.0, 1020.0) == pytest.approx(40 / 1020)
    assert age(5000.0, 1020.0) == 1.0
    assert age(-1.0, 1020.0) == age(1.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("nodes", "cpus", "is_by_time", "favours_small", "expected"),
    [
        (2, 32, False, False, 0.5),
        (1, 1, False, False, 0.1328125),
        (1, 4, False, True, 0.84375),
        (2, 32, True, False, 2 / 3 / 4),
        (1, 24, True, False, 1.5 / 3 / 4),
        (1, 24, True, True, 1.0 - 1.5 / 3 / 4),
    ],
)
def test_size_on_four_nodes_of_16_cpus(nodes, cpus, is_by_time, favours_small, expected):
    assert size(nodes, cpus, 3.0, 4, 64, is_by_time, favours_small) == pytest.approx(expected)


ASKED = (
    ("-n1", 10), ("-n5", 10), ("-n10", 10), ("-n11", 10), ("-n17", 10), ("-n21", 10), ("-N2 -n2", 10), ("-N3 -n3", 7),
    ("-n40", 1), ("-N2 -n32", 10), ("-n5", 1),
)  # fmt: skip
PRINTED = [2500, 2500, 2500, 2750, 4250, 5250, 5000, 10714, 100000, 8000, 25000]  # by sprio, of these jobs


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("PriorityFlags=SMALL_RELATIVE_TO_TIME\n", PRINTED),
        ("PriorityFlags=SMALL_RELATIVE_TO_TIME\nPriorityFavorSmall=YES\n", [100000 - size for size in PRINTED]),
        ("PriorityFavorSmall=YES\n", [86250, 81250, 75000]),
        ("PriorityFavorSmall=NO\n", [13750, 18750, 25000]),
    ],
)
def test_sizes_of_a_site(tmp_path, lines, expected):
    """Two nodes of 4 CPUs and two of 16: a job of 11 needs 1.1 nodes of the mean one."""
    conf = (
        "NodeName=a[1-2] CPUs=4 RealMemory=8000\nNodeName=b[1-2] CPUs=16 RealMemory=8000\n"
        "PartitionName=batch Nodes=ALL\nPriorityType=priority/multifactor\nPriorityWeightJobSize=100000\n"
    )
    rows = [job(i, i, 60, wish, limit=limit) for i, (wish, limit) in enumerate(ASKED)]
    report = import_site(write_site(tmp_path / "site", rows, conf + lines), tmp_path / "site.parquet").report
    assert not any("Priority" in name for name in report.numbers["not_modelled"])
    assert "parameters_not_read" not in report.numbers
    scenario = read_scenario(tmp_path / "site.yaml")
    found = vars(resolve(scenario.policy, scenario.options).suited_to(scenario))["arrays"]["size_share"]
    assert np.rint(found[: len(expected)]).tolist() == expected


def test_parts():
    assert of_largest(20.0, 100.0) == 0.2
    assert of_largest(20.0, 0.0) == 0.0
    assert of_resource(4.0, 32.0) == 0.125
    assert of_resource(4.0, 0.0) == 0.0


def test_nice_is_subtracted_from_the_whole_number_and_1_is_the_least():
    # weights of 1000, but 3000 for GPUs: age 155.2, size 156.25, partition 200, QOS 500, cpu 62.5, mem 3.1, gpu 375
    weighted = 155.2 + 156.25 + 200 + 500 + 62.5 + 3.1 + 375
    assert total(weighted, 0.0) == 1452.0
    assert total(weighted, 52.0) == 1400.0
    assert total(weighted, -100.0) == 1552.0
    assert total(weighted, 3000.0) == 1.0
