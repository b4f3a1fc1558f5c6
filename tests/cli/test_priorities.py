"""``vinesim priorities``: sprio and sshare at a time of a run."""

import json

import pytest
from typer.testing import CliRunner

from tests.small_site import job, write_site
from vinesim.cli.main import app
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.studies.priorities import priorities_at

CONF = """NodeName=c1 CPUs=4 RealMemory=8000
PartitionName=batch Nodes=ALL PriorityJobFactor=10
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=500
PriorityWeightJobSize=100
PriorityWeightPartition=50
PriorityWeightQOS=2000
PriorityMaxAge=1-0
PriorityCalcPeriod=1
"""
DUMP = (
    "Cluster - 'small'\nParent - 'root'\nAccount - 'lab':Fairshare=1\nParent - 'lab'\n"
    "User - 'ann':Fairshare=1\nUser - 'bob':Fairshare=1\n"
)
QOS = "Name|Priority|GraceTime\nnormal|0|0\nhigh|10|0\nhighest|20|0\n"


@pytest.fixture
def site(tmp_path):
    rows = [job(1, 0, 1800, "-N1 -n4", limit=60), job(2, 10, 60, "-N1 -n4 --nice=7", user="bob"),
            job(3, 20, 60, "-N1 -n1", qos="high")]  # fmt: skip
    import_site(write_site(tmp_path / "site", rows, CONF, dump=DUMP, qos=QOS), tmp_path / "site.parquet")
    return tmp_path / "site.yaml"


def test_priorities_are_the_sums_of_their_parts(site):
    """Of the two jobs that wait after 15 min, that of the better QOS is first."""
    found = priorities_at(read_scenario(site), 900.0)
    assert [row["job_id"] for row in found.jobs] == [3, 2]
    for row in found.jobs:
        parts = ("age", "fair_share", "job_size", "partition_factor", "qos_factor", "tres")
        assert row["priority"] == int(sum(row[name] for name in parts)) - row["nice"]
    first, second = found.jobs
    assert (first["qos_factor"], second["qos_factor"], second["nice"]) == (1000.0, 0.0, 7.0)
    assert first["partition_factor"] == 50.0
    assert first["job_size"] == pytest.approx(100 * (1 + 0.25) / 2)
    assert first["age"] == pytest.approx(1000 * 880 / 86400, abs=1.5)


def test_shares_are_those_of_what_was_used(site):
    """Only ann has used anything: 4 CPUs for 15 min, as of the last calculation, which was within the last minute."""
    shares = {(row["account"], row["user"]): row for row in priorities_at(read_scenario(site), 900.0).shares}
    ann, bob = shares["lab", "ann"], shares["lab", "bob"]
    assert 4 * 836 <= ann["raw_usage"] <= 4 * 900
    assert (ann["norm_shares"], ann["usage_of_account"], bob["raw_usage"]) == (0.5, 1.0, 0.0)
    assert ann["fair_share"] < bob["fair_share"]


def test_the_command_prints_80_columns_and_json(site):
    """With Slurm's own titles."""
    found = CliRunner().invoke(app, ["priorities", str(site), "--at", "15 min"])
    assert found.exit_code == 0, found.output
    assert max(map(len, found.output.splitlines())) <= 80
    assert "FAIRSHARE" in found.output
    assert "LevelFS" in found.output
    as_json = CliRunner().invoke(app, ["priorities", str(site), "--at", "15 min", "--json"])
    assert [row["job_id"] for row in json.loads(as_json.output)["jobs"]] == [3, 2]


@pytest.mark.filterwarnings("ignore:ignored options of policy slurm")
def test_other_policies_and_times_after_the_end_are_refused(site):
    """With what was expected."""
    with pytest.raises(InputError, match="slurm"):
        priorities_at(read_scenario(site, ["policy=easy_backfill"]), 10.0)
    with pytest.raises(InputError, match="before the end"):
        priorities_at(read_scenario(site), 1e6)
