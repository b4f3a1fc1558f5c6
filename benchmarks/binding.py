"""How a policy gets into the compiled loop: inlined, or asked through a slot by one loop for many policies."""

import numpy as np

from benchmarks.cases import B_CONST
from benchmarks.engine import loop_of
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, figure

POLICIES = ("high", "flat", "pref", "closer_to_data")


def run(quick: bool) -> Report:
    case = B_CONST.first(100_000) if quick else B_CONST
    rows = []
    for policy in POLICIES:
        scenario = case.scenario(policy)
        inlined_s, inlined = best_of(5, lambda of=scenario: loop_of(of))
        slot_s, in_slot = best_of(5, lambda of=scenario: loop_of(of, is_inlined=False))
        if not np.array_equal(inlined, in_slot):
            raise RuntimeError(f"{policy}: the two loops differ")
        rows.append(
            [policy, *(figure(s / case.n_tasks * 1e9) for s in (inlined_s, slot_s)), figure(slot_s / inlined_s)]
        )
    columns = ["", "inlined, ns a task", "through the slot, ns a task", "x"]
    return Report([Table("The event loop on B", columns, rows, "CPU time, best of 5.")])
