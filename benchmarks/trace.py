"""A text trace of ten million lines to columns."""

import json
import tempfile
from pathlib import Path

from benchmarks.measure import in_process
from benchmarks.report import Report, Table, Target, figure

CHILD = """
import json, time
import vinesim as vs
from vinesim.formats.papers.trace import read_trace
from benchmarks.measure import forget_peak, memory_bytes
forget_peak()
before = memory_bytes("VmRSS")
begun, cpu = time.perf_counter(), time.process_time()
work = read_trace({path!r}, arrivals=7.0)
took, cpu = time.perf_counter() - begun, time.process_time() - cpu
columns = sum(v.nbytes for v in vars(work).values() if hasattr(v, "nbytes"))
print(json.dumps([took, cpu, work.n_tasks, memory_bytes() - before, columns]))
"""


def write(path: Path, n_lines: int) -> None:
    """Jobs of 5 tasks; sizes and places vary."""
    with path.open("w", encoding="ascii") as stream:
        for job in range(n_lines // 5):
            stream.write(f"2 {4096 + job % 1000} {job % 100} {job % 10} {30_000_000 + job % 997} 5 {job}\n" * 5)


def run(quick: bool) -> Report:
    n_lines = 500_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.txt"
        write(path, n_lines)
        size = path.stat().st_size
        runs = [json.loads(in_process(["-c", CHILD.format(path=str(path))])[1]) for _ in range(3)]
    took, cpu, n, peak, columns = min(runs)
    if n != n_lines:
        raise RuntimeError(f"{n} tasks read, {n_lines} written")
    figures = (took, cpu, size / took / 1e6, peak / 1e6, columns / 1e6)
    table = Table(
        "A text trace to columns",
        ["", "s", "CPU s", "MB/s", "peak memory, MB", "of it columns, MB"],
        [[f"{n_lines:,} lines, {size / 1e6:,.0f} MB", *map(figure, figures)]],
        "The best of 3, each in its own process.",
    )
    targets = [] if quick else [Target("ten million lines to columns", took, 5, 2, " s", True)]
    return Report([table], targets)
