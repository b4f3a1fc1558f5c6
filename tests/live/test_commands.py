"""The commands of ``vinesim live`` where no cluster runs: what they refuse, and how they say it."""

import pytest

from tests.cli.conftest import vinesim as vinesim
from tests.live.clusters import CLUSTER, write_files


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VINESIM_LIVE", str(tmp_path / "live"))


WATCHING = [
    "status",
    "top",
    "metrics",
    "drain n0",
    "resume n0",
    "add-node n5 --units CPU=1",
    "remove-node n0",
    "restart-node n0",
    "prune --older 1d",
    "record --out x",
    "validate",
]
OF_JOBS = ["list", "wait 1", "logs 1", "cancel 1", "submit true", "explain 1"]


@pytest.mark.parametrize("words", [*WATCHING, *OF_JOBS])
def test_no_cluster_is_said(vinesim, words):
    done = vinesim("live", *words.split())
    assert done.code == 2
    assert "vinesim live start" in done.err
    assert "Traceback" not in done.err


def test_wrong_units_of_a_node_are_refused_before_anything_is_sent(vinesim):
    done = vinesim("live", "add-node", "n5", "--units", "CPU")
    assert done.code == 2
    assert "TYPE=NUMBER" in done.err


def test_a_wrong_cluster_file_starts_nothing(vinesim, tmp_path):
    path = write_files(tmp_path, CLUSTER.replace("policy: fcfs", "policy: none_such"))
    done = vinesim("live", "start", path)
    assert done.code == 2
    assert "none_such" in done.err
    assert not (tmp_path / "live").exists()


def test_a_policy_that_cannot_decide_online_starts_nothing(vinesim, tmp_path):
    path = write_files(tmp_path, CLUSTER.replace("policy: fcfs", "policy: ff"))
    done = vinesim("live", "start", path)
    assert done.code == 2
    assert "an online policy" in done.err
    assert not (tmp_path / "live").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "true"], "a command, --on, or --kernel"),
        (["--on", "GPU", "true"], "TYPE=COMMAND"),
        (["--request", "cores=x", "true"], "NAME=NUMBER"),
        (["--expect", "soon", "true"], "expected_us: expected a time"),
        (["--kernel", "search", "--payload", "{"], "--payload"),
        (["--kernel", "search", "true"], "a command or a kernel"),
    ],
)
def test_a_wrong_job_is_refused_before_anything_is_sent(vinesim, words, said):
    done = vinesim("live", "submit", *words)
    assert done.code == 2
    assert said in done.err
