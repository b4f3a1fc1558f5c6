"""The study of shared GPUs on a trace: on a small one written here, and the real one where it is at hand."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests import fgd_plainly
from vinesim.cli import reproduce as command
from vinesim.cli.main import app
from vinesim.engine.simulate import simulate
from vinesim.formats.importers.openb import types_of
from vinesim.formats.importers.openb_files import Node
from vinesim.formats.results.parquet import read_table
from vinesim.model.errors import InputError
from vinesim.reproduction.data import Data
from vinesim.reproduction.inputs import inputs_of
from vinesim.reproduction.registry import items
from vinesim.reproduction.reproduce import reproduce
from vinesim_papers.fgd.curves import MOST_LOAD, POLICIES, Curves, by_load, curve, curves
from vinesim_papers.fgd.of_list import FgdOfList
from vinesim_papers.fgd.trace import LOAD, drawn, read_trace

REAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "openb2023"
NODE = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time")


def write(path: Path, columns: tuple[str, ...], rows: list[tuple]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def files(tmp_path):
    """Three nodes with 7 GPUs, one without; 25 pods with GPUs, one of them too large for any node, and 3 without."""
    nodes = [("a", 32000, 65536, 4, "T4"), ("b", 16000, 65536, 2, "P100"), ("c", 8000, 65536, 1, "T4")]
    pods = [(f"p{i}", 1000, 1024, 1, 300 + 100 * (i % 5), ("", "T4")[i % 3 == 0], i, 100) for i in range(24)]
    pods += [("large", 64000, 1024, 4, 1000, "", 30, 100)] + [(f"c{i}", 2000, 1024, 0, 0, "", i, 100) for i in range(3)]
    nodes.append(("d", 64000, 65536, 0, ""))
    return write(tmp_path / "nodes.csv", NODE, nodes), write(tmp_path / "pods.csv", POD, pods)


def test_the_trace_has_the_nodes_with_gpus_and_all_pods(files):
    trace = read_trace(*files)
    assert [node.n_gpus for node in trace.nodes] == [4, 2, 1]
    assert (len(trace.pods), trace.can_run.sum(), trace.workload.n_tasks) == (28, 27, 27)
    assert trace.asked_milli[24] == 4000
    assert trace.milli == 7000


def test_a_seed_draws_the_order_of_nodes_and_pods_and_more_pods(files):
    trace = read_trace(*files)
    made = [drawn(trace, "fgd", seed) for seed in (1, 1, 2)]
    assert np.array_equal(made[0].arrivals, made[1].arrivals)
    assert not np.array_equal(made[0].arrivals[:28], made[2].arrivals[:28])
    for one in made:
        assert sorted(one.arrivals[:28].tolist()) == list(range(28))
        assert trace.asked_milli[one.arrivals].sum() >= LOAD * trace.milli
        work = one.scenario.workload
        assert work.n_tasks == trace.can_run[one.arrivals].sum()
        rows = trace.row[one.arrivals[trace.can_run[one.arrivals]]]
        assert np.array_equal(work.demand, trace.workload.demand[rows])
        assert np.isinf(work.operations).all()
        assert one.scenario.policy == FgdOfList(refuse=True, pod_types=trace.pod_types)
        assert drawn(trace, "gpu_packing", 1).scenario.options == {"refuse": True}
    orders = {tuple(drawn(trace, "fgd", seed).scenario.datacenter.unit_type.tolist()) for seed in range(9)}
    assert len(orders) > 1


def test_a_short_list_is_extended_beyond_the_load(tmp_path):
    nodes = write(tmp_path / "n.csv", NODE, [("a", 128000, 65536, 8, "T4")])
    pods = write(tmp_path / "p.csv", POD, [("p", 1000, 1024, 1, 500, "", 0, 9)])
    trace = read_trace(nodes, pods)
    arrivals = drawn(trace, "random_fit", 0).arrivals
    assert len(arrivals) == int(np.ceil(LOAD * 8000 / 500))


def test_a_list_needs_neither_models_nor_times(files, tmp_path):
    columns = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    pods = write(tmp_path / "short.csv", columns, [("p", 1000, 1024, 1, 500), ("q", 2000, 1024, 0, 0)])
    trace = read_trace(files[0], pods)
    assert [pod.models for pod in trace.pods] == [(), ()]
    assert trace.can_run.all()
    times = write(tmp_path / "wrong.csv", POD, [("p", 1000, 1024, 1, 500, "T4", "", "soon")])
    assert read_trace(files[0], times).pods[0].models == ("T4",)


def test_types_of_pods_are_distinct_as_the_list_writes_them_and_count_pods_that_no_node_can_hold(files, tmp_path):
    specs = ["T4|P100", "P100|T4", "T4|P100", "", "A10", ""]
    rows = [(f"p{i}", 1000, 1024, 1, 500, spec, i, 9) for i, spec in enumerate(specs)]
    rows.append(("large", 64000, 1024, 4, 1000, "", 9, 9))
    trace = read_trace(files[0], write(tmp_path / "list.csv", POD, rows))
    t4, p100 = (1 << [one.name for one in types_of(trace.nodes)].index(name) for name in ("T4", "P100"))
    assert {(one.n_pods, one.models, one.gpu_types & (t4 | p100)) for one in trace.pod_types} == {
        (2, "T4|P100", t4 | p100),
        (1, "P100|T4", t4 | p100),
        (2, "", t4 | p100),
        (1, "A10", 0),
        (1, "", t4 | p100),
    }
    assert trace.can_run.sum() == 5


@pytest.mark.parametrize("seed", range(3))
def test_places_are_those_of_the_definition_with_the_typical_pods_of_the_list(tmp_path, seed):
    random = np.random.default_rng(seed)
    sizes = [("T4", 4), ("P100", 2), ("T4", 8)]
    nodes = [(f"n{i}", 96000, 262144, n_gpus, model) for i, (model, n_gpus) in enumerate(sizes)]
    specs = ["", "T4", "T4|P100", "P100|T4", "A10|T4", "A10"]
    asked = [(0, 0), (1, 300), (1, 460), (1, 1000), (2, 1000), (8, 1000), (16, 1000)]
    pods = []
    for i in range(80):
        n_gpus, milli = asked[random.integers(len(asked))]
        spec = specs[random.integers(len(specs))] if n_gpus else ""
        pods.append((f"p{i}", int(random.choice([1000, 8000, 200000])), 1024, n_gpus, milli, spec, i, 99))
    trace = read_trace(write(tmp_path / "n.csv", NODE, nodes), write(tmp_path / "p.csv", POD, pods))
    twin = fgd_plainly.Fgd(trace.pods, [], [pod[5] for pod in pods])
    made = drawn(trace, "fgd", seed)
    order = [trace.pods[i] for i in made.arrivals if trace.can_run[i]]
    center = made.scenario.datacenter
    models = [center.processor_types[center.unit_type[center.shelf == shelf][2]].name for shelf in range(3)]
    counts = [int((center.shelf == shelf).sum()) - 2 for shelf in range(3)]
    places = [Node(96000, 262144, n_gpus, model) for n_gpus, model in zip(counts, models, strict=True)]
    placed, _ = fgd_plainly.placed("fgd", places, order, twin)
    found = center.shelf[simulate(made.scenario, engine="reference").outcome.task_unit]
    expected = np.array([node for node, _ in placed])
    assert np.array_equal(found[expected >= 0], expected[expected >= 0])
    assert (expected < 0).any()


def test_a_list_may_have_more_types_of_pods_than_pods_that_can_run(tmp_path):
    nodes = write(tmp_path / "n.csv", NODE, [("a", 8000, 65536, 1, "T4")])
    rows = [("p", 1000, 1024, 1, 500, "", 0, 9), *((f"q{n}", 1000, 1024, n, 1000, "", 0, 9) for n in range(2, 6))]
    made = drawn(read_trace(nodes, write(tmp_path / "p.csv", POD, rows)), "fgd", 0)
    assert simulate(made.scenario, engine="reference").outcome.task_unit.tolist() == [2]


def test_where_all_is_allocated_nothing_is_saved(tmp_path):
    nodes = write(tmp_path / "n.csv", NODE, [(f"n{i}", 96000, 262144, 4, "G2") for i in range(3)])
    pods = write(tmp_path / "p.csv", POD, [(f"p{i}", 1000, 1024, 1, 1000, "", i, 100) for i in range(20)])
    judged = reproduce(items()["fgd"], inputs={"nodes": nodes, "pods": pods, "seeds": 1}, workers=1).judged
    assert all(row.measured.startswith("random_fit: 0, dot_product: 0,") for row in judged)


def test_claims_compare_what_is_allocated_after_the_last_arrival_where_none_comes_at_the_highest_load():
    allocation = np.full((len(POLICIES), 1, MOST_LOAD + 1), np.nan)
    allocation[:, 0, 100] = [50, 60, 70, 80, 85, 90]
    data = Data({}, {"curves": lambda: Curves(allocation)})
    claims = {claim.id: claim for claim in items()["fgd"].claims}
    leads = dict(zip(POLICIES, (40, 30, 20, 10, 5), strict=False))
    assert claims["FGD1"].measure(data) == leads
    assert claims["FGD3"].measure(data)["random_fit"] == pytest.approx(80)
    allocation[4, 0, 100] = 100
    assert claims["FGD3"].measure(data)["gpu_best_fit"] == 0


def test_the_curve_is_the_mean_allocation_at_each_whole_percent_of_load():
    asked = np.array([5, 5, 10, 1000])  # loads of 0.5, 1.0, 2.0 and 102 %: 0.5 is rounded to 0
    found = by_load(asked, np.array([True, True, False, True]), 1000)
    assert len(found) == MOST_LOAD + 1
    assert {load: value for load, value in enumerate(found) if not np.isnan(value)} == {
        0: 0.5,
        1: 1.0,
        2: 1.0,
        102: 101.0,
    }
    assert by_load(np.array([15, 10]), np.array([True, True]), 1000)[2] == pytest.approx(2.0)  # 1.5 and 2.5


def test_curves_are_those_of_each_policy_and_seed(files):
    found = curves(*files, 2, 1).allocation
    assert found.shape == (len(POLICIES), 2, MOST_LOAD + 1)
    for number, policy in enumerate(POLICIES):
        for seed in range(2):
            assert np.array_equal(found[number, seed], curve(*files, policy, seed), equal_nan=True)
    assert np.nanmax(found) <= 100
    assert not np.array_equal(found[0, 0], found[0, 1], equal_nan=True)


def test_processes_give_the_same(files):
    assert np.array_equal(curves(*files, 1, 2).allocation, curves(*files, 1, 1).allocation, equal_nan=True)


def test_the_command_judges_and_draws(files, tmp_path):
    pytest.importorskip("matplotlib")
    item = items()["fgd"]
    inputs = dict(zip(("nodes", "pods"), files, strict=True))
    report = reproduce(item, tmp_path / "out", inputs={**inputs, "seeds": 2}, workers=1)
    assert [judged.claim.id for judged in report.judged] == ["FGD1", "FGD2", "FGD3"]
    names = {"fgd.png", "fgd.svg", "claims.json", "curves.parquet"}
    assert {path.name for path in (tmp_path / "out" / "fgd").iterdir()} == names
    rows = read_table(tmp_path / "out" / "fgd" / "curves.parquet")
    at = (rows["policy"] == "fgd") & (rows["seed"] == 1)
    expected = curve(*files, "fgd", 1)
    assert np.array_equal(rows["allocation"][at], expected[rows["load"][at]])
    assert at.sum() == np.isfinite(expected).sum()
    words = ["reproduce", "fgd", "--nodes", str(files[0]), "--pods", str(files[1]), "--seeds", "2", "--json"]
    done = CliRunner().invoke(app, words)
    assert [row["measured"] for row in json.loads(done.stdout)] == [judged.measured for judged in report.judged]


def test_what_is_missing_or_not_taken_is_reported(files):
    nodes, pods = files
    fgd, other = items()["fgd"], items()["table2"]
    with pytest.raises(InputError, match=r"--nodes FILE.*vinesim import openb.*\n.*--pods FILE"):
        inputs_of([fgd], {})
    with pytest.raises(InputError, match=r"no file .*none\.csv"):
        inputs_of([fgd], {"nodes": nodes, "pods": Path("none.csv")})
    with pytest.raises(InputError, match="--seeds: expected at least 1"):
        inputs_of([fgd], {"nodes": nodes, "pods": pods, "seeds": 0})
    with pytest.raises(InputError, match="it makes its own scenarios from its files"):
        reproduce(fgd, inputs={"nodes": nodes, "pods": pods}, changes={"policy": "flat"})
    with pytest.raises(InputError, match=r"--nodes: .*found table2.*\n--seeds: .*found table2"):
        reproduce(other, inputs={"nodes": nodes, "seeds": 2})
    assert inputs_of([other, fgd], {"nodes": nodes, "pods": pods}) == {
        "table2": {},
        "fgd": {"nodes": nodes, "pods": pods, "seeds": 3},
    }


def test_what_needs_files_is_left_out_unless_it_is_named_or_gets_one(monkeypatch, files):
    wanted: list[set[str]] = []
    monkeypatch.setattr(command, "_reproduce", lambda items, *others: wanted.append({item.id for item in items}))
    given = ["--nodes", str(files[0])]
    words = (["--all"], ["--all", *given], ["vinesim"], ["fgd"])
    errors = [CliRunner().invoke(app, ["reproduce", *some]).stderr for some in words]
    assert "fgd is left out: it needs --nodes FILE and --pods FILE" in errors[0]
    assert "fgd" not in errors[1]
    assert errors[2] == "vinesim-plan-llm is left out: it needs --requests FILE\n"
    every = {item.id for item in items().values()} - {"vinesim-plan-llm"}
    assert wanted == [every - {"fgd"}, every, {item for item in every if items()[item].paper == "vinesim"}, {"fgd"}]


@pytest.mark.skipif(not REAL.exists(), reason="the trace is not at ../shared/data/openb2023")
def test_the_real_trace():
    trace = read_trace(REAL / "nodes.csv", REAL / "pods_gpuspec33.csv")
    assert (len(trace.nodes), trace.milli, len(trace.pods)) == (1213, 6_212_000, 8152)
    assert trace.can_run.sum() == 8151
    assert len(drawn(trace, "fgd", 0).arrivals) > 10_000
