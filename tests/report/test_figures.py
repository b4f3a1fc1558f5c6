"""Figures of sweeps and runs: what is drawn equals the Parquet tables, and every option does something."""

import json

import duckdb
import numpy as np
import pytest
from scipy.stats import t
from typer.testing import CliRunner

import vinesim as vs
from tests.report.conftest import EXAMPLES
from vinesim.cli.main import app
from vinesim.formats.results.folder import write_result
from vinesim.formats.study.file import read_study
from vinesim.metrics.queue import Queue, tipping_point
from vinesim.plots.bars import Bars, bar_figure
from vinesim.plots.heat import HeatPanel, heat_figure
from vinesim.plots.lines import Axis, Line, Panel, line_figure
from vinesim.plots.plot import plot
from vinesim.plots.style import Look
from vinesim.policies.documents import read_scenario
from vinesim.studies.sweep import sweep

MEAN = "arrivals.poisson.mean"
FEW = {"deployment": "many"}


def sweep_rows(folder, query):
    return duckdb.sql(query.format(rows=f"read_parquet('{folder}/runs/*.parquet', union_by_name = true)")).fetchnumpy()


def run_rows(folder, query):
    return duckdb.sql(query.format(**{name: f"'{folder}/{name}.parquet'" for name in ("jobs", "tasks", "units")}))


def lines_of(figure, panel=0):
    """Label -> (x, y) of the lines of a panel that have a name."""
    lines = figure.axes[panel].get_lines()
    return {line.get_label(): line.get_data() for line in lines if not line.get_label().startswith("_")}


def stairs_of(figure, panel=0):
    return {patch.get_label(): patch.get_data() for patch in figure.axes[panel].patches}


def texts_of(figure):
    return " | ".join(text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text")))


def fails(wanted, source, **words):
    with pytest.raises(vs.InputError) as found:
        plot(source, **words)
    assert wanted in str(found.value), str(found.value)


def test_lines_are_the_means_of_the_parquet_files_with_students_intervals(whole_sweep):
    figure = plot(whole_sweep, y="jobs.latency_us.p99", where=FEW, y_unit="us")
    for policy, (x, y) in lines_of(figure).items():
        query = f"""SELECT "{MEAN}" AS x, avg("jobs.latency_us.p99") AS y FROM {{rows}}
            WHERE policy = '{policy}' AND deployment = 'many' GROUP BY 1 ORDER BY 1"""
        rows = sweep_rows(whole_sweep, query)
        np.testing.assert_allclose(x, rows["x"] if x.max() > 2 else rows["x"] / 1e3)
        np.testing.assert_allclose(y, rows["y"])
    assert set(lines_of(figure)) == {"high", "flat"}
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    query = f"""SELECT avg("jobs.latency_us.p99") AS m, stddev_samp("jobs.latency_us.p99") AS s FROM {{rows}}
        WHERE policy = 'high' AND deployment = 'many' GROUP BY "{MEAN}" """
    rows = sweep_rows(whole_sweep, query)
    half = t.ppf(0.975, 2) * rows["s"] / np.sqrt(3)
    assert band[:, 1].max() == pytest.approx((rows["m"] + half).max())
    assert band[:, 1].min() == pytest.approx((rows["m"] - half).min())


def test_bars_have_the_means_and_intervals_of_the_parquet_files(whole_sweep):
    words = {"kind": "bars", "x": "policy", "by": "deployment", "where": {MEAN: "10 us"}, "y": "makespan_us"}
    figure = plot(whole_sweep, **words, y_unit="us")
    rows = sweep_rows(
        whole_sweep,
        f"""SELECT deployment, policy, avg(makespan_us) AS m, stddev_samp(makespan_us) AS s FROM {{rows}}
            WHERE abs("{MEAN}" - 10) < 1e-6 GROUP BY 1, 2, deployment = 'many', policy = 'flat'
            ORDER BY deployment = 'many', policy = 'flat'""",
    )
    heights = [bar.get_height() for bars in figure.axes[0].containers for bar in getattr(bars, "patches", ())]
    np.testing.assert_allclose(heights, rows["m"])
    wider = plot(whole_sweep, **words, y_unit="us", confidence=0.99)

    def halves(of):
        segments = [line for bars in of.axes[0].collections for line in bars.get_segments()]
        return np.array([(segment[1][1] - segment[0][1]) / 2 for segment in segments])

    np.testing.assert_allclose(halves(figure), t.ppf(0.975, 2) * rows["s"] / np.sqrt(3))
    np.testing.assert_allclose(halves(wider), t.ppf(0.995, 2) * rows["s"] / np.sqrt(3))


def test_a_map_has_the_means_of_the_parquet_files(whole_sweep):
    words = {"kind": "heat", "x": MEAN, "by": "policy", "panel": "deployment", "y": "utilization.overall"}
    figure = plot(whole_sweep, **words)
    for panel, deployment in enumerate(("</script>few", "many")):
        shown = figure.axes[panel].images[0].get_array()
        query = f"""SELECT avg("utilization.overall") * 100 AS v FROM {{rows}} WHERE deployment = '{deployment}'
            GROUP BY policy, "{MEAN}" ORDER BY policy = 'flat', "{MEAN}" """
        np.testing.assert_allclose(np.ravel(shown), sweep_rows(whole_sweep, query)["v"])
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["high", "flat"]
    assert "utilisation, %" in texts_of(figure)
    share = plot(whole_sweep, **words, y_unit="share").axes[0].images[0].get_array()
    assert share.max() <= 1


def test_points_are_the_runs(whole_sweep):
    figure = plot(whole_sweep, x="utilization.overall", y="makespan_us", by="policy", y_unit="ms")
    query = "SELECT \"utilization.overall\" * 100 AS x, makespan_us / 1000 AS y FROM {rows} WHERE policy = 'flat'"
    rows = sweep_rows(whole_sweep, query)
    x, y = lines_of(figure)["flat"]
    np.testing.assert_allclose(sorted(x), sorted(rows["x"]))
    np.testing.assert_allclose(sorted(y), sorted(rows["y"]))


def test_panels_and_titles(whole_sweep):
    figure = plot(whole_sweep, x=MEAN, panel="deployment", by="policy", title="All")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["All: </script>few", "All: many"]
    assert "mean latency of jobs, us" in texts_of(figure)
    assert "mean time between jobs" in texts_of(figure)


@pytest.mark.parametrize(("x", "are_whole"), [([2, 3], True), ([2, 2.5], False)])
def test_whole_numbers_along_the_x_axis_are_marked_with_whole_numbers(x, are_whole):
    panels = [Panel("", [Line("one", [2, 3], [0.0, 1.0])]), Panel("", [Line("one", x, [0.5, 1.0])])]
    axes = line_figure(panels, Axis("nodes"), Axis("share")).axes[0]
    assert all(tick % 1 == 0 for tick in axes.get_xticks()) == are_whole


def test_scales_labels_and_units(whole_sweep):
    plain = plot(whole_sweep, where=FEW)
    assert [plain.axes[0].get_xscale(), plain.axes[0].get_yscale()] == ["linear", "linear"]
    logs = plot(whole_sweep, where=FEW, log="xy", x_unit="s", y_unit="ns", x_label="across", y_label="up")
    assert [logs.axes[0].get_xscale(), logs.axes[0].get_yscale()] == ["log", "log"]
    assert [logs.axes[0].get_xlabel(), logs.axes[0].get_ylabel()] == ["across", "up"]
    y_plain, y_logs = (lines_of(figure)["high"][1] for figure in (plain, logs))
    np.testing.assert_allclose(y_logs, 1000 * y_plain)
    assert lines_of(logs)["high"][0].max() == pytest.approx(1e-3)
    assert plot(whole_sweep, where=FEW, log="x").axes[0].get_yscale() == "linear"
    bars = {"kind": "bars", "x": "policy", "by": "deployment", "where": {MEAN: 10}}
    assert plot(whole_sweep, **bars, log="y").axes[0].get_yscale() == "log"
    points = plot(whole_sweep, x="utilization.overall", log="xy").axes[0]
    assert [points.get_xscale(), points.get_yscale()] == ["log", "log"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"y": "jobs.latency_us.p98"}, "jobs.latency_us.p99"),
        ({"by": "polcy"}, "policy"),
        ({"panel": "policies"}, "policy"),
        ({"x": "x"}, "a column of the sweep"),
        ({"where": {"deployment": "none"}}, "many"),
        ({"where": {"x": 1}}, "--where x: expected an axis"),
        ({}, "several of deployment"),
        ({"where": FEW, "kind": "tail"}, "It needs the folders of runs"),
        ({"where": FEW, "kind": "line"}, "lines"),
        ({"where": FEW, "kind": "lines", "x": "policy", "by": MEAN}, "Try --kind bars"),
        ({"where": FEW, "kind": "heat", "x": MEAN, "by": MEAN}, "three different axes"),
        ({"where": FEW, "kind": "heat", "log": "x"}, "--log: expected an option of --kind heat"),
        ({"where": FEW, "kind": "bars", "x": "policy", "panel": "deployment"}, "--panel"),
        ({"where": FEW, "kind": "points", "x": MEAN}, "Try --kind lines"),
        ({"where": FEW, "kind": "lines", "x": "makespan_us"}, "an axis of the sweep"),
        ({"where": FEW, "color": "job"}, "--color"),
        ({"where": FEW, "from_us": 3.0}, "--from"),
        ({"where": FEW, "y_unit": "kg"}, "ns, us, ms"),
        ({"where": FEW, "log": "z"}, "x, y or xy"),
        ({"where": FEW, "font": "No Such Font"}, "a font that Matplotlib finds"),
        ({"where": FEW, "inches": (0.1, 3.0)}, "--size"),
        ({"where": FEW, "font_points": 0.5}, "--font-size"),
        ({"where": FEW, "dpi": 1}, "--dpi"),
        ({"where": FEW, "confidence": 1.0}, "--confidence"),
        ({"where": FEW, "output": "a.gif"}, ".png, .svg, .pdf"),
    ],
)
def test_what_a_sweep_cannot_show_is_said(whole_sweep, words, wanted):
    fails(wanted, whole_sweep, **words)


def test_a_tail_is_the_share_of_longer_jobs_at_every_value(example, two_racks):
    figure = plot([example, two_racks], kind="tail", x_unit="us")
    assert figure.axes[0].get_yscale() == "log"
    for folder in (example, two_racks):
        values = np.sort(run_rows(folder, "SELECT latency_us AS x FROM {jobs}").fetchnumpy()["x"])
        x, y = lines_of(figure)[folder.name]
        above = len(values) - np.searchsorted(values, x, "right")
        np.testing.assert_allclose(y[1:], np.where(above > 0, above, np.nan)[1:] / len(values))
        assert set(x) == set(values)
    assert plot([example], log="x").axes[0].get_yscale() == "linear"


def test_jobs_that_all_take_as_long_are_a_line_straight_down(tmp_path):
    write_result(tmp_path / "run", vs.simulate(read_scenario(EXAMPLES / "quickstart.yaml"), engine="reference"))
    x, y = lines_of(plot(tmp_path / "run"))["run"]
    assert x.tolist() == [25.0, 25.0]
    assert y.tolist() == [1.0, 1 / 500]


def test_a_cumulative_share_by_type_counts_each_type_alone(two_racks):
    figure = plot(two_racks, kind="cumulative", x="tasks.wait_us", by="task_type", x_unit="us")
    codes = run_rows(two_racks, "SELECT DISTINCT task_type FROM {tasks} ORDER BY 1").fetchnumpy()["task_type"]
    for code, (x, y) in zip(codes, lines_of(figure).values(), strict=True):
        query = f"SELECT init_us - arrival_us AS x FROM {{tasks}} WHERE task_type = {code}"
        values = np.sort(run_rows(two_racks, query).fetchnumpy()["x"])
        np.testing.assert_allclose(y, np.searchsorted(values, x, "right") / len(values))
    assert len(lines_of(figure)) == 2


def test_a_long_line_is_thinned_but_keeps_its_largest_values(monkeypatch, example):
    whole = lines_of(plot(example))["quickstart"]
    monkeypatch.setattr("vinesim.plots.run_figure.MAX_POINTS", 20)
    x, y = lines_of(plot(example))["quickstart"]
    assert len(x) < len(whole[0])
    assert {*zip(x[:-1], y[:-1], strict=True)} <= {*zip(*whole, strict=True)}
    assert x[-3:].tolist() == whole[0][-3:].tolist()


def test_a_histogram_counts_every_job(two_racks):
    for log in ("", "x"):
        counts, edges, _ = stairs_of(plot(two_racks, kind="histogram", log=log, x_unit="us"))["two_racks"]
        values = run_rows(two_racks, "SELECT latency_us AS x FROM {jobs}").fetchnumpy()["x"]
        np.testing.assert_array_equal(counts, np.histogram(values, edges)[0])
        assert counts.sum() == len(values)
        assert np.allclose(np.diff(edges), np.diff(edges)[0]) == (log == "")
    fails("--log", two_racks, kind="histogram", log="y")


def test_the_queue_over_time_is_that_of_the_tasks_table(example):
    values, edges, _ = stairs_of(plot(example, kind="timeline", x_unit="us"))["quickstart"]
    tasks = run_rows(example, "SELECT arrival_us AS a, init_us AS b FROM {tasks}").fetchnumpy()
    for value, low, high in zip(values, edges[:-1], edges[1:], strict=True):
        waited = np.maximum(0.0, np.minimum(tasks["b"], high) - np.maximum(tasks["a"], low)).sum()
        assert value == pytest.approx(waited / (high - low), abs=1e-9)
    later = stairs_of(plot(example, kind="timeline", x_unit="us", from_us=1000, to_us=2000))["quickstart"]
    assert (later[1][0] >= 980) & (later[1][-1] <= 2020)
    by_type = stairs_of(plot(example, kind="timeline", by="task_type"))
    np.testing.assert_allclose(sum(found[0] for found in by_type.values()), values)


def test_the_utilisation_over_time_adds_up_to_that_of_the_units_table(two_racks):
    for what, column in (("utilization", "utilization"), ("active", "active")):
        values, edges, _ = stairs_of(plot(two_racks, kind="timeline", y=what, y_unit="share"))["two_racks"]
        mean = run_rows(two_racks, f"SELECT avg({column}) FROM {{units}}").fetchall()[0][0]
        assert np.average(values, weights=np.diff(edges)) == pytest.approx(mean)
        by_type = stairs_of(plot(two_racks, kind="timeline", y=what, by="unit_type"))
        assert set(by_type) == {"CPU_INTEL", "GPU"}


def test_a_gantt_chart_shows_the_window_and_colours_that_were_asked_for(two_racks):
    figure = plot(two_racks, kind="gantt", from_us=1000, to_us=2000, title="Two racks")
    assert figure.axes[0].get_xlim() == (1.0, 2.0)
    assert figure.axes[0].get_title(loc="left") == "Two racks"
    colors = [
        {bar.get_facecolor() for bar in plot(two_racks, kind="gantt", color=color).axes[0].patches}
        for color in ("type", "job")
    ]
    assert len(colors[0]) < len(colors[1])


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"kind": "lines"}, "It needs the folder of a sweep"),
        ({"x": "jobs.latency"}, "jobs.latency_us"),
        ({"by": "unit_type"}, "one of task_type, size, hour"),
        ({"kind": "timeline", "y": "que"}, "queue"),
        ({"kind": "timeline", "by": "task_type", "y": "active"}, "unit_type"),
        ({"kind": "timeline", "from_us": 1e9}, "0 <= from < to"),
        ({"kind": "timeline", "x": "jobs.latency_us"}, "--x"),
        ({"kind": "tail", "y": "queue"}, "--y"),
        ({"kind": "tail", "where": {"policy": "a"}}, "--where"),
        ({"kind": "gantt", "y_unit": "s"}, "--y-unit"),
        ({"panel": "policy"}, "--panel"),
    ],
)
def test_what_a_run_cannot_show_is_said(example, words, wanted):
    fails(wanted, example, **words)


def test_runs_and_sweeps_do_not_mix(example, whole_sweep, two_racks):
    fails("the folder of one sweep, or of runs", [example, whole_sweep])
    fails("the folder of one run", [example, two_racks], kind="gantt")


def test_results_in_memory_are_drawn_like_their_folders(example):
    scenario = read_scenario("examples/quickstart.yaml", ["arrivals.iat=6"])
    (inside,) = lines_of(plot(vs.simulate(scenario, engine="reference"))).values()
    np.testing.assert_allclose(inside, lines_of(plot(example))["quickstart"])


def test_size_font_and_resolution(whole_sweep, tmp_path):
    from PIL import Image

    plot(whole_sweep, tmp_path / "a.png", where=FEW, inches=(4, 3), dpi=100)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (400, 300)
    figure = plot(whole_sweep, where=FEW, font_points=18, font="DejaVu Serif")
    assert figure.axes[0].xaxis.label.get_size() == 18
    assert figure.axes[0].xaxis.label.get_family() == ["DejaVu Serif"]
    assert plot(whole_sweep, where=FEW).axes[0].xaxis.label.get_size() == 9


def test_files_of_all_kinds_are_the_same_each_time(whole_sweep, tmp_path):
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        for name in "ab":
            plot(whole_sweep, tmp_path / f"{name}{suffix}", where=FEW)
        a, b = ((tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
        assert a.startswith(start)
        assert a == b


def test_the_command_passes_every_option_on(whole_sweep, two_racks, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr("vinesim.plots.plot.plot", lambda *words, **named: called.append((words, named)))
    options = {
        "kind": "lines", "x": MEAN, "y": "makespan_us", "by": "policy", "panel": "deployment", "log": "x",
        "x_unit": "s", "y_unit": "ms", "x_label": "a", "y_label": "b", "title": "c", "font": "serif", "color": "job",
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    words += ["--where", "policy=high", "--size", "25.4x50.8mm", "--font-size", "7", "--dpi", "300"]
    words += ["--confidence", "0.9", "--from", "1", "--to", "2", "-o", "f.svg"]
    done = CliRunner().invoke(app, ["plot", str(two_racks), str(whole_sweep), *words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    ((sources, output), named) = called[0]
    assert [source.name for source in sources] == ["two_racks", "sweep"]
    assert str(output) == "f.svg"
    numbers = {"font_points": 7, "dpi": 300, "confidence": 0.9, "from_us": "1", "to_us": "2"}
    assert named == options | numbers | {"where": {"policy": "high"}, "inches": (1.0, 2.0)}


def test_the_command_writes_the_file(whole_sweep, tmp_path):
    file = tmp_path / "f.pdf"
    done = CliRunner().invoke(app, ["plot", str(whole_sweep), "--where", "deployment=many", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert file.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("size", ["3x", "axb", "3x4km", "3", "88x60"])
def test_a_size_that_is_none_is_said(size):
    from vinesim.formats.source.quantities import size_inches

    with pytest.raises(vs.InputError, match=r"3\.5x2\.4in"):
        size_inches(size)


def test_the_tipping_point_is_where_the_queue_that_peaks_began():
    times, lengths = np.array([0.0, 5, 6, 10, 20, 30, 40, 45]), np.array([1, 0, 3, 20, 40, 10, 4, 0])
    found = tipping_point(Queue(times, lengths, 50.0), n_units=8)
    assert (found.begin_us, found.peak_us, found.end_us, found.peak) == (10.0, 20.0, 40.0, 40)
    waited = 1 * 5 + 3 * 4 + 20 * 10 + 40 * 10 + 10 * 10 + 4 * 5
    assert found.share == pytest.approx((20 * 10 + 40 * 10 + 10 * 10) / waited)
    assert tipping_point(Queue(times, lengths, 50.0), n_units=40) is None
    growing = tipping_point(Queue(np.array([0.0, 10]), np.array([5, 50]), 30.0), n_units=8)
    assert (growing.begin_us, growing.end_us) == (10.0, None)


@pytest.mark.parametrize("kind", ["timeline", "gantt"])
def test_runs_with_dates_show_them(dated, kind):
    whole = plot(dated, kind=kind)
    part = plot(dated, kind=kind, from_us="2024-05-07 00:10", to_us="2 h")
    assert whole.axes[0].get_xlabel() == "from 2024-05-06 23:30:00 on"
    assert part.axes[0].get_xlabel() == "from 2024-05-07 00:10:00 on"
    part.draw_without_rendering()
    assert {"00:30", "01:00"} <= {label.get_text() for label in part.axes[0].get_xticklabels()}


def test_times_are_shown_where_a_unit_is_wanted_or_the_starts_differ(dated, example):
    assert plot(dated, kind="timeline", x_unit="h").axes[0].get_xlabel() == "time, h"
    assert plot([dated, example], kind="timeline").axes[0].get_xlabel().startswith("time, ")


SMALL = (88 / 25.4, 60 / 25.4)


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_small_figure_has_thin_lines_and_most_of_it_is_the_chart(whole_sweep, kind):
    words = {"kind": kind, "y": "makespan_us", "where": FEW}
    usual, small = plot(whole_sweep, **words), plot(whole_sweep, **words, inches=SMALL)
    small.draw_without_rendering()
    assert small.axes[0].get_position().height > 0.5
    widths = [figure.axes[0].get_lines()[0].get_linewidth() for figure in (usual, small)] if kind == "lines" else [2, 1]
    assert widths[1] < 0.8 * widths[0]


def test_a_legend_is_as_wide_as_the_figure_at_most():
    lines = [Line(f"a policy with a long name {i}", np.arange(3.0), np.arange(3.0) + i) for i in range(7)]
    figure = line_figure([Panel("", lines)], Axis("x"), Axis("y"), look=Look(SMALL))
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_values_above_bars_have_three_digits_or_are_left_out():
    def texts(n, look):
        figure = bar_figure([f"c{i}" for i in range(n)], [Bars("a", np.full(n, 0.0757934))], "x", "y", look=look)
        return [text.get_text() for text in figure.axes[0].texts]

    assert texts(4, Look(SMALL)) == ["0.0758"] * 4
    assert texts(200, Look(SMALL)) == []


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_values_above_bars_stay_clear_of_the_next_bar_and_below_the_legend(scale):
    low, high = [0.00256, 0.0512, 25.6, 7.99, 2], [7.99, 2560, 7.99, 1234567, 3]
    figure = bar_figure(list("abcde"), [Bars("low", low), Bars("high", high)], "x", "time, ms", scale=scale)
    figure.draw_without_rendering()
    texts = [text.get_window_extent() for text in figure.axes[0].texts]
    bars = [bar.get_window_extent() for bar in figure.axes[0].patches]
    assert len(texts) == len(bars) == 10
    assert not any(text.overlaps(bar) for i, text in enumerate(texts) for j, bar in enumerate(bars) if i != j)
    assert max(text.y1 for text in texts) <= figure.axes[0].bbox.y1


@pytest.fixture(scope="module")
def stalling(tmp_path_factory):
    """Two policies at two loads; the second never starts a task, as no unit is of the type that it waits for."""
    scenario = {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
        "workload": {"generator": "500jobs", "options": {"preferred": "FPGA"}},
    }
    study = {"scenario": scenario, "axes": {"policy": ["flat", "pref"], "arrivals.iat": [60, 90]}}
    folder = tmp_path_factory.mktemp("stalling")
    (folder / "study.yaml").write_text(json.dumps(study))
    sweep(read_study(folder / "study.yaml"), folder / "out", workers=1)
    return folder / "out"


def test_points_that_stalled_are_hollow(stalling):
    of = {"y": "utilization.overall"}
    for words in ({"kind": "lines"}, {"kind": "points", "x": "makespan_us", "by": "policy"}):
        hollow = [line for line in plot(stalling, **of, **words).axes[0].lines if line.get_markerfacecolor() == "white"]
        ys = [line.get_ydata().tolist() for line in hollow if len(line.get_ydata())]
        assert ys == [[0.0, 0.0]], words
    figure = plot(stalling, **of, kind="bars", x="policy", by="arrivals.iat")
    white = [one for one in figure.axes[0].patches if one.get_facecolor()[:3] == (1.0, 1.0, 1.0)]
    assert [one.get_height() for one in white] == [0.0, 0.0]
    assert texts_of(plot(stalling, **of, kind="heat", x="arrivals.iat", by="policy")).count("stalled") == 2
    for kind in ("lines", "bars"):
        assert "hollow: stalled" in texts_of(plot(stalling, **of, kind=kind))
        assert "hollow" not in texts_of(plot(stalling, **of, kind=kind, where={"policy": "flat"}))


@pytest.mark.parametrize("n_rows", [1, 2, 8])
def test_the_words_next_to_the_colours_of_a_map_are_within_the_figure(n_rows):
    numbers = np.arange(4.0 * n_rows).reshape(n_rows, 4)
    columns = [f"a_policy_with_a_long_name_{i}" for i in range(4)]
    figure = heat_figure(
        [HeatPanel("", numbers, numbers)],
        columns,
        [str(i) for i in range(n_rows)],
        "policy",
        "load",
        "mean latency of jobs, us",
        is_difference=False,
    )
    figure.draw_without_rendering()
    words = figure.axes[-1].yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= words.y0 < words.y1 <= figure.bbox.y1
