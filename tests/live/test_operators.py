"""What operators see and do: ages and reasons, nodes that begin again, what is forgotten."""

import pytest

from tests.live.clusters import CLUSTER, CoreTest, only

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")


@pytest.fixture
def core(tmp_path):
    one = CoreTest(tmp_path, LONG)
    one.client()
    one.agent("n1")
    return one


def test_the_status_says_what_runs_and_for_how_long(core):
    run = only(core.submit(), "run")
    core.turn(after_us=5e6)
    (shown,) = core.status()["nodes"][1]["running"]
    assert (shown["what"], shown["attempt"], shown["unit"], shown["ending"]) == ("job 1", run["attempt"], 2, "")
    assert shown["age_us"] == 5e6
    assert core.status()["manager"]["n_starts"] == 1
    core.begin()
    core.client()
    assert core.status()["is_recovering"]
    running = [{"attempt": run["attempt"], "unit": 2, "age_us": 7e6}]
    core.agent("n1", epoch=1, running=running)
    assert core.status()["nodes"][1]["running"][0]["age_us"] > 5e6
    assert core.status()["manager"]["n_starts"] == 2
    core.turn(("c", {"op": "job.cancel", "n": 5, "job": 1}))
    assert core.status()["nodes"][1]["running"][0]["ending"] == "cancelled"


def test_the_age_of_what_a_new_manager_finds_is_what_its_agent_says(core):
    run = only(core.request(), "run")
    core.begin()
    running = [{"attempt": run["attempt"], "unit": 2, "age_us": 7e6, "items": run["items"]}]
    core.agent("n1", epoch=1, running=running)
    (shown,) = core.status()["nodes"][1]["running"]
    assert (shown["age_us"], shown["what"]) == (7e6, "ECHO")


def test_a_node_is_restarted_and_its_work_starts_again(core):
    first = only(core.request(), "run")
    sent = core.turn(("c", {"op": "client.restart", "n": 1, "node": "n1"}))
    assert [peer for peer, m in sent if m["op"] == "fenced"] == ["n1"]
    core.core.closed("n1")
    sent = core.agent("n1")
    assert only(sent, "welcome")["epoch"] == 2
    assert only(sent, "run")["attempt"] != first["attempt"]
    assert "not connected" in only(core.turn(("c", {"op": "client.restart", "n": 2, "node": "n0"})), "refused")["why"]


def test_reasons_are_counted_written_and_logged_once_a_kind(core, caplog):
    for n in range(5):
        run = only(core.request(str(n)), "run")
        core.end("n1", run["attempt"], outcome="raised", why=f"ValueError: no\nline {n}")
    run = only(core.submit(name="mine"), "run")
    core.end("n1", run["attempt"], outcome="raised", why="KeyError: x")
    assert core.status()["failures"] == [
        {"application": "ECHO", "kind": "failed", "why": "ValueError: no", "count": 5},
        {"application": "mine", "kind": "failed", "why": "KeyError: x", "count": 1},
    ]
    assert [record.why for record in caplog.records if record.message == "failed"] == [
        "ValueError: no\nline 0",
        "KeyError: x",
    ]
    rows = list(core.core.journal.rows("SELECT outcome, why FROM requests"))
    assert [tuple(row) for row in rows] == [("failed", "ValueError: no")] * 5


def test_an_output_whose_node_goes_away_is_refused(core):
    run = only(core.submit(), "run")
    core.end("n1", run["attempt"], exit_code=0)
    ask = {"op": "job.output", "job": 1, "stream": "out"}
    assert only(core.turn(("c", {**ask, "n": 5})), "read")
    core.core.closed("n1")
    refused = only(core.turn(), "refused")
    assert (refused["n"], refused["kind"]) == (5, "lost")
    assert "n1, which has the output" in only(core.turn(("c", {**ask, "n": 6})), "refused")["why"]
    core.agent("n1")
    ticket = only(core.turn(("c", {**ask, "n": 7})), "read")["ticket"]
    sent = core.turn(("n1", {"op": "agent.text", "ticket": ticket, "why": "node n1: no such device"}))
    assert only(sent, "refused")["why"] == "node n1: no such device"


def test_what_ended_long_ago_is_forgotten_but_not_what_has_not_ended(core):
    for n in range(3):
        run = only(core.submit(), "run")
        core.end("n1", run["attempt"], exit_code=0)
        core.end("n1", only(core.request(str(n)), "run")["attempt"])
        core.turn(after_us=100e6)
    core.submit()
    sent = core.turn(("c", {"op": "client.prune", "n": 1, "older_us": 150e6}))
    found = only(sent, "reply")
    assert (found["n_jobs"], found["n_requests"]) == (2, 2)
    assert [(peer, m["kept"]) for peer, m in sent if m["op"] == "prune"] == [("n1", [3, 4])]
    for table in ("attempts", "transitions"):
        rows = core.core.journal.rows(f"SELECT DISTINCT job FROM {table} ORDER BY job")
        assert [row["job"] for row in rows] == [3, 4]
    core.begin()
    core.client()
    assert only(core.submit(), "reply")["job"] == 5


def test_the_number_of_the_last_job_is_not_given_again(core):
    run = only(core.submit(), "run")
    core.end("n1", run["attempt"], exit_code=0)
    core.turn(("c", {"op": "client.prune", "n": 1, "older_us": 0.0}), after_us=1e6)
    assert only(core.submit(), "reply")["job"] == 2
