"""Workloads as tables: equal after a round trip, clear about files that are no workload."""

import contextlib
import dataclasses

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vinesim.formats.scenario import workload_columns
from vinesim.formats.scenario.workload_columns import COLUMNS
from vinesim.formats.scenario.workload_table import affinity_of_times, read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.errors import MAX_PROBLEMS, InputError
from vinesim.model.workload import NO_PREFERENCE, Workload


@st.composite
def workloads(draw):
    n_jobs = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(1, 4), min_size=n_jobs, max_size=n_jobs))
    n = sum(counts)
    number = st.floats(0, 1e300)
    names = draw(
        st.lists(
            st.text(min_size=1, max_size=4).filter(lambda s: "\0" not in s and s.isprintable()),
            min_size=1,
            max_size=3,
            unique=True,
        )
    )

    def each(size, strategy):
        return draw(st.lists(strategy, min_size=size, max_size=size))

    def maybe(size, strategy):
        return each(size, strategy) if draw(st.booleans()) else None

    return Workload(
        job_task_type=each(n_jobs, st.integers(0, len(names) - 1)),
        job_first=np.concatenate(([0], np.cumsum(counts))),
        arrival_us=sorted(each(n_jobs, number)),
        operations=each(n, number),
        data_bytes=each(n, number),
        data_rack=each(n, st.integers(0, 2**31 - 1)),
        data_shelf=each(n, st.integers(0, 9)),
        preferred_type=each(n, st.integers(NO_PREFERENCE, 4)),
        demand=maybe(n, number | st.just(np.inf) | st.just(np.nan)),
        deadline_us=maybe(n_jobs, number | st.just(np.inf)),
        application=maybe(n_jobs, st.integers(0, 99)),
        job_id=maybe(n_jobs, st.integers(0, 2**62)),
        times_us=np.reshape(each(6 * n, number | st.just(np.nan)), (n, 6)) if draw(st.booleans()) else None,
        time_factor=maybe(n, number),
        estimate_us=maybe(n, number),
        requests={"cores": each(n, number), "a b": each(n, number)} if draw(st.booleans()) else None,
        task_types=tuple(map(TaskType, names)),
    )


def assert_equal(a, b):
    for item in dataclasses.fields(Workload):
        x, y = getattr(a, item.name), getattr(b, item.name)
        if isinstance(x, dict):
            assert x.keys() == y.keys()
            assert all(np.array_equal(x[name], y[name]) for name in x), item.name
        elif x is None or isinstance(x, tuple):
            assert x == y, item.name
        else:
            assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), item.name


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(workloads())
def test_round_trip(tmp_path_factory, work):
    path = tmp_path_factory.getbasetemp() / "it's [a] *.parquet"
    write_workload(path, work)
    assert_equal(read_workload(path), work)


def plain(path, change=""):
    values = {
        "job": "0::BIGINT",
        "task_type": "'INT'",
        "arrival_us": "0.0",
        "operations": "1.0",
        "data_bytes": "0.0",
        "data_rack": "0",
        "data_shelf": "0",
        "preferred_type": "NULL::VARCHAR",
    }
    query = ", ".join(f"{value} AS {name}" for name, value in values.items())
    duckdb.sql(f"SELECT * {change} FROM (SELECT {query})").write_parquet(str(path))


def test_a_file_of_another_tool(tmp_path):
    plain(tmp_path / "w")
    work = read_workload(tmp_path / "w")
    assert [t.name for t in work.task_types] == ["INT"]
    assert work.preferred_type.tolist() == [NO_PREFERENCE]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("REPLACE ('KNIT' AS task_type, 'ABACUS' AS preferred_type)", "ABACUS"),
        ("EXCLUDE (arrival_us)", "a column arrival_us"),
        ("REPLACE (NULL AS arrival_us)", "null"),
        ("REPLACE ('x' AS operations)", r"w: operations\[0\]: expected a number, 0 or more, or never, found x"),
        ("REPLACE (0.5 AS job)", r"w: job\[0\]: expected a whole number, 0 or more, found 0.5"),
        (", 0 AS estimat_us", "w: estimat_us: .*Did you mean estimate_us"),
        ("REPLACE (1 AS job)", "another order"),
        ("REPLACE ('ABACUS' AS preferred_type)", "'ABACUS'"),
        ("REPLACE (-1.0 AS operations)", "-1"),
    ],
)
def test_refusals(tmp_path, change, found):
    plain(tmp_path / "w", change)
    with pytest.raises(InputError, match=found):
        read_workload(tmp_path / "w")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_broken_bytes_give_a_workload_or_an_input_error(tmp_path, data):
    path = tmp_path / "w"
    plain(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with contextlib.suppress(InputError):
        read_workload(path)


def test_columns_are_what_is_written(tmp_path):
    plain(tmp_path / "w")
    write_workload(tmp_path / "x", read_workload(tmp_path / "w"))
    rows = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{tmp_path}/x')").fetchall()
    assert [(row[0], row[1]) for row in rows] == [
        (name, kind) for name, (kind, _) in COLUMNS.items() if "." not in name
    ]


def csv(tmp_path, text):
    path = tmp_path / "w.csv"
    path.write_text(text)
    return read_workload(path)


def test_a_csv_file_with_units_and_names(tmp_path):
    work = csv(tmp_path, "arrival_s,application,operations,deadline_ms\n0.5,sql,3,900\n0.1,video,5,400\n")
    assert work.arrival_us.tolist() == [1e5, 5e5]  # a job a row: sorted by arrival
    assert work.operations.tolist() == [5, 3]
    assert work.deadline_us.tolist() == [4e5, 9e5]
    assert [work.application_names[code] for code in work.application] == ["video", "sql"]
    assert [t.name for t in work.task_types] == ["TASK"]


def test_measured_times_say_which_processors_can_run_a_task(tmp_path):
    work = csv(tmp_path, "arrival_us,time_ms.GPU,time_s.CPU_INTEL,request.cores\n0,2,,4\n1,3,5,0\n2,,6,1\n")
    assert [work.task_types[code].name for code in work.job_task_type] == ["GPU", "CPU_INTEL+GPU", "CPU_INTEL"]
    assert work.times_us[1, [0, 2]].tolist() == [5e6, 3e3]
    assert work.requests["cores"].tolist() == [4, 0, 1]
    able = affinity_of_times(work)
    assert able.shape == (6, 3)
    assert [able[[0, 2], code].tolist() for code in work.job_task_type] == [[0, 1], [1, 1], [1, 0]]


def test_a_demand_is_a_number_or_whole_or_missing(tmp_path):
    texts = csv(tmp_path, "arrival_us,demand\n0,1.5\n1,whole\n2,\n3,0\n").demand
    assert texts.tolist()[:2] + texts.tolist()[3:] == [1.5, np.inf, 0.0]
    assert np.isnan(texts[2])
    assert csv(tmp_path, "arrival_us,demand\n0,\n1,\n").demand is None
    values = "(VALUES (0.0, {0}), (1.0, {1}), (2.0, {2}), (3.0, {3})) AS t(arrival_us, demand)"
    for kind in (
        ("1.5::DOUBLE", "'inf'::DOUBLE", "NULL::DOUBLE", "0.0::DOUBLE"),
        ("1.5::DOUBLE", "'inf'::DOUBLE", "'nan'::DOUBLE", "0.0::DOUBLE"),
        ("'1.5'", "'whole'", "NULL", "'0'"),
    ):
        duckdb.sql(f"FROM {values.format(*kind)}").write_parquet(str(tmp_path / "w"))
        assert np.array_equal(read_workload(tmp_path / "w").demand, texts, equal_nan=True)
    duckdb.sql("SELECT 0.0 AS arrival_us, [1.0] AS demand").write_parquet(str(tmp_path / "w"))
    with pytest.raises(InputError, match="w: demand: expected numbers"):
        read_workload(tmp_path / "w")


def test_periods_and_times_that_hold_anywhere(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("period,demand,time_s,time_ms.GPU\n2,30,5,\n0,10,15,7\n2,20,1,9\n")
    with pytest.raises(InputError, match="the length of a period"):
        read_workload(path)
    work = read_workload(path, period_us=10e6)
    assert work.arrival_us.tolist() == [0, 20e6, 20e6]
    assert work.demand.tolist() == [10, 30, 20]
    others = [p for p in range(6) if p != 2]
    assert work.times_us[:, others].tolist() == [[15e6] * 5, [5e6] * 5, [1e6] * 5]
    assert work.times_us[[0, 2], 2].tolist() == [7e3, 9e3]
    assert np.isnan(work.times_us[1, 2])


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("period,time_s\n0.5,1\n1,1\n-1,1\n,1\n", ["w.csv:2", "w.csv:4", "w.csv:5"]),
        ("period,arrival_s,time_s\n0,1,2\n", ["w.csv"]),
        ("period,time\n0,1\n", ["time"]),
    ],
)
def test_wrong_periods_are_all_reported(tmp_path, text, places):
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_workload(path, period_us=1.0)
    assert [problem.where.rpartition(": ")[2].rpartition("/")[2] for problem in error.value.problems] == places


def test_rows_without_a_user_have_one_without_a_name(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("arrival_us,user\n0,ann\n1,\n2,bob\n3,\n")
    work = read_workload(path)
    assert [work.user_names[i] for i in work.user] == ["ann", "", "bob", ""]
    write_workload(tmp_path / "w.parquet", work)
    again = read_workload(tmp_path / "w.parquet")
    assert [again.user_names[i] for i in again.user] == ["ann", "", "bob", ""]
    path.write_text("arrival_us,user\n0,\n1,\n")
    assert read_workload(path).user is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("arival_us\n0\n", "Did you mean arrival_us"),
        ("arrival_us,time_us.GPUU\n0,1\n", "Did you mean GPU"),
        ("arrival_us,arrival_s\n0,1\n", "a second time"),
        ("arrival_us,application\n0,a\n1,\n", "w.csv:3: expected application: a name, found nothing"),
        ("arrival_us\n", "a header and at least one row"),
        ("\n", "a header and at least one row"),
        ("arrival_us,color\n0,red\n", "w.csv: color: expected one of job, "),
        ("arrival_us,estimat_s\n0,1\n", "Did you mean estimate_s"),
        ("arrival_us,requests.sms\n0,1\n", "Did you mean request.sms"),
        ("arrival_us,job\n0,0\n1\n", "w.csv:3: expected 2 fields, as in the header, found 1"),
        (
            "arrival_us,job\n0,0\n1\n\n2,0\n3,0,5\n",
            "(?s)w.csv:3: expected 2 fields, .*found 1\n.*w.csv:6: expected 2 fields, as in the header, found 3",
        ),
        ("arrival_us,operations,operations\n0,1,2\n", "operations once"),
        ("arrival_us,estimate_us\n1,2\n\n0,\n", "w.csv:4: expected estimate_us: a value"),
        ("arrival_us,demand\n1,2\n0,all\n", "w.csv:3: expected demand: a number, 0 or more, or whole, found 'all'"),
        ("arrival_us,demand\n1,-2\n0,inf\n1,nan\n1,WHOLE\n", "w.csv:2: .*(\n.*){3}w.csv:5"),
        ('arrival_us,operations\n0,"1\n', "w.csv:2: "),
    ],
)
def test_csv_refusals(tmp_path, text, found):
    with pytest.raises(InputError, match=found):
        csv(tmp_path, text)


def test_every_bad_cell_is_reported_with_its_line_and_in_its_unit(tmp_path):
    with pytest.raises(InputError) as error:
        csv(tmp_path, "arrival_s;time_min.GPU;operations;job_id\nx;-2;1;7\n\n3;nan;;-1\ninf;;1e999;1.5\n4;;0;\n")
    assert [str(problem).rpartition("/")[2] for problem in error.value.problems] == [
        "w.csv:2: expected arrival_s: a number, 0 or more, found 'x'",
        "w.csv:2: expected time_min.GPU: a number, 0 or more, found '-2'",
        "w.csv:4: expected time_min.GPU: a number, 0 or more, found 'nan'",
        "w.csv:4: expected operations: a number, 0 or more, or never, found nothing",
        "w.csv:5: expected arrival_s: a number, 0 or more, found 'inf'",
        "w.csv:5: expected operations: a number, 0 or more, or never, found '1e999'",
        "w.csv:5: expected job_id: a whole number, found '1.5'",
    ]


def test_bad_cells_are_counted(tmp_path):
    with pytest.raises(InputError) as error:
        csv(tmp_path, "arrival_us\n" + "-1\n\n" * 30)
    assert len(error.value.problems) == 20
    assert error.value.n_problems == 60  # a blank line is a row without its only value
    assert error.value.problems[-1].where.endswith(":21")


def test_a_resource_that_no_processor_type_has(tmp_path):
    types = (ProcessorType("A", attributes={"cores": 8}), ProcessorType("B", attributes={"sms": 4}))
    path = tmp_path / "w.csv"
    path.write_text("arrival_us,request.sm\n0,4\n1,0\n")
    with pytest.raises(InputError, match=r"has: cores, sms, found 'sm'\. Did you mean request\.sms\?"):
        read_workload(path, types)
    path.write_text("arrival_us,request.sms,request.spare\n0,4,0\n1,0,0\n")
    assert read_workload(path, types).requests["sms"].tolist() == [4, 0]


def test_many_unknown_columns_are_counted_and_only_those_listed_are_compared_with_known_names(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(workload_columns, "did_you_mean", lambda name, known: asked.append(name) or "")
    (tmp_path / "w.csv").write_text(",".join(["arrival_us", *(f"k{i}" for i in range(500))]) + "\n")
    with pytest.raises(InputError, match="and 480 more") as wrong:
        read_workload(tmp_path / "w.csv")
    assert wrong.value.n_problems == 500
    assert asked == [f"k{i}" for i in range(MAX_PROBLEMS)]
