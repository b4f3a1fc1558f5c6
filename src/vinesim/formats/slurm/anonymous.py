"""Anonymise a site: users, accounts, jobs and reservations get numbers instead of names.

Equal names get equal numbers everywhere, in the order in which the first jobs of each were submitted. Everything else
in a submission is left out: paths, commands, comments, mail addresses. Partitions, QOS, nodes, features and licences
keep their names, because they describe the site, not its users.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vinesim.formats.slurm.accounts import ROOT, Association
from vinesim.formats.slurm.jobs import SlurmJob
from vinesim.formats.slurm.site import Site


class Numbers:
    """Replaces names by numbers."""

    def __init__(self, word: str, names: Iterable[str] = ()):
        self._word = word
        self._found: dict[str, str] = {"": "", ROOT: ROOT}
        for name in names:
            self(name)

    def __call__(self, name: str) -> str:
        """Return the replacement for a name; an empty name and root are unchanged."""
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
