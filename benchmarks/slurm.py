"""Slurm: a month of 100,000 jobs on 1,000 nodes under the policy ``slurm``, and its first run, which compiles it.

A tenth of the nodes has GPUs. Jobs are of 200 users in 20 accounts with shares and limits, come by day more than by
night, ask for 1 CPU to 32 nodes, and have limits of about twice what they run. The load is 85 %.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

import vinesim as vs
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, figure
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.slurm.requests import held_by, parse
from vinesim.formats.source.yaml_writer import write_yaml
from vinesim.model.workload import NO_PREFERENCE

DAY_S, CPUS, MEMORY_MIB = 86_400.0, 64, 256_000
LOAD = 0.85
REQUESTS = {  # by share of the jobs
    "tasks=1 cpus=1 mem_cpu=2000": 0.3,
    "nodes=1-1 tasks=1 cpus=8 mem_node=32000": 0.25,
    "nodes=1-1 tasks=64 per_node=64 mem_cpu=2000": 0.25,
    "nodes=4-4 tasks=256 per_node=64 mem_cpu=2000": 0.1,
    "nodes=32-32 tasks=2048 per_node=64 mem_cpu=2000": 0.02,
    "nodes=1-1 tasks=1 cpus=8 mem_node=32000 gpus=1 gpu_type=a100": 0.08,
}
QOS = {"normal": 0.8, "high": 0.1, "low": 0.1}


def scenario(n_jobs: int, n_nodes: int, n_days: float, load: float = LOAD) -> vs.Scenario:
    """A site as the import makes it."""
    rng = np.random.default_rng(1)
    texts = list(REQUESTS)
    request = rng.choice(len(texts), n_jobs, p=list(REQUESTS.values()))
    held = [held_by(parse(text)) for text in texts]
    n_tasks = np.array([one.n for one in held])[request]
    cpus = np.array([parse(text).n_cpus for text in texts])[request]
    run_s = np.clip(rng.lognormal(0.0, 1.5, n_jobs), 0.01, 20.0)
    run_s *= load * n_nodes * CPUS * n_days * DAY_S / (run_s * cpus).sum()
    at_s = np.sort(rng.uniform(0, n_days * DAY_S, n_jobs))
    at_s += 0.1 * DAY_S * np.sin(2 * np.pi * at_s / DAY_S)  # days and nights
    at_s = np.sort(at_s - at_s.min())
    limit_s = np.ceil(run_s * rng.uniform(1.0, 3.0, n_jobs) / 60.0) * 60.0
    user = rng.integers(0, 200, n_jobs)
    codes = {"request": request, "account": user % 20, "qos": rng.choice(len(QOS), n_jobs, p=list(QOS.values()))}
    words = {"request": tuple(texts), "account": tuple(f"a{i:02}" for i in range(20)), "qos": tuple(QOS)}
    gpus = np.array([one.gpus for one in held])[request]
    own = np.array([one.cpus for one in held])[request]
    total = int(n_tasks.sum())
    work = vs.Workload(
        job_task_type=np.zeros(n_jobs), job_first=np.concatenate(([0], np.cumsum(n_tasks))), arrival_us=at_s * 1e6,
        operations=np.repeat(run_s * 1e6, n_tasks), data_bytes=np.zeros(total), data_rack=np.zeros(total),
        data_shelf=np.zeros(total), preferred_type=np.full(total, NO_PREFERENCE),
        demand=np.repeat(np.where(gpus > 0, 1.0, own), n_tasks), estimate_us=np.repeat(limit_s * 1e6, n_tasks),
        task_types=(vs.TaskType("JOB"),), units=np.repeat(np.maximum(gpus, 1), n_tasks),
        lead_types=np.repeat(np.where(gpus > 0, 1, 0), n_tasks), lead_sets=(("CPU",), ("a100",)),
        companions={
            "CPU": np.repeat(np.where(gpus > 0, own, 0.0), n_tasks),
            "memory": np.repeat(np.array([one.memory_mib for one in held])[request] * 2.0**20, n_tasks),
        },
        user=user, user_names=tuple(f"u{i:03}" for i in range(200)), partition=np.zeros(n_jobs),
        partition_names=("batch",), attributes=codes, attribute_words=words,
    )  # fmt: skip
    n_gpu = n_nodes // 10
    racks = [_rack(n_nodes - n_gpu, "c"), _rack(n_gpu, "g", a100=4)]
    accounts = {
        f"a{a:02}": {"shares": 1 + a % 5, "users": {f"u{u:03}": {"shares": 1} for u in range(a, 200, 20)}}
        for a in range(20)
    }
    accounts["a03"]["grp_tres"] = {"cpu": n_nodes * CPUS / 10}
    document = {
        "extends": "none", "processor_types": [{"name": "CPU"}, {"name": "a100"}], "task_types": ["JOB"],
        "affinity": {"absolute": {name: {"JOB": 1.0} for name in ("CPU", "a100")}}, "network": "none",
        "datacenter": {"racks": racks}, "partitions": [{"name": "batch", "groups": ["c", "g"]}],
        "workload": {"file": "jobs.parquet"},
        "policy": "slurm",
        "options": {
            "priority_weight_age": 1000, "priority_weight_fair_share": 5000, "priority_weight_qos": 2000,
            "nodes": {"c": {"weight": 1}, "g": {"weight": 10}},
            "qos": {"normal": {"priority": 10, "max_tres_per_user": {"cpu": n_nodes * CPUS / 4}},
                    "high": {"priority": 100, "max_jobs_per_user": 20}, "low": {"priority": 0}},
            "accounts": accounts,
        },
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "site.yaml"
        types = tuple(vs.ProcessorType(kind) for kind in ("CPU", "a100", "memory"))
        write_workload(file.with_name("jobs.parquet"), work, types)
        write_yaml(file, document)
        return vs.read_scenario(file)


def _rack(n: int, group: str, **gpus: int) -> dict[str, object]:
    units = {"CPU": {"cores": CPUS}, **gpus}
    return {"nodes": [{"count": n, "group": group, "units": units, "memory": f"{MEMORY_MIB} MiB"}]}


def run(quick: bool) -> Report:
    n_jobs, n_nodes, n_days = (10_000, 1_000, 3.0) if quick else (100_000, 1_000, 30.0)
    begun = time.process_time()
    vs.simulate(scenario(50, 10, 1.0), engine="compiled")
    first_s = time.process_time() - begun
    rows = []
    for load in (0.6, LOAD, 0.95):
        made = scenario(n_jobs, n_nodes, n_days, load)
        best_s, result = best_of(1, lambda made=made: lambda: vs.simulate(made, engine="compiled"))
        wait_s = result.summary["jobs"]["wait_us"]["mean"] / 1e6
        rows.append([f"{load:.0%}", figure(best_s), figure(n_jobs / best_s), figure(wait_s / 60)])
    note = f"{n_jobs:,} jobs in {n_days:g} days on {n_nodes:,} nodes. The first run of all took {first_s:.1f} s."
    return Report([Table("A month of Slurm", ["load", "s", "jobs a second", "mean wait, min"], rows, note)])
