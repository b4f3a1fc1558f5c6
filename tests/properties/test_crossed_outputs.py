"""Many features at once: a stored run says what the run said, each wait is explained, and pages are made of it."""

import math
from dataclasses import asdict

import numpy as np
import pytest

from tests.crossed import crossed_scenario
from tests.properties.equivalence import LIMITS, Refused, alike, mostly_slow, options_of, run, without_plans
from tests.strategies import Limits
from vinesim.engine.simulate import result_of
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import TABLES, write_result
from vinesim.formats.results.outcome import read_outcome
from vinesim.formats.results.tables import open_result
from vinesim.metrics.by import axes
from vinesim.metrics.waiting import waits_of
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
        assert list(wrong_in_waits(result, waits_of(folder, range(case.workload.n_jobs)))) == [], seed
        write_timeline(folder, folder / "timeline.json", "0", None, 1000)
        assert len(run_page(folder).sections) > 3
        n_looked_at += 1
    assert n_looked_at > 3
