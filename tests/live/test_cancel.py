"""Jobs that are cancelled at a bad moment: what is said to be cancelled is ended, and stays so."""

import pytest

from tests.live.clusters import CLUSTER, CoreTest, every, only

LONG = CLUSTER.replace("lease: 1 s", "lease: 1000 s")


@pytest.fixture
def core(tmp_path):
    one = CoreTest(tmp_path, LONG)
    one.client()
    one.agent("n1")
    return one


def cancel(core, n=1):
    return core.turn(("c", {"op": "job.cancel", "n": n, "job": 1}))


def running(run):
    return [{"attempt": run["attempt"], "unit": run["unit"], "items": []}]


def test_in_the_turn_in_which_its_device_dies(core):
    run = only(core.submit(), "run")
    died = {"op": "agent.ended", "ends": [{"attempt": run["attempt"], "epoch": 1, "outcome": "killed", "why": "died"}]}
    sent = core.turn(("n1", died), ("c", {"op": "job.cancel", "n": 2, "job": 1}))
    assert only(sent, "reply")["is_cancelled"]
    assert not every(sent, "run")
    assert core.job(1)["state"] == "cancelled"
    core.begin()
    assert not every(core.agent("n1", epoch=1), "run")
    assert core.job(1)["state"] == "cancelled"


@pytest.mark.parametrize("dies", [False, True])
def test_while_its_agent_is_away(core, dies):
    """The agent may come back and go on with it, also to another manager."""
    run = only(core.submit(), "run")
    core.core.closed("n1")
    core.turn()
    if dies:
        core.begin()
        core.client()
    assert only(cancel(core), "reply")["is_cancelled"]
    sent = core.agent("n1", epoch=1, running=running(run))
    assert only(sent, "kill")["attempt"] == run["attempt"]
    assert not every(sent, "run")
    core.end("n1", run["attempt"], outcome="killed")
    assert core.job(1)["state"] == "cancelled"


def test_when_the_manager_dies_before_its_agent_knew(core):
    run = only(core.submit(), "run")
    assert only(cancel(core), "kill")  # which is never sent
    core.begin()
    assert only(core.agent("n1", epoch=1, running=running(run)), "kill")["attempt"] == run["attempt"]
    core.end("n1", run["attempt"], outcome="killed")
    assert core.job(1)["state"] == "cancelled"


def test_just_before_it_ends_by_itself(core):
    run = only(core.submit(), "run")
    cancel(core)
    core.end("n1", run["attempt"], exit_code=0)
    assert (core.job(1)["state"], core.job(1)["exit_code"]) == ("cancelled", 0)
    assert not only(cancel(core, n=2), "reply")["is_cancelled"]


def test_in_the_turn_in_which_it_arrives(core):
    core.turn(("c", {"op": "client.drain", "n": 1, "node": "n1", "is_draining": True}))
    job = {"task_type": "COMMAND", "commands": {"*": ["true"]}, "expected_us": 1e6}
    submit = ("c", {"op": "job.submit", "n": 2, "job": job})
    sent = core.turn(submit, ("c", {"op": "job.cancel", "n": 3, "job": 1}), (*submit[:1], {**submit[1], "n": 4}))
    assert [m["n"] for m in every(sent, "reply")] == [2, 3, 4]
    assert core.core.n_waiting == 1
    sent = core.turn(("c", {"op": "client.drain", "n": 5, "node": "n1", "is_draining": False}))
    assert [m["job"] for m in every(sent, "run")] == [2]


def test_a_kill_is_said_again_until_its_attempt_is_over(core):
    run = only(core.submit(), "run")
    cancel(core)
    for _ in range(2):
        core.core.closed("n1")
        assert only(core.agent("n1", epoch=1, running=running(run)), "kill")["attempt"] == run["attempt"]


def test_a_request_that_others_run_with_is_not_run_with_them_once_it_is_cancelled(tmp_path):
    core = CoreTest(tmp_path, LONG.replace("policy: fcfs", "policy: symphony"))
    core.client()
    for key in "123":
        core.request(key, payload=key)
    core.core.decisions.component._scheduler.cancel = lambda *_: False  # a policy that cannot forget
    core.turn(("c", {"op": "client.cancel", "key": "2"}))
    runs = every(core.agent("n1"), "run")
    assert [item[4] for run in runs for item in run["items"]] == ["1", "3"]
