"""What pages and figures draw of tasks that hold several units, of shared units and of types: recomputed from the
Parquet files."""

import numpy as np
import pytest

import vinesim as vs
from tests.report.test_figures import lines_of, run_rows, stairs_of
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.plots.plot import plot
from vinesim.report.run import run_page

NODES = """extends: none
processor_types: [{name: CPU}, {name: GPU}]
network: none
datacenter:
  racks: [{nodes: [{count: 2, units: {CPU: {cores: 4}, GPU: 2}, memory: 8 GiB}, {units: {CPU: {cores: 8}}}]}]
workload: {file: jobs.csv}
policy: flat
"""
MEASURES = ("allocated", "active")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Twenty jobs with cores, some with GPUs or halves of them and with memory, on nodes of two kinds."""
    folder = tmp_path_factory.mktemp("run")
    rows = [
        f"{i},{3 + i % 7},{1 + i % 4},{(i % 3) * (i % 2)},{0.5 if i % 5 == 0 and i % 3 and i % 2 else ''},{i % 4} GiB"
        for i in range(20)
    ]
    (folder / "jobs.csv").write_text("\n".join(["arrival_s,time_s,cores,gpus,gpu_share,memory", *rows]) + "\n")
    (folder / "s.yaml").write_text(NODES)
    write_result(folder / "nodes", vs.simulate(vs.read_scenario(folder / "s.yaml"), engine="reference"))
    return folder / "nodes"


def held(folder):
    """(unit, begin, end, share) of each stay on a unit, from the tables of segments or tasks and units."""
    units = run_rows(folder, "SELECT capacity, unit_type FROM {units} ORDER BY unit").fetchnumpy()
    if (folder / "segments.parquet").exists():
        query = f"SELECT unit, begin_us AS b, end_us AS e, amount FROM '{folder}/segments.parquet'"
    else:
        query = "SELECT unit, init_us AS b, finish_us AS e, amount FROM {tasks} WHERE init_us IS NOT NULL"
    found = run_rows(folder, query).fetchnumpy()
    with open_result(folder) as result:
        end_us, runs_tasks = float(result.summary["makespan_us"]), result.runs_tasks
        types = result.processor_types
    ends = np.ma.filled(found["e"].astype(float), np.nan)
    ends = np.where(np.isnan(ends), end_us, ends)
    return units, found["unit"], found["b"], np.minimum(ends, end_us), found["amount"], end_us, runs_tasks, types


def expected_mean(folder, measure, name):
    """The mean over the run of what is drawn of a type, or of all: by the definition, from the stays."""
    units, unit, begin, end, amount, end_us, runs_tasks, types = held(folder)
    chosen = runs_tasks if name == "all" else units["unit_type"] == {n: code for code, n in types.items()}[name]
    if measure == "allocated":
        mine = chosen[unit]
        return (amount * (end - begin))[mine].sum() / (units["capacity"][chosen].sum() * end_us)
    total = 0.0
    for u in np.flatnonzero(chosen):
        spans = sorted(zip(begin[unit == u].tolist(), end[unit == u].tolist(), strict=True))
        until = 0.0
        for b, e in spans:
            total += max(0.0, e - max(b, until))
            until = max(until, e)
    return total / (chosen.sum() * end_us)


@pytest.mark.parametrize("name", ["shared", "nodes"])
def test_the_page_s_utilisation_is_that_of_the_stays_on_units(request, name):
    folder = request.getfixturevalue(name)
    found = run_page(folder).data["usage"]
    lengths = np.diff(np.array(found["edges_us"], float))
    for group in found["groups"]:
        for measure in MEASURES:
            drawn = np.average(np.array(group[measure], float), weights=lengths)
            assert drawn == pytest.approx(expected_mean(folder, measure, group["name"]), abs=2e-4), (group, measure)


@pytest.mark.parametrize("name", ["shared", "nodes"])
def test_the_figure_s_utilisation_is_that_of_the_stays_on_units(request, name):
    folder = request.getfixturevalue(name)
    for what, measure in (("utilization", "allocated"), ("active", "active")):
        (drawn,) = stairs_of(plot(folder, kind="timeline", y=what, y_unit="share")).values()
        mean = np.average(drawn[0], weights=np.diff(drawn[1]))
        assert mean == pytest.approx(expected_mean(folder, measure, "all"), rel=1e-6)
        for label, (values, edges, _) in stairs_of(
            plot(folder, kind="timeline", y=what, by="unit_type", y_unit="share")
        ).items():
            mean = np.average(values, weights=np.diff(edges))
            assert mean == pytest.approx(expected_mean(folder, measure, label), rel=1e-6), label


@pytest.mark.parametrize("name", ["shared", "nodes"])
def test_the_racks_have_the_utilisation_of_their_units(request, name):
    folder = request.getfixturevalue(name)
    found = run_page(folder).data["racks"]
    units = run_rows(folder, "SELECT utilization, active FROM {units} ORDER BY unit").fetchnumpy()
    assert found["utilization"] == pytest.approx(units["utilization"], abs=1e-4)
    assert found["active"] == pytest.approx(units["active"], abs=1e-4)


def test_the_queues_by_type_are_those_of_the_tasks_table(two_racks):
    found = run_page(two_racks).data["waiting"]
    edges = np.array(found["edges_us"], float)
    tasks = run_rows(two_racks, "SELECT task_type, arrival_us AS a, init_us AS b FROM {tasks}").fetchnumpy()
    with open_result(two_racks) as result:
        names = {name: code for code, name in result.task_types.items()}
    drawn = {one["name"]: one["values"] for one in found["queue"]}
    assert set(drawn) == {"all", *names}
    for name, values in drawn.items():
        mine = np.ones(len(tasks["a"]), bool) if name == "all" else tasks["task_type"] == names[name]
        overlap = np.minimum.outer(tasks["b"][mine], edges[1:]) - np.maximum.outer(tasks["a"][mine], edges[:-1])
        assert values == pytest.approx(np.maximum(overlap, 0).sum(axis=0) / np.diff(edges), rel=1e-3, abs=1e-3)


def test_a_tail_by_type_counts_what_did_not_wait(mostly_at_once):
    figure = plot(mostly_at_once, kind="tail", x="tasks.wait_us", by="task_type", x_unit="us")
    drawn = lines_of(figure)
    assert set(drawn) == {"A", "B"}
    for code, (x, y) in enumerate(drawn.values()):
        query = f"SELECT init_us - arrival_us AS x FROM {{tasks}} WHERE task_type = {code}"
        waits = run_rows(mostly_at_once, query).fetchnumpy()["x"]
        assert (waits == 0).any()
        for at in np.unique(x)[:-1]:  # the last point at a time is the share from then on
            assert y[np.flatnonzero(x == at)[-1]] == pytest.approx((waits > at).mean()), (code, at)
