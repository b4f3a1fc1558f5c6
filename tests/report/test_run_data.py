"""The numbers of a run's page, against a plain reading of the tables."""

import base64
import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.report.conftest import stalled, transfers
from vinesim.formats.results.checksums import write_sums
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.parquet import read_table, write_table
from vinesim.formats.results.tables import open_result
from vinesim.metrics import periods as period_accounts
from vinesim.metrics.activity import stored_activity
from vinesim.metrics.segments import segments_of
from vinesim.metrics.utilization import time_series
from vinesim.model.result import ExitReason, Outcome
from vinesim.policies.replacing import changed
from vinesim.report import run as report_run
from vinesim.report.distributions import N_BINS, PROBABILITIES, distributions
from vinesim.report.racks import racks_of
from vinesim.report.run import run_page
from vinesim.report.usage import usage


def plain_shares(tasks, end_us, group, n_groups, n):
    """What is allocated in each interval of a group's units, and for which share of it they are active: moment by
    moment between all events."""
    times = defaultdict(list)
    for unit, begin, end, share in tasks:
        times[unit].append((begin, end, share))
    edges = [end_us * i / n for i in range(n + 1)]
    found = {"allocated": np.zeros((n_groups, n)), "active": np.zeros((n_groups, n))}
    for unit, spans in times.items():
        cuts = sorted({*edges, *(t for span in spans for t in span[:2])})
        for low, high in itertools.pairwise(cuts):
            there = [share for begin, end, share in spans if begin <= low and high <= end]
            at = group[unit], min(int((low + high) / 2 / end_us * n), n - 1)
            found["active"][at] += (high - low) * bool(there)
            found["allocated"][at] += (high - low) * sum(there)
    return {name: us / (end_us / n * np.bincount(group, minlength=n_groups)[:, None]) for name, us in found.items()}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 40), st.sampled_from([0.25, 1.0, 0.0, 0.3])),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.integers(0, 1), min_size=4, max_size=4).filter(lambda g: len(set(g)) == 2),
    st.integers(1, 17),
)
def test_shares_over_time_are_those_of_the_plain_count(example_tables, spans, group, n):
    spans = [(unit, float(begin), float(begin + length), share) for unit, begin, length, share in spans]
    end_us = max(1.0, *(end for _, _, end, _ in spans))
    result = example_tables(
        [
            (unit, begin, None if end == end_us else end, share)  # an open end is the end of the run
            for unit, begin, end, share in spans
        ],
        end_us,
    )
    (n_units,) = result.rows("SELECT count(*) FROM units")[0]
    for measure, expected in plain_shares(spans, end_us, group, 2, n).items():
        found = stored_activity(result).shares(measure, np.array([*group, *[2] * (n_units - 4)]), 3, n)
        np.testing.assert_allclose(found[:2], expected, atol=1e-9, err_msg=measure)


@pytest.fixture(scope="module")
def example_tables(example):
    """A result whose segments are given: (unit, begin_us, end_us, share)."""
    with open_result(example) as opened:
        result = replace(opened, is_shared=True)
        result.rows("DROP VIEW held")

        def given_segments(rows, makespan_us):
            result.summary["makespan_us"] = makespan_us
            columns = "unit INT, begin_us DOUBLE, start_us DOUBLE, end_us DOUBLE, amount DOUBLE"
            own = "0 AS segment, 0 AS part, 'finished' AS outcome"
            result.rows(f"CREATE OR REPLACE TEMP TABLE given (task BIGINT, {columns})")
            result.rows(f"CREATE OR REPLACE TEMP VIEW held AS SELECT *, {own} FROM given")
            for task, (unit, begin_us, end_us, share) in enumerate(rows):
                result.rows(
                    "INSERT INTO given VALUES (?, ?, ?, ?, ?, ?)", (task, unit, begin_us, begin_us, end_us, share)
                )
            return result

        yield given_segments


@pytest.mark.parametrize("name", ["example", "two_racks", "shared"])
def test_the_matrix_adds_up_to_the_times_of_each_unit(request, name):
    with open_result(request.getfixturevalue(name)) as result:
        units = result.columns("SELECT utilization, active FROM units ORDER BY unit")
        n = len(units["active"])
        activity = stored_activity(result)
        share = {m: activity.shares(m, np.arange(n), n, 37) for m in ("allocated", "active")}
    np.testing.assert_allclose(share["allocated"].mean(axis=1), units["utilization"], atol=1e-9)
    np.testing.assert_allclose(share["active"].mean(axis=1), units["active"], atol=1e-9)
    assert (np.abs(units["active"] - units["utilization"]).max() > 0.05) == (name == "shared")


def test_the_rack_view_holds_the_matrix_in_8_bit(two_racks):
    with open_result(two_racks) as result:
        view = racks_of(stored_activity(result), {0: 0, 2: 1}, result.place_names)
        share = stored_activity(result).shares("allocated", np.arange(40), 40, view["n_intervals"])
    matrix = np.frombuffer(base64.b64decode(view["matrix"]), np.uint8).reshape(40, view["n_intervals"])
    assert np.abs(matrix / 255 - share).max() <= 0.5 / 255 + 1e-9
    assert view["level"] == "unit"
    assert view["rack"] == [0] * 20 + [1] * 20
    assert view["slot"] == [0, 1] * 20
    assert view["type"] == [0, 1] * 20


@pytest.mark.parametrize(
    ("rack", "shelf", "level", "n_cells"),
    [
        (np.arange(10_001) // 10, np.arange(10_001) % 10 // 2, "shelf", 5001),
        (np.arange(10_001) // 2, np.arange(10_001) % 2, "rack", 5001),
        (np.arange(30_000), np.zeros(30_000), "racks", 10_000),
    ],
)
def test_many_units_are_put_together(example, copied, rack, shelf, level, n_cells):
    folder, n = copied(example), len(rack)
    if level == "rack":  # more shelves than cells, fewer racks
        rack, shelf = np.repeat(rack, 2), np.tile([0, 1], n)
        n *= 2
    columns = {"unit": np.arange(n, dtype=np.int32), "unit_type": np.zeros(n, np.int16)}
    columns |= {"rack": rack.astype(np.int32), "shelf": shelf.astype(np.int32)}
    order = np.lexsort((columns["shelf"], columns["rack"]))
    columns |= {name: values[order] for name, values in columns.items() if name in ("rack", "shelf")}
    names = ("capacity", "active_us", "allocated_us", "utilization", "active", "energy_j", "price")
    rest = {name: np.full(n, 0.25) for name in names}
    write_table(folder / "units.parquet", columns | rest)
    write_sums(folder)
    with open_result(folder) as result:
        view = racks_of(stored_activity(result), {0: 0}, result.place_names)
    assert (view["level"], len(view["shelf"])) == (level, n_cells)
    assert sum(view["n_units"]) == n
    assert set(view["utilization"]) == {0.25}
    assert len(view["matrix"]) < 550_000


def test_usage_from_the_tasks_is_usage_as_sampled(example, copied):
    scenario = transfers()
    end_us = vs.simulate(scenario).summary["makespan_us"]
    sampled = vs.simulate(changed(scenario, sampling_us=end_us / 500))
    folder = copied(example)
    write_result(folder, sampled)
    type_of_unit = np.array([0, 1] * 20)
    with open_result(folder) as result:
        as_sampled = usage(result, stored_activity(result), ["CPU_INTEL", "GPU"], type_of_unit)
    (folder / "utilization.parquet").unlink()
    write_sums(folder)
    with open_result(folder) as result:
        from_tasks = usage(result, stored_activity(result), ["CPU_INTEL", "GPU"], type_of_unit)
    assert (as_sampled["is_sampled"], from_tasks["is_sampled"]) == (True, False)
    for one, other in zip(as_sampled["groups"], from_tasks["groups"], strict=True):
        assert one["name"] == other["name"]
        np.testing.assert_allclose(one["allocated"][:500], other["allocated"], atol=2e-4)


def test_too_many_samples_are_averaged(two_racks, copied):
    folder = copied(two_racks)
    outcome = Outcome(
        np.array([0]), np.array([0.0]), np.array([0.0]), np.array([70.0]), np.arange(1), False, ExitReason.ALL_DONE, "",
        100.0, 0,
    )  # fmt: skip
    series = time_series(
        segments_of(outcome, np.nan, np.ones(1)), np.array([0]), ["CPU_INTEL"], 0.083, 100.0, np.ones(1, bool)
    )
    write_table(folder / "utilization.parquet", series)
    write_sums(folder)
    with open_result(folder) as result:
        found = usage(result, stored_activity(result), ["CPU_INTEL"], np.zeros(1, np.int64))
    edges, share = np.array(found["edges_us"]), np.array(found["groups"][0]["allocated"])
    assert len(share) <= 500
    np.testing.assert_allclose(share @ np.diff(edges), 70.0, rtol=1e-3)


@pytest.mark.parametrize(("name", "n_without_waits"), [("two_racks", 1), ("example", 0), ("mostly_at_once", 0)])
def test_distributions_are_those_of_the_columns(request, name, n_without_waits):
    folder, n_zero = request.getfixturevalue(name), 0
    tasks, jobs = read_table(folder / "tasks.parquet"), read_table(folder / "jobs.parquet")
    with open_result(folder) as result:
        found = distributions(result)["measures"]
    columns = [
        (jobs["latency_us"], jobs["task_type"]),
        (tasks["finish_us"] - tasks["arrival_us"], tasks["task_type"]),
        (tasks["finish_us"] - tasks["init_us"], tasks["task_type"]),
        (tasks["init_us"] - tasks["arrival_us"], tasks["task_type"]),
    ]
    titles = ["Latency of jobs", "Latency of tasks", "Response time of tasks", "Waiting time of tasks"]
    assert [measure["title"] for measure in found] == titles
    for measure, (values, types) in zip(found, columns, strict=True):
        assert next(group["name"] for group in measure["groups"]) == "all"
        codes = np.unique(types) if len(np.unique(types)) > 1 else ()
        for group, code in zip(measure["groups"], (None, *codes), strict=True):
            chosen = values if code is None else values[types == code]
            assert sum(group["linear"]) == len(chosen)
            assert group["log"] is None if not values.any() else sum(group["log"]) == len(chosen)
            expected, _ = np.histogram(chosen, N_BINS, tuple(measure["linear"]))
            assert np.abs(np.cumsum(expected) - np.cumsum(group["linear"])).max() <= 2  # rounding at an edge
            low, high = (  # n x share may be a whole number but for rounding: then either neighbour will do
                np.quantile(chosen, np.clip(np.array(PROBABILITIES) + by, 0, 1), method="inverted_cdf")
                for by in (-1e-9, 1e-9)
            )
            assert (low * (1 - 1e-5) <= group["quantiles"]).all()
            assert (group["quantiles"] <= high * (1 + 1e-5)).all()
        n_zero += not values.any()
    assert n_zero == n_without_waits


def test_one_value_only_has_a_histogram(example, copied):
    folder = copied(example)
    jobs = read_table(folder / "jobs.parquet")
    write_table(folder / "jobs.parquet", jobs | {"latency_us": np.full(500, 25.0)})
    write_sums(folder)
    with open_result(folder) as result:
        found = distributions(result)["measures"][0]
    low, high = found["linear"]
    assert low < 25.0 < high
    assert sorted(found["groups"][0]["linear"])[-2:] == [0, 500]


def test_a_run_without_a_start_has_a_page(tmp_path):
    write_result(tmp_path / "run", vs.simulate(stalled()))
    page = run_page(tmp_path / "run")
    assert page.data["latency"]["measures"] == []
    assert "prefers FPGA" in page.sections[0].html


def test_periods_that_share_a_row_are_shown_as_each_of_them(tmp_path, monkeypatch):
    """A run of 60 periods in few rows, in points of 20 periods: the means are those of a row a period."""
    change = [
        "datacenter.racks[0].units={A: 2, D: 2}",
        "workload.options.n_batches=2",
        "period=1 s",
        "arrivals.iat=1 s",
    ]
    change += ["workload.options.tasks_per_batch=3", "horizon=60 s"]
    monkeypatch.setattr(report_run, "MAX_PERIODS", 3)
    found = []
    for folder, rows in (("wide", 1000), ("narrow", 10)):
        monkeypatch.setattr(period_accounts, "MAX_ROWS", rows)
        result = vs.simulate(vs.read_scenario("examples/energy.yaml", change), engine="reference")
        write_result(tmp_path / folder, result)
        found.append((run_page(tmp_path / folder).data["periods"], result.periods))
    (wide, each), (narrow, shared) = found
    assert each.n_rows == 60 > 2 * shared.n_rows
    assert wide["energy_j"] == pytest.approx(each["energy_j"].reshape(3, 20).mean(axis=1), rel=1e-4)
    assert narrow["stride"] == wide["stride"] == 20
    for point, first in enumerate(narrow["period"]):
        inside = (shared["period"] // 20) == first // 20
        for name in ("energy_j", "slav"):
            mean = shared[name][inside].sum() / shared["n_periods"][inside].sum()
            assert narrow[name][point] == pytest.approx(mean, rel=1e-4)
