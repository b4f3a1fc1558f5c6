"""Tasks per second of A, B and C under HIGH, compared with what one would use instead and what is possible by hand."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import engine
from benchmarks.cases import B_CONST, B_VAR, C_CONST, C_VAR, A, Case
from benchmarks.measure import best_of
from benchmarks.peers import cpp, numba_heap, plain_python, simpy_callbacks, simpy_processes
from benchmarks.report import Report, Table, Target, figure


@dataclass(frozen=True)
class Contender:
    """One engine: how to prepare a run, and how many tasks it can do in a few seconds."""

    name: str
    prepare: Callable[[Case], Callable[[], Any]]
    most_tasks: int = 10_000_000
    n_runs: int = 5


WHOLE, LOOP = "VineSim, simulate()", "VineSim, event loop"
IDIOMATIC = "SimPy, processes"
CONTENDERS = [
    Contender(WHOLE, lambda case: engine.simulation_of(case.scenario())),
    Contender(LOOP, lambda case: engine.loop_of(case.scenario())),
    Contender(IDIOMATIC, simpy_processes.prepare, 300_000, 1),
    Contender("SimPy, callbacks", simpy_callbacks.prepare, 1_000_000, 1),
    Contender("plain Python, heapq", plain_python.prepare, 1_000_000, 1),
    Contender("Numba by hand, binary heap", numba_heap.prepare),
    *(Contender(name, prepare) for name, (prepare, _) in cpp.PEERS.items() if cpp.is_there()),
]


def run(quick: bool) -> Report:
    cases = [A, B_CONST, B_VAR] if quick else [A, B_CONST, B_VAR, C_CONST, C_VAR]
    numba_heap.prepare(A)()  # compiles
    rates = {}
    for contender in CONTENDERS:
        for case in cases:
            most = 50_000 if quick and contender.n_runs == 1 else contender.most_tasks
            rates[contender.name, case.name] = rate(contender, case.first(most))
    rows = [[c.name, *(figure(rates[c.name, case.name]) for case in cases)] for c in CONTENDERS]
    note = (
        "CPU time, best of several runs (SimPy and plain Python: one). All runs of a model gave the same mean job "
        "latency to 1e-9. The SimPy and plain Python rows of B and C are of the first 300,000 or 1,000,000 tasks."
    )
    table = Table("Million tasks a second", ["", *(case.name for case in cases)], rows, note)
    targets = []
    for case in cases[1:]:
        whole, idiomatic = rates[WHOLE, case.name], rates[IDIOMATIC, case.name]
        targets.append(Target(f"{case.name}, {WHOLE}, M tasks/s", whole, 10, 25, ""))
        targets.append(Target(f"{case.name}, against {IDIOMATIC}", whole / idiomatic, 100, None, " x"))
        for rule, is_equal in (("the best C++ at the same tie rule", True), ("the best C++", False)):
            best = [rates[name, case.name] for name, (_, same) in cpp.PEERS.items() if same or not is_equal]
            if cpp.is_there():
                targets.append(Target(f"{case.name}, against {rule}", whole / max(best), None, 0.5, " x"))
    return Report([table], targets)


def rate(contender: Contender, case: Case) -> float:
    """Million tasks a second; the answer is checked against the bare kernel's."""
    small = case.n_tasks < 10_000 and contender.n_runs > 1
    best_s, finish = best_of(50 if small else contender.n_runs, lambda: contender.prepare(case))
    expected = case.mean_latency_us(numba_heap.prepare(case)())
    found = case.mean_latency_us(finish)
    if not math.isclose(found, expected, rel_tol=1e-9):
        raise RuntimeError(f"{contender.name}, {case.name}: mean job latency {found!r} us, expected {expected!r} us")
    return case.n_tasks / best_s / 1e6
