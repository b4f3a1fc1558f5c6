"""What a policy has learned, drawn and queued survives the death of the manager."""

import numpy as np
import pytest

from tests.live.clusters import CLUSTER, CoreTest, every, only
from vinesim.live import remembering
from vinesim.live.compiled import CompiledDecisions


def cluster(folder, policy, engine="reference"):
    """A cluster with a client and both nodes up."""
    folder.mkdir(exist_ok=True)
    core = CoreTest(folder, CLUSTER.replace("fcfs", policy).replace("engine: reference", f"engine: {engine}"))
    begin(core)
    return core


def begin(core):
    core.client()
    for node in ("n0", "n1"):
        core.agent(node)


def restart(core):
    """The manager is killed and starts again. The clock goes on as it would have."""
    core.begin()
    begin(core)


def work(core, n, seed):
    """Requests, one to three at a time, that take longer on some units. Returns what ran where."""
    random, ran = np.random.default_rng(seed), []
    for k in range(n):
        sent = [m for i in range(random.integers(1, 4)) for m in core.request(f"{seed} {k} {i}", payload=k)]
        while runs := every(sent, "run"):
            ran += [(run["unit"], run["payloads"]) for run in runs]
            sent = []
            for run in runs:
                took_us = float(random.integers(1, 50)) * 100 * (1 + run["unit"])
                core.turn(after_us=took_us)
                answers = [{"result": 1}] * len(run["payloads"])
                node = "n1" if run["unit"] == 2 else "n0"
                epoch = core.core.nodes.all[node].epoch
                sent += core.end(node, run["attempt"], epoch, execution_us=took_us, results=answers)
        core.turn(("c", {"op": "client.confirm", "keys": [f"{seed} {k} {i}" for i in range(3)]}))
    return ran


def scratch(core):
    """The policy's own arrays."""
    one = core.core.decisions.component
    found = one._scratch._asdict() if isinstance(one, CompiledDecisions) else vars(one._scheduler._decider.scratch)
    return {name: np.array(value) for name, value in found.items() if isinstance(value, np.ndarray)}


def learned(core):
    return {name: scratch(core)[name] for name in ("size", "time", "n_seen", "sums", "slope", "intercept")}


@pytest.mark.parametrize("every_turns", [10_000, 7])
def test_what_symphony_has_learned_survives(tmp_path, monkeypatch, every_turns):
    monkeypatch.setattr(remembering, "SAVE_EVERY", every_turns)
    core = cluster(tmp_path, "symphony")
    work(core, 15, 1)
    before = learned(core)
    assert before["n_seen"].sum() > 15
    restart(core)
    for name, values in learned(core).items():
        assert np.array_equal(values, before[name]), name
    n_turns = core.core.journal.one("SELECT count(*) AS n FROM turns")["n"]
    assert n_turns < 8


@pytest.mark.slow
def test_so_does_what_it_has_learned_compiled(tmp_path):
    core = cluster(tmp_path, "symphony", "compiled")
    work(core, 15, 1)
    before = learned(core)
    restart(core)
    for name, values in learned(core).items():
        assert np.array_equal(values, before[name]), name


@pytest.mark.parametrize("policy", ["symphony", "flat", "edf"])
def test_the_decisions_are_those_of_a_manager_that_was_not_killed(tmp_path, policy):
    """``flat`` draws random units: the stream goes on where it was."""
    one, other = cluster(tmp_path / "one", policy), cluster(tmp_path / "other", policy)
    assert work(one, 10, 2) == work(other, 10, 2)
    restart(other)
    one.clock.us = other.clock.us
    assert work(one, 20, 3) == work(other, 20, 3)


def test_a_killed_manager_without_its_turns_decides_otherwise(tmp_path):
    """The test above can fail."""
    one, other = cluster(tmp_path / "one", "symphony"), cluster(tmp_path / "other", "symphony")
    assert work(one, 10, 2) == work(other, 10, 2)
    other.core.journal.write("DELETE FROM turns")
    other.core.journal.write("DELETE FROM decisions")
    other.core.journal.commit()
    restart(other)
    one.clock.us = other.clock.us
    assert learned(one)["n_seen"].sum() > 0 == learned(other)["n_seen"].sum()


@pytest.mark.parametrize("policy", ["rb_ljf", "edf", "easy_backfill"])
def test_jobs_keep_their_places_and_requests_go(tmp_path, policy):
    core = CoreTest(tmp_path, CLUSTER.replace("fcfs", policy))
    core.client()
    for seconds in (3, 9, 5):
        core.submit(expected_us=seconds * 1e6)
    core.request("lost")
    waiting = {number: job for number, (_, job) in core.core.decisions.waiting.items()}
    assert sorted(waiting.values()) == [0, 1, 2, 3]
    core.turn(("c", {"op": "job.cancel", "n": 1, "job": 3}))
    core.begin()
    kept = {number: item.job for number, item in core.core.items.items() if not item.is_cancelled}
    assert kept == {number: job for number, job in waiting.items() if job in (1, 2)}
    assert core.status()["waiting"]["ECHO"] == 0
    core.client()
    sent = core.agent("n0") + core.agent("n1") + core.turn() + core.turn()
    assert sorted(run["job"] for run in every(sent, "run")) == [1, 2]
    assert not core.core.items


def test_a_cluster_with_one_more_node_begins_again(tmp_path, caplog):
    core = cluster(tmp_path, "symphony")
    work(core, 5, 1)
    core.turn(("c", {"op": "client.add", "n": 1, "node": "n2", "units": {"CPU": 1}}))
    core.begin()
    assert "what the policy has learned is lost" in caplog.text
    assert learned(core)["n_seen"].sum() == 0
    begin(core)
    assert len(work(core, 5, 3)) >= 5


def test_an_application_that_comes_back_with_other_properties_is_another_one(tmp_path):
    core = CoreTest(tmp_path)
    core.client()
    words = {"name": "MINE", "per_size": False, "average_load": 1.0, "max_consolidated": 1, "nodes": []}
    words |= {"gang_size": 1, "task_type": "ECHO", "demand": 1.0, "kernel": "echo", "op": "client.register"}
    for n, due_us in enumerate((5e3, 9e3, 9e3)):
        only(core.turn(("c", {**words, "n": n, "relative_deadline_us": due_us})), "reply")
        number = core.core.by_name["MINE"]
        core.begin()
        core.client()
    assert number == core.core.decisions._known["MINE"][0] == 2
