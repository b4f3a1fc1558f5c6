"""Names of servers and racks, and powers, in a table of servers; and where a result shows the names."""

import json

import pytest

import vinesim as vs
from vinesim.formats.results.tables import open_result
from vinesim.metrics.waiting import waiting_of
from vinesim.metrics.waiting_words import headline, lines_below
from vinesim.plots.gantt import gantt_figure
from vinesim.report.run import run_page
from vinesim.report.timeline import write_timeline

SERVERS = """type,name,rack,cores,units.GPU,idle_power,dynamic_power
CPU,gpu01,north,4,2,100,50
CPU,gpu02,south,4,1,100,50
CPU,cpu01,north,8,,100,50
"""
SCENARIO = """extends: none
processor_types: [{name: CPU, idle_power: 7}, {name: GPU, dynamic_power: 30}]
network: none
datacenter: {file: servers.csv}
workload: {file: jobs.csv}
policy: fcfs
"""
JOBS = "arrival_s,time_s,cores,gpus\n0,60,2,2\n5,60,4,2\n10,30,8,0\n20,30,8,0\n21,5,1,2\n"


@pytest.fixture
def written(tmp_path):
    """Write the files; the scenario."""

    def make(servers=SERVERS):
        for name, text in (("servers.csv", servers), ("s.yaml", SCENARIO), ("jobs.csv", JOBS)):
            (tmp_path / name).write_text(text)
        return vs.read_scenario(tmp_path / "s.yaml")

    return make


@pytest.fixture
def folder(written, tmp_path):
    scenario = written()
    from vinesim.formats.results.explain_record import write_record
    from vinesim.formats.results.folder import write_result

    result = vs.simulate(scenario, engine="reference")
    write_result(tmp_path / "out", result, lambda path: write_record(path, scenario))
    return tmp_path / "out"


def fails(written, servers, *wanted):
    with pytest.raises(vs.InputError) as found:
        written(servers)
    for words in wanted:
        assert words in str(found.value), str(found.value)


def test_names_and_powers_are_read(written):
    center = written().datacenter
    assert center.rack_names == ("north", "south")
    assert center.rack.tolist() == [0, 0, 0, 1, 1, 0]
    assert center.node_names.tolist() == ["gpu01"] * 3 + ["gpu02"] * 2 + ["cpu01"]
    powers = {p.name: (p.idle_power_w, p.dynamic_power_w) for p in center.processor_types}
    assert powers == {"CPU": (100.0, 50.0), "GPU": (0.0, 30.0)}


def test_names_change_no_time(written):
    plain = SERVERS.replace("name,", "").replace("gpu01,", "").replace("gpu02,", "").replace("cpu01,", "")
    runs = [vs.simulate(written(text), engine="reference") for text in (SERVERS, plain)]
    assert runs[0].tasks["finish_us"].tolist() == runs[1].tasks["finish_us"].tolist()
    assert "node" in list(runs[0].units)
    assert "node" not in list(runs[1].units)


def test_every_view_uses_the_names(folder, tmp_path):
    with open_result(folder) as result:
        assert result.place_names.node(0, 0) == "gpu01, rack north"
        assert result.place_names.rack(1) == "rack south"
        figure, _ = gantt_figure(result)
        labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        assert labels == ["gpu01 CPU", "gpu01 GPU", "gpu01 GPU", "cpu01 CPU", "gpu02 CPU", "gpu02 GPU"]
        node = result.columns("SELECT node, rack_name, rack FROM units ORDER BY unit")
        assert node["node"].tolist() == [label.split()[0] for label in labels]
        assert node["rack_name"].tolist() == ["north"] * 4 + ["south"] * 2
    found = waiting_of(folder, 1)
    words = "\n".join([*headline(found), *lines_below(found, 5)])
    assert "on gpu01, rack north (unit 1, GPU)" in words
    last = waiting_of(folder, 4)
    assert "gpu01, rack north (GPU) freed by job 0; taken at once by job 1" in "\n".join(lines_below(last, 5))
    view = run_page(folder).data["racks"]
    assert view["racks"] == ["north", "south"]
    assert view["node"] == ["gpu01", "gpu01", "gpu01", "cpu01", "gpu02", "gpu02"]
    write_timeline(folder, tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M" and "name" in event["args"]}
    assert "rack north" in named
    assert "gpu01: GPU, unit 1" in named


def test_wrong_names_and_powers_are_refused(written):
    fails(written, SERVERS.replace("gpu02", "gpu01"), "name[1]: expected each name once", "row 0: 'gpu01'")
    fails(written, "type,name,count\nCPU,a,2\n", "name[0]", "one server of that name", "'a' for 2 servers")
    fails(written, SERVERS.replace("gpu02,south,4,1,100", "gpu02,south,4,1,90"), "idle_power[1]", "their own type")
    fails(written, SERVERS.replace(",50\n", ",-1\n", 1), "dynamic_power[0]", "a power in W")
    fails(written, SERVERS.replace("name,", "nmae,"), "Did you mean name?")
