"""Explain in Slurm's words why a job waited under the policy ``slurm``, from the run's folder."""

from collections.abc import Sequence
from pathlib import Path

from vinesim.formats.results.folder import SCENARIO
from vinesim.formats.results.tables import open_result
from vinesim.metrics.run_columns import StoredColumns
from vinesim.metrics.wait import LOSSES, TERMINAL, Waiting
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.slurm.policy import Slurm
from vinesim.policies.slurm.replay import END, KILLED, LOST, Ran, Reason, reasons_of

_RUNS = """
SELECT tasks.job, begin_us, max(coalesce(end_us, $end_us)) AS end_us, max(outcome) AS outcome,
    max(task) AS task
FROM held JOIN tasks USING (task)
WHERE part = 0 GROUP BY tasks.job, begin_us ORDER BY tasks.job, begin_us
"""
MOST_JOBS = 3  # named in a line
ENDS = dict.fromkeys(LOSSES, LOST) | dict.fromkeys(TERMINAL, KILLED)


def slurm_reasons(folder: str | Path, waits: Sequence[Waiting]) -> dict[int, list[Reason]]:
    """Return the reasons of each job; nothing if the run had another policy, or its folder lacks the scenario."""
    file = Path(folder) / SCENARIO
    if not waits or waits[0].policy != Slurm.name or not file.is_file():
        return {}
    scenario = read_scenario(file)
    policy = resolve(scenario.policy, scenario.options)
    assert isinstance(policy, Slurm)
    with open_result(folder) as result:
        end_us = float(result.summary["makespan_us"])
        given_up = dict(zip(*StoredColumns(result).given_up(), strict=True))
        runs = [Ran(job, begin, end, KILLED if given_up.get(task) == end else ENDS.get(outcome, END))
                for job, begin, end, outcome, task in result.rows(_RUNS, {"end_us": end_us})]  # fmt: skip
    if policy.preempt_mode == "suspend":
        runs = _without_pauses(runs)
    return {one.job: reasons_of(policy, scenario, runs, one.job, end_us) for one in waits}


def _without_pauses(runs: list[Ran]) -> list[Ran]:
    """Join the runs of each job into one, because a suspended job is not pending."""
    found: dict[int, Ran] = {}
    for one in runs:
        first = found.get(one.job, one)
        found[one.job] = Ran(one.job, first.begin_us, one.end_us, one.end)
    return list(found.values())


def reason_lines(reasons: Sequence[Reason], found: Waiting, names: dict[int, int], rows: int) -> list[str]:
    """Describe the reasons, one per line, at most ``rows`` of them."""
    if not reasons:
        return []
    lines = ["In Slurm's words:"]
    for one in reasons[:rows]:
        who = ", ".join(f"job {names.get(job, job)}" for job in one.jobs[:MOST_JOBS])
        who += f" and {len(one.jobs) - MOST_JOBS:,} more" if len(one.jobs) > MOST_JOBS else ""
        verb = {"Priority": "behind ", "Dependency": "waits for ", "Resources": "held by "}.get(one.reason, "used by ")
        rest = "; ".join(filter(None, (one.detail, verb + who if who else "")))
        lines.append(f"{found.clock.span(one.begin_us, one.end_us)}: {one.reason}" + (f" ({rest})" if rest else ""))
    more = len(reasons) - rows
    return lines + ([f"... {more:,} more times"] if more > 0 else [])


def numbers_of(folder: str | Path, reasons: dict[int, list[Reason]]) -> dict[int, int]:
    """Return the original job ids, by job, of the jobs that the reasons name."""
    jobs = sorted({job for each in reasons.values() for one in each for job in one.jobs})
    with open_result(folder) as result:
        if not result.has("jobs", "job_id") or not jobs:
            return {}
        return dict(result.rows("SELECT job, job_id FROM jobs WHERE list_contains($jobs, job)", {"jobs": jobs}))
