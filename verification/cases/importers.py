"""Cases of imports and fits: jobs that were lost, units that were guessed wrong, files that could not be run."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import vinesim as vs
from verification.cases.case import case, vinesim, write

NODES = "cpu_milli,memory_mib,gpu,model\n"
PODS = "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
SACCT = "JobIDRaw|User|Partition|Submit|Start|End|ElapsedRaw|State|ReqTRES\n"
AT_8 = "2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T09:00:00|3600|COMPLETED"


def imported(folder: Path, name: str = "log.csv", *words: str) -> Mapping[str, object]:
    """The report of ``import csv``."""
    done = vinesim(folder, "import", "csv", name, "-o", "jobs.csv", "--json", *words)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def marked(report: Mapping[str, object]) -> bool:
    """Whether a report marks that jobs have no size."""
    findings = report["findings"]
    assert isinstance(findings, list)
    return any(found["what"] == "size of jobs" and found["is_odd"] for found in findings)


@case("csv-cpu-time", right="log: 1, marked; log2: 1, marked; log3: 1, marked")
def cpu_time(folder: Path) -> str:
    """The largest number of cores that a job has, where the log only says how much time its processors worked."""
    write(
        folder,
        log_csv="job,submit,elapsed,CPUTimeRAW\n1,2024-05-01T08:00:00,00:01:00,480\n2,2024-05-01T08:00:10,00:02:00,960\n",
        log2_csv="job,submit,elapsed,CPUTime\n1,2024-05-01T08:00:00,00:01:00,00:08:00\n",
        log3_csv="job,submit,run_time,cpu_time\n1,0,60,480\n2,10,120,960\n",
    )
    seen = []
    for name in ("log", "log2", "log3"):
        report = imported(folder, f"{name}.csv")
        demand = vs.read_scenario(folder / "jobs.yaml").workload.demand
        most = 1 if demand is None else demand.max()
        seen.append(f"{name}: {most:g}, {'marked' if marked(report) else 'not marked'}")
    return "; ".join(seen)


@case("csv-short-times", right="frac: 3 jobs; hours: 4 jobs; clock: 3 jobs")
def short_times(folder: Path) -> str:
    """How many jobs are kept that take less than a unit of time."""
    write(
        folder,
        frac_csv="arrival_s,time_s,cores\n0,0.4,0.4\n1,0.49,0.25\n2,5,0.5\n",
        hours_csv="job,submit_h,runtime_h,cpus\n1,0,0.25,4\n2,0.1,2.5,4\n3,0.2,0.45,4\n4,0.3,0.5,4\n",
        clock_csv="submit,elapsed,cpus\n0,0:00:00.40,4\n1,00:00:00.30,2\n2,00:00:01,1\n",
    )
    return "; ".join(f"{name}: {imported(folder, f'{name}.csv')['jobs']} jobs" for name in ("frac", "hours", "clock"))


@case("oracle-short-jobs", right="5 jobs, 2 jobs")
def short_and_long(folder: Path) -> str:
    """How many jobs are kept of less than half a second, and of more than 2^31 us."""
    write(
        folder,
        log_csv="arrival_s,duration_s\n0,0.5\n1,0.9\n2,0.1\n3,10\n4,0.2648\n",
        long_csv="arrival_s,duration_us\n0,3000000000\n1,5000000\n",
    )
    return ", ".join(f"{imported(folder, name).get('jobs')} jobs" for name in ("log.csv", "long.csv"))


@case("oracle-duration-ms", right="time_ms; of the first 200 rows time_ms")
def duration_ms(folder: Path) -> str:
    """The unit of durations in ms, with arrivals in ms since 1970, of a month, by all rows and by the first ones."""
    rows = [
        f"{1_664_575_200_000 + i * 5_178_000},{1000 * (i % 13 + 1) ** (1 + i % 5)},16"  # 1 s to 4 days
        for i in range(500)
    ]
    write(folder, log_csv="\n".join(["submission_time,duration,cpu_count", *rows]) + "\n")
    write(folder, some_csv="\n".join(["submission_time,duration,cpu_count", *rows[:200]]) + "\n")
    units = [imported(folder, name)["columns"]["duration"]["is"] for name in ("log.csv", "some.csv")]  # type: ignore[index]
    return f"{units[0]}; of the first 200 rows {units[1]}"


@case("rel-fit-one-far-time", right="exit 2, log.csv:62")
def one_far_time(folder: Path) -> str:
    """How ``fit`` ends if the last of 61 times is in ms since 1970, the others in s."""
    rows = "".join(f"{7.5 * i},{1 + i % 50},1\n" for i in range(60))
    write(folder, log_csv=f"arrival_s,time_s,cores\n{rows}1714550400000,10,1\n")
    done = vinesim(folder, "fit", "log.csv")
    return f"exit {done.returncode}" + ", log.csv:62" * ("log.csv:62:" in done.stderr)


@case("rel-import-yaml-numbers", right="slurm 0, openb 0, gavel 0, starpu 0, csv 0")
def names_like_numbers(folder: Path) -> str:
    """How ``validate`` ends on scenarios of imports with names such as 1e3."""
    write(
        folder,
        j_txt=f"{SACCT}1|ann|1e3|{AT_8}|cpu=4,mem=4G,node=1,gres/gpu:1e5=1\n",
        n_txt="NodeName=c01 CPUTot=96 Gres=gpu:1e5:4 RealMemory=256000 State=IDLE Partitions=1e3\n",
        on_csv=f"{NODES}8000,2000,2,1e5\n",
        op_csv=f"{PODS}4000,500,1,460,,0,100\n",
        g_csv="gpu,job_type,scale_factor,steps_per_s\n4090,a,1,3\n1e5,a,1,4\n",
        k_csv="kernel,machine,device_type,cores,size_bytes,mean_us,dev_us,n\nx,box,cpu,1,1000,500,50,30\n"
        "x,box,1e6,1,1000,900,30,10\n",
        c_csv="arrival_s,time_s,cores,gpus,gpu_type\n0,300,4,1,1e5\n5,100,2,1,4090\n",
    )
    inputs = {"slurm": ["j.txt", "--nodes", "n.txt"], "openb": ["on.csv", "op.csv"], "gavel": ["g.csv"],
              "starpu": ["k.csv"], "csv": ["c.csv"]}  # fmt: skip
    seen = []
    for name, words in inputs.items():
        vinesim(folder, "import", name, *words, "-o", f"{name}.{'csv' if name == 'csv' else 'parquet'}")
        seen.append(f"{name} {vinesim(folder, 'validate', f'{name}.yaml').returncode}")
    return ", ".join(seen)


@case("rel-import-counts-over-limit", right="openb: n.csv:3; slurm: sn.txt:1")
def counts_over_limit(folder: Path) -> str:
    """Where imports of nodes with 20 million GPUs say that these are too many."""
    write(
        folder,
        n_csv=f"{NODES}8000,2000,2,T4\n64000,4000,20000000,G2\n",
        p_csv=f"{PODS}4000,500,1,460,,0,100\n",
        sj_txt=f"{SACCT}1|ann|p|{AT_8}|cpu=4,mem=4G,node=1\n",
        sn_txt="NodeName=c01 CPUTot=96 Gres=gpu:a:20000000 RealMemory=256000 State=IDLE Partitions=p\n",
    )
    openb = vinesim(folder, "import", "openb", "n.csv", "p.csv", "-o", "ob.parquet")
    slurm = vinesim(folder, "import", "slurm", "sj.txt", "--nodes", "sn.txt", "-o", "sl.parquet")
    places = [where if where in done.stderr and done.returncode == 2 else f"exit {done.returncode}"
              for done, where in ((openb, "n.csv:3"), (slurm, "sn.txt:1"))]  # fmt: skip
    return f"openb: {places[0]}; slurm: {places[1]}"


@case("rel-import-csv-docs-training", right="3 jobs of 16, 4, 1 tasks, all done")
def docs_training(folder: Path) -> str:
    """What becomes of jobs with VineSim's own columns nodes and tasks_per_node."""
    write(
        folder,
        log_csv="arrival_s,time_s,cores,memory,gpus,gpu_type,nodes,tasks_per_node\n0,600,4,16 GiB,1,A100,2,8\n"
        "10,300,4,16 GiB,1,A100,1,4\n20,60,4,16 GiB,1,A100,,\n",
    )
    report = imported(folder)
    if "error" in report:
        return str(report["error"])
    scenario = vs.read_scenario(folder / "jobs.yaml")
    first = scenario.workload.job_first.tolist()
    counts = ", ".join(str(last - begin) for begin, last in pairwise(first))
    done = vs.simulate(scenario, engine="reference").summary["jobs"]["finished"] == len(first) - 1
    return f"{report['jobs']} jobs of {counts} tasks, {'all' if done else 'not all'} done"


@case("rel-import-csv-like-unchecked", right="exit 2, base.yaml:6:1, nothing written")
def like_unchecked(folder: Path) -> str:
    """How an import ends if the scenario that it should be like has a key twice."""
    write(
        folder,
        base_yaml="extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\n"
        "datacenter: {racks: [{units: {CPU: 4}}]}\npolicy: high\npolicy: flat\n",
        log_csv="arrival_s,time_s,cores\n0,300,4\n5,100,1\n",
    )
    done = vinesim(folder, "import", "csv", "log.csv", "-o", "jobs.csv", "--like", "base.yaml")
    written = "something" if list(folder.glob("jobs.*")) else "nothing"
    return f"exit {done.returncode}" + ", base.yaml:6:1" * ("base.yaml:6:1" in done.stderr) + f", {written} written"


@case("rel-import-csv-long-number", right="1 job, time_s: too large to be true: line 3")
def long_number(folder: Path) -> str:
    """What becomes of a job whose duration has 31 digits."""
    write(folder, log_csv=f"arrival_s,time_s,cores\n0,300,4\n5,1{'0' * 30},1\n")
    report = imported(folder)
    if "error" in report:
        return str(report["error"])
    dropped = report["dropped"]
    assert isinstance(dropped, dict)
    lost = "; ".join(f"{reason}: line {found['lines'][0]}" for reason, found in dropped.items())
    return f"{report['jobs']} job, {lost}"


@case("rel-import-csv-unnamed-column", right="2 jobs, valid")
def unnamed_column(folder: Path) -> str:
    """What becomes of a file whose first column has no name, as pandas writes it."""
    write(folder, log_csv=",arrival_s,time_s,cores\n0,0,300,4\n1,5,100,2\n")
    n_jobs = imported(folder).get("jobs")
    return f"{n_jobs} jobs" + ", valid" * (vinesim(folder, "validate", "jobs.yaml").returncode == 0)


@case("rel-slurm-long-number", right="1 job, dropped: cpu: no amount that can be read")
def slurm_long_number(folder: Path) -> str:
    """What becomes of a job of Slurm with 310 digits of CPUs."""
    jobs = f"1|ann|p|{AT_8}|cpu={'1' * 310},mem=4G\n2|ann|p|{AT_8}|cpu=1,mem=4G\n"
    write(folder, jobs_txt=SACCT + jobs)
    done = vinesim(folder, "import", "slurm", "jobs.txt", "-o", "jobs.parquet", "--json")
    if done.returncode:
        return done.stderr.splitlines()[-1]
    report = json.loads(done.stdout)
    return f"{report['jobs']} job, dropped: {', '.join(report['dropped'])}"


@case("slurm-unequal-parts", right="8 a100 + 4 a100, 2 a100 + 2 v100, all done")
def slurm_unequal_parts(folder: Path) -> str:
    """What becomes of a job that ran with 12 GPUs on nodes of 8 and 4, and of one with 4 GPUs of two types."""
    jobs = (
        f"1|ann|p|{AT_8}|cpu=24,mem=24G,node=2,gres/gpu:a100=12\n"
        f"2|ann|q|{AT_8}|cpu=8,mem=8G,node=1,gres/gpu=4\n"
    )  # fmt: skip
    nodes = "".join(f"NodeName={name} CPUTot=64 Gres={gres} RealMemory=65536 State=IDLE Partitions={partition}\n"
                    for name, gres, partition in (("a", "gpu:a100:8", "p"), ("b", "gpu:a100:4", "p"),
                                                  ("c", "gpu:a100:2,gpu:v100:2", "q")))  # fmt: skip
    write(folder, jobs_txt=SACCT + jobs, nodes_txt=nodes)
    done = vinesim(folder, "import", "slurm", "jobs.txt", "--nodes", "nodes.txt", "-o", "jobs.parquet")
    if done.returncode:
        return done.stderr.splitlines()[-1]
    scenario = vs.read_scenario(folder / "jobs.yaml")
    work = scenario.workload
    assert work.units is not None
    assert work.lead_types is not None
    leads = [f"{n} {'|'.join(work.lead_sets[lead])}" for n, lead in zip(work.units, work.lead_types, strict=True)]
    finished = vs.simulate(scenario, engine="reference").summary["jobs"]["finished"]
    words = ", ".join(" + ".join(leads[i:j]) for i, j in pairwise(work.job_first))
    return words + (", all done" if finished == 2 else ", not all done")
