"""A device that waits as little as possible: what a request costs beyond its kernel, by stage; what payloads cost; and
the share of time in which the device computes. Kernels of 0.3 ms on the CPU stand for those of a GPU; on a machine with
a GPU, its placement and four real kernels are measured too."""

import importlib
import sys

from benchmarks.gpu import path_tables
from benchmarks.gpu.found import gpu
from benchmarks.report import Report, Table

SECTIONS = {  # by module, which is imported if there is a GPU
    "placing": "placement",
    "serving": "real kernels",
    "truth": "live against simulated",
}


def run(quick: bool) -> Report:
    """Measure the path, and what needs a GPU if there is one. Tables go to standard error as soon as they are made."""
    report = path_tables.report(quick)
    _show(report.all_tables())
    name, missing = gpu(), []
    for module, words in SECTIONS.items():
        try:
            if not name:
                raise LookupError("no GPU is here")
            tables, targets = importlib.import_module(f"benchmarks.gpu.{module}").section(quick, name)
        except Exception as wrong:  # what was measured is still shown
            missing.append([words, f"{type(wrong).__name__}: {wrong}" if name else str(wrong)])
            continue
        _show(Report(tables, targets).all_tables())
        report.tables += tables
        report.targets += targets
    if missing:
        report.tables.append(Table("Not measured", ["", ""], missing))
    return report


def _show(tables: list[Table]) -> None:
    for table in tables:
        print(table.markdown(), end="\n\n", file=sys.stderr, flush=True)
