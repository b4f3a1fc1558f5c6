"""Results as Python's other libraries take them, and how things look in a shell or a notebook."""

import re
import subprocess
import sys

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import vinesim as vs
from vinesim.formats.results.table import Table
from vinesim.formats.results.tables import open_result
from vinesim.policies.documents import read_scenario

COLUMNS = {
    "number": np.array([1.5, np.nan, -0.0]),
    "code": np.arange(6, dtype=np.int16)[::2],  # not contiguous
    "text": np.array(["a", None, "<c>"], object),
    "is_done": np.array([True, False, True]),
    "nothing": np.array([None, None, None], object),
}
ROWS = [(1.5, 0, "a", True, None), (None, 2, None, False, None), (-0.0, 4, "<c>", True, None)]


@pytest.fixture(scope="module")
def result():
    return vs.simulate(read_scenario("examples/quickstart.yaml", ["sampling=100 us"]), engine="reference")


@pytest.mark.parametrize(
    "rows",
    [
        lambda table: polars.DataFrame(table).fill_nan(None).rows(),
        lambda table: table.to_polars().rows(),
        lambda table: [tuple(row.values()) for row in pyarrow.table(table).to_pylist()],
        lambda jobs: duckdb.sql("FROM jobs").fetchall(),
        lambda table: [tuple(row.values()) for row in pyarrow.table(pandas.DataFrame.from_arrow(table)).to_pylist()],
    ],
    ids=["Polars", "to_polars", "PyArrow", "DuckDB", "pandas"],
)
def test_a_table_is_taken_as_it_is(rows):
    assert rows(Table(COLUMNS)) == ROWS


def test_a_stream_outlives_its_table():
    stream = pyarrow.RecordBatchReader.from_stream(Table(COLUMNS))
    assert stream.read_all().num_rows == 3


def test_an_empty_table_has_its_columns():
    empty = Table({name: values[:0] for name, values in COLUMNS.items()}).to_polars()
    assert (empty.shape, empty.columns) == ((0, 5), list(COLUMNS))


@pytest.mark.parametrize("write", [lambda table, path: table.to_parquet(path), lambda table, _: table.to_polars()])
def test_columns_that_differ_only_in_case_are_refused(write, tmp_path):
    table = Table({"project": np.array([1.0]), "Project": np.array([2.0])})
    with pytest.raises(vs.InputError, match="differ in more than case, found project and Project"):
        write(table, tmp_path / "table.parquet")


def test_a_stream_needs_no_pyarrow():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import numpy as np\n"
        "from vinesim.formats.results.table import Table\n"
        "print(type(Table({'a': np.arange(3)}).__arrow_c_stream__()).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "PyCapsule\n"


def test_every_table_of_a_result_can_be_taken(result):
    for name in ("tasks", "jobs", "units", "utilization"):
        table = getattr(result, name)
        assert table.to_polars().shape == (table.n_rows, len(table))


def test_a_result_is_saved_as_by_the_command_line(result, tmp_path):
    result.save(tmp_path / "out")
    with open_result(tmp_path / "out") as found:
        assert found.summary["jobs"]["latency_us"] == result.summary["jobs"]["latency_us"]
    assert result.report(tmp_path / "page.html") == tmp_path / "page.html"
    assert "<title>" in (tmp_path / "page.html").read_text()


def test_a_notebook_shows_a_picture(result):
    html = result._repr_html_()
    (points,) = re.findall(r'<polyline points="([^"]*)"', html)
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert (len(heights), min(heights), max(heights)) == (200, 0.0, heights[-1])  # full at the peak, empty at the end
    assert len(html) < 10_000


def test_representations_fit_a_screen(result):
    scenario = read_scenario("examples/quickstart.yaml")
    study = vs.read_study("examples/study.yaml")
    plan = vs.read_plan("examples/plans/nodes_fcfs.yaml")
    sweep = vs.Sweep(study, (), 0, 0, None)
    shown = [scenario, scenario.workload, scenario.datacenter, study, plan, sweep, result, result.tasks]
    for thing in shown:
        assert repr(thing).startswith(type(thing).__name__ + "(")
        assert len(repr(thing)) < 160, repr(thing)


def test_the_package_lists_its_own_names_and_no_others():
    assert dir(vs) == sorted(vs.__all__)
    assert all(hasattr(vs, name) for name in dir(vs))
