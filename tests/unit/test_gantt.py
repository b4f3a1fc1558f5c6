"""The Gantt chart: every task is a bar where and when it ran; many units are groups with the right load."""

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.policies.kinds.overcommit import PileInBatches
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result

pytest.importorskip("matplotlib")
from vinesim.plots import gantt


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """20 jobs of 5 tasks on 6 units of two racks, one arriving too late to end; with data on the way."""
    path = tmp_path_factory.mktemp("gantt") / "run"
    units = [(name, rack, shelf) for rack in range(2) for shelf, name in enumerate(("GPU", "GPU", "CPU_INTEL"))]
    n, each = 20, 5
    work = vs.Workload(
        np.arange(n) % 3,
        np.arange(0, n * each + 1, each),
        np.arange(n) * 20.0,
        np.full(n * each, 3e6),
        np.full(n * each, 12500.0),
        np.zeros(n * each),
        np.zeros(n * each),
        np.full(n * each, -1),
    )
    scenario = vs.Scenario(vs.Datacenter.of(units), work, policy="earliest_finish", horizon_us=900.0)
    write_result(path, vs.simulate(scenario))
    return path


def bars_of(figure):
    return [patch for patch in figure.axes[0].patches if patch.get_height() > 0]


def test_each_task_is_its_bar(folder):
    with open_result(folder) as result:
        figure, n_tasks = gantt.gantt_figure(result)
        tasks = result.columns("SELECT * FROM tasks ORDER BY task")
        end = result.summary["makespan_us"]
    ran = tasks["unit"] >= 0
    assert n_tasks == ran.sum()
    begin, there = tasks["init_us"][ran], np.fmin(tasks["start_us"][ran], end)
    finish = np.where(np.isnan(tasks["finish_us"][ran]), end, tasks["finish_us"][ran])
    expected = [(a, b, u) for a, b, u in zip(there, finish, tasks["unit"][ran], strict=True)]
    expected += [(a, b, u) for a, b, u in zip(begin, there, tasks["unit"][ran], strict=True) if b > a]
    found = [(p.get_x(), p.get_x() + p.get_width(), round(p.get_y() + p.get_height() / 2)) for p in bars_of(figure)]
    np.testing.assert_allclose(sorted(found), sorted(expected), atol=1e-9)
    assert (there > begin).any()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][:3] == [
        "0/0 GPU",
        "0/1 GPU",
        "0/2 CPU_INTEL",
    ]


def test_types_have_colours_of_their_own(folder):
    with open_result(folder) as result:
        figure, _ = gantt.gantt_figure(result)
        by_job, _ = gantt.gantt_figure(result, color="job")
        n_jobs = len({job for (job,) in result.rows("SELECT DISTINCT job FROM tasks WHERE unit >= 0")})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "INT",
        "FP_BAD",
        "FP_GOOD",
        "data transfer",
    ]
    assert len({patch.get_facecolor()[:3] for patch in bars_of(figure)}) == 3
    assert n_jobs > 3
    assert len({patch.get_facecolor()[:3] for patch in bars_of(by_job)}) == min(n_jobs, len(gantt.COLORS))


def test_many_units_are_groups_with_their_load(folder, monkeypatch):
    monkeypatch.setattr(gantt, "MAX_ROWS", 5)
    monkeypatch.setattr(gantt, "CELLS", 10)
    with open_result(folder) as result:
        figure, _ = gantt.gantt_figure(result)
        units = result.columns("SELECT active_us, unit_type, rack FROM units ORDER BY unit")
        end = result.summary["makespan_us"]
    (image,) = figure.axes[0].images
    load = np.asarray(image.get_array())
    assert load.shape == (4, 10)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["rack 0: 1 CPU_INTEL", "rack 0: 2 GPU", "rack 1: 1 CPU_INTEL", "rack 1: 2 GPU"]
    for row, (rack, code) in enumerate([(0, 0), (0, 2), (1, 0), (1, 2)]):
        members = (units["rack"] == rack) & (units["unit_type"] == code)
        assert load[row].mean() == pytest.approx(units["active_us"][members].mean() / end)


def test_a_window_and_wrong_ones(folder, tmp_path, vinesim):  # noqa: F811
    done = vinesim("gantt", folder, "-o", tmp_path / "a.png", "--from", 100, "--to", 200)
    assert (done.code, (tmp_path / "a.png").read_bytes()[:4]) == (0, b"\x89PNG")
    first = vinesim("gantt", folder, "-o", tmp_path / "a.svg")
    assert first.out.startswith("wrote ")
    again = (tmp_path / "a.svg").read_bytes()
    assert vinesim("gantt", folder, "-o", tmp_path / "a.svg").code == 0
    assert (tmp_path / "a.svg").read_bytes() == again
    wrong = vinesim("gantt", folder, "-o", tmp_path / "a.gif", "--color", "blue")
    assert (wrong.code, ".png, .svg, .pdf" in wrong.err, "--color" in wrong.err) == (2, True, True)
    assert vinesim("gantt", folder, "-o", tmp_path / "b.png", "--from", 9e9).code == 2
    assert not (tmp_path / "b.png").exists()
    assert vinesim("gantt", tmp_path / "none", "-o", tmp_path / "b.png").code == 2


def shared(tmp_path, demand, policy="high", options=None, **more):
    """Tasks of 100 us on two units of capacity 8, and the folder of their run."""
    n = len(demand)
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), np.zeros(n), np.full(n, 100.0), *np.zeros((3, n)), np.full(n, -1), demand=demand,
        task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    center = vs.Datacenter([0, 0], [0, 0], [0, 1], (vs.ProcessorType("NODE", capacity=8.0),))
    case = vs.Scenario(center, work, policy, options or {}, affinity=[[1.0]], **more)
    write_result(tmp_path / "run", vs.simulate(case, engine="reference"))
    return tmp_path / "run"


def test_a_group_that_runs_many_tasks_at_once_is_no_fuller_than_the_tables_say(tmp_path, monkeypatch):
    """Ten slots of 16 make 62.5 %, not ten units of two."""
    monkeypatch.setattr(gantt, "MAX_BARS", 5)
    monkeypatch.setattr(gantt, "CELLS", 4)
    with open_result(shared(tmp_path, [vs.ONE_SLOT] * 10)) as result:
        figure, n_tasks = gantt.gantt_figure(result)
        assert result.summary["utilization"]["overall"] == 10 / 16
    load = np.asarray(figure.axes[0].images[0].get_array())
    assert (n_tasks, load.tolist()) == (10, [[10 / 16] * 4])
    assert figure.axes[1].get_ylabel() == "share of capacity allocated"
    assert figure.axes[0].images[0].get_clim() == (0.0, 1.0)


def test_a_group_that_is_over_committed_is_shown_so(tmp_path, monkeypatch):
    monkeypatch.setattr(gantt, "MAX_ROWS", 1)
    with open_result(shared(tmp_path, [vs.WHOLE_UNIT] * 5, PileInBatches)) as result:
        figure, _ = gantt.gantt_figure(result)
        assert result.summary["utilization"]["overall"] == 2.5
    assert figure.axes[0].images[0].get_clim() == (0.0, 2.5)
    assert figure.axes[0].images[0].get_array().max() == 2.5


def test_a_run_that_an_outage_ended_is_a_bar_with_a_cross(tmp_path):
    outages = [vs.Outage(0, 0, 40.0, 50.0)]
    with open_result(shared(tmp_path, [vs.WHOLE_UNIT] * 2, outages=outages)) as result:
        figure, n_tasks = gantt.gantt_figure(result)
    bars = sorted((p.get_x(), p.get_x() + p.get_width(), round(p.get_y() + 0.41)) for p in bars_of(figure))
    assert (n_tasks, bars) == (2, [(0.0, 40.0, 0), (0.0, 100.0, 1), (50.0, 150.0, 0)])
    (crosses,) = (line for line in figure.axes[0].lines if line.get_marker() == "x")
    assert (crosses.get_xdata().tolist(), crosses.get_ydata().round().tolist()) == ([40.0], [0.0])


@pytest.mark.parametrize("many", [False, True])
def test_no_tick_of_an_arrival_lies_on_their_label(folder, monkeypatch, many):
    if many:
        monkeypatch.setattr(gantt, "MAX_MARKS", 1)
    with open_result(folder) as result:
        figure, _ = gantt.gantt_figure(result, to_us=200.0)  # jobs arrive until the right edge
    figure.draw_without_rendering()
    (label,) = [text for text in figure.axes[0].texts if "arrivals" in text.get_text()]
    points = figure.dpi / 72
    y = label.xy[1]
    marks = [line for line in figure.axes[0].lines if len(line.get_ydata()) and line.get_ydata()[0] == y]
    top = figure.axes[0].transData.transform((0, y))[1] + 3 * points
    assert len(marks) == 1
    assert label.get_window_extent().y0 >= top


def test_no_two_jobs_of_the_legend_look_alike(folder, monkeypatch):
    monkeypatch.setattr(gantt, "LEGEND", 20)  # as many as there are jobs
    with open_result(folder) as result:
        (legend,) = gantt.gantt_figure(result, color="job")[0].legends
    looks = [(p.get_facecolor(), p.get_hatch()) for p in legend.get_patches() if p.get_alpha() is None]
    assert len(looks) > len(gantt.COLORS)
    assert len(set(looks)) == len(looks)


def numbers_of(figure):
    return [text for text in figure.axes[0].texts if text.get_text().isdecimal()]


def test_numbers_of_jobs_are_only_on_bars_as_large_as_they_are(folder, monkeypatch):
    monkeypatch.setattr(gantt, "LEGEND", 1)
    shown = set()
    for until in (900.0, 90.0):
        with open_result(folder) as result:
            figure, _ = gantt.gantt_figure(result, to_us=until, color="job")
        figure.draw_without_rendering()
        bars = [patch.get_window_extent() for patch in bars_of(figure)]
        for text in numbers_of(figure):
            box = text.get_window_extent()
            own = [bar for bar in bars if bar.y0 <= (box.y0 + box.y1) / 2 <= bar.y1]
            for x in (box.x0, box.x1):  # a bar may be in two parts, the first pale
                assert any(bar.height >= box.height and bar.x0 - 1 <= x <= bar.x1 + 1 for bar in own)
            shown.add(text.get_color())
        assert 0 < len(numbers_of(figure)) < len(bars)
        assert figure.axes[0].get_title(loc="left") == "Numbers and colours: jobs"
    assert shown == {"black", "white"}


def test_rows_grow_where_many_tasks_run_side_by_side(tmp_path):
    with open_result(shared(tmp_path, [vs.ONE_SLOT] * 16)) as result:
        figure, _ = gantt.gantt_figure(result, color="job")
    figure.draw_without_rendering()
    heights = {round(bar.get_window_extent().height * 72 / figure.dpi, 1) for bar in bars_of(figure)}
    assert min(heights) >= 0.95 * gantt.LANE_POINTS > 72 * gantt.ROW_INCHES / 8


def closed_of(figure):
    """What is shaded behind the bars: (label, from, to, first row, last row)."""
    found = []
    for one in figure.axes[0].collections:
        for path in one.get_paths():
            (left, low), (right, high) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            found.append((one.get_label(), left, right, int(low + 0.5), int(high - 0.5)))
    return sorted(found)


def test_times_when_nodes_were_down_or_reserved_are_behind_their_rows(tmp_path):
    n = 6
    work = vs.Workload(
        np.zeros(n, int),
        np.arange(n + 1),
        np.arange(n) * 100.0,
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.full(n, -1),
    )
    center = vs.Datacenter.of([("GPU", 0, shelf) for shelf in (0, 0, 1, 2)])
    scenario = vs.Scenario(
        center,
        work,
        policy="fcfs",
        horizon_us=510.0,
        outages=[vs.Outage(0, 1, 100.0, 200.0)],
        reservations=[vs.Reservation("week", 300.0, 400.0, np.array([[0, 0], [0, 2]])), vs.Reservation("late", 600.0)],
    )
    write_result(tmp_path / "with", vs.simulate(scenario), lambda draft: write_record(draft, scenario, ()))
    write_result(tmp_path / "without", vs.simulate(scenario))
    with open_result(tmp_path / "with") as result:
        figure, _ = gantt.gantt_figure(result, 0, 500)
        part, _ = gantt.gantt_figure(result, 0, 350)
    down, reserved = ("node down", 100, 200, 2, 2), ("reserved", 300, 400, 0, 1)
    assert closed_of(figure) == [down, reserved, ("reserved", 300, 400, 3, 3)]
    assert ("reserved", 300, 350, 3, 3) in closed_of(part)
    assert [text.get_text() for text in figure.axes[0].texts if text.get_text() in ("week", "late")] == ["week"] * 2
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[-2:] == ["node down", "reserved"]
    with open_result(tmp_path / "without") as result:
        assert closed_of(gantt.gantt_figure(result, 0, 500)[0]) == []
