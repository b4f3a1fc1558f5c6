"""Nodes that join and leave while the cluster runs."""

import asyncio

import pytest

from tests.live.clusters import CoreTest, eventually, every, only, processes
from tests.live.test_processes import run, up
from vinesim.live.client import LiveError
from vinesim.live.folder import cluster_in
from vinesim.live.membership import add_node, remove_node
from vinesim.model.errors import InputError


@pytest.fixture
def core(tmp_path):
    core = CoreTest(tmp_path)
    core.client()
    return core


def test_a_node_joins_behind_all_others_and_gets_work(core, tmp_path):
    core.agent("n1")
    first = only(core.submit(demand=2.0), "run")
    assert not every(core.submit(commands={"*": ["true"]}, task_type="ECHO"), "run")  # n0 is not there
    core.turn(("c", {"op": "client.add", "n": 1, "node": "n2", "units": {"ACC": 1}}))
    assert core.core.is_changing
    assert core.core.cluster.datacenter.n_units == 3
    core.core.journal.close()
    core.begin()
    found = cluster_in(tmp_path / "state")
    assert [(node.name, node.rack, node.shelf) for node in found.nodes] == [("n0", 0, 0), ("n1", 0, 1), ("n2", 0, 2)]
    core.client()
    core.agent("n1", epoch=1, running=[{"attempt": first["attempt"], "unit": 2, "items": ()}])
    second = only(core.agent("n2", ready=[3]), "run")
    assert second["unit"] == 3
    core.end("n1", first["attempt"], exit_code=0)
    assert [core.job(1)["state"], core.job(2)["state"]] == ["ended", "running"]
    assert core.job(1)["n_attempts"] == 1  # it went on


def test_a_node_that_leaves_gives_its_work_to_others_and_its_agent_ends(core, tmp_path):
    core.agent("n1")
    run_order = only(core.submit(), "run")
    core.turn(("c", {"op": "client.remove", "n": 1, "node": "n1"}))
    core.core.journal.close()
    core.begin()
    core.client()
    assert [node["name"] for node in core.status()["nodes"]] == ["n0"]
    fenced = only(core.agent("n1", epoch=1, running=[{"attempt": run_order["attempt"], "unit": 2}]), "fenced")
    assert fenced["is_final"]
    again = only(core.agent("n0"), "run")
    assert again["unit"] in (0, 1)
    assert core.job(1)["n_attempts"] == 2


def test_wrong_changes_leave_the_file_as_it_was(core, tmp_path):
    folder = tmp_path / "state"
    before = (folder / "cluster.yaml").read_text()
    for name, units, words in (("n0", {"CPU": 1}, "each name once"), ("n2", {"GPU": 1}, "a processor type")):
        with pytest.raises(InputError, match=words):
            add_node(folder, name, units)
    with pytest.raises(InputError, match="one of several nodes"):
        remove_node(folder, "n7")
    remove_node(folder, "n1")
    with pytest.raises(InputError, match="one of several nodes"):
        remove_node(folder, "n0")  # the last one
    (folder / "cluster.yaml").write_text(before)
    refused = only(core.turn(("c", {"op": "client.add", "n": 1, "node": "n0", "units": {"CPU": 1}})), "refused")
    assert "each name once" in refused["why"]
    assert not core.core.is_changing


def test_with_real_processes(tmp_path):
    """A request that runs while the manager starts again is answered once; a new agent's devices get work."""
    held, notes = tmp_path / "go", tmp_path / "notes"

    async def work(session):
        await up(session, "n1")
        echo = session.application("ECHO")
        waiting = asyncio.ensure_future(echo.request(["wait_for", str(held)]))
        await eventually((tmp_path / "go.started").exists)
        await session.call("client.add", node="n2", units={"CPU": 1})
        cluster.start("n2")
        await up(session, "n1", "n2")
        held.touch()
        assert await waiting == str(held)
        await session.call("client.remove", node="n1")
        await eventually(lambda: cluster.has_ended("n1"))
        assert await echo.request(["note", str(notes)]) == str(notes)
        with pytest.raises((LiveError, InputError), match="each name once"):
            await session.call("client.add", node="n1", units={"CPU": 1})

    with processes(tmp_path, "manager", "n1") as cluster:
        run(cluster.folder, work)
    assert len((tmp_path / "go.started").read_text().split()) == 1
    assert len(notes.read_text().split()) == 1
