"""How results show themselves in a session and in a notebook."""

import re

import vinesim as vs


def cells(html: str) -> list[list[str]]:
    """Rows of cells of all tables."""
    return [re.findall(r"<t[dh]>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def result(**changes) -> vs.Result:
    scenario = vs.read_scenario("examples/quickstart.yaml", ["arrivals.iat=6"])
    return vs.simulate(vs.changed(scenario, **changes), engine="reference")


def test_a_result_says_how_it_ended():
    assert repr(result()) == "Result(ALL_DONE: 2,500 of 2,500 tasks on 40 units, policy high)"
    assert repr(result(horizon_us=100.0)).startswith("Result(HORIZON: 55 of 2,500 tasks on 40 units")


def test_a_notebook_shows_the_figures_of_the_summary():
    run = result()
    rows = {row[0]: row[1:] for row in cells(run._repr_html_())}
    assert rows["latency"] == ["finished", "mean", "p50", "p90", "p99", "max"]
    assert rows["jobs"] == ["500", "54.4 us", "32.0 us", "39.0 us", "510 us", "516 us"]
    assert rows["policy"] == ["high (in_order=no)"]
    assert rows["utilisation, GPU"] == [f"{run.summary['utilization']['by_type']['GPU']:.1%}"]
    assert rows["cost of purchase"] == ["100,000"]


def test_a_run_without_prices_power_and_finished_tasks_shows_no_such_figures():
    rows = {row[0]: row[1:] for row in cells(result(horizon_us=1.0, power_w=None)._repr_html_())}
    assert rows["ended"] == ["HORIZON"]
    assert rows["jobs"] == ["0", "-", "-", "-", "-", "-"]
    assert "energy" not in rows


def test_a_table_shows_its_first_rows_and_names_are_escaped():
    table = vs.Table({"task": [1, 2], "<b>": ["<i>", "x"]})
    assert cells(table._repr_html_()) == [["task", "&lt;b&gt;"], ["1", "&lt;i&gt;"], ["2", "x"]]
    long = result().tasks._repr_html_()
    assert len(cells(long)) == 11
    assert "<p>2,500 rows</p>" in long
