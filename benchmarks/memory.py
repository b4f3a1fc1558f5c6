"""Memory of C above its columns: what simulate() needs besides the workload it was given and the records it returns."""

import json

from benchmarks.measure import in_process
from benchmarks.report import Report, Table, Target, figure

CHILD = """
import json
import vinesim as vs
from benchmarks import cases
from benchmarks.engine import loop_of_policy_is_compiled
from benchmarks.measure import forget_peak, memory_bytes
made = cases.{case}.scenario()
loop_of_policy_is_compiled(made)
work = made.workload
n_in = sum(v.nbytes for v in vars(work).values() if hasattr(v, "nbytes"))
forget_peak()
before = memory_bytes("VmRSS")
result = vs.simulate(made, engine="compiled")
n_out = sum(v.nbytes for v in vars(result.outcome).values() if hasattr(v, "nbytes"))
print(json.dumps([work.n_tasks, n_in, n_out, memory_bytes() - before, memory_bytes("VmRSS") - before]))
"""


def run(quick: bool) -> Report:
    rows, targets = [], []
    for case in ["B_VAR"] if quick else ["B_VAR", "C_VAR"]:
        n, n_in, n_out, peak, kept = json.loads(in_process(["-c", CHILD.format(case=case)])[1])
        values = [n_in, n_out, peak - n_out, kept - n_out]
        name = case.replace("_", " ").replace("VAR", "var")
        rows.append([name, *(figure(v / n) for v in values)])
        targets = [Target(f"{name}, memory above the columns, bytes a task", (peak - n_out) / n, 40, 0, "", True)]
    columns = ["", "workload", "records", "peak above both", "kept above both"]
    note = "In its own process; the peak of simulate() over what the process held before it."
    return Report([Table("Bytes a task", columns, rows, note)], targets)
