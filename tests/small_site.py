"""Small Slurm sites for tests: a configuration of four nodes, and jobs as sacct prints them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

CONF = """ClusterName=small
NodeName=c[1-3] CPUs=4 RealMemory=8000 Feature=intel Weight=1
NodeName=g1 CPUs=8 RealMemory=16000 Gres=gpu:a100:2 Feature=amd Weight=5
PartitionName=batch Nodes=ALL Default=YES MaxTime=60
PartitionName=short Nodes=c[1-3] MaxTime=10 PriorityTier=2
PriorityType=priority/basic
SchedulerParameters=bf_interval=30,bf_exotic=1
"""
COLUMNS = (
    "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|"
    "ExitCode|ReqTRES|NodeList|Constraints|Reservation|SubmitLine"
)


def at(seconds: float | None) -> str:
    """Return a time of a log, s after its beginning."""
    if seconds is None:
        return "Unknown"
    return f"2024-03-01T{int(seconds) // 3600:02d}:{int(seconds) % 3600 // 60:02d}:{int(seconds) % 60:02d}"


def job(number: int, submit: float, run: float, options: str, **values: Any) -> str:
    """Return a row of sacct: a job that started as soon as it was submitted, if ``values`` do not say otherwise."""
    start = values.get("start", submit)
    limit = values.get("limit", 30)
    end = values.get("end", None if start is None else start + run)
    account = values.get("account", "lab")
    fields = (
        values.get("id", number), number, values.get("name", "j"), values.get("user", "ann"), account,
        values.get("partition", "batch"), values.get("qos", "normal"), at(submit), at(values.get("eligible", submit)),
        at(start), at(end), int(run), limit, values.get("state", "COMPLETED"), values.get("exit", "0:0"),
        values.get("tres", "cpu=1,node=1"), values.get("nodes", "c1"), values.get("constraint", ""),
        values.get("reservation", ""), f"sbatch -t{limit} {options}",
    )  # fmt: skip
    return "|".join(map(str, fields))


def write_site(folder: Path, jobs: Iterable[str], conf: str = CONF, **files: str) -> Path:
    """Write a site, with further files by name (``qos`` is qos.txt), and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "slurm.conf").write_text(conf)
    (folder / "sacct.txt").write_text("\n".join([COLUMNS, *jobs]) + "\n")
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    return folder
