import pytest

from vinesim.formats.slurm.config import read_config
from vinesim.model.errors import InputError


def config(tmp_path, text, **others):
    for name, other in others.items():
        (tmp_path / f"{name}.conf").write_text(other)
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    return read_config(path)


def test_settings_have_lower_case_names_and_places(tmp_path):
    found = config(tmp_path, "# comment\nClusterName=c # here\nSchedulerType = sched/backfill\n")
    assert found.settings == {"clustername": "c", "schedulertype": "sched/backfill"}
    assert found.places["schedulertype"] == f"{tmp_path}/slurm.conf:3"


def test_a_setting_that_is_a_list(tmp_path):
    found = config(tmp_path, "SchedulerParameters=bf_interval=60,bf_continue, Max_rpc_cnt=5\n".replace(", ", ","))
    assert found.list_of("schedulerparameters") == {"bf_interval": "60", "bf_continue": "", "max_rpc_cnt": "5"}
    assert found.list_of("preemptparameters") == {}


def test_lines_that_go_on_and_quoted_values(tmp_path):
    found = config(tmp_path, 'NodeName=n[1-2] CPUs=4 \\\n  Features="a,b"\n')
    (entry,) = found.entries["nodename"]
    assert entry.values == {"nodename": "n[1-2]", "cpus": "4", "features": "a,b"}
    assert entry.where.endswith("slurm.conf:1")


def test_defaults_hold_for_what_follows(tmp_path):
    text = "NodeName=a CPUs=1\nNodeName=DEFAULT CPUs=8 Weight=3\nNodeName=b\nNodeName=c CPUs=2\n"
    found = config(tmp_path, text)
    values = [(e.values["nodename"], e.values.get("cpus"), e.values.get("weight")) for e in found.entries["nodename"]]
    assert values == [("a", "1", None), ("b", "8", "3"), ("c", "2", "3")]


def test_lines_of_gres_conf_with_and_without_nodes(tmp_path):
    found = config(tmp_path, "NodeName=g1 Name=gpu Type=t4 Count=2\nName=gpu Type=a100 File=/dev/nvidia[0-3]\n")
    assert [entry.values.get("name") for kind in found.entries.values() for entry in kind] == ["gpu", "gpu"]


def test_included_files(tmp_path):
    found = config(tmp_path, "Include nodes.conf\nClusterName=c\n", nodes="NodeName=n1 CPUs=2\n")
    assert found.entries["nodename"][0].where == f"{tmp_path}/nodes.conf:1"
    assert found.settings["clustername"] == "c"


def test_every_problem_is_reported_with_its_line(tmp_path):
    with pytest.raises(InputError) as error:
        config(tmp_path, "ClusterName=c\nwhat is this\nInclude slurm.conf\n")
    assert [problem.where for problem in error.value.problems] == [f"{tmp_path}/slurm.conf:{line}" for line in (2, 3)]
    assert "circle" in error.value.problems[1].found
