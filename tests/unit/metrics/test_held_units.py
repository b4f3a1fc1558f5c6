"""Units that tasks hold besides the one that they run on, and types that run nothing, in every number of a result."""

import json
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.unit.test_real_nodes_columns import AFFINITY, UNITS, workload
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.live.scheduler import Scheduler
from vinesim.metrics.activity import stored_activity
from vinesim.model.application import Application
from vinesim.report.racks import racks_of
from vinesim.report.timeline import write_timeline
from vinesim.report.usage import usage

CPU, GPU, MEMORY = range(3)


def node(types=None, power_w=None, **more):
    """A node with a CPU of 8, two GPUs, twice as fast, and memory of 64. One task holds both GPUs, 4 of the CPU and 16
    of the memory for 5 us."""
    kinds = [
        vs.ProcessorType("CPU", capacity=8.0, **(types or {}).get("CPU", {})),
        vs.ProcessorType("GPU", **(types or {}).get("GPU", {})),
        vs.ProcessorType("MEMORY", capacity=64.0, **(types or {}).get("MEMORY", {})),
    ]
    one = {"units": [2], "companions": {"CPU": [4.0], "MEMORY": [16.0]}, "lead_types": [0], "lead_sets": [["GPU"]]}
    center = vs.Datacenter.of(UNITS, kinds)
    return vs.Scenario(center, workload(1, **one), "high", affinity=AFFINITY, power_w=power_w, **more)


def run(case):
    return vs.simulate(case, engine="reference")


def test_a_row_says_which_unit_of_its_segment_it_is():
    rows = run(node()).segments
    assert [rows[name].tolist() for name in ("segment", "part", "unit")] == [[0] * 4, [0, 1, 2, 3], [1, 0, 2, 3]]


def test_runs_that_were_lost_have_their_parts_too():
    rows = run(node(outages=[vs.Outage(0, 0, 2.0, 3.0)])).segments
    assert rows["segment"].tolist() == [0] * 4 + [1] * 4
    assert rows["part"].tolist() == [0, 1, 2, 3] * 2
    assert rows["outcome"].tolist() == ["interrupted"] * 4 + ["finished"] * 4


def test_a_table_of_single_units_has_no_parts():
    work = workload(1, lead_types=[0], lead_sets=[["GPU"]])
    done = run(replace(node(outages=[vs.Outage(0, 0, 2.0, 3.0)]), workload=work))
    assert "part" not in done.segments


LINEAR = {
    "CPU": {"dynamic_power_w": 10.0, "idle_power_w": 5.0},
    "GPU": {"dynamic_power_w": 100.0, "idle_power_w": 20.0},
}


@pytest.mark.parametrize(
    ("memory", "expected_w"),
    [
        ({}, 0.0),
        ({"idle_power_w": 3.0}, 3.0),
        ({"idle_power_w": 3.0, "dynamic_power_w": 0.5}, 3.0 + 0.5 * 16),
    ],
)
def test_every_held_unit_draws_power_by_its_type(memory, expected_w):
    units = run(node({**LINEAR, "MEMORY": memory})).units
    watts = [5 + 4 * 10, 120, 120, expected_w]
    np.testing.assert_allclose(units["energy_j"], np.array(watts) * 5e-6, rtol=1e-12)


@pytest.mark.parametrize(("row", "expected_w"), [(0.0, 3.0), (40.0, 10.0)])
def test_held_units_draw_their_share_of_the_power_table(row, expected_w):
    """The memory's own row counts if it has one; otherwise the memory stays at its idle power."""
    types = {"CPU": {"idle_power_w": 5.0}, "MEMORY": {"idle_power_w": 3.0}}
    units = run(node(types, power_w=[[80.0], [250.0], [row]])).units
    np.testing.assert_allclose(units["energy_j"], np.array([40.0, 250.0, 250.0, expected_w]) * 5e-6, rtol=1e-12)


def test_memory_sleeps_while_nobody_holds_it():
    types = {**LINEAR, "MEMORY": {"idle_power_w": 3.0, "sleep_power_w": 1.0}}
    late = replace(node(types).workload, arrival_us=[5.0])
    done = run(replace(node(types), workload=late))
    np.testing.assert_allclose(done.units["energy_j"][3], (5 * 1.0 + 5 * 3.0) * 1e-6, rtol=1e-12)


def test_types_that_run_nothing_are_left_out_of_the_overall_figures():
    """5 us of 5: 4 of 8 of the CPU and both GPUs make 6 of 10; memory counts in another unit."""
    shares = run(node()).summary["utilization"]
    assert shares["by_type"] == {"CPU": 0.5, "GPU": 1.0, "MEMORY": 0.25}
    assert shares["overall"] == shares["allocated"]["overall"] == 0.6
    assert shares["percentiles"]["p50"] == 1.0
    late = replace(node().workload, arrival_us=[5.0])
    assert run(replace(node(), workload=late)).summary["utilization"]["active"]["overall"] == 0.5


def test_samples_of_all_leave_them_out_too():
    rows = run(node(sampling_us=2.5)).utilization
    found = {name: rows["utilization"][rows["group"] == name].tolist() for name in ("all", "MEMORY")}
    assert found == {"all": [0.6, 0.6], "MEMORY": [0.25, 0.25]}


def test_the_report_leaves_them_out_of_all_and_of_a_shelf(tmp_path, monkeypatch):
    write_result(tmp_path / "run", run(node()))
    with open_result(tmp_path / "run") as result:
        activity = stored_activity(result)
        groups = usage(result, activity, ["CPU", "GPU", "MEMORY"], np.array([0, 1, 1, 2]))["groups"]
        assert {group["name"]: group["allocated"][0] for group in groups} == {
            **{"all": 0.6, "CPU": 0.5, "GPU": 1.0},
            "MEMORY": 0.25,
        }
        assert racks_of(activity, {0: 0, 1: 1, 2: 2}, result.place_names)["utilization"] == [0.5, 1.0, 1.0, 0.25]
        monkeypatch.setattr("vinesim.report.racks.MAX_CELLS", 1)
        shelf = racks_of(activity, {0: 0, 1: 1, 2: 2}, result.place_names)
        assert (shelf["level"], shelf["utilization"], shelf["n_units"]) == ("shelf", [0.6], [4])


def test_the_prices_of_all_units_add_up():
    types = {"CPU": {"price": 2000.0}, "GPU": {"price": 9000.0}}
    assert run(node({**types, "MEMORY": {"price": 500.0}})).summary["cost"]["purchase"] == 20_500.0


def test_a_timeline_has_a_slice_for_each_held_unit(tmp_path):
    write_result(tmp_path / "run", run(node()))
    written = write_timeline(tmp_path / "run", tmp_path / "t.json")
    assert (written.n_tasks, written.n_slices, written.n_units) == (1, 4, 4)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    reported = [(event["tid"], event["args"].get("part")) for event in events if event.get("cat") == "task"]
    assert reported == [(1, None), (0, 1), (2, 2), (3, 3)]


def test_a_gantt_chart_has_a_bar_for_each_held_unit(tmp_path):
    pytest.importorskip("matplotlib")
    from vinesim.plots.gantt import gantt_figure

    write_result(tmp_path / "run", run(node()))
    with open_result(tmp_path / "run") as result:
        figure, n_tasks = gantt_figure(result)
    bars = [patch for patch in figure.axes[0].patches if patch.get_height() > 0]
    assert n_tasks == 1
    assert sorted(round(bar.get_y() + bar.get_height() / 2) for bar in bars) == [0, 1, 2, 3]


def test_the_query_of_the_documentation_gives_the_allocated_time(tmp_path):
    """A reader who counts tasks takes part 0 alone."""
    result = run(node(outages=[vs.Outage(0, 0, 2.0, 3.0)]))
    write_result(tmp_path / "run", result)
    with open_result(tmp_path / "run") as opened:
        query = (
            "SELECT unit, sum(amount / capacity * (end_us - begin_us)) FROM segments JOIN units USING (unit) GROUP BY 1"
        )
        assert [us for _, us in sorted(opened.rows(query))] == result.units["allocated_us"].tolist()
        assert opened.rows("SELECT count(*) FROM held WHERE part = 0") == [(2,)]


def test_the_component_refuses_what_it_would_ignore():
    work = replace(node().workload, application=[0], application_names=("A",))
    case = replace(node(), workload=work, applications=(Application("A", relative_deadline_us=100.0),), policy="fcfs")
    with pytest.raises(vs.InputError, match="requests that hold one unit each"):
        Scheduler.of(case)


def test_a_price_of_memory_may_be_missing():
    """It is in the price of its node; the price of a type that runs tasks may not."""
    types = {"CPU": {"price": 2000.0}, "GPU": {"price": 9000.0}}
    done = run(node(types))
    assert done.summary["cost"]["purchase"] == 20_000.0
    assert done.units["price"].tolist() == [2000.0, 9000.0, 9000.0, 0.0]
    assert run(node({"CPU": {"price": 2000.0}})).summary["cost"]["purchase"] is None
