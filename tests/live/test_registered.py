"""Applications that clients register: they are known to other programs, to the next manager, and to ``record``."""

import pytest

from tests.live.clusters import CLUSTER, CoreTest, every, only, result_of

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")
MINE = {"op": "client.register", "name": "MINE", "relative_deadline_us": 1e5, "task_type": "ECHO"}


@pytest.fixture
def core(tmp_path):
    one = CoreTest(tmp_path, LONG)
    one.client()
    one.client("d")
    return one


def register(core, peer="c", n=1, **more):
    return core.turn((peer, {**MINE, "n": n, **more}))


def ask(core, key, peer="c", payload=None):
    message = {"op": "client.request", "key": key, "application": "MINE", "size": 1.0, "payload": payload}
    return core.turn((peer, message))


def test_the_next_manager_knows_them_and_what_runs_of_them(core):
    core.agent("n1")
    register(core, kernel="echo")
    run = only(ask(core, "k", payload=b"\x01"), "run")
    core.begin()
    core.client()
    running = [{"attempt": run["attempt"], "unit": 2, "items": run["items"]}]
    sent = core.agent("n1", epoch=1, running=running)
    assert only(sent, "welcome")
    assert not core.core.nodes.is_recovering
    ask(core, "k", payload=b"\x01")
    assert result_of(only(core.end("n1", run["attempt"]), "answer")) == 7
    assert only(ask(core, "k2", payload=b"\x02"), "run")["payloads"] == [b"\x02"]


def test_what_runs_of_an_application_that_nobody_knows_is_ended(core):
    core.agent("n1")
    core.core.closed("n1")
    items = [["GONE", 1.0, 0.0, "x", "1"]]
    sent = core.agent("n1", epoch=1, running=[{"attempt": 1, "unit": 2, "items": items}])
    assert only(sent, "welcome")
    assert only(sent, "kill")["attempt"] == 1
    assert not every(core.request(), "run")  # its unit is closed until it has ended
    assert only(core.end("n1", 1, outcome="killed"), "run")


def test_an_agent_whose_hello_fails_begins_again(core, monkeypatch):
    core.agent("n1")
    run = only(core.request(), "run")
    core.begin()
    monkeypatch.setattr(core.core.runs, "found", lambda *_: 1 / 0)
    sent = core.agent("n1", epoch=1, running=[{"attempt": run["attempt"], "unit": 2, "items": run["items"]}])
    assert "ZeroDivisionError" in only(sent, "fenced")["why"]
    assert core.core.nodes.is_recovering
    assert only(core.agent("n1"), "welcome")["epoch"] == 2
    assert not core.core.nodes.is_recovering


def test_a_hello_that_is_refused_does_not_keep_its_lease(core):
    core.agent("n1")
    core.begin()
    assert only(core.agent("n1", epoch=1, running=[{}]), "refused")
    assert not every(core.turn(("n1", {"op": "agent.lease", "at_us": 0.0})), "lease")
    core.turn(after_us=1001e6)
    assert not core.core.nodes.is_recovering


def test_the_same_registration_by_another_program_is_the_same_application(core):
    assert only(register(core), "reply")
    assert only(register(core, "d"), "reply")
    assert len(core.core.served) == 2


def test_another_registration_needs_the_application_to_be_idle(core):
    register(core)
    ask(core, "k")
    refused = only(register(core, "d", relative_deadline_us=2e5), "refused")
    assert "in use with another relative_deadline_us" in refused["why"]
    core.turn(("c", {"op": "client.cancel", "key": "k"}))
    assert only(register(core, "d", relative_deadline_us=2e5), "reply")
    core.begin()
    assert core.core.served[core.core.by_name["MINE"]].deadline_us == 2e5


def test_grants_go_to_the_program_whose_requests_they_start(core):
    register(core)
    core.turn(("c", {"op": "client.hello", "n": 0, "id": "c"}))
    core.core.closed("c")
    sent = ask(core, "k", "d") + core.agent("n1")
    assert [(peer, m["keys"]) for peer, m in sent if m["op"] == "granted"] == [("d", ["k"])]


def test_a_grant_starts_the_requests_of_one_program(tmp_path):
    core = CoreTest(tmp_path, LONG.replace("policy: fcfs", "policy: symphony"))
    core.client()
    core.client("d")
    register(core, max_consolidated=8)
    for key, peer in (("1", "c"), ("1", "d"), ("2", "c"), ("2", "d")):
        ask(core, key, peer)
    sent = core.agent("n1", ready=[2]) + core.turn()
    granted = [(peer, m["keys"]) for peer, m in sent if m["op"] == "granted"]
    assert sorted((peer, key) for peer, keys in granted for key in keys) == [
        (peer, key) for peer in "cd" for key in "12"
    ]


def test_a_grant_is_said_again_to_a_client_that_was_away(core):
    register(core)
    core.core.closed("c")
    core.client("c")
    core.core.closed("c")
    assert not every(core.turn(), "granted")
    core.client("c")
    ask(core, "k")
    core.core.closed("c")
    core.agent("n1")
    sent = core.turn(("c2", {"op": "client.hello", "n": 0, "id": "c"}))
    assert only(sent, "granted")["keys"] == ["k"]


def test_a_grant_that_is_gone_is_said_to_who_issues_it(core):
    sent = core.turn(("c", {"op": "client.issue", "grant": 5, "kernel": "echo", "payloads": []}))
    assert only(sent, "withdrawn")["grant"] == 5


def test_an_issue_that_is_sent_twice_starts_once(core):
    core.agent("n1")
    register(core)
    grant = only(ask(core, "k"), "granted")["grant"]
    issue = ("c", {"op": "client.issue", "grant": grant, "kernel": "echo", "payloads": [b"\x01"]})
    assert only(core.turn(issue), "run")
    assert not every(core.turn(issue), "run")
    wrong = core.turn(("c", {**issue[1], "payloads": []}))
    assert not every(wrong, "run")


@pytest.mark.parametrize(("kernel", "payload", "uses"), [("", b"\x01", "new_request"), ("echo", None, "request")])
def test_an_application_is_used_as_it_was_registered(core, kernel, payload, uses):
    register(core, kernel=kernel)
    assert uses in only(ask(core, "k", payload=payload), "answer")["why"]
    assert core.core.n_waiting == 0


def test_a_grant_whose_node_went_away_is_lost_when_it_is_issued(core):
    core.agent("n1")
    register(core)
    grant = only(ask(core, "k"), "granted")["grant"]
    core.core.closed("n1")
    sent = core.turn(("c", {"op": "client.issue", "grant": grant, "kernel": "echo", "payloads": [b"\x01"]}))
    assert (only(sent, "withdrawn")["grant"], only(sent, "withdrawn")["keys"]) == (grant, ["k"])
    assert not every(sent, "run")
