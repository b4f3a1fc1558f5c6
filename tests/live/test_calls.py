"""Whatever a client sends is an answer or a refusal of that message: it leaves no trace, and ends nothing."""

import math
import tracemalloc

import msgpack
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.live.clusters import CLUSTER, CoreTest, every, only
from vinesim.live.manager.calls import CALLS

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")
JOB = {"task_type": "COMMAND", "commands": {"*": ["true"]}, "expected_us": 1e6}
REGISTER = {"name": "MINE", "relative_deadline_us": 1e5, "task_type": "ECHO", "kernel": "echo"}
REQUEST = {"key": "k", "application": "ECHO", "size": 1.0, "payload": b"\x01"}
RIGHT = {
    "client.register": REGISTER,
    "client.request": REQUEST,
    "client.issue": {"grant": 0, "kernel": "echo", "payloads": [b"\x01"]},
    "client.drain": {"node": "n0", "is_draining": True},
    "job.submit": {"job": JOB},
    "job.wait": {"job": 1},
    "job.output": {"job": 1, "stream": "out"},
    "agent.hello": {"node": "n0", "epoch": 0},
    "agent.ended": {"ends": [{"attempt": 1, "epoch": 1, "outcome": "done"}]},
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", "\ud800", "\0", "x" * 2_000, "ECHO", "n0", b"a", (1, 2), [], {}, {("a", 1): 2}, {b"a": 1}]),
    st.sampled_from([[1], ["a"], {"a": 1}, {"CPU": 2**70}, {"CPU": ["a", 1]}, [[]], np.zeros(2), object()]),
)


def loaded(folder):
    """A core with two nodes, a client, a job that runs and one that waits."""
    core = CoreTest(folder, LONG)
    core.client()
    core.agent("n0")
    core.agent("n1")
    for _ in range(4):
        core.submit()
    return core


def seen(core):
    """All that counts of a core: the journal's tables, what waits and runs."""
    one = core.core
    tables = {
        name: [tuple(row) for row in one.journal.rows(f"SELECT * FROM {name}")]
        for name in ("jobs", "attempts", "transitions", "applications", "answers", "nodes", "requests", "turns")
    }
    client = one.clients._all["c"]
    known = sorted(one.items), sorted(client.items), sorted(one.by_name), sorted(one.jobs._items), len(one._operations)
    return tables, known, {node.name: (node.state, sorted(node.attempts)) for node in one.nodes.all.values()}


@pytest.mark.parametrize("op", sorted(RIGHT))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_wrong_field_is_refused_and_leaves_no_trace(op, data, tmp_path_factory):
    core = loaded(tmp_path_factory.mktemp("core"))
    fields = dict(RIGHT[op])
    where = data.draw(st.sampled_from([*CALLS[op].fields, *(f"job.{name}" for name in JOB if op == "job.submit")]))
    value = data.draw(ODD)
    if where.startswith("job."):
        fields["job"] = {**JOB, where.removeprefix("job."): value}
    else:
        fields[where] = value
    before = seen(core)
    peer = op.partition(".")[0].replace("agent", "n0").replace("client", "c").replace("job", "c")
    sent = core.turn((peer, {"op": op, "n": 7, **fields}))
    refused = [m for m in sent if m[1]["op"] == "refused" or "error" in m[1] or m[1]["op"] == "withdrawn"]
    if refused and peer == "c":
        assert seen(core) == before
    assert every(core.turn(("c", {"op": "client.status", "n": 8})), "reply")  # it goes on


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        [],
        {},
        {"op": None},
        {"op": ["job.wait"]},
        {"op": "job.none"},
        {"op": "unreadable", "why": "a key of a dict must be text"},
        {"op": "unreadable"},
        {"op": "job.wait", "n": 1, "job": 2**63},
        {"op": "job.wait", "n": 1, "job": {"a": 1}},
        {"op": "job.list", "n": 1, "limit": math.inf},
        {"op": "job.output", "n": 1, "job": 1, "stream": "out/../../../token"},
        {"op": "job.submit", "n": [], "job": JOB},
        {"op": "job.submit", "n": 1, "job": JOB | {"limit": 1.0}},
        {"op": "job.submit", "n": 1, "job": JOB | {"payload": math.nan}},
        {"op": "job.submit", "n": 1, "key": ["a"], "job": JOB},
        {"op": "client.register", "n": 1, **REGISTER, "name": "jobs of ECHO, demand 1"},
        {"op": "client.register", "n": 1, **REGISTER, "name": "ECHO"},
        {"op": "client.register", "n": 1, **REGISTER, "nodes": ["none"]},
        {"op": "client.register", "n": 1, **REGISTER, "gang_size": 10**6},
        {"op": "client.register", "n": 1, **REGISTER, "task_type": "NONE"},
        {"op": "client.add", "n": 1, "node": "..", "units": {"CPU": 1}},
        {"op": "client.restart", "n": 1, "node": "none"},
    ],
)
def test_a_wrong_message_is_refused(tmp_path, message):
    core = loaded(tmp_path)
    before = seen(core)
    assert only(core.turn(("c", message)), "refused")["kind"] == "wrong"
    assert seen(core) == before
    assert core.core.counters.n_wrong == 1


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"op": "unreadable", "why": "a key of a dict must be text"}, "cannot be read: a key of a dict must be text"),
        ({"op": "job.none"}, "unknown call 'job.none'"),
        ([1, 2], "found a message without an op: [1, 2]"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_message(tmp_path, message, words):
    assert words in only(loaded(tmp_path).turn(("c", message)), "refused")["why"]


def test_a_gang_of_billions_is_refused_before_anything_is_made_for_its_members(tmp_path):
    core = loaded(tmp_path)
    call = {"op": "client.register", "n": 1, **REGISTER, "gang_size": 2**31 - 1}
    tracemalloc.start()
    try:
        why = only(core.turn(("c", call)), "refused")["why"]
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert "at most 3, the units of the cluster, found 2,147,483,647" in why


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    core = loaded(tmp_path)
    wrong = JOB | {"task_type": "NONE", "commands": {"GPU": ["a"]}, "requests": {"cores": 1}}
    why = only(core.turn(("c", {"op": "job.submit", "n": 1, "job": wrong})), "refused")["why"]
    assert "COMMAND, found 'NONE'" in why
    assert "ACC, CPU, found GPU" in why
    assert "requests" in why
    why = only(core.turn(("c", {"op": "job.submit", "n": 1, "job": {"demand": -1, "limit": 3}})), "refused")["why"]
    assert "job, expected one of task_type" in why
    assert "job, demand: expected a number" in why
    assert "job, task_type: expected text" in why


def test_a_message_whose_handler_fails_half_way_is_refused_and_leaves_no_trace(tmp_path, monkeypatch):
    core = loaded(tmp_path)
    before = seen(core)

    def fails(*_):
        raise ZeroDivisionError("half way")

    monkeypatch.setattr(core.core.jobs, "_item", fails)  # after the job was written
    why = only(core.turn(("c", {"op": "job.submit", "n": 9, "job": JOB})), "refused")["why"]
    assert why == "job.submit: ZeroDivisionError: half way"
    assert seen(core) == before


def test_calls_need_a_client(tmp_path):
    core = loaded(tmp_path)
    for message in ({"op": "job.submit", "n": 1, "job": JOB}, {"op": "client.cancel", "key": "1"}):
        assert "client.hello" in only(core.turn(("stranger", message)), "refused")["why"]
    answer = only(core.turn(("stranger", {"op": "client.request", **REQUEST})), "answer")
    assert answer["error"] == "wrong"


ONCE = [
    ("job.submit", {"job": JOB}, {"job": 5}),
    ("job.cancel", {"job": 1}, {"is_cancelled": True}),
    ("client.register", REGISTER, {}),
    ("client.add", {"node": "n9", "units": {"CPU": 1}}, {}),
    ("client.remove", {"node": "n1"}, {}),
]


@pytest.mark.parametrize(("op", "content", "answer"), ONCE)
@pytest.mark.parametrize("dies", [False, True])
def test_a_call_that_is_made_again_because_its_answer_was_lost_is_carried_out_once(tmp_path, op, content, answer, dies):
    core = loaded(tmp_path)
    message = {"op": op, "n": 77, **content}
    first = only(core.turn(("c", message)), "reply")
    assert {name: first[name] for name in answer} == answer
    if dies:
        core.begin()
        core.client()
    assert only(core.turn(("c", message)), "reply") == first
    assert core.core.journal.one("SELECT count(*) AS n FROM jobs")["n"] == 4 + (op == "job.submit")


def test_answers_of_calls_are_forgotten_when_nobody_makes_them_again(tmp_path):
    core = loaded(tmp_path)
    for n in range(3):
        core.turn(("c", {"op": "job.submit", "n": n, "job": JOB}), after_us=700e6)
        core.client()
    assert core.core.journal.one("SELECT count(*) AS n FROM answers")["n"] == 1


def test_an_end_that_cannot_be_read_is_a_failure_of_that_attempt(tmp_path):
    core = CoreTest(tmp_path)
    core.client()
    core.agent("n1")
    run = only(core.request(), "run")
    end = {"attempt": run["attempt"], "epoch": 1, "outcome": "strange"}
    sent = core.turn(("n1", {"op": "agent.ended", "ends": [end, 5]}))
    assert "could not be read" in only(sent, "answer")["why"]
    assert core.status()["n_running"] == 0


def test_results_that_are_too_few_fail_their_requests(tmp_path):
    core = CoreTest(tmp_path)
    core.client()
    core.agent("n1")
    run = only(core.request(), "run")
    assert "0 results for 1 requests" in only(core.end("n1", run["attempt"], results=[]), "answer")["why"]


def test_content_passes_through_the_manager_untouched(tmp_path):
    """What the manager cannot read is no harm: only who receives it reads it."""
    core = CoreTest(tmp_path)
    core.client()
    core.agent("n1")
    poison = msgpack.packb({(1, 2): 3})
    message = {"op": "client.request", **REQUEST, "payload": poison}
    run = only(core.turn(("c", message)), "run")
    assert run["payloads"] == [poison]
    assert only(core.end("n1", run["attempt"], results=[{"result": poison}]), "answer")["result"] == poison
