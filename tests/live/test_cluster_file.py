"""Cluster files: what they say, and every problem with its place."""

from pathlib import Path

import pytest

from tests.live.clusters import CLUSTER, write_files
from vinesim.formats.cluster.file import read_cluster
from vinesim.live.engine import check_policy, component
from vinesim.model.errors import InputError

EXAMPLE = Path(__file__).parents[2] / "examples" / "live" / "cluster.yaml"


def test_the_example_is_read():
    cluster = read_cluster(EXAMPLE, check_policy)
    assert [node.name for node in cluster.nodes] == ["n0", "n1", "n2"]
    assert cluster.units_of("n1") == range(2, 4)
    assert cluster.datacenter.n_units == 6
    assert [one.kernel for one in cluster.applications] == ["search", "option", "sql", "video"]
    assert cluster.limits.lease_us == 10e6
    assert cluster.host == "127.0.0.1"


WRONG = """
processor_types: [{name: CPU}]
affinity: {times: {CPU: {ECHO: 2 ms}}}
applications: [{name: ECHO, relative_deadline: 50 ms, task_type: ECKO}, {name: ECHO, relative_deadline: 1 s}]
task_types: [ECHO]
kernels: nothing.py
nodes: [{name: n0, units: {GPU: 1}}, {name: n0, units: {CPU: 1}, shelf: 0}, {name: "a b", units: {CPU: 1}}]
policy: none_such
lease: -1 s
limits: {payload: many, pending: 0}
strange: 1
"""


def test_each_unit_has_its_gpu(tmp_path):
    text = CLUSTER.replace("units: {ACC: 1, CPU: 1}", "units: {ACC: 3, CPU: 1}, gpus: {ACC: [0, 0, MIG-1]}")
    cluster = read_cluster(write_files(tmp_path, text), check_policy)
    assert [node.gpus for node in cluster.nodes] == [("0", "0", "MIG-1", ""), ("",)]
    wrong = text.replace("{ACC: [0, 0, MIG-1]}", "{ACC: [0], TPU: [1]}")
    with pytest.raises(InputError, match=r"(?s)one for each of 3 units.*TPU"):
        read_cluster(write_files(tmp_path, wrong), check_policy)


def test_everything_wrong_is_said_with_its_place(tmp_path):
    (tmp_path / "c.yaml").write_text(WRONG)
    with pytest.raises(InputError) as wrong:
        read_cluster(tmp_path / "c.yaml", check_policy)
    text = str(wrong.value)
    for words in ("nodes[2].name", "lease", "limits.pending", "strange", "kernels: expected a Python file"):
        assert words in text, words
    fixed = WRONG.replace(', {name: "a b", units: {CPU: 1}}', "").replace("pending: 0", "pending: 1")
    (tmp_path / "c.yaml").write_text(fixed.replace("strange: 1", "").replace("lease: -1 s", ""))
    with pytest.raises(InputError) as wrong:
        read_cluster(tmp_path / "c.yaml", check_policy)
    text = str(wrong.value)
    for words in (
        "c.yaml:4:66: applications[0].task_type",
        "each name once",
        "nodes[0].units.GPU",
        "each rack and shelf once",
        "none_such",
        "limits.payload",
    ):
        assert words in text, words


@pytest.mark.parametrize("section", ["processor_types", "affinity", "nodes"])
def test_what_a_cluster_needs(tmp_path, section):
    lines = write_files(tmp_path).read_text().splitlines()
    (tmp_path / "c.yaml").write_text("\n".join(line for line in lines if not line.startswith(section)))
    with pytest.raises(InputError, match=f"Add {section}:"):
        read_cluster(tmp_path / "c.yaml")


def test_every_key_has_an_effect(tmp_path):
    """Each option of the file changes the cluster that is read."""
    text = write_files(tmp_path).read_text()
    plain = read_cluster(tmp_path / "cluster.yaml")
    changes = {
        "policy: fcfs": "policy: edf",
        "lease: 1 s": "lease: 2 s",
        "grace: 0.5 s": "grace: 3 s",
        "payload: 64 KiB": "payload: 1 MiB",
        "pending: 50": "pending: 51",
        "kernel: 20 s": "kernel: 21 s",
        "nodes: [": "seed: 5\nnodes: [",
        "nodes: [{": "host: 0.0.0.0\nnodes: [{",
        "nodes: [{name": "address: head:6379\nnodes: [{name",
        "limits: {": "options: {consolidate: 'yes'}\nlimits: {",
        "limits: {payload": "limits: {attempts: 7, payload",
        "kernels: kernels.py": "overhead: {CPU: 1 ms}\nkernels: kernels.py",
        "max_consolidated: 8": "max_consolidated: 8, demand: whole",
    }
    for old, new in changes.items():
        (tmp_path / "cluster.yaml").write_text(text.replace(old, new, 1))
        assert repr(read_cluster(tmp_path / "cluster.yaml")) != repr(plain), new


OWN = """
from vinesim.policies import OnlinePolicy, nothing

class Own(OnlinePolicy):
    scratch = {"last": ("i8", "one")}

    @staticmethod
    def decide(model, state, view):
        return nothing()
"""


def test_a_policy_that_cannot_be_compiled_is_refused_or_runs_as_plain_code(tmp_path):
    path = write_files(tmp_path)
    as_asked = component(read_cluster(path, check_policy))
    assert (as_asked.engine, as_asked.engine_why) == ("reference", "the cluster file says so")
    (tmp_path / "own.py").write_text(OWN)
    own = f"policy: {tmp_path / 'own.py'}:Own"
    path.write_text(path.read_text().replace("policy: fcfs\nengine: reference", own))
    plain = component(read_cluster(path, check_policy))
    assert plain.engine == "reference"
    assert "Own does not declare task_numbers, and its scratch has whole numbers: last" in plain.engine_why
    path.write_text(path.read_text().replace(own, f"{own}\nengine: compiled"))
    with pytest.raises(InputError, match="a policy that a live scheduler can compile"):
        read_cluster(path, check_policy)
