"""A site without slurm.conf, of which scontrol shows the parameters; and one where both say something of them."""

from pathlib import Path
from typing import Any

import pytest

from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario

CONF = """NodeName=c[1-2] CPUs=4 RealMemory=8000
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 DefaultTime=10
PartitionName=short Nodes=c1 MaxTime=10 PriorityTier=2
PriorityType=priority/multifactor
SchedulerParameters=bf_interval=20,bf_continue
PriorityWeightAge=100
PriorityWeightQOS=0
PriorityMaxAge=2-0
PriorityFlags=accrue_always,MAX_TRES
OverTimeLimit=5
Licenses=lic:2
SelectTypeParameters=CR_Core_Memory
Epilog=/etc/slurm/epilog
"""
DEFAULTS = "PriorityDecayHalfLife=7-0\nPriorityCalcPeriod=5\n"  # which scontrol shows too
SHOWN = """Configuration data as of 2026-03-02T08:04:38
CompleteWait            = 0 sec
Epilog[0]               = /etc/slurm/epilog
Licenses                = lic:2
OverTimeLimit           = 5 min
PreemptMode             = OFF
PreemptType             = preempt/none
PreemptExemptTime       = 00:00:00
PriorityDecayHalfLife   = 7-00:00:00
PriorityCalcPeriod      = 00:05:00
PriorityFavorSmall      = No
PriorityFlags           = ACCRUE_ALWAYS,MAX_TRES
PriorityMaxAge          = 2-00:00:00
PriorityType            = priority/multifactor
PriorityWeightAge       = 100
PriorityWeightQOS       = 0
PriorityWeightTRES      = (null)
Prolog                  = (null)
SchedulerParameters     = bf_interval=20,bf_continue
SchedulerType           = sched/backfill
SelectTypeParameters    = CR_CORE_MEMORY
TopologyPlugin          = topology/flat

Slurmctld(primary) at vm is UP
"""
NODE = "NodeName=c{} Arch=x86_64 CPUEfctv=4 CPUTot=4 AvailableFeatures=(null) Gres=(null) RealMemory=8000 Weight=1\n"
PARTITION = """PartitionName={}
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime={} DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime={} MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes={}
   PriorityJobFactor=1 PriorityTier={} RootOnly=NO ReqResv=NO OverSubscribe={}
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP MaxMemPerNode=UNLIMITED

"""
BATCH = PARTITION.format("batch", "00:10:00", "01:00:00", "c[1-2]", 1, "NO")
SHORT = PARTITION.format("short", "NONE", "00:10:00", "c1", 2, "NO")
FILES = {"nodes": NODE.format(1) + NODE.format(2), "partitions": BATCH + SHORT, "config": SHOWN}
ROWS = [job(1, 0, 100, "-N1 -n4"), job(2, 5, 100, "-N1 -n4", partition="short", limit=5)]


def imported(folder: Path, conf: str, **files: str) -> tuple[dict[str, Any], str, str]:
    """The numbers of the report, the scenario, and what the report says."""
    site = write_site(folder / "site", ROWS, conf, **files)
    if not conf:
        (site / "slurm.conf").unlink()
    report = import_site(site, folder / "site.parquet").report
    text = (folder / "site.yaml").read_text()
    read_scenario(folder / "site.yaml")
    return report.numbers, text, "\n".join(report.notes)


def test_what_scontrol_shows_makes_the_scenario_of_slurm_conf(tmp_path: Path) -> None:
    """To the last letter, and with the same things not modelled; other parameters are not listed."""
    numbers, given, _ = imported(tmp_path / "given", CONF + DEFAULTS)
    others, shown, notes = imported(tmp_path / "shown", "", **FILES)
    assert shown == given
    assert "priority_weight_age: 100" in given
    assert "bf_interval: 20" in given
    assert "over_time_limit: 5" in given
    assert others["not_modelled"] == numbers["not_modelled"] == {"Epilog: takes no time": 2}
    assert "show config from config.txt" in notes
    assert "without a meaning" not in notes


def test_what_is_not_modelled_of_shown_partitions_is_reported(tmp_path: Path) -> None:
    forced = FILES | {"partitions": BATCH.replace("OverSubscribe=NO", "OverSubscribe=FORCE:4") + SHORT}
    numbers, _, _ = imported(tmp_path, "", **forced)
    assert numbers["not_modelled"]["partition batch: OverSubscribe=FORCE:4: jobs do not share CPUs"] == 1


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("", "", ""),  # spelling, case, units, defaults and order make no difference
        ("PriorityMaxAge          = 2-00", "PriorityMaxAge          = 3-00", "prioritymaxage"),
        ("PriorityDecayHalfLife   = 7-00", "PriorityDecayHalfLife   = 3-00", "prioritydecayhalflife"),
        ("bf_interval=20", "bf_interval=30", "schedulerparameters"),
        ("ACCRUE_ALWAYS,", "", "priorityflags"),
        ("ACCRUE_ALWAYS,MAX_TRES", "MAX_TRES,ACCRUE_ALWAYS,FAIR_TREE", ""),
        ("= 5 min", "= 0 min", "overtimelimit"),
        ("= OFF", "= REQUEUE", "preemptmode"),
        ("lic:2", "(null)", "licenses"),
        ("0 sec", "10 sec", "completewait"),
        ("PriorityWeightAge       = 100", "PriorityWeightAge       = 7", "priorityweightage"),
        ("PriorityWeightAge       = 100", "PriorityWeightAge       = many", "priorityweightage"),
        ("sched/backfill", "sched/builtin", "schedulertype"),
        ("PriorityMaxAge          = 2-00:00:00\n", "", ""),  # with priority/basic scontrol shows none of these
    ],
)
def test_parameters_that_differ_are_named_and_slurm_conf_is_taken(
    tmp_path: Path, old: str, new: str, names: str
) -> None:
    numbers, given, _ = imported(tmp_path / "both", CONF, **FILES | {"config": SHOWN.replace(old, new)})
    words = "parameters with other values in config.txt and slurm.conf, which is taken"
    assert numbers.get("contradictory", {}) == ({f"{words}: {names}": 1} if names else {})
    assert given == imported(tmp_path / "alone", CONF)[1]


def test_a_value_that_cannot_be_read_is_an_error_of_its_file(tmp_path: Path) -> None:
    wrong = SHOWN.replace("PriorityWeightAge       = 100", "PriorityWeightAge       = many")
    with pytest.raises(InputError, match=r"config.txt.*a whole number as priorityweightage.*many"):
        imported(tmp_path, "", **FILES | {"config": wrong})
