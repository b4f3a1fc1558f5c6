"""What it takes to begin: import, help, compilation, the first result, and one whole run of the command."""

import resource
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import ROOT, in_process
from benchmarks.report import Report, Table, Target, figure

FIRST = """
import time
from benchmarks.cases import A
import vinesim as vs
for policy in {policies}:
    before = time.process_time()
    vs.simulate(A.scenario(policy), engine="compiled")
    print(time.process_time() - before)
"""


COMMAND = ["-c", "from vinesim.cli.start import main; main()"]  # what the installed script `vinesim` does


def first_results(cache: str, *policies: str) -> tuple[float, list[float]]:
    """Wall time of a new process, and the time in it to each policy's first result."""
    took, printed = in_process(["-c", FIRST.format(policies=list(policies))], cache)
    return took, [float(line) for line in printed.split()]


def cpu_s(n: int, command: list[str], cache: str) -> float:
    """The least CPU time of ``n`` whole processes, on all their threads."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    taken = []
    for _ in range(n):
        before = used()
        in_process(command, cache)
        taken.append(used() - before)
    return min(taken)


def text_files(folder: Path) -> list[str]:
    """500Jobs as the papers' text files; the arguments for ``vinesim run``."""
    deployment = [f"{kind} 0 {i}" for kind in (0, 2) for i in range(20)]
    (folder / "deployment.txt").write_text("\n".join(deployment) + "\n")
    trace = [f"2 0 0 0 30000000 2 {job}" for job in np.repeat(np.arange(500), 5)]
    (folder / "trace.txt").write_text("\n".join(trace) + "\n")
    return ["run", "--deployment", str(folder / "deployment.txt"), "--trace", str(folder / "trace.txt"), "--iat", "7"]


def run(quick: bool) -> Report:
    n = 3 if quick else 7
    rows = []

    def least(what: str, command: list[str], cache: str | None = None, prints: str = "") -> float:
        runs = [in_process(command, cache) for _ in range(n)]
        if any(prints not in printed for _, printed in runs):
            raise RuntimeError(f"{what}: did not print {prints!r}, so it did not do its work: {runs[0][1][:500]!r}")
        best = min(took for took, _ in runs)
        rows.append([what, figure(best)])
        return best

    with tempfile.TemporaryDirectory() as folder:
        cache = str(Path(folder) / "cache")
        further = () if quick else ("flat", "pref", "closer_to_data", "earliest_finish", "delay")
        _, (first, *others) = first_results(cache, "high", *further)
        apart = str(Path(folder) / "apart")
        alone = [first_results(apart, name)[1][0] for name in (("high", *further) if further else ())][1:]
        least("python -c pass", ["-c", "pass"], cache)
        imported = least("import vinesim", ["-c", "import vinesim"], cache)
        in_process([*COMMAND, "--help"], cache)
        helped = least("vinesim --help", [*COMMAND, "--help"], cache, prints="Usage:")
        rows.append(["first result ever, HIGH: compiles", figure(first)])
        rows += [[f"a further policy, {name}: compiles", figure(s)] for name, s in zip(further, others, strict=True)]
        rows += [
            [f"{name} in its own process, after others: compiles", figure(s)]
            for name, s in zip(further, alone, strict=True)
        ]
        warm = [first_results(cache, "high") for _ in range(n)]
        rows.append(["first result of a new process, HIGH, from the cache", figure(min(times[0] for _, times in warm))])
        rows.append(["the whole of that process", figure(min(took for took, _ in warm))])
        command = [*COMMAND, *text_files(Path(folder)), "--json"]
        in_process(command, cache)  # writes the bytecode
        whole = least("vinesim run on 500Jobs, warm, whole process", command, cache, prints="ALL_DONE")
        quickstart = [*COMMAND, "run", str(ROOT / "examples" / "quickstart.yaml"), "--out", str(Path(folder) / "out")]
        in_process(quickstart, cache)
        numpy_s, text_s, file_s = (cpu_s(n, of, cache) for of in (["-c", "import numpy"], command, quickstart))
    processes = {
        "python -c 'import numpy'": numpy_s,
        "vinesim run on the text files, --json": text_s,
        "vinesim run on the scenario file, --out": file_s,
    }
    shares = [[what, figure(took), figure(took / numpy_s)] for what, took in processes.items()]
    shares_note = f"User and system time of whole processes on all their threads, warm, the least of {n}."
    note = (
        f"Each in its own process, with its start: wall time, the least of {n}. Results: CPU time from the import "
        "on; those that compile once each, one policy after the other in one process, so later ones share some work; "
        "then each in its own process, which has only what the others left on the disk."
    )
    targets = [
        Target("import vinesim, s", imported, 0.3, 0.3, " s", True),
        Target("vinesim --help, s", helped, 0.3, 0.3, " s", True),
        Target("vinesim run on 500Jobs, warm, whole process", whole, 1.5, 0.7, " s", True),
        Target("its CPU time with a result folder over import numpy", file_s / numpy_s, 4.0, 2.5, " x", True),
    ]
    tables = [
        Table("Seconds to begin", ["", "s"], rows, note),
        Table("CPU time of a process with 500Jobs", ["", "s", "over import numpy"], shares, shares_note),
    ]
    return Report(tables, targets)
