"""The tables of the path alone, whose kernels compute for 0.3 ms on the CPU."""

import os

import numpy as np

from benchmarks.gpu import path
from benchmarks.gpu.stages import STAGES
from benchmarks.report import Report, Table, Target, figure

UNDER_WAY = (1, 4, 16)
AHEAD = (0, 1, 4)
KERNELS = {"computes": path.KERNELS, "sleeps": path.WAITS}
ROWS = [*((k, "computes") for k in UNDER_WAY), (UNDER_WAY[-1], "sleeps")]


def report(quick: bool) -> Report:
    """Measure the path."""
    n = 300 if quick else 2_000
    found, beyond_us = path.stages(n)
    rows = [[words, figure(found[stage])] for stage, words in STAGES.items()]
    rows += [["all", figure(sum(found.values()))], ["beyond the kernel, without notes", figure(beyond_us)]]
    note = f"Means of {n:,} requests, one after the other, without the slowest tenth; notes take 2 us each."
    tables = [Table("A small request by stage, us", ["stage", "us"], rows, note)]
    shares = {(k, words): [path.busy(n, k, ahead, KERNELS[words]) for ahead in AHEAD] for k, words in ROWS}
    rows = [
        [str(k), words, *(figure(value) for share, rate, _ in of for value in (100 * share, rate))]
        for (k, words), of in shares.items()
    ]
    columns = [words for ahead in AHEAD for words in (f"ahead {ahead}: %", "requests a second")]
    note = (
        f"Kernels of {path.KERNEL_US / 1e3:g} ms, `fcfs`, no consolidation, one unit. A kernel that computes holds a "
        "core of this machine, which the programs of the cluster then lack; one that sleeps holds none, as that of a "
        "GPU whose process waits for it. What other programs of the machine keep a kernel waiting counts as computing."
    )
    tables.append(Table("Share of time that the device computes", ["under way", "kernel", *columns], rows, note))
    of_kernels = {words: shares[UNDER_WAY[-1], words][-1][2] for words in KERNELS}
    spent = {"does nothing": path.busy(n, UNDER_WAY[-1], AHEAD[-1], path.NOTHING)[2], **of_kernels}
    rows = [[name, *(figure(of[name]) for of in spent.values())] for name in path.PROGRAMS]
    rows.append(["all", *(figure(sum(of.values())) for of in spent.values())])
    n_cores = os.cpu_count() or 1
    most = 100 * path.most_busy(spent["computes"], n_cores)
    note = (
        f"{UNDER_WAY[-1]} under way, `ahead: {AHEAD[-1]}`. Where the kernel holds one of {n_cores} cores, and client, "
        f"manager and agent take this time of the others, it can compute for about {figure(most)} % of the time."
    )
    columns = ["program", *(f"a kernel that {words}" for words in spent)]
    tables.append(Table("CPU time of a small request by program, us", columns, rows, note))
    calls = 20 if quick else 100
    times, hops = path.payloads(calls), path.hops(calls)
    measured = [times["bytes"], times["array"], hops]
    rows = [
        [name, *(" / ".join(figure(float(np.percentile(of[i], q))) for q in (50, 99)) for of in measured)]
        for i, (name, _) in enumerate(path.SIZES)
    ]
    note = "p50 / p99; the kernel returns the payload's size. One hop: a local socket, confirmed."
    tables.append(Table("A payload, ms", ["payload", "request, bytes", "request, array", "one hop"], rows, note))
    array = [float(np.median(of)) for of in times["array"]]
    targets = [
        Target("small request beyond its kernel", beyond_us / 1e3, 0.4, 0.2, " ms", less_is_better=True),
        Target("array of 256 KiB", array[2], 0.6, None, " ms", less_is_better=True),
        Target("array of 4 MiB", array[4], 5.0, 2 * float(np.median(hops[4])), " ms", less_is_better=True),
        *(
            Target(
                f"share of time that the device computes, {UNDER_WAY[-1]} under way, a kernel that {words}",
                100 * max(share for share, *_ in shares[UNDER_WAY[-1], words]),
                85.0,
                95.0,
                " %",
            )
            for words in KERNELS
        ),
    ]
    return Report(tables, targets)
