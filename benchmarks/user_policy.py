"""A user's policy in a file against the same built in."""

import tempfile
from pathlib import Path

from benchmarks import engine
from benchmarks.cases import B_VAR
from benchmarks.measure import best_of
from benchmarks.report import Report, Table, Target, figure

MINE = '''
"""HIGH again, as a user would write it."""

from vinesim.policies import OnlinePolicy, fastest_free, next_pending, nothing, oldest_pending, start


class Mine(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        while task >= 0:
            unit = fastest_free(model, state, task)
            if unit >= 0:
                return start(task, unit)
            task = next_pending(model, state, task)
        return nothing()
'''


def run(quick: bool) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.py"
        file.write_text(MINE)
        made = {"built in": B_VAR.scenario(), "in a file": B_VAR.scenario(f"{file}:Mine")}
        times = dict.fromkeys(made, float("inf"))
        for _ in range(4 if quick else 12):  # in turns, so that both see the same machine
            for name, scenario in made.items():
                took, _answer = best_of(1, lambda scenario=scenario: engine.loop_of(scenario))
                times[name] = min(times[name], took)
    rows = [[name, figure(B_VAR.n_tasks / s / 1e6)] for name, s in times.items()]
    table = Table("HIGH on B var, million tasks a second, event loop", ["", "M tasks/s"], rows, "CPU time, in turns.")
    ratio = times["in a file"] / times["built in"]
    return Report(
        [table],
        [Target("a user's policy against the same built in (aim: equal, within 5 %)", ratio, 1.5, 1.05, " x", True)],
    )
