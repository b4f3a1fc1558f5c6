"""Sites without personal data."""

from tests.small_site import CONF, job, write_site
from vinesim.formats.importers.slurm import import_slurm
from vinesim.formats.importers.slurm_site import import_site
from vinesim.policies.documents import read_scenario

SECRETS = ("zoe", "yan", "secretproject", "grantlab", "my_paper", "vip")
DUMP = (
    "Cluster - 'small'\nParent - 'root'\nAccount - 'grantlab':Fairshare=1\nParent - 'grantlab'\n"
    "Account - 'secretproject':Fairshare=2\nParent - 'secretproject'\nUser - 'yan':Fairshare=1\n"
    "User - 'zoe':Fairshare=3:GrpJobs=1\n"
)
RESERVATION = (
    "ReservationName=vip StartTime=2024-03-01T01:00:00 EndTime=2024-03-01T02:00:00 Nodes=c1 Users=zoe,-yan "
    "Accounts=(null) Flags=\n"
)


def site_of(folder):
    """Jobs of two users, one dependent by name, with paths in their submissions."""
    rows = [job(1, 0, 100, "-N1 -n1 -D /home/zoe -o /home/zoe/my_paper.log --mail-user=zoe@x", user="zoe",
                account="secretproject", name="my_paper"),
            job(2, 10, 50, "-N1 -n2 --dependency=singleton -J my_paper", user="zoe", account="secretproject",
                name="my_paper"),
            job(3, 20, 50, "-N1 -n2 --reservation=vip", user="yan", account="secretproject", name="my_paper",
                reservation="vip")]  # fmt: skip
    return write_site(folder, rows, CONF, dump=DUMP, reservations=RESERVATION)


def test_no_name_is_left(tmp_path):
    """Neither in the scenario nor in the jobs nor in the report."""
    folder = site_of(tmp_path / "in_grantlab")
    (folder / "zoe_notes.txt").write_text("of zoe")
    done = import_site(folder, tmp_path / "site.parquet", is_anonymous=True)
    work = read_scenario(tmp_path / "site.yaml").workload
    words = [*work.user_names, *(word for words in (work.attribute_words or {}).values() for word in words)]
    text = (tmp_path / "site.yaml").read_text() + " ".join(words) + str(done.report.as_document([]))
    assert not [name for name in SECRETS if name in text.replace(str(tmp_path), "")]


def test_the_same_name_has_the_same_number(tmp_path):
    """In jobs and in the tree, so that limits and shares hold for the same people."""
    folder = site_of(tmp_path / "in")
    import_site(folder, tmp_path / "a.parquet", is_anonymous=True)
    import_site(folder, tmp_path / "b.parquet")
    hidden, plain = read_scenario(tmp_path / "a.yaml"), read_scenario(tmp_path / "b.yaml")
    assert [hidden.workload.user_names[u] for u in hidden.workload.user] == ["user1", "user1", "user2"]
    assert hidden.workload.words_of("account") == ["account1"] * 3
    users = hidden.options["accounts"]["account1"]["users"]
    assert users == {"user2": {"shares": 1.0}, "user1": {"shares": 3.0, "grp_jobs": 1}}
    assert list(hidden.options["reservations"]) == ["reservation1"]
    assert hidden.workload.words_of("request") == plain.workload.words_of("request")
    assert hidden.workload.words_of("dependency") == plain.workload.words_of("dependency")


def test_a_list_of_jobs_alone_can_be_anonymous_too(tmp_path):
    """The output of sacct, without a folder."""
    import_slurm(site_of(tmp_path / "in") / "sacct.txt", tmp_path / "a.parquet", anonymous=True)
    assert read_scenario(tmp_path / "a.yaml").workload.user_names == ("user1", "user2")
