"""What jobs are billed for, and what counts it, against what the daemons of a real Slurm 22.05 printed."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.policies.slurm.test_slurm import run, starts_s
from tests.policies.slurm.test_submissions import reasons
from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.formats.slurm.values import weights_of
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm import fair_share
from vinesim.studies.mechanisms import without_each
from vinesim.studies.priorities import priorities_at

CONF = (
    "NodeName=n[1-4] CPUs=16 RealMemory=64000 Gres=gpu:a100:4\n"
    "NodeName=n[5-8] CPUs=16 RealMemory=32000 Gres=gpu:v100:2\n"
    'PartitionName=p Nodes=ALL Default=YES MaxTime=60 TRESBillingWeights="CPU=1.5,Mem=0.25G,GRES/gpu=2.0"\n'
    'PartitionName=q Nodes=ALL MaxTime=60 TRESBillingWeights="CPU=1.0,Mem=0.001,GRES/gpu:a100=3.5,GRES/gpu:v100=0.75,'
    'Node=4,License/matlab=6"\n'
    "PartitionName=r Nodes=ALL MaxTime=60\nPriorityType=priority/multifactor\nPriorityCalcPeriod=1\n"
    "PriorityDecayHalfLife=0\nPriorityWeightFairshare=1000\nLicenses=matlab:20\n"
)
QOS = "Name|Priority|GraceTime|UsageFactor\nnormal|0|00:00:00|1\nhi|0|00:00:00|2\nhalf|0|00:00:00|0.5\n"
QOS += "free|0|00:00:00|0\n"


class Printed(NamedTuple):
    """A job, what it was billed while it waited and when it ran, with MAX_TRES too; when it ran, s after a calculation,
    and the usage of its user 518 s after that one, where usage is halved each 20 min."""

    partition: str
    options: str
    asked: int
    got: int
    asked_max: int
    got_max: int
    begin_s: int
    end_s: int
    usage: int
    qos: str = "normal"


PRINTED = [
    Printed("p", "-n1 --mem=1500", 1, 1, 1, 1, 30, 267, 359),
    Printed("p", "-n3 --mem-per-cpu=1000", 5, 5, 4, 4, 33, 270, 1008),
    Printed("p", "-N1 -n2 --mem=2000 --gres=gpu:1", 5, 5, 3, 3, 36, 269, 1040),
    Printed("q", "-N1 -n2 --mem=1024 --gres=gpu:1", 7, 10, 4, 4, 39, 277, 2042),
    Printed("q", "-N1 -n1 --mem=512 --gres=gpu:v100:2", 7, 7, 4, 4, 39, 274, 1343),
    Printed("q", "-N1 -n2 --mem=512 -Lmatlab:2", 18, 18, 16, 16, 41, 277, 3564),
    Printed("r", "-N1 -n3 --mem=512 --gres=gpu:a100:1", 3, 3, 3, 3, 42, 277, 575),
    Printed("p", "-N1 -n1 --exclusive --mem=1000", 1, 32, 1, 24, 45, 281, 6216),
    Printed("p", "-N1 -n2 --mem=1024", 3, 3, 3, 3, 48, 287, 1270, "hi"),
    Printed("p", "-N1 -n2 --mem=1024", 3, 3, 3, 3, 51, 290, 317, "half"),
    Printed("p", "-N1 -n2 --mem=1024", 3, 3, 3, 3, 51, 291, 0, "free"),
    Printed("q", "-N2 -n3 --mem=1024 --gres=gpu:1", 13, 20, 8, 8, 55, 294, 3924),
    Printed("p", "-N2 -n11 --mem=256 --gres=gpu:a100:4", 32, 32, 16, 16, 282, 522, 7342),
]
PERIOD_S, HALF_LIFE_S, SEEN_S = 60.0, 1200.0, 538.0
RUN_S = 200.0
ACCOUNTS = "Cluster|Account|User|Share\ns|root||1\ns|lab||1\n"


@pytest.mark.parametrize("is_max", [False, True])
def test_bills_and_usage_of_13_jobs(tmp_path: Path, is_max: bool) -> None:
    """Each of its own user. The whole parts are what sacct printed, and the usage is that of sshare to the last digit:
    it counts the exact amounts, and the usage factors of QOS."""
    rows = [
        job(i, i, RUN_S, f"-p{one.partition} {one.options}", user=f"u{i:02d}", partition=one.partition, qos=one.qos)
        for i, one in enumerate(PRINTED)
    ]
    rows.append(job(99, 900, 300, "-n1", user="last", partition="r"))
    users = "".join(f"s|lab|{user}|1\n" for user in (*(f"u{i:02d}" for i in range(len(PRINTED))), "last"))
    conf = CONF + "PriorityFlags=MAX_TRES\n" * is_max
    report = import_site(
        write_site(tmp_path / "site", rows, conf, qos=QOS, assoc=ACCOUNTS + users), tmp_path / "site.parquet"
    ).report
    assert "nothing that these files say" in {finding.words for finding in report.findings}
    scenario = read_scenario(tmp_path / "site.yaml")
    asked = vars(resolve(scenario.policy, scenario.options).suited_to(scenario))["arrays"]["part_billing"]
    assert np.floor(asked[:-1]).tolist() == [one.asked_max if is_max else one.asked for one in PRINTED]
    used = {row["user"]: row["raw_usage"] for row in priorities_at(scenario, 1000.0).shares}
    factor = {"normal": 1.0, "hi": 2.0, "half": 0.5, "free": 0.0}
    for i, one in enumerate(PRINTED):
        billed = used[f"u{i:02d}"] / RUN_S  # times the usage factor
        if one.qos != "free":
            assert int(billed / factor[one.qos] + 1e-9) == (one.got_max if is_max else one.got), one
        if not is_max:
            assert int(printed_usage(one, billed)) == one.usage, one


def printed_usage(one: Printed, billed: float) -> float:
    """What a job's user has used at the time of the printout."""
    found, at = 0.0, 0.0
    while at + PERIOD_S <= SEEN_S:
        end = at + PERIOD_S
        if at < one.end_s <= end:  # counted at its end
            found += fair_share.of_job(one.end_s - max(one.begin_s, at), billed, HALF_LIFE_S)
        found = fair_share.decayed(found, PERIOD_S, HALF_LIFE_S)
        if one.begin_s < end < one.end_s:
            found += fair_share.of_job(end - max(one.begin_s, at), billed, HALF_LIFE_S)
        at = end
    if at < one.end_s <= SEEN_S:
        found += fair_share.of_job(one.end_s - max(one.begin_s, at), billed, HALF_LIFE_S)
    return found


SMALL = (
    "NodeName=n[1-4] CPUs=16 RealMemory=64000\nPartitionName=batch Nodes=ALL MaxTime=60 TRESBillingWeights=CPU=2.0\n"
    "PartitionName=cheap Nodes=ALL MaxTime=60 TRESBillingWeights=CPU=1.0\nPriorityType=priority/multifactor\n"
    "PriorityCalcPeriod=1\nPriorityDecayHalfLife=10\nSchedulerParameters=bf_interval=10\n"
)
ASSOC = "Cluster|Account|User|Share|GrpTRES|GrpTRESMins|GrpTRESRunMins|MaxTRES\ns|root||1||||\ns|lab||1|{}|{}|{}|{}\n"
ASSOC += "s|lab|ann|1||||\n"
OF_QOS = "Name|Priority|GraceTime|GrpTRES|MaxTRESPU|MaxTRESPA|MaxTRES|GrpTRESMins\nnormal|0|00:00:00|{}|{}|{}|{}|{}\n"
WAIT = {  # as squeue printed of the third job of 4 CPUs, each billed 8, with a limit of 20
    "AssocGrpBilling": {"assoc": ASSOC.format("billing=20", "", "", "")},
    "QOSGrpBilling": {"qos": OF_QOS.format("billing=20", "", "", "", "")},
    "QOSMaxBillingPerUser": {"qos": OF_QOS.format("", "billing=20", "", "", "")},
    "MaxBillingPerAccount": {"qos": OF_QOS.format("", "", "billing=20", "", "")},
    "AssocGrpBillingRunMinutes": {"assoc": ASSOC.format("", "", "billing=200", "")},
}
NEVER = {
    "AssocMaxBillingPerJob": {"assoc": ASSOC.format("", "", "", "billing=7")},
    "QOSMaxBillingPerJob": {"qos": OF_QOS.format("", "", "", "billing=7", "")},
}
TICK_S = 5
BILLING = "billing weights (TRESBillingWeights)"


@pytest.mark.parametrize("word", WAIT)
def test_limits_on_billing_keep_a_third_job_waiting(tmp_path: Path, word: str) -> None:
    rows = [job(i, 2 * i, 200, "-n4", limit=10) for i in (0, 1, 2)]
    found = starts_s(run(tmp_path, rows, SMALL, **WAIT[word]))
    assert found[1] < 2 + TICK_S
    begin_s = 150 if word.endswith("RunMinutes") else 200  # when 120 minutes are left of the limits of both
    assert begin_s <= found[2] < begin_s + 2 * TICK_S
    assert word in reasons(tmp_path, 2, found)


@pytest.mark.parametrize("word", NEVER)
def test_a_job_that_is_billed_too_much_never_starts(tmp_path: Path, word: str) -> None:
    found = starts_s(run(tmp_path, [job(0, 0, 50, "-n4"), job(1, 2, 50, "-n3")], SMALL, **NEVER[word]))
    assert np.isnan(found[0])
    assert found[1] < 2 + TICK_S
    assert set(reasons(tmp_path, 0, found)) == {word}


def test_a_job_starts_in_the_partition_whose_bill_is_in_the_limit(tmp_path: Path) -> None:
    """Of 8 CPUs, which cost 16 in one and 8 in the other; the third is in no limit of 25 as long as they run."""
    rows = [job(i, 2 * i, 200, "-n8 -pbatch,cheap", partition="batch,cheap") for i in (0, 1, 2)]
    rows.append(job(3, 500, 10, "-n1"))
    found = starts_s(run(tmp_path, rows, SMALL, assoc=ASSOC.format("billing=25", "", "", "")))
    assert found[1] < 2 + TICK_S
    assert 200 <= found[2] < 200 + 2 * TICK_S


FACTOR = (
    "Name|Priority|GraceTime|UsageFactor|Flags|GrpTRESMins|GrpTRESRunMins|GrpWall\nnormal|0|00:00:00|{}|{}|{}|{}|{}\n"
)


@pytest.mark.parametrize(("most", "waits"), [(50, False), (47, True)])
def test_usage_factors_count_in_what_runs_and_not_in_what_is_to_start(tmp_path: Path, most: int, waits: bool) -> None:
    """2 CPUs for 10 min count as 40 CPU minutes with a factor of 2, and 1 CPU for 8 min as 8 before it starts."""
    qos = FACTOR.format(2, "", "", f"cpu={most}", "")
    rows = [job(0, 0, 200, "-n2", limit=10), job(1, 4, 100, "-n1", limit=8)]
    assert (starts_s(run(tmp_path, rows, SMALL, qos=qos))[1] > 4 + TICK_S) == waits


@pytest.mark.parametrize(("flags", "ever"), [("", True), ("NoDecay", False)])
@pytest.mark.parametrize("limits", [("cpu=19", "", ""), ("", "", "00:09:50")])
def test_what_a_qos_has_used_is_forgotten_if_it_is_not_to_be_kept(
    tmp_path: Path, flags: str, ever: bool, limits: tuple[str, str, str]
) -> None:
    """2 CPUs for 10 min use up 20 CPU minutes, and 10 min of wall time; the other job comes half a minute later."""
    rows = [job(0, 0, 600, "-n2", limit=20), job(1, 630, 10, "-n1")]
    found = starts_s(run(tmp_path, rows, SMALL, qos=FACTOR.format(1, flags, *limits)))
    assert np.isnan(found[1]) != ever


def test_weights_of_memory_are_of_each_mib() -> None:
    found = weights_of("CPU=1.0, Mem=0.5G,GRES/gpu:A100=2,node=.5,bb/x=1T,odd=one,=3")
    assert found == {"cpu": 1.0, "mem": 0.5 / 1024, "gres/gpu:a100": 2.0, "node": 0.5, "bb/x": 1 / 1024**2}


def test_weights_of_what_is_not_there_are_counted(tmp_path: Path) -> None:
    """The others hold. A question with such a weight is refused."""
    conf = SMALL.replace("CPU=2.0", '"CPU=2.0,GRES/gpu:t4=1,License/x=2,Energy=3"')
    folder = write_site(tmp_path / "site", [job(0, 0, 50, "-n4")], conf)
    report = import_site(folder, tmp_path / "site.parquet").report
    words = "partition batch: TRESBillingWeights of gres/gpu:t4, license/x, energy"
    assert report.numbers["not_modelled"][words] == 1
    assert read_scenario(tmp_path / "site.yaml").options["partitions"]["batch"]["tres_billing_weights"] == {"cpu": 2.0}
    key = "options.partitions.batch.tres_billing_weights"
    for change, wrong in (("license/x", "options.licenses"), ("gres/gpus", "Did you mean gres/gpu"), ("energy", "cpu")):
        with pytest.raises(InputError, match=wrong):
            read_scenario(tmp_path / "site.yaml", [f"{key}.{change}=1"], check_policy=resolve)
    scenario = read_scenario(tmp_path / "site.yaml", [f"{key}.gres/gpu:t4=1"])
    with pytest.raises(InputError, match="types of GPUs"):
        resolve(scenario.policy, scenario.options).suited_to(scenario)


def test_a_waterfall_shows_what_weights_and_factors_contribute(tmp_path: Path) -> None:
    """Each is a switch of its own: without it, jobs are billed for their CPUs."""
    conf = SMALL + "PriorityFlags=MAX_TRES\nPriorityWeightAssoc=7\n"
    write_site(tmp_path / "site", [job(0, 0, 50, "-n4")], conf, qos=FACTOR.format(2, "", "", "", ""))
    import_site(tmp_path / "site", tmp_path / "site.parquet")
    found = dict(without_each(read_scenario(tmp_path / "site.yaml")))
    weights = [one.get("tres_billing_weights") for one in found[BILLING].options["partitions"].values()]
    assert weights == [None, None]
    assert "usage_factor" not in found["usage factors of QOS"].options["qos"]["normal"]
    assert found["flags of priorities (PriorityFlags)"].options["max_tres"] is False
    assert found["other weights of priorities"].options["priority_weight_assoc"] == 0.0
