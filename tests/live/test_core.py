"""The manager without sockets: what it does when agents, clients and itself die, on a clock that the test moves."""

import pytest

from tests.live.clusters import CLUSTER, CoreTest, content, every, only, result_of

LEASE_US, GRACE_US = 1e6, 0.5e6


@pytest.fixture
def core(tmp_path):
    one = CoreTest(tmp_path)
    one.client()
    return one


def test_a_request_runs_and_is_answered(core):
    core.agent("n0")
    run = only(core.request(payload=[1, 2]), "run")
    assert (run["kernel"], run["payloads"], run["unit"]) == ("echo", [content([1, 2])], 0)
    sent = core.end("n0", run["attempt"])
    assert result_of(only(sent, "answer")) == 7
    renewed = core.turn(("n0", {"op": "agent.lease", "at_us": 0.0}))
    assert only(renewed, "lease")["known_ends"] == [run["attempt"]]
    assert core.core.counters.n_done == 1
    row = core.core.journal.one("SELECT * FROM requests")
    assert (row["application"], row["outcome"], row["execution_us"], row["n_attempts"]) == ("ECHO", "done", 500.0, 1)
    assert row["arrival_us"] <= row["issued_us"] < row["ended_us"]


def test_nothing_is_granted_to_a_node_that_is_not_there(core):
    assert not every(core.request(), "run")
    assert only(core.agent("n1"), "run")["unit"] == 2


def test_nothing_is_granted_to_a_device_that_loads_its_kernels(core):
    core.agent("n1", ready=[])
    assert not every(core.request(), "run")
    assert core.status()["nodes"][1]["state"] == "starting"
    assert only(core.turn(("n1", {"op": "agent.ready", "units": [2]})), "run")["unit"] == 2
    assert core.status()["nodes"][1]["state"] == "up"


def test_an_answer_is_kept_until_it_is_confirmed(core):
    core.agent("n0")
    run = only(core.request(), "run")
    core.core.closed("c")
    assert not every(core.end("n0", run["attempt"]), "answer")
    again = [("c2", {"op": "client.hello", "n": 1, "id": "c"})]
    assert only(core.turn(*again), "answer")["key"] == "1"
    sent = core.turn(("c2", {"op": "client.confirm", "keys": ["1"]}), ("c2", {"op": "client.hello", "n": 2, "id": "c"}))
    assert not every(sent, "answer")


def test_a_request_that_is_sent_again_runs_once(core):
    core.agent("n0")
    run = only(core.request(), "run")
    assert not every(core.request(), "run")
    core.end("n0", run["attempt"])
    sent = core.request()
    assert not every(sent, "run")
    assert result_of(only(sent, "answer")) == 7


def test_a_silent_node_keeps_its_units_until_lease_and_grace_are_over(core):
    """The device may still work on the request: not before it has ended itself may another one begin."""
    core.agent("n1")
    first = only(core.request(), "run")
    core.core.closed("n1")
    assert not every(core.agent("n0"), "run")
    renewal = ("n0", {"op": "agent.lease", "at_us": 0.0})
    assert not every(core.turn(renewal, after_us=LEASE_US), "run")
    sent = core.turn(renewal, after_us=GRACE_US)
    second = only(sent, "run")
    assert second["unit"] != first["unit"]
    assert second["attempt"] != first["attempt"]
    assert core.core.counters.n_started_again == core.core.counters.n_lost_nodes == 1


def test_a_lease_that_is_renewed_does_not_end(core):
    core.agent("n1")
    only(core.request(), "run")
    core.agent("n0")
    for _ in range(5):
        sent = core.turn(*[(n, {"op": "agent.lease", "at_us": 5.0}) for n in ("n0", "n1")], after_us=LEASE_US)
        assert [m["at_us"] for m in every(sent, "lease")] == [5.0, 5.0]
        assert not every(sent, "run")


def test_a_new_agent_says_that_nothing_runs_and_the_work_begins_at_once(core):
    core.agent("n1")
    first = only(core.request(), "run")
    core.core.closed("n1")
    sent = core.agent("n1")
    assert only(sent, "welcome")["epoch"] == 2
    assert only(sent, "run")["attempt"] != first["attempt"]


def test_what_an_old_epoch_says_is_not_used(core):
    core.agent("n1")
    first = only(core.request(), "run")
    core.core.closed("n1")
    second = only(core.agent("n1"), "run")
    assert not every(core.end("n1", first["attempt"], epoch=1), "answer")
    assert not every(core.end("n1", second["attempt"], epoch=1), "answer")
    assert core.core.counters.n_old == 2
    assert result_of(only(core.end("n1", second["attempt"], epoch=2), "answer")) == 7
    assert core.core.counters.n_done == 1


def test_an_agent_that_was_given_up_is_fenced(core):
    core.agent("n1")
    core.core.closed("n1")
    core.turn(after_us=LEASE_US + GRACE_US)
    sent = core.agent("n1", epoch=1)
    assert "epoch 1 of n1 is over" in only(sent, "fenced")["why"]
    assert not every(sent, "welcome")
    assert only(core.agent("n1"), "welcome")["epoch"] == 2


def test_of_two_agents_of_a_node_the_first_ends_for_good(core):
    """Ray may start an agent again whose process still runs: it must not register once more and end the new one."""
    core.agent("n1")
    hello = {"op": "agent.hello", "node": "n1", "epoch": 0, "ready": [2]}
    sent = core.turn(("second", hello))
    assert [(peer, m["is_final"]) for peer, m in sent if m["op"] == "fenced"] == [("n1", True)]
    core.core.closed("n1")
    assert core.status()["nodes"][1]["state"] == "up"
    sent = core.request()
    assert [peer for peer, m in sent if m["op"] == "run"] == ["second"]


def test_an_agent_that_registers_twice_is_the_same_agent_and_keeps_its_work(core):
    core.agent("n1")
    run = only(core.request(), "run")
    running = [{"attempt": run["attempt"], "unit": 2, "items": []}]
    sent = core.agent("n1", epoch=1, running=running)
    assert (only(sent, "welcome")["epoch"], every(sent, "fenced"), every(sent, "run")) == (1, [], [])
    assert result_of(only(core.end("n1", run["attempt"]), "answer")) == 7


@pytest.mark.parametrize("epoch", [1, 7])
def test_an_agent_that_comes_from_another_manager_brings_nothing_and_costs_nothing(core, epoch):
    """Its epoch is unknown here, or one of the same number; what it runs is of no client of this manager."""
    core.agent("n1")
    run = only(core.request(), "run")
    core.core.closed("n1")
    other = [{"attempt": 99, "unit": 2, "age_us": 5.0, "items": [["OTHER", 1.0, 0.0, "d", "k"]]}]
    ended = [{"attempt": 98, "epoch": epoch, "outcome": "done", "results": [{"result": b"x"}], "execution_us": 1.0}]
    sent = core.agent("n1", epoch=epoch, running=other, ended=ended)
    if epoch == 1:
        assert [one["attempt"] for one in every(sent, "kill")] == [99]
        assert not every(sent, "run")  # its unit is not free before that has ended
        sent = core.end("n1", 99, outcome="killed")
    else:
        assert "epoch 7 of n1 is over" in only(sent, "fenced")["why"]
        sent = core.agent("n1")
    again = only(sent, "run")
    assert again["attempt"] != run["attempt"]
    core.end("n1", again["attempt"], epoch=core.core.nodes.all["n1"].epoch)
    assert core.core.counters.n_done == 1


def test_an_agent_that_comes_back_in_time_goes_on(core):
    core.agent("n1")
    run = only(core.request(), "run")
    core.core.closed("n1")
    sent = core.agent("n1", epoch=1, running=[{"attempt": run["attempt"], "unit": 2, "items": []}])
    assert only(sent, "welcome")["epoch"] == 1
    assert not every(sent, "run")
    assert result_of(only(core.end("n1", run["attempt"]), "answer")) == 7


def test_an_order_that_never_arrived_is_given_again(core):
    core.agent("n1")
    run = only(core.request(), "run")
    core.core.closed("n1")
    again = only(core.agent("n1", epoch=1), "run")
    assert again["attempt"] != run["attempt"]


def test_devices_that_die_again_and_again_fail_the_request(core):
    core.agent("n1")
    run = only(core.request(), "run")
    for _ in range(2):
        run = only(core.end("n1", run["attempt"], outcome="killed", why="its device died"), "run")
    answer = only(core.end("n1", run["attempt"], outcome="killed", why="its device died"), "answer")
    assert (answer["error"], answer["why"]) == ("failed", "its device died (tried 3 times)")


@pytest.mark.parametrize("outcome", ["raised", "limit"])
def test_a_kernel_that_raises_or_takes_too_long_is_not_tried_again(core, outcome):
    core.agent("n1")
    run = only(core.request(), "run")
    sent = core.end("n1", run["attempt"], outcome=outcome, why="ValueError: no")
    assert only(sent, "answer")["why"] == "ValueError: no"
    assert core.core.counters.n_failed == 1
    assert core.core.counters.n_started_again == 0


def test_one_request_of_several_may_fail(core):
    core.agent("n1")
    run = only(core.request(), "run")
    answer = only(core.end("n1", run["attempt"], results=[{"error": "ValueError: this one"}]), "answer")
    assert answer["error"] == "failed"


def test_cancelled_while_it_waits_and_while_it_runs(core):
    cancel = ("c", {"op": "client.cancel", "key": "1"})
    core.request()
    assert core.status()["waiting"]["ECHO"] == 1
    assert only(core.turn(cancel), "answer")["error"] == "cancelled"
    assert core.core.n_waiting == 0
    assert core.status()["waiting"]["ECHO"] == 0
    assert not every(core.agent("n1"), "run")
    run = only(core.request("2"), "run")
    sent = core.turn(("c", {"op": "client.cancel", "key": "2"}))
    assert only(sent, "kill")["attempt"] == run["attempt"]
    assert only(sent, "answer")["error"] == "cancelled"
    core.end("n1", run["attempt"], outcome="killed")
    assert core.core.counters.n_cancelled == 2


def test_the_requests_of_a_client_that_stays_away_are_cancelled(core):
    core.agent("n1")
    run = only(core.request(), "run")
    core.core.closed("c")
    core.turn(after_us=LEASE_US / 2)
    assert core.core.next_us() == core.clock.us + LEASE_US / 2
    sent = core.turn(("n1", {"op": "agent.lease", "at_us": 0.0}), after_us=LEASE_US / 2)
    assert only(sent, "kill")["attempt"] == run["attempt"]
    assert core.core.counters.n_cancelled == 1


def test_a_full_queue_and_wrong_calls_are_refused(core):
    for n in range(50):
        core.request(str(n))
    answer = only(core.request("one more"), "answer")
    assert answer["error"] == "busy"
    assert "50 requests and jobs are waiting" in answer["why"]
    assert only(core.submit(), "refused")["kind"] == "busy"
    assert core.core.counters.n_refused == 2
    for message in ({"op": "client.nonsense"}, {"op": 5}, {}, {"op": "agent.hello"}, {"op": "job.wait", "job": 99}):
        assert only(core.turn(("c", message)), "refused")["kind"] == "wrong"
    wrong = {"op": "client.request", "key": "w", "application": "NONE", "size": 1.0}
    assert "no application 'NONE'" in only(core.turn(("c", wrong)), "answer")["why"]
    assert (
        "expected a number from 0"
        in only(core.turn(("c", wrong | {"application": "ECHO", "size": -1.0})), "answer")["why"]
    )


def test_a_drained_node_gets_nothing_more_also_after_a_restart(core):
    core.agent("n1")
    core.turn(("c", {"op": "client.drain", "n": 1, "node": "n1", "is_draining": True}))
    assert not every(core.request(), "run")
    core.begin()
    core.client()
    assert not every(core.agent("n1", epoch=1), "run")
    core.request()
    sent = core.turn(("c", {"op": "client.drain", "n": 1, "node": "n1", "is_draining": False}))
    assert len(every(sent, "run")) == 1


def test_nothing_is_kept_of_requests_that_are_over(core):
    core.agent("n1")

    def kept():
        one, client = core.core, core.core.clients._all["c"]
        known = one.decisions.component._scheduler._decider.requests
        return [len(x) for x in (one.items, client.items, client.answers, one.nodes.all["n1"].attempts, known.task_job)]

    for n in range(300):
        run = only(core.request(str(n)), "run")
        core.end("n1", run["attempt"])
        core.turn(("c", {"op": "client.confirm", "keys": [str(n)]}), ("n1", {"op": "agent.lease", "at_us": 0.0}))
    assert kept() == [0, 0, 0, 0, 0]
    assert core.core.counters.n_done == 300


# --- jobs ---


def test_a_job_is_in_the_journal_at_every_step(core):
    core.agent("n1")
    sent = core.submit(name="one")
    run = only(sent, "run")
    assert only(sent, "reply")["job"] == 1
    assert core.job(1)["state"] == "running"
    core.end("n1", run["attempt"], exit_code=4, usage={"user_s": 0.5})
    job = core.job(1)
    assert (job["state"], job["exit_code"], job["n_attempts"]) == ("ended", 4, 1)
    assert "0.5" in job["usage"]
    found = only(core.turn(("c", {"op": "job.wait", "n": 2, "job": 1})), "reply")["job"]
    assert found["usage"] == {"user_s": 0.5}
    states = [t["state"] for t in only(core.turn(("c", {"op": "job.logs", "n": 3, "job": 1})), "reply")["transitions"]]
    assert states == ["waiting", "running", "ended"]


def test_a_job_with_a_known_key_is_the_same_job(core):
    first, second = only(core.submit("k"), "reply"), only(core.submit("k"), "reply")
    assert first["job"] == second["job"] == 1
    assert only(core.submit("other"), "reply")["job"] == 2


def test_the_expected_time_comes_from_the_history_of_the_name(core):
    core.agent("n1")
    run = only(core.submit(name="mine", expected_us=None), "run")
    core.end("n1", run["attempt"], exit_code=0, execution_us=2.5e6)
    core.submit(name="mine", expected_us=None)
    core.submit(name="another", expected_us=None)
    jobs = only(core.turn(("c", {"op": "job.list", "n": 1})), "reply")["jobs"]
    assert [job["expected_us"] for job in jobs] == [60e6, 2.5e6, 60e6]


def test_a_restarted_manager_finds_a_running_job(core):
    core.agent("n1")
    run = only(core.submit(), "run")
    core.submit()
    core.begin()
    assert core.core.nodes.is_recovering
    running = [{"attempt": run["attempt"], "unit": 2, "items": []}]
    assert not every(core.agent("n1", epoch=1, running=running), "run")  # its unit is closed until it ends
    sent = core.end("n1", run["attempt"], exit_code=0)
    assert core.job(1)["state"] == "ended"
    assert only(sent, "run")["job"] == 2
    assert core.job(1)["n_attempts"] == 1


def test_a_restarted_manager_learns_of_a_job_that_ended_meanwhile(core):
    core.agent("n1")
    run = only(core.submit(), "run")
    core.begin()
    ended = [{"attempt": run["attempt"], "epoch": 1, "outcome": "done", "exit_code": 5}]
    sent = core.agent("n1", ended=ended)  # a new agent, which found the record
    assert (core.job(1)["state"], core.job(1)["exit_code"]) == ("ended", 5)
    assert only(sent, "welcome")["known_ends"] == [run["attempt"]]
    assert not every(sent, "run")


@pytest.mark.parametrize(("once", "state"), [(False, "running"), (True, "unknown")])
def test_a_job_whose_node_is_gone_runs_again_unless_it_must_not(core, once, state):
    core.agent("n1")
    first = only(core.submit(at_most_once=once), "run")
    core.begin()
    core.agent("n0")
    assert not every(core.turn(("n0", {"op": "agent.lease", "at_us": 0.0}), after_us=LEASE_US), "run")
    sent = core.turn(("n0", {"op": "agent.lease", "at_us": 0.0}), after_us=GRACE_US)
    assert core.job(1)["state"] == state
    assert [run["attempt"] != first["attempt"] for run in every(sent, "run")] == ([] if once else [True])


def test_jobs_that_wait_survive_and_cancelled_ones_do_not(core):
    core.submit()
    core.submit()
    core.turn(("c", {"op": "job.cancel", "n": 1, "job": 1}))
    core.begin()
    assert only(core.agent("n1"), "run")["job"] == 2
    assert core.job(1)["state"] == "cancelled"


def test_a_running_job_is_ended_when_it_is_cancelled(core):
    core.agent("n1")
    run = only(core.submit(), "run")
    assert only(core.turn(("c", {"op": "job.cancel", "n": 1, "job": 1})), "kill")["attempt"] == run["attempt"]
    assert core.job(1)["state"] == "running"
    core.end("n1", run["attempt"], outcome="killed")
    assert core.job(1)["state"] == "cancelled"


@pytest.mark.parametrize(
    "job",
    [
        {"requests": {"cores": 1}},
        {"task_type": "NONE"},
        {"commands": {}},
        {"commands": {"CPU": ["true"]}, "task_type": "ECHO"},  # ACC may be chosen
        {"kernel": "echo"},
        {"expected_us": -1.0},
        {"limit_us": float("inf")},
    ],
)
def test_a_wrong_job_is_refused_and_not_kept(core, job):
    assert only(core.submit(**job), "refused")["kind"] == "wrong"
    assert core.core.journal.one("SELECT count(*) AS n FROM jobs")["n"] == 0


def test_a_job_needs_a_command_on_each_type_that_may_run_it(core):
    why = only(core.submit(commands={"CPU": ["true"]}, task_type="ECHO"), "refused")["why"]
    assert why.startswith("commands: expected one for ACC too, where the policy may start it. Give one, or ")
    assert every(core.submit(commands={"CPU": ["true"], "ACC": ["true"]}, task_type="ECHO"), "reply")
    assert every(core.submit(commands={"CPU": ["true"]}), "reply")  # no unit but CPUs runs COMMAND


RBSS = """
processor_types: [{name: SMALL, attributes: {cores: 4}}, {name: BIG, attributes: {cores: 16}}]
task_types: [COMMAND]
affinity: {times: {SMALL: {COMMAND: 1 us}, BIG: {COMMAND: 1 us}}}
nodes: [{name: n0, units: {SMALL: 1}}, {name: n1, units: {BIG: 1}}]
policy: POLICY
"""
PLAIN = f"{RBSS}engine: reference\n"  # for what is not about the compiled component: to compile one takes ten seconds


MIXED = """
processor_types: [{name: CPU, attributes: {cores: 8}}, {name: ACC, attributes: {sms: 80}}]
task_types: [COMMAND]
affinity: {times: {CPU: {COMMAND: 10 ms}, ACC: {COMMAND: 1 ms}}}
nodes: [{name: n0, units: {CPU: 1, ACC: 1}}]
engine: reference
policy: POLICY
"""


@pytest.mark.parametrize("policy", ["rb_fifo", "rb_fifo\noptions: {polling_us: 1000}"])
def test_a_job_that_the_policy_starts_on_no_free_node_is_refused(tmp_path, policy):
    core = CoreTest(tmp_path, MIXED.replace("POLICY", policy))
    core.client()
    core.agent("n0")
    why = only(core.submit(requests={"sms": 99999}), "refused")["why"]
    assert "the policy rb_fifo starts no job with sms=99999" in why
    assert only(core.submit(requests={"sms": 80}), "run")["unit"] == 1


def test_a_job_that_the_policy_starts_on_a_type_without_the_attribute_is_accepted(tmp_path):
    core = CoreTest(tmp_path, MIXED.replace("POLICY", "easy_backfill"))
    core.client()
    core.agent("n0")
    assert only(core.submit(requests={"sms": 99999}), "run")["unit"] == 0


IN_ORDER = {"rb_fifo": [1, 2, 3], "rb_sjf": [3, 2, 1], "rb_ljf": [2, 3, 1]}
IN_ORDER |= {"easy_backfill": [1, 2, 3], "conservative_backfill": [1, 2, 3]}


@pytest.mark.parametrize(("policy", "order"), IN_ORDER.items())
def test_the_policies_of_cam_order_jobs_and_respect_requests(tmp_path, policy, order):
    core = CoreTest(tmp_path, PLAIN.replace("POLICY", policy))
    core.client()
    core.agent("n0")
    for seconds in (4, 9, 5) if policy != "rb_sjf" else (9, 5, 2):
        core.submit(requests={"cores": 8}, expected_us=seconds * 1e6)
    runs = every(core.agent("n1"), "run")
    started = []
    while runs:
        assert runs[0]["unit"] == 1  # the small node is free, but has too few cores
        started.append(runs[0]["job"])
        runs = every(core.end("n1", runs[0]["attempt"], exit_code=0), "run")
    assert started == order


@pytest.mark.parametrize("policy", ["rb_ljf_ba", "rb_ljf_ocl"])
def test_bottleneck_avoidance_relaxes_what_a_job_requests(tmp_path, policy):
    core = CoreTest(tmp_path, PLAIN.replace("POLICY", f"{policy}\noptions: {{count_empty: false}}"))
    core.client()
    core.agent("n0")
    for _ in range(3):  # nothing else is to come, whatever has been
        run = only(core.submit(requests={"cores": 16}), "run")
        assert run["unit"] == 0
        core.end("n0", run["attempt"], exit_code=0)


def test_a_job_of_cam_is_taken_back_when_its_node_dies(tmp_path):
    core = CoreTest(tmp_path, RBSS.replace("POLICY", "rb_ljf"))
    core.client()
    core.agent("n1")
    first = only(core.submit(requests={"cores": 8}), "run")
    core.core.closed("n1")
    again = only(core.agent("n1"), "run")
    assert (again["job"], core.job(1)["n_attempts"]) == (1, 2)
    assert again["attempt"] != first["attempt"]


# --- requests and a restart of the manager ---


HASTY = """
from vinesim.policies import OnlinePolicy, fastest_free, nothing, oldest_pending, start


class Hasty(OnlinePolicy):
    '''It starts what it can at once, also while the manager may not grant anything.'''

    sees_every_event = True

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = fastest_free(model, state, task) if task >= 0 else -1
        return start(task, unit) if unit >= 0 else nothing()
"""


def recovering(tmp_path, sent):
    """A core of which the node n0 has come back, and n1 has not; the policy has granted a unit of n0 meanwhile."""
    (tmp_path / "hasty.py").write_text(HASTY)
    core = CoreTest(tmp_path, CLUSTER.replace("policy: fcfs", "policy: hasty.py:Hasty").replace("1 s", "1000 s"))
    core.client()
    core.agent("n0")
    core.agent("n1")
    core.begin()
    core.client()
    core.agent("n0", epoch=1)
    sent(core)
    core.turn()
    assert core.core.nodes.is_recovering
    return core


def test_a_grant_that_was_held_back_while_its_node_went_away_is_given_elsewhere(tmp_path):
    core = recovering(tmp_path, CoreTest.request)
    core.core.closed("n0")
    assert only(core.agent("n1", epoch=1), "run")["unit"] == 2
    assert core.core.n_waiting == 0


def test_a_job_whose_grant_was_held_back_when_the_manager_died_waits_again(tmp_path):
    core = recovering(tmp_path, CoreTest.submit)
    core.begin()
    core.client()
    sent = core.agent("n0", epoch=1) + core.agent("n1", epoch=1) + core.turn()
    assert only(sent, "run")["job"] == 1


def test_attempts_have_numbers_of_their_own_across_restarts(core):
    seen = []
    for _ in range(4):
        core.agent("n1")
        for _ in range(3):
            run = only(core.request(f"{len(seen)}"), "run")
            seen.append(run["attempt"])
            core.end("n1", run["attempt"], epoch=core.status()["nodes"][1]["epoch"])
        core.begin()
        core.client()
    assert seen == sorted(set(seen))
    assert len(seen) == 12


def test_a_request_that_survives_the_manager_runs_once(core):
    core.agent("n1")
    run = only(core.request(), "run")
    core.begin()
    core.client()
    assert not every(core.request(), "run")  # nothing is granted until the node has come back or is over
    running = [{"attempt": run["attempt"], "unit": 2, "items": run["items"]}]
    assert not every(core.agent("n1", epoch=1, running=running), "run")
    sent = core.end("n1", run["attempt"])
    assert only(sent, "answer")["key"] == "1"
    assert not every(sent, "run")
    assert core.core.n_waiting == 0


@pytest.mark.parametrize("is_sent_first", [True, False])
def test_a_found_request_whose_device_dies_runs_again_with_what_its_client_sent(core, is_sent_first):
    core.agent("n1")
    run = only(core.request(payload=5), "run")
    core.begin()
    core.client()
    if is_sent_first:
        core.request(payload=5)
    core.agent("n1", epoch=1, running=[{"attempt": run["attempt"], "unit": 2, "items": run["items"]}])
    sent = core.end("n1", run["attempt"], outcome="killed")
    if not is_sent_first:
        assert not every(sent, "run")
        sent = core.request(payload=5)
    assert only(sent, "run")["payloads"] == [content(5)]
