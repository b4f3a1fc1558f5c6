"""The tables of the path alone, whose kernels compute for 0.3 ms on the CPU."""

import numpy as np

from benchmarks.gpu import path
from benchmarks.gpu.stages import STAGES
from benchmarks.report import Report, Table, Target, figure

UNDER_WAY = (1, 4, 16)
AHEAD = (0, 1, 4)


def report(quick: bool) -> Report:
    """Measure the path."""
    n = 300 if quick else 2_000
    found, beyond_us = path.stages(n)
    rows = [[words, figure(found[stage])] for stage, words in STAGES.items()]
    rows += [["all", figure(sum(found.values()))], ["beyond the kernel, without notes", figure(beyond_us)]]
    note = f"Means of {n:,} requests, one after the other, without the slowest tenth; notes take 2 us each."
    tables = [Table("A small request by stage, us", ["stage", "us"], rows, note)]
    shares = [[path.busy(n, k, ahead) for ahead in AHEAD] for k in UNDER_WAY]
    rows = [
        [str(k), *(figure(value) for share, rate in of for value in (100 * share, rate))]
        for k, of in zip(UNDER_WAY, shares, strict=True)
    ]
    columns = [words for ahead in AHEAD for words in (f"ahead {ahead}: %", "requests a second")]
    note = f"Kernels of {path.KERNEL_US / 1e3:g} ms, `fcfs`, no consolidation, one unit."
    tables.append(Table("Share of time that the device computes", ["under way", *columns], rows, note))
    spent = path.cpu(n, UNDER_WAY[-1], AHEAD[-1])
    rows = [[name, figure(us)] for name, us in (*spent.items(), ("all", sum(spent.values())))]
    note = f"{UNDER_WAY[-1]} under way, `ahead: {AHEAD[-1]}`, a kernel that does nothing."
    tables.append(Table("CPU time of a small request by program, us", ["program", "us"], rows, note))
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
        Target("share of time that the device computes, 16 under way", 100 * max(shares[-1])[0], 85.0, 95.0, " %"),
    ]
    return Report(tables, targets)
