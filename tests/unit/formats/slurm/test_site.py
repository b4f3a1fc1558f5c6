import gzip

import pytest

from vinesim.formats.slurm.accounts import read_associations, read_dump, read_qos
from vinesim.formats.slurm.availability import read_events, read_reservations
from vinesim.formats.slurm.blocks import read_blocks
from vinesim.formats.slurm.lines import Unread
from vinesim.formats.slurm.site import kind_of, read_site
from vinesim.formats.slurm.snapshots import read_snapshots
from vinesim.model.errors import InputError

DUMP = """# To edit this file start with a cluster line for the new cluster
# Parent - 'root'
Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':Fairshare=1
Account - 'sci':Description='a: b':Organization='x':Fairshare=60:GrpTRES=cpu=200,mem=4G
Parent - 'sci'
Account - 'phys':Fairshare=3
User - 'ann':DefaultAccount='sci':Fairshare=parent:MaxJobs=4
"""
FILES = {  # kind -> how such a file looks
    "dump": DUMP,
    "show config": "Configuration data as of 2026-03-02T08:00:00\nClusterName = c\n",
    "nodes": "NodeName=n1 Arch=x86_64 CPUTot=4 OS=Linux 6 #1 SMP Gres=gpu:t4:2(S:0-1)\n   RealMemory=100 State=IDLE\n",
    "partitions": "PartitionName=p AllowGroups=ALL MaxTime=1:00:00\n",
    "reservations": "## 5 x\nReservationName=m StartTime=1970-01-01T00:01:00 EndTime=1970-01-01T00:02:00 Nodes=n[1-2] "
    "Users=root Accounts=(null) Flags=MAINT,SPEC_NODES\n",
    "jobs": "JobID|JobIDRaw|Submit|State\n1|1|1970-01-01T00:00:01|RUNNING\n",
    "events": "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nc||1970-01-01T00:00:01|Unknown||start|\n"
    "c|n1|1970-01-01T00:00:09|Unknown|DRAIN|disk|root\n",
    "qos": "Name|Priority|GraceTime|Flags|MaxTRESPU|MaxJobsPU\nhigh|100|00:00:00|DenyOnLimit|cpu=64|\n",
    "associations": "Cluster|Account|User|Share|MaxJobs\nc|root||1|\nc|sci||60|\nc|sci|ann|2|4\n",
    "priorities": "## 5 x\n  JOBID PARTITION     USER   PRIORITY\n  3 p ann 7\n## 6 x\n  3 p ann 8\n",
    "shares": "## 5 x\nAccount|User|RawShares\n sci|ann|2\n",
    "queue": "JOBID|STATE|START\n## 5 x\n1|PENDING|N/A\n## 6 x\n",
    "config": "ClusterName=c\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL\n",
    "gres": "NodeName=n1 Name=gpu Type=t4 Count=2\n",
    "topology": "SwitchName=s1 Nodes=n[1-2]\n",
}


def written(folder, **kinds):
    for number, text in enumerate((kinds or FILES).values()):
        (folder / f"file{number}.txt").write_text(text)
    return folder


@pytest.mark.parametrize("kind", FILES)
def test_files_are_known_by_their_content(tmp_path, kind):
    path = tmp_path / "some.txt"
    path.write_text(FILES[kind])
    assert kind_of(path) == kind
    zipped = tmp_path / "some.txt.gz"
    zipped.write_bytes(gzip.compress(FILES[kind].encode()))
    assert kind_of(zipped) == kind


def test_a_site_with_everything(tmp_path):
    site = read_site(written(tmp_path))
    assert sorted(site.files) == sorted(FILES)
    assert site.unused == {}
    assert site.nodes[0]["OS"] == "Linux 6 #1 SMP"
    assert site.nodes[0]["RealMemory"] == "100"
    assert site.shown_config["clustername"] == "c"
    assert site.config.entries["partitionname"][0].values["nodes"] == "ALL"
    assert site.gres.entries["nodename"][0].values["type"] == "t4"
    assert [association.account for association in site.associations] == ["root", "root", "sci", "phys", "sci"]


def test_files_that_are_not_read_are_named_with_the_reason(tmp_path):
    (tmp_path / "notes.md").write_text("hello\n")
    (tmp_path / "sacct.txt").write_text(FILES["jobs"])
    (tmp_path / "core").write_bytes(b"\x7fELF\0\0")
    for name in ("nodes", "nodes_end"):
        (tmp_path / f"{name}.txt").write_text(FILES["nodes"])
    site = read_site(tmp_path)
    assert site.files == {"jobs": "sacct.txt", "nodes": "nodes.txt"}
    assert site.unused == {
        "notes.md": "no file of Slurm that is known",
        "core": "expected UTF-8 text, found a binary file",
        "nodes_end.txt": "nodes.txt is taken",
    }


def test_a_log_in_several_files_is_one(tmp_path):
    """A job that ran when the first month ended is in the second one too, and counts as it was then."""
    head, row = FILES["jobs"].split("\n")[:2]
    (tmp_path / "march.txt").write_text(f"{head}\n{row}\n")
    (tmp_path / "april.txt").write_text(
        f"{head}\n{row.replace('RUNNING', 'COMPLETED')}\n2{row[1:].replace('1|', '2|', 1)}\n"
    )
    site = read_site(tmp_path)
    assert site.files == {"jobs": "april.txt, march.txt"}
    assert [(job.number, job.records[0].state) for job in site.jobs.jobs] == [(1, "COMPLETED"), (2, "RUNNING")]
    assert {reason: len(lines) for reason, lines in site.jobs.dropped.items()} == {
        "the record of a job that is there again": 1
    }


def test_the_file_of_that_name_is_the_configuration(tmp_path):
    """Files that it includes look like one too, and their names may be shorter."""
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nInclude /etc/slurm/n.conf\n")
    (tmp_path / "n.conf").write_text("NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n")
    (tmp_path / "old.conf").write_text("NodeName=x1 CPUs=4\n")
    (tmp_path / "sacct.txt").write_text(FILES["jobs"])
    site = read_site(tmp_path)
    assert site.files["config"] == "slurm.conf"
    assert [entry.values["nodename"] for entry in site.config.entries["nodename"]] == ["n[1-2]"]
    assert site.unused == {"old.conf": "slurm.conf is taken"}


def test_a_folder_without_jobs_is_refused_with_the_command(tmp_path):
    with pytest.raises(InputError, match="sacct --allusers"):
        read_site(written(tmp_path, nodes=FILES["nodes"]))
    with pytest.raises(InputError, match="a folder"):
        read_site(tmp_path / "none")


def test_a_dump_is_a_tree(tmp_path):
    path = tmp_path / "dump"
    path.write_text(DUMP)
    found = [(one.account, one.user, one.parent) for one in read_dump(path, Unread())]
    assert found == [
        ("root", "", ""),
        ("root", "root", "root"),
        ("sci", "", "root"),
        ("phys", "", "sci"),
        ("sci", "ann", "sci"),
    ]
    assert read_dump(path, Unread())[2].values["GrpTRES"] == "cpu=200,mem=4G"
    assert read_dump(path, Unread())[2].values["Description"] == "a: b"
    assert read_dump(path, Unread())[4].values["Fairshare"] == "parent"


def test_shown_associations_and_qos_have_the_names_of_a_dump(tmp_path):
    path = tmp_path / "shown"
    path.write_text(FILES["associations"])
    assert [(a.account, a.user, a.parent) for a in read_associations(path, Unread())][1:] == [
        ("sci", "", "root"),
        ("sci", "ann", "sci"),
    ]
    assert read_associations(path, Unread())[2].values == {"Fairshare": "2", "MaxJobs": "4"}
    path.write_text(FILES["qos"])
    (qos,) = read_qos(path, Unread())
    assert (qos.name, qos.values["MaxTRESPerUser"], qos.values["Flags"]) == ("high", "cpu=64", "DenyOnLimit")


def test_reservations_and_events(tmp_path):
    path = tmp_path / "file"
    path.write_text(FILES["reservations"])
    (reservation,) = read_reservations(path, Unread())
    assert (reservation.start_s, reservation.end_s, reservation.nodes) == (60.0, 120.0, ("n1", "n2"))
    assert (reservation.users, reservation.accounts) == (("root",), ())
    assert "MAINT" in reservation.flags
    path.write_text(FILES["events"])
    (event,) = read_events(path, Unread())
    assert (event.node, event.start_s, event.end_s, event.state) == ("n1", 9.0, None, "DRAIN")


def test_snapshots_one_after_another(tmp_path):
    path = tmp_path / "file"
    path.write_text(FILES["queue"])
    assert [(one.time_s, len(one.rows)) for one in read_snapshots(path, Unread())] == [(5.0, 1), (6.0, 0)]
    path.write_text(FILES["priorities"])
    assert [one.rows[0]["PRIORITY"] for one in read_snapshots(path, Unread(), None)] == ["7", "8"]


def test_snapshots_whose_rows_have_a_bar_in_their_features_or_end_early(tmp_path):
    """squeue prints features as they were asked for, and sprio nothing in its last column."""
    path, unread = tmp_path / "file", Unread()
    path.write_text("## 5\nJOBID|STATE|FEATURES|USER\n7|PENDING|amd|intel|zoe\n8|PENDING|amd|zoe\n9|PENDING\n")
    (snapshot,) = read_snapshots(path, unread)
    assert [(row["FEATURES"], row["USER"]) for row in snapshot.rows] == [("amd|intel", "zoe"), ("amd", "zoe")]
    assert unread == {"a wrong number of fields": [5]}
    path.write_text("## 5\n JOBID PARTITION PRIORITY TRES\n 7 gpu 4\n 8 gpu 5 cpu=1\n")
    (snapshot,) = read_snapshots(path, unread, None)
    assert [row["TRES"] for row in snapshot.rows] == ["", "cpu=1"]


def test_blocks_in_lines_and_in_paragraphs(tmp_path):
    path = tmp_path / "file"
    path.write_text("A=1 B=two words C=\n  D=4\n\nA=2 B=x\n")
    assert list(read_blocks(path, "A")) == [
        (1, {"A": "1", "B": "two words", "C": "", "D": "4"}),
        (4, {"A": "2", "B": "x"}),
    ]
