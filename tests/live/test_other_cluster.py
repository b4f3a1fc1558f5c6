"""A journal that is continued under another cluster file: no job is lost, and the policy sees the cluster as it is."""

import pytest

from tests.live.clusters import CLUSTER, CoreTest, every

NO_MORE = "the cluster cannot run it any more: "
CHANGES = {
    "other types": ("units: {ACC: 1, CPU: 1}", "units: {CPU: 2}"),
    "less capacity": ("capacity: 2", "capacity: 1"),
    "a node less": (", {name: n1, units: {CPU: 1}}", ""),
    "another name": ("name: n0", "name: m0"),
    "more units": ("{name: n1, units: {CPU: 1}}", "{name: n1, units: {CPU: 3}}"),
    "another type": ("CPU", "XPU"),
    "another policy": ("policy: fcfs", "policy: symphony"),
    "other times": ("COMMAND: 1 us}, ACC: {ECHO: 1 ms}", "COMMAND: 1 us}, ACC: {ECHO: 1 ms, COMMAND: 1 us}"),
}


def continued(folder, change):
    """Four jobs run; the manager ends, and continues under a file with the change. Returns the orders of its first
    turn, from all of its nodes."""
    core = CoreTest(folder)
    core.begin()  # the journal has what the policy knew then
    core.client()
    core.agent("n0")
    core.agent("n1")
    for _ in range(4):
        core.submit()
    core.begin()
    file = folder / "state" / "cluster.yaml"
    text = file.read_text().replace(*change)
    assert text != CLUSTER
    file.write_text(text)
    core.begin()
    core.client()
    return core, [sent for node in core.core.cluster.nodes for sent in core.agent(node.name)]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_job_is_done_within_the_new_capacity(tmp_path, change):
    core, sent = continued(tmp_path, change)
    center = core.core.cluster.datacenter
    capacity = [center.processor_types[kind].capacity for kind in center.unit_type]
    units = [run["unit"] for run in every(sent, "run")]
    assert len(units) > 1
    assert all(units.count(unit) <= capacity[unit] for unit in units)
    while runs := [(peer, message["attempt"]) for peer, message in sent if message["op"] == "run"]:
        sent = [
            one
            for peer, attempt in runs
            for one in core.end(peer, attempt, core.core.nodes.all[peer].epoch, exit_code=0)
        ]
    assert [core.job(job)["state"] for job in (1, 2, 3, 4)] == ["ended"] * 4


def test_a_job_of_a_type_that_is_gone_has_failed_and_says_why(tmp_path):
    core, sent = continued(tmp_path, ("COMMAND", "OTHER"))
    assert not every(sent, "run")
    for job in (1, 2, 3, 4):
        assert core.job(job)["state"] == "failed"
        assert core.job(job)["why"].startswith(NO_MORE)
        assert "expected one of ECHO, OTHER, found 'COMMAND'" in core.job(job)["why"]
