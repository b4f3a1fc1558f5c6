"""Both engines decide alike, bit for bit, on sites that begin with running jobs, and on what such sites may have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.small_site import CONF, at, job, write_site
from vinesim.formats.importers.site_snapshot import write_snapshot
from vinesim.formats.slurm.values import time_s
from vinesim.policies.documents import read_scenario

NOW = 1200  # of the snapshot
HEAD = "JOBID|NAME|USER|ACCOUNT|PARTITION|QOS|STATE|REASON|PRIORITY|SUBMIT|START|LIMIT|NODES|CPUS|NODELIST"
OPTIONS = (
    "",
    " --time-min=1",
    " -Llic",
    " -Llic:2",
    " --exclusive",
    " --mem=6000",
    " --array=1-9%1",
    " --switches=1@3",
    " --nodelist=c2",
    " --exclude=c[1-2]",
)
PARAMETERS = (
    "bf_max_job_user_part=2",
    "bf_min_age_reserve=600,bf_busy_nodes",
    "bf_job_part_count_reserve=1,partition_job_depth=2",
    "bf_hetjob_prio=min,pack_serial_at_end",
    "bf_hetjob_prio=avg,sched_max_job_start=1,bf_one_resv_per_job",
    "bf_hetjob_prio=max,bf_window_linear=5,bf_max_job_assoc=3,bf_max_job_array_resv=1",
)
LEADERS = (33, 40, 46)  # of heterogeneous jobs of two components
QOS = (
    "Name|Priority|GraceTime|MaxTRESPU|MaxSubmitPU|Preempt|PreemptExemptTime|UsageFactor|Flags|GrpTRESRunMins\n"
    "normal|1|00:00:00|cpu=9,billing=30||||1.5|NoDecay|billing=900\nhigh|10|00:00:00||{most}|normal|00:05:00|1||\n"
    "part|1|00:00:00|cpu=6,billing=25|5|||2||\n"
)
DUMP = (
    "Cluster - 'small'\nParent - 'root'\nAccount - 'lab':Fairshare=1:GrpTRES=billing=60\nParent - 'lab'\n"
    "User - 'ann':Fairshare=1\nUser - 'bob':Fairshare=3:Priority=5\n"
)
BILLS = 'TRESBillingWeights="CPU=1.5,Mem=0.5G,Node=1,GRES/gpu=2,GRES/gpu:a100=1,License/lic=3"'
FLAGS = ("", "MAX_TRES,INCR_ONLY", "ACCRUE_ALWAYS,NO_FAIR_TREE", "NO_NORMAL_ALL")
TREE = "SwitchName=s0 Nodes=c[1-2]\nSwitchName=s1 Nodes=c3,g1\nSwitchName=top Switches=s[0-1]\n"


def name_of(number: int) -> str:
    """The JobID of a job: of some, as a component."""
    return next((f"{first}+{number - first}" for first in LEADERS if 0 <= number - first < 2), str(number))


def busy_site(folder: Path, seed: int) -> vs.Scenario:
    """A site of four nodes with jobs on all of them and a queue of jobs of many shapes."""
    rng = np.random.default_rng(seed)
    running = [(node, int(rng.integers(1, 4)), int(rng.integers(200, 1100))) for node in ("c1", "c2", "c3", "g1")]
    running += [(node, 4 - cpus, start + 90) for node, cpus, start in running if cpus < 3]
    rows, past = [], [job(1, 0, 100, "-N1 -n1")]
    for number, (node, cpus, start) in enumerate(running, 10):
        rows.append((number, "RUNNING", "None", start - 60, at(start), 40, 1, cpus, node, "batch", "normal"))
        past.append(job(number, start - 60, 900, f"-N1 -n{cpus}", start=start, limit=40))
    for number in range(30, 52):
        n, per_node, limit = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(2, 30))
        partition, qos = ("batch", "short")[limit <= 10 and rng.random() < 0.4], ("normal", "high")[rng.random() < 0.3]
        partition = "short,batch" if partition == "short" and number % 2 else partition
        after = f" --dependency=afterany:{number - 3}" if rng.random() < 0.15 else ""
        wish = f"-N{n} --ntasks-per-node={per_node}" + OPTIONS[rng.integers(len(OPTIONS))] + after
        submit = int(rng.integers(300, NOW))
        rows.append((number, "PENDING", "Priority", submit, "N/A", limit, n, n * per_node, "", partition, qos))
        past.append(job(number, submit, int(rng.integers(30, 60 * limit)), wish, start=None, limit=limit,
                        partition=partition, qos=qos, state="PENDING", id=name_of(number)))  # fmt: skip
    lines = [
        f"{name_of(number)}|j|{('ann', 'bob')[number % 2]}|lab|{partition}|{qos}|{state}|{reason}|1|{at(submit)}"
        f"|{start}|{limit}:00|{n}|{cpus}|{on}"
        for number, state, reason, submit, start, limit, n, cpus, on, partition, qos in rows
    ]
    queue = "\n".join([HEAD, f"## {time_s(at(NOW)):.0f}", *lines]) + "\n"
    weights = "priority/multifactor\nPriorityWeightAge=500\nPriorityWeightQOS=900\nLicenses=lic:2"
    mode = ("OFF", "REQUEUE", "SUSPEND,GANG")[seed % 3]
    kind = ("partition_prio", "qos")[seed >= 9]
    conf = CONF.replace("priority/basic", weights) + f"PreemptType=preempt/{kind}\nPreemptMode={mode}\n"
    conf = conf.replace("bf_exotic=1", PARAMETERS[seed % len(PARAMETERS)])
    conf = conf.replace("MaxTime=60", "MaxTime=60 GraceTime=40") if seed % 4 == 1 else conf
    conf += "TopologyPlugin=topology/tree\n" * (seed % 2)
    conf = conf.replace("Nodes=ALL", "Nodes=ALL LLN=YES") if seed % 4 == 1 else conf
    conf = conf.replace("Nodes=ALL", "Nodes=ALL QOS=part MinNodes=2 MaxNodes=3") if seed % 4 == 3 else conf
    conf = conf.replace("Nodes=c[1-3]", "Nodes=c[1-3] MaxCPUsPerNode=3") if seed % 4 == 2 else conf
    conf += (
        f"PriorityWeightFairshare=700\nPriorityWeightAssoc=50\nPriorityCalcPeriod=1\nPriorityFlags={FLAGS[seed % 4]}\n"
    )
    conf = conf.replace("Default=YES", f"Default=YES {BILLS}")
    site = write_site(folder / "site", past, conf, squeue=queue, qos=QOS.format(most=2 if seed % 2 else ""), dump=DUMP)
    (site / "topology.conf").write_text(TREE)
    scenario = read_scenario(write_snapshot(site, folder / "queue.parquet").scenario)
    work = scenario.workload  # whose jobs run to their limits
    used = np.repeat(rng.uniform(0.2, 1.1, work.n_jobs), np.diff(work.job_first))
    return replace(scenario, workload=replace(work, operations=work.operations * used))


@pytest.mark.slow  # compiles the policy: a minute
def test_jobs_run_at_the_beginning(tmp_path: Path) -> None:
    n_waited = 0
    for seed in range(12):
        scenario = busy_site(tmp_path / str(seed), seed)
        assert sum(text != "" for text in scenario.workload.words_of("ran_s")) >= 4
        one, other = (vs.simulate(scenario, engine=engine).outcome for engine in ("reference", "compiled"))
        for name in ("task_unit", "task_init_us", "task_finish_us"):
            assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), (seed, name)
        n_waited += int((one.task_init_us > 0).sum())
    assert n_waited > 150
