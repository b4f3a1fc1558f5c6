"""The section ``outages`` of a scenario file."""

import pytest

import vinesim as vs

FILE = """
datacenter: {racks: [{units: {GPU: 2}}]}
workload: {generator: 500jobs}
arrivals: {iat: 5}
outages:
  - {rack: 0, shelf: 1, down: 0, up: 2 s}
  - {rack: 0, shelf: 0, down: 1 ms, running: finish}
"""


def read(tmp_path, text):
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return vs.read_scenario(path)


def test_outages_are_read(tmp_path):
    assert read(tmp_path, FILE).outages == (
        vs.Outage(0, 1, 0.0, 2e6),
        vs.Outage(0, 0, 1000.0, float("inf"), "finish"),
    )


def test_what_is_wrong_is_said_at_its_line(tmp_path):
    with pytest.raises(vs.InputError) as error:
        read(tmp_path, FILE.replace("up: 2 s", "up: 0").replace("shelf: 0", "shelf: 9"))
    text = str(error.value)
    assert "scenario.yaml:6:5: outages[0].up: expected a time after down" in text
    assert "scenario.yaml:7:5: outages[1]: expected a (rack, shelf) with a unit, found (0, 9)" in text
    with pytest.raises(vs.InputError, match="requeue, finish"):
        read(tmp_path, FILE.replace("running: finish", "running: pause"))
