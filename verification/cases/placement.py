"""Placement on shared GPUs."""

from pathlib import Path

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
