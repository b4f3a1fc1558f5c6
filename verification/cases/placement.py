"""Placement on shared GPUs."""

from pathlib import Path

import vinesim as vs
from verification.cases.case import case, vinesim, write


@case("oracle-fgd-all-placed", right="exit 0, curves.parquet written")
def all_placed(folder: Path) -> str:
    """A list of pods of which every policy places all, so that nothing is left unallocated."""
    nodes = [f"n{i},96000,262144,4,G2" for i in range(3)]
    pods = [f"p{i},1000,1024,1,1000" for i in range(20)]
    write(
        folder,
        nodes_csv="\n".join(["sn,cpu_milli,memory_mib,gpu,model", *nodes]),
        pods_csv="\n".join(["name,cpu_milli,memory_mib,num_gpu,gpu_milli", *pods]),
    )
    files = ("--nodes", "nodes.csv", "--pods", "pods.csv", "--seeds", "1", "--workers", "1", "--out", "out")
    done = vinesim(folder, "reproduce", "fgd", *files)
    is_written = (folder / "out" / "fgd" / "curves.parquet").exists()
    return f"exit {done.returncode}, curves.parquet {'written' if is_written else 'missing'}"


@case("backfill-equal-nodes", right="easy_backfill: 0, 0, 5, 2; conservative_backfill: 0, 0, 5, 2")
def equal_nodes(folder: Path) -> str:
    """When four jobs start on three equal nodes of one core: the fourth delays nobody at 2."""
    write(
        folder,
        j_csv="arrival_s,time_s,estimate_s,cores,nodes\n0,1,1,1,1\n0,5,5,1,2\n1,4,4,1,2\n2,5,5,1,1\n",
        s_yaml="extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\n"
        "datacenter: {racks: [{nodes: [{count: 3, units: {CPU: {cores: 1}}}]}]}\n"
        "workload: {file: j.csv}\npolicy: easy_backfill\n",
    )
    case, found = vs.read_scenario(folder / "s.yaml"), []
    for policy in ("easy_backfill", "conservative_backfill"):
        done = vs.simulate(vs.changed(case, policy=policy), engine="reference").tasks
        starts = done["init_us"][case.workload.job_first[:-1]] / 1e6
        found.append(f"{policy}: {', '.join(f'{start:g}' for start in starts)}")
    return "; ".join(found)
