"""Four real kernels on a live cluster of a GPU and six CPUs, compared with the simulation of what it recorded."""

import asyncio
from pathlib import Path
from typing import Any

from benchmarks.gpu.serving import KERNELS, kernels
from benchmarks.live_cluster import is_up, one_node, stopped
from benchmarks.live_truth.__main__ import load, numbers, table
from benchmarks.report import Table, Target
from vinesim.live.client import Session, connect
from vinesim.live.load import Played

LOAD = KERNELS.parent / "load.yaml"
CLUSTER = """
processor_types: [{name: GPU}, {name: CPU, attributes: {cores: 1}}]
task_types: [SEARCH, OPTION, SQL, VIDEO]
affinity:
  times:
    GPU: {SEARCH: 1 ms, OPTION: 1 ms, SQL: 3 ms, VIDEO: 1 ms}
    CPU: {SEARCH: 40 ms, OPTION: 20 ms, SQL: 60 ms, VIDEO: 20 ms}
kernels: kernels.py
applications:
  - {name: SEARCH, relative_deadline: 60 ms, average_load: 80, max_consolidated: 8}
  - {name: OPTION, relative_deadline: 60 ms, average_load: 60, max_consolidated: 4}
  - {name: SQL, relative_deadline: 100 ms, average_load: 60, max_consolidated: 8}
  - {name: VIDEO, relative_deadline: 100 ms, per_size: true, average_load: 20}
nodes: [{name: n0, units: {GPU: 1, CPU: 6}}]
policy: POLICY
lease: 30 s
grace: 5 s
"""
MEAN = "response, mean"


def section(quick: bool, gpu: str) -> tuple[list[Table], list[Target]]:
    """Measure it."""
    policies, seconds = (("symphony",), 5.0) if quick else (("symphony", "fcfs"), 25.0)
    found, targets = [], []
    for policy in policies:
        with one_node(CLUSTER.replace("POLICY", policy), kernels()) as folder:
            played, status = asyncio.run(_played(folder, seconds))
            asyncio.run(stopped(folder))
            found.append({"policy": policy, **numbers(folder, played, status)})
        (mean,) = (line for line in found[-1]["lines"] if line["what"] == MEAN)
        apart = 100 * abs(mean["simulated"] / mean["measured"] - 1)
        targets.append(Target(f"mean, live against simulated, `{policy}`", apart, 5.0, None, " %", less_is_better=True))
    made = table(found)
    counts = [
        f"`{one['policy']}`: {one['answered']:,} of {one['sent']:,} answered, {one['started_again']} started again, "
        f"sent up to {one['late_us'] / 1e3:.0f} ms late"
        for one in found
    ]
    title = f"{seconds:.0f} s of load on one {gpu} and six cores: measured / simulated"
    note = f"In brackets: the least and the largest; after it: with what each dispatch took. {'; '.join(counts)}."
    return [Table(title, made.columns, made.rows, note)], targets


async def _played(folder: Path, seconds: float) -> tuple[Played, dict[str, Any]]:
    """Play the load once all devices are ready."""
    session: Session
    async with connect(folder) as session:
        await is_up(session)
    return await load(folder, seconds, False, LOAD)
