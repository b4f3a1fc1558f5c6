"""A site without personal data: users, accounts, jobs and reservations get numbers in place of names.

The same name gets the same number everywhere, in the order in which the first jobs of each were submitted. What else a
submission said is left out: paths, commands, comments, mail addresses. Partitions, QOS, nodes, features and licences
keep their names: they say how the site is set up, not who uses it.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vinesim.formats.slurm.accounts import ROOT, Association
from vinesim.formats.slurm.jobs import SlurmJob
from vinesim.formats.slurm.site import Site


class Numbers:
    """Numbers in place of names."""

    def __init__(self, word: str, names: Iterable[str] = ()):
        self._word = word
        self._found: dict[str, str] = {"": "", ROOT: ROOT}
        for name in names:
            self(name)

    def __call__(self, name: str) -> str:
        """Return the replacement for a name; an empty name and root stay as they are."""
        return self._found.setdefault(name, f"{self._word}{len(self._found) - 1}")


def anonymous(site: Site) -> Site:
    """Return the site without names of people, projects, jobs and files, and without snapshots of squeue, sprio and
    sshare."""
    jobs = site.jobs.jobs
    user, account = Numbers("user", (job.user for job in jobs)), Numbers("account", (job.account for job in jobs))
    name, reservation = Numbers("job"), Numbers("reservation", (one.name for one in site.reservations))

    def of_job(job: SlurmJob) -> SlurmJob:
        return replace(job, user=user(job.user), account=account(job.account), name=name(job.name),
                       reservation=reservation(job.reservation))  # fmt: skip

    def of_association(one: Association) -> Association:
        return replace(one, user=user(one.user), account=account(one.account), parent=account(one.parent))

    return replace(
        site,
        folder=Path("site"),
        files=dict.fromkeys(site.files, "a file"),
        unused={f"{len(site.unused):,} other files": "their names may say who uses the site"} if site.unused else {},
        jobs=replace(site.jobs, jobs=[of_job(job) for job in jobs]),
        associations=[of_association(one) for one in site.associations],
        reservations=[
            replace(one, name=reservation(one.name), users=tuple(map(user, one.users)),
                    accounts=tuple(map(account, one.accounts)))
            for one in site.reservations
        ],
        events=[replace(one, reason="") for one in site.events],
        queue=[], priorities=[], shares=[],
    )  # fmt: skip
