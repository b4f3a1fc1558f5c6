"""Many features at once: a stored run says what the run said, each wait is explained, and pages are made of it."""

import math
from dataclasses import asdict

import numpy as np
import pytest

import vinesim as vs
from tests.crossed import crossed_scenario
from tests.properties.equivalence import LIMITS, Refused, alike, mostly_slow, options_of, run, without_plans
from tests.strategies import Limits
from vinesim.engine.simulate import result_of
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import TABLES, write_result
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.metrics.by import axes, groups
from vinesim.metrics.numbers import flat
from vinesim.metrics.waiting import waits_of
from vinesim.model.application import application_names
from vinesim.policies.registry import resolve
from vinesim.report.run import run_page
from vinesim.report.timeline import write_timeline
from vinesim.studies import differences

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
POLICIES = ("high", "edf_drop", "kueue", "bf")
SLACK = 1e-9


def wrong_in_parts(result, again):
    """What differs by user, partition, size or hour, and numbers of jobs that do not add up."""
    tables = {name: getattr(result, name) for name in (*TABLES, "labels")}
    for axis in axes(tables):
        one, other = result.by(axis), again.by(axis)
        yield from (f"by {axis}: {name}" for name in one if not alike(list(one[name]), list(other[name]))
                    and not np.array_equal(one[name], other[name], equal_nan=True))  # fmt: skip
        if axis in ("user", "partition", "task_type") and one["jobs"].sum() != len(result.jobs["job"]):
            yield f"by {axis}: {one['jobs'].sum()} jobs of {len(result.jobs['job'])}"


CUT = (
    *("jobs.latency_us.", "jobs.wait_us.", "jobs.time_to_start_us.", "jobs.bounded_slowdown.", "jobs.warm_up."),
    *("tasks.latency_us.", "tasks.wait_us.", "tasks.response_us.", "fairness."),
    *(f"serving.{name}_us." for name in ("first_token", "token", "queue", "transfer")),
)  # by the warm-up; and the latencies of applications


def wrong_in_warm_up(case, result, rule):
    """Numbers that a warm-up should leave alone, but changes; and those that it cuts, but not everywhere alike."""
    cut = vs.simulate(case, engine="reference", warm_up=rule)
    whole, left = dict(flat(result.measured)), dict(flat(cut.measured))
    names = [name for name in left if not (name.startswith(CUT) or "latency_us" in name)]
    yield from (f"{rule}: {name}: {left[name]}, not {whole[name]}" for name in names if left[name] != whole[name])
    start, jobs = cut.summary["jobs"]["warm_up"]["dropped"], cut.summary["jobs"]
    if rule != "mser5" and start != rule.get("jobs", int(rule.get("share", 0) * case.workload.n_jobs)):
        yield f"{rule}: {start} jobs are left out"
    tables = {name: getattr(result, name) for name in (*TABLES, "labels")}
    for axis in axes(tables):
        rows, (_, code, _) = cut.by(axis), groups(tables, result.summary, axis)
        latency_us = result.jobs["latency_us"][start:]
        n = np.bincount(code[start:], np.isfinite(latency_us), len(rows["jobs"]))
        total = np.bincount(code[start:], np.nan_to_num(latency_us), len(rows["jobs"]))
        means = np.sort(total[n > 0] / n[n > 0])
        if not np.allclose(np.sort(rows["latency_us"][np.isfinite(rows["latency_us"])]), means, SLACK, SLACK):
            yield f"{rule}: by {axis}: latencies {rows['latency_us']}, not {means}"
        for name, of_run in (("wait_us", "wait_us"), ("slowdown", "bounded_slowdown")):
            known = rows[name][np.isfinite(rows[name])]
            least, most, mean = known.min(initial=math.inf), known.max(initial=-math.inf), jobs[of_run]["mean"]
            if mean is not None and not least * (1 - SLACK) - SLACK <= mean <= most * (1 + SLACK) + SLACK:
                yield f"{rule}: by {axis}: {name} from {least} to {most}, but {mean} of all"
    for name, one in cut.summary.get("applications", {}).items():
        if name != "mean":
            mine = np.array(application_names(case.workload), object)[case.workload.application] == name
            latency_us = result.jobs["latency_us"][mine & (np.arange(len(mine)) >= start)]
            found, latest_us = one["latency_us"]["max"], np.fmax.reduce(latency_us, initial=-math.inf)
            if (-math.inf if found is None else found) != latest_us:
                yield f"{rule}: application {name}: at most {found} us, not {latest_us}"


def wrong_in_waits(result, waits):
    """What is explained beyond the times that a job waited, and waits that differ from those of the tables."""
    for one in waits:
        waited = math.fsum(end - begin for begin, end in one.waits)
        if not math.isclose(waited, one.waited_us, rel_tol=SLACK, abs_tol=SLACK):
            yield f"job {one.job} waited {one.waited_us} us, not {waited}"
        explained = math.fsum(span.end_us - span.begin_us for span in one.spans)
        if explained > waited * (1 + SLACK) + SLACK:
            yield f"job {one.job} waited {waited} us, of which {explained} are explained"
        for span in one.spans:
            if not any(b - SLACK <= span.begin_us and span.end_us <= e + SLACK for b, e in one.waits):
                yield f"job {one.job} did not wait at all of {asdict(span)}"


@pytest.mark.parametrize("name", mostly_slow(POLICIES, {"high"}))
def test_outputs_say_the_same(name, tmp_path):
    policy, choices = without_plans()[name], options_of(without_plans()[name])
    n_looked_at = 0
    for seed in range(6):
        case = crossed_scenario(seed, policy, choices[seed % len(choices)], LIMITS.get(policy, Limits()))
        result, bound = run(case, "reference"), resolve(policy, case.options)
        if isinstance(result, Refused):
            continue
        folder = tmp_path / str(seed)
        write_result(folder, result, lambda draft: write_record(draft, case, result.outcome.failures, bound))  # noqa: B023
        with open_result(folder) as stored:
            outcome = read_outcome(stored, case)
        again = result_of(case, outcome, lambda: result.provenance)  # noqa: B023
        assert differences.of_summaries(result.summary, again.summary) == [], seed
        for table in TABLES:
            one, other = getattr(result, table), getattr(again, table)
            assert (one is None) == (other is None), (seed, table)
            assert one is None or differences.of_tables(table, one, other) == [], (seed, table)
        assert list(wrong_in_parts(result, again)) == [], seed
        for rule in ({"share": 0.4}, {"jobs": case.workload.n_jobs - 1}, "mser5"):
            assert list(wrong_in_warm_up(case, result, rule)) == [], seed
        assert list(wrong_in_waits(result, waits_of(folder, range(case.workload.n_jobs)))) == [], seed
        write_timeline(folder, folder / "timeline.json", "0", None, 1000)
        assert len(run_page(folder).sections) > 3
        n_looked_at += 1
    assert n_looked_at > 3
