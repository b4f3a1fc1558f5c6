"""Keys of a site's scenario: which may be changed, and what is said of wrong ones."""

import numpy as np
import pytest

from tests.small_site import job, write_site
from vinesim.formats.importers.slurm_site import import_site
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve

QOS = "Name|Priority|GraceTime|MaxTRESPU|MaxJobsPU\nnormal|10|00:00:00|cpu=8,gres/gpu:a100=2|\nhigh|90|00:00:00||4\n"
ASSOC = "Account|User|Share|MaxJobs\nroot||1|\nlab||50|\nlab|ann|10|3\nlab|bob|20|\n"
EVENTS = "NodeName|TimeStart|TimeEnd|State|Reason\ng1|2024-03-01T00:00:10|2024-03-01T00:00:50|DOWN|x\n"
CONF = """NodeName=c[1-3] CPUs=4 RealMemory=8000 Weight=1
NodeName=g1 CPUs=8 RealMemory=16000 Gres=gpu:a100:2 Weight=5
PartitionName=batch Nodes=ALL Default=YES MaxTime=60
PriorityType=priority/multifactor
PriorityWeightTRES=cpu=100,gres/gpu=1000,license/m=7
"""


@pytest.fixture
def site(tmp_path):
    jobs = [job(1, 0, 100, "-N1 -n1"), job(2, 5, 50, "-N1 -n1 --gpus-per-node=1", user="bob")]
    folder = write_site(tmp_path / "site", jobs, CONF, qos=QOS, assoc=ASSOC, events=EVENTS)
    import_site(folder, tmp_path / "site.parquet")
    return tmp_path / "site.yaml"


def suited(site, *changes):
    """Return the policy's arrays."""
    scenario = read_scenario(site, changes)
    return vars(resolve(scenario.policy, scenario.options).suited_to(scenario))["arrays"]


def test_nodes_of_a_kind_are_added_and_removed_by_one_key(site):
    """Those of other kinds keep their weights, and the outage of g1 stays at g1."""
    for n in (1, 5):
        change = f"datacenter.racks[0].nodes[0].count={n}"
        found = suited(site, change)
        assert found["node_cpus"].tolist() == [4] * n + [8]
        assert found["node_weight"].tolist() == [0] * n + [1]
        outage = read_scenario(site, [change]).outages[0]
        assert (outage.rack, outage.shelf) == (1, 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("options.qos.hihg.priority=3", r"options\.qos\.hihg.*one of normal, high.*Did you mean high"),
        ("options.accounts.lab.users.an.max_jobs=3", r"one of ann, bob.*Did you mean ann.*add one"),
        ("options.accounts.lab.users.ann.max_job=3", r"ann\.max_job.*Did you mean max_jobs"),
        ("options.qos.high.max_tres_per_user.gpu=4", r"qos\.high\.max_tres_per_user.*billing only, not gpu"),
        ("options.qos.high.max_jobs_per_user=many", r"max_jobs_per_user: expected a number"),
        ("options.partitions.batch.max_time=1:00:00", r"max_time: expected minutes"),
        ("options.partitions.batch.preempt_mode=kill", r"preempt_mode: expected one of off, cancel"),
        ("options.partitions.batch=3", r"partitions\.batch: expected a mapping"),
        ("options.nodes.c.names='c[1-'", r"names: expected a list of hosts"),
        ("options.reservations={x: {start_s: 3, nodes: [c1]}}", r"reservations\.x: expected start_s and end_s"),
        ("options.priority_weight_tres.disk=3", r"priority_weight_tres: expected amounts"),
        (
            "options.reservations={x: {start_s: 3, end_s: 3}}",
            r"reservations\.x\.end_s: expected a time after start_s, 3",
        ),
        ("options.priority_weight_tres={memory: 3}", r"priority_weight_tres.*Did you mean mem"),
        ("options.qos.high.max_tres_per_user.gpu=4", r"not gpu.*Did you mean gres/gpu"),
        ("options.qos.normal.max_tres_per_user.cpus=4", r"not cpus.*Did you mean cpu"),
        (
            "options.reservations={x: {start_s: 3, end_s: 5, nodes: ['c[1-2]', cc3]}}",
            r"reservations\.x\.nodes: expected names in options\.nodes, found 'cc3'\. Did you mean c3",
        ),
        ("options.topology={s: {nodes: 'c[1-3],gg1'}}", r"topology\.s\.nodes: .*found 'gg1'\. Did you mean g1"),
        ("options.topology={s: {nodes: 'c[1-3]'}, t: {nodes: c2}}", r"t\.nodes: .*no other switch names.*c2, as in s"),
        ("options.nodes.c.names='g[1-3]'", r"nodes\.g\.names: expected nodes that no other run has: c .*'g1'"),
        ("options.qos.high.preempt=[norml]", r"high\.preempt: expected names in options\.qos.*Did you mean normal"),
        ("options.accounts.lab.parent=rot", r"lab\.parent: expected names in options\.accounts.*mean root"),
        ("options.licenses.matlab=many", r"licenses\.matlab: expected a number"),
    ],
)
def test_wrong_keys_and_values_are_named(site, change, words):
    """With their place and what was expected."""
    with pytest.raises(InputError, match=words):
        read_scenario(site, [change], check_policy=resolve)


def test_nodes_with_other_names_are_missed_where_they_are_reserved(site):
    """And those that a site has, also of nodes that a question takes away, are none of it wrong."""
    reserved = "options.reservations={x: {start_s: 3, end_s: 5, nodes: ['c[1-3]']}}"
    with pytest.raises(InputError, match=r"reservations\.x\.nodes.*'c1'"):
        read_scenario(site, [reserved, "options.nodes.c.names='x[1-3]'"], check_policy=resolve)
    read_scenario(site, [reserved, "datacenter.racks[0].nodes[0].count=1"], check_policy=resolve)


def test_a_qos_may_be_added_as_a_whole(site):
    """And limits may be new in one that is there."""
    changes = ["options.qos.long={priority: 5}", "options.accounts.lab.users.bob.max_jobs=0"]
    assert suited(site, *changes)["part_never"].tolist() == [False, True]


def test_resources_that_are_not_counted_are_left_out_of_limits_and_weights(site):
    """GPUs count, of any type, also in the priority. The import counts whom that touches."""
    report = import_site(site.parent / "site", site.with_name("again.parquet")).report
    assert report.numbers["not_modelled"]["QOS normal: MaxTRESPerUser of gres/gpu:a100"] == 2
    assert read_scenario(site).options["qos"]["normal"]["max_tres_per_user"] == {"cpu": 8.0}
    assert np.round(suited(site)["part_share"]).tolist() == [5, 505]  # 1 of 20 CPUs, 1 of 2 GPUs


def test_parameters_that_are_not_read_are_counted_and_listed(tmp_path):
    """Also one that Slurm does not know."""
    conf = CONF + "SlurmctldPort=6817\nSchedulerParmeters=bf_interval=1\n"
    folder = write_site(tmp_path / "site", [job(1, 0, 100, "-N1 -n1")], conf)
    report = import_site(folder, tmp_path / "site.parquet").report
    assert report.numbers["parameters_not_read"] == ["schedulerparmeters", "slurmctldport"]
    assert any("without a meaning here: 2: schedulerparmeters" in note for note in report.notes)


def test_numbers_of_things_with_names_have_sliders(site):
    """But not the date of the log."""
    yaml = pytest.importorskip("yaml")
    from vinesim.explore.controls import controls_of

    keys = {control.key for control in controls_of(yaml.safe_load(site.read_text()))}
    wanted = ("qos.high.priority", "accounts.lab.users.ann.max_jobs", "partitions.batch.max_time", "bf_interval")
    assert {f"options.{name}" for name in wanted} <= keys
    assert "datacenter.racks[0].nodes[0].count" in keys
    assert "options.start_s" not in keys
