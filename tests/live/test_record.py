"""A live run becomes a scenario and a result; its simulation starts the same requests at nearly the same times."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from tests.live.clusters import CLUSTER, CoreTest, every, only, processes, until
from tests.live.test_processes import run, up
from vinesim.cli.live_record import record as recorded_to
from vinesim.formats.results.folder import write_result
from vinesim.live.folder import JOURNAL
from vinesim.live.journal import Journal
from vinesim.live.load import play
from vinesim.live.record import SCENARIO, record, write_scenario
from vinesim.live.validation import validate
from vinesim.model.errors import InputError
from vinesim.policies.identity import content_id

LOAD = """
extends: none
processor_types: [{name: CPU, capacity: 2}, {name: ACC}]
task_types: [SEARCH]
affinity: {times: {CPU: {SEARCH: 2 ms}, ACC: {SEARCH: 1 ms}}}
applications: [{name: SEARCH, relative_deadline: 50 ms}]
datacenter: {units: [{type: ACC, rack: 0, shelf: 0}]}
workload: {generator: requests, options: {duration_us: 2 s, rates: {SEARCH: 20}, spikes: 0, process: poisson}}
"""


@pytest.mark.parametrize("there", [{}, {"notes.txt": "mine"}, {"scenario.yaml": "policy: fcfs"}])
def test_only_an_old_recording_is_replaced(live, tmp_path, there):
    out = tmp_path / "out"
    out.mkdir()
    for name, text in there.items():
        (out / name).write_text(text)
    if there:
        with pytest.raises(InputError, match="a new or empty folder, or only an old recording"):
            recorded_to(out, live)
        assert {file.name: file.read_text() for file in out.iterdir()} == there
    else:
        recorded_to(out, live)
        recorded_to(out, live)


def test_load_is_played_recorded_and_simulated(tmp_path):
    (tmp_path / "load.yaml").write_text(LOAD)
    work = vs.read_scenario(tmp_path / "load.yaml").workload
    found = []

    async def work_in(session):
        await up(session, "n0")
        found.append(await play(session, work, {"SEARCH": "echo"}, speed=2.0))
        with pytest.raises(InputError, match="applications of the cluster: OTHER"):
            await play(session, work, {"OTHER": "echo"})
        while (await session.call("client.status"))["n_running"] > 0:  # a client has its result sooner
            await asyncio.sleep(0.01)
        await session.call("client.stop")

    text = CLUSTER.replace("ECHO", "SEARCH").replace("max_consolidated: 8", "max_consolidated: 8, kernel: echo")
    with processes(tmp_path, "manager", "n0", text=text) as cluster:
        run(cluster.folder, work_in)
        until(lambda: cluster.has_ended("manager"))  # the journal has all by then
        recorded = record(cluster.folder)
    (played,) = found
    assert len(played.response_us["SEARCH"]) == work.n_jobs == recorded.scenario.workload.n_jobs
    assert [one.what for one in recorded.left_out] == ["node n1 got no work for a time"]
    gaps = np.diff(recorded.scenario.workload.arrival_us) - np.diff(work.arrival_us) / 2
    assert np.median(np.abs(gaps)) < 50_000
    write_scenario(tmp_path / "out", recorded.scenario)
    again = vs.read_scenario(tmp_path / "out" / SCENARIO)
    assert content_id(again) == content_id(recorded.scenario)


def lived(tmp_path, late_us=0.0):
    """A run on its own clock: 20 requests, one every 10 ms, each 3 ms on the first unit, 0.5 ms of it dispatch; of
    one of them ``late_us`` more."""
    core = CoreTest(tmp_path, CLUSTER.replace("policy: fcfs", "policy: fcfs\noptions: {consolidate: 'yes'}"))
    core.client()
    core.agent("n0")
    for n in range(20):
        run_order = every(core.request(str(n)), "run")
        core.clock.us += 2_000 + (late_us if n == 10 else 0.0)
        core.end("n0", run_order[0]["attempt"], execution_us=2_500.0)
        core.clock.us += 5_000
        core.turn(("n0", {"op": "agent.lease", "at_us": 0.0}))
    core.core.journal.close()
    (tmp_path / "state" / "journal").rename(tmp_path / "state" / JOURNAL)
    return tmp_path / "state"


@pytest.fixture
def live(tmp_path):
    return lived(tmp_path)


def test_a_dispatch_that_took_long_is_drawn_now_and_then(tmp_path):
    recorded = record(lived(tmp_path, 20_000.0))
    lines = {line.what: line for line in validate(recorded, engine="reference")}
    line = lines["response, max"]
    assert line.measured == line.in_full == pytest.approx(23_000.0)
    assert line.low == pytest.approx(3_000.0)  # it is drawn by none of 20 requests with probability 0.36
    assert line.high >= 23_000.0 - 1e-6
    assert line.low < line.simulated < line.high
    line = lines["response, mean"]
    assert line.low < line.measured < line.high
    assert len({content_id(recorded.drawn(i)) for i in (0, 1, 1)}) == 2
    three = {line.what: line for line in validate(recorded, 3, engine="reference")}
    assert three["response, mean"].high <= line.high


def test_what_is_recorded_is_what_happened_and_the_simulation_agrees(live, tmp_path):
    recorded = record(live)
    work, summary = recorded.scenario.workload, recorded.result.summary
    assert work.n_jobs == 20
    np.testing.assert_allclose(np.diff(work.arrival_us), 10_000.0)
    np.testing.assert_allclose(recorded.result.tasks["finish_us"] - recorded.result.tasks["init_us"], 3_000.0)
    np.testing.assert_allclose(recorded.scenario.overhead_us[1, 0], 500.0)
    np.testing.assert_allclose(work.times_us[:, 1], 2_500.0)
    np.testing.assert_allclose(summary["jobs"]["latency_us"]["mean"], 3_000.0)
    lines = {line.what: line for line in validate(recorded, engine="reference")}
    for name in ("response, mean", "response, p99", "utilisation, ACC", "requests per start", "deadlines missed"):
        assert lines[name].simulated == pytest.approx(lines[name].measured, rel=1e-6), name
        assert lines[name].in_full == pytest.approx(lines[name].measured, rel=1e-6), name
    assert lines["order of starts, rank correlation"].simulated == pytest.approx(1.0)
    write_result(tmp_path / "result", recorded.result)
    assert (tmp_path / "result" / "tasks.parquet").exists()


def test_a_simulation_of_slower_requests_is_seen_to_differ(live):
    from dataclasses import replace

    recorded = record(live)
    work = replace(recorded.scenario.workload, times_us=recorded.scenario.workload.times_us * 2)
    slower = replace(recorded, scenario=replace(recorded.scenario, workload=work))
    lines = {line.what: line for line in validate(slower, engine="reference")}
    assert lines["response, mean"].simulated > 1.5 * lines["response, mean"].measured


def test_nothing_to_record_is_said(tmp_path):
    core = CoreTest(tmp_path)
    core.core.journal.close()
    with pytest.raises(InputError, match="processed requests"):
        record(tmp_path / "state")


def failed(tmp_path, n=3):
    core = CoreTest(tmp_path)
    core.client()
    core.agent("n1")
    for i in range(n):
        run = only(core.request(str(i)), "run")
        core.end("n1", run["attempt"], outcome="raised", why=f"ValueError: no\n{i}")
    return core


def test_why_there_is_nothing_to_record_is_said(tmp_path):
    core = failed(tmp_path)
    core.request("c")
    (killed,) = every(core.turn(("c", {"op": "client.cancel", "key": "c"})), "kill")
    core.end("n1", killed["attempt"], outcome="killed")
    closed(core, tmp_path)
    with pytest.raises(InputError, match=r"found 3 failed \(3 of them: ValueError: no\); 1 cancelled"):
        record(tmp_path / "state")


def test_what_the_simulation_leaves_out_is_said_by_name(tmp_path, capsys):
    core = failed(tmp_path, 2)
    core.end("n1", only(core.request("done"), "run")["attempt"])
    run = only(core.request("again"), "run")
    again = only(core.end("n1", run["attempt"], outcome="killed", why="died"), "run")
    core.end("n1", again["attempt"])
    run = only(core.request("running"), "run")
    core.turn(("c", {"op": "client.cancel", "key": "running"}))
    core.end("n1", run["attempt"], outcome="killed")
    request = {"op": "client.request", "application": "ECHO", "size": 1.0, "payload": b"\x01"}
    sent = core.turn(("c", {**request, "key": "unseen"}), ("c", {"op": "client.cancel", "key": "unseen"}))
    assert not every(sent, "run")
    job = only(core.submit(), "run")
    core.end("n1", job["attempt"], exit_code=0)
    for is_draining in (True, False):
        core.turn(("c", {"op": "client.drain", "n": 1 + is_draining, "node": "n1", "is_draining": is_draining}))
    core.end("n1", only(core.request("last"), "run")["attempt"])
    core.turn(("c", {"op": "client.drain", "n": 3, "node": "n1", "is_draining": True}))  # after the last end
    closed(core, tmp_path)
    recorded_to(tmp_path / "out", tmp_path / "state")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("3 requests: ")
    assert said[1:] == [
        "left out: 2 requests that failed; this may touch 3 starts",
        "left out: 1 request that was cancelled after its start; this may touch 1 start",
        "left out: 1 request that was cancelled before the policy knew of it; this touches no start",
        "left out: the earlier starts of 1 request that had to start again; this may touch 2 starts",
        "left out: 1 job; this may touch 1 start",
        "left out: node n0 got no work for a time; this may touch 3 starts",
        "left out: node n1 got no work for a time; this may touch 1 start",
    ]


def test_requests_of_applications_that_clients_registered_are_recorded(tmp_path):
    core = CoreTest(tmp_path)
    core.client()
    core.agent("n1")
    mine = {"name": "MINE", "relative_deadline_us": 1e5, "task_type": "ECHO", "kernel": "echo"}
    core.turn(("c", {"op": "client.register", "n": 1, **mine}))
    core.end("n1", only(core.request("1"), "run")["attempt"])
    request = {"op": "client.request", "key": "2", "application": "MINE", "size": 2.0, "payload": b"\x01"}
    core.end("n1", only(core.turn(("c", request)), "run")["attempt"])
    core.core.journal.write(
        "INSERT INTO requests SELECT NULL, 'GONE', size, arrival_us, issued_us, ended_us, "
        "execution_us, unit, attempt, n_attempts, deadline_us, outcome, number, why FROM requests WHERE id = 1"
    )
    closed(core, tmp_path)
    recorded = record(tmp_path / "state")
    assert recorded.scenario.workload.application_names == ("ECHO", "MINE")
    assert recorded.scenario.workload.application.tolist() == [0, 1]
    assert "1 request of an application that nobody declares" in [one.what for one in recorded.left_out]
    write_scenario(tmp_path / "out", recorded.scenario)
    assert content_id(vs.read_scenario(tmp_path / "out" / SCENARIO)) == content_id(recorded.scenario)


def closed(core, tmp_path):
    """Let the core's journal be where a cluster's is."""
    core.core.journal.close()
    (tmp_path / "state" / "journal").rename(tmp_path / "state" / JOURNAL)


def test_playing_needs_applications():
    work = vs.read_scenario(Path(__file__).parents[2] / "examples" / "quickstart.yaml").workload

    async def inside():
        await play(None, work, {})

    with pytest.raises(InputError, match="jobs of applications"):
        asyncio.run(inside())


def test_work_on_units_that_the_file_does_not_have_is_said(live):
    file = live / "cluster.yaml"
    file.write_text(file.read_text().replace("{name: n0, units: {ACC: 1, CPU: 1}}, ", ""))
    journal = Journal(live / JOURNAL)
    journal.write("UPDATE requests SET unit = 2")
    journal.close()
    with pytest.raises(InputError, match="work on units 0 to 0"):
        record(live)


def test_requests_on_several_nodes_cannot_be_recorded(live):
    file = live / "cluster.yaml"
    file.write_text(file.read_text().replace("max_consolidated: 8", "max_consolidated: 8, gang_size: 2"))
    with pytest.raises(InputError, match="requests on one node each, found gang_size 2 of ECHO"):
        record(live)
