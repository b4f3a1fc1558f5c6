"""Associations and QOS, from ``sacctmgr dump``, or from ``sacctmgr show assoc`` and ``show qos`` with ``-P``.

An association is an account, or a user in an account. They form a tree with the account root as its root. Limits have
the names of a dump; the manual page of sacctmgr explains them.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from vinesim.formats.slurm.lines import Unread, text_lines
from vinesim.formats.slurm.tables import read_rows
from vinesim.formats.slurm.values import NOTHING

ROOT = "root"
PARENT = "parent"  # a user's shares with this value are those of the account
SHOWN = {  # columns of `show assoc` and `show qos` -> names in a dump
    "Share": "Fairshare",
    "Priority": "Priority",
    "GrpJobs": "GrpJobs",
    "GrpJobsAccrue": "GrpJobsAccrue",
    "GrpTRES": "GrpTRES",
    "GrpSubmit": "GrpSubmitJobs",
    "GrpWall": "GrpWall",
    "GrpTRESMins": "GrpTRESMins",
    "GrpTRESRunMins": "GrpTRESRunMins",
    "MaxJobs": "MaxJobs",
    "MaxJobsAccrue": "MaxJobsAccrue",
    "MaxTRES": "MaxTRESPerJob",
    "MaxTRESPerNode": "MaxTRESPerNode",
    "MaxSubmit": "MaxSubmitJobs",
    "MaxWall": "MaxWallDurationPerJob",
    "MaxTRESMins": "MaxTRESMinsPerJob",
    "QOS": "QOS",
    "Def QOS": "DefaultQOS",
    "MaxTRESPU": "MaxTRESPerUser",
    "MaxJobsPU": "MaxJobsPerUser",
    "MaxSubmitPU": "MaxSubmitJobsPerUser",
    "MaxJobsAccruePU": "MaxJobsAccruePerUser",
    "MaxTRESPA": "MaxTRESPerAccount",
    "MaxJobsPA": "MaxJobsPerAccount",
    "MaxSubmitPA": "MaxSubmitJobsPerAccount",
    "MaxJobsAccruePA": "MaxJobsAccruePerAccount",
    "MinTRES": "MinTRESPerJob",
}
_PART = re.compile(r":(?=\w+=)")
_HEAD = re.compile(r"(Cluster|Parent|Account|User|QOS) - '?([^':]*)'?")


@dataclass(frozen=True)
class Association:
    """An account, or a user in an account."""

    account: str
    user: str  # "": the account itself
    parent: str  # of an account, its parent; of a user, its account
    partition: str  # "" for all
    values: dict[str, str] = field(default_factory=dict)  # shares, priority, limits, by the names of a dump


@dataclass(frozen=True)
class Qos:
    """A quality of service."""

    name: str
    values: dict[str, str] = field(default_factory=dict)  # priority, limits, flags, by the names of a dump

    @property
    def flags(self) -> list[str]:
        """The flags, in Slurm's notation."""
        return [flag for flag in self.values.get("Flags", "").split(",") if flag]


def read_dump(path: Path, unread: Unread) -> list[Association]:
    """Read a file of ``sacctmgr dump CLUSTER file=...``, parents before their children."""
    found, parent = [Association(ROOT, "", "", "", {"Fairshare": "1"})], ROOT
    for number, line in enumerate(text_lines(path), 1):
        head = _HEAD.match(line)
        if head is None or not head[2]:
            if line.strip() and not line.startswith("#"):
                unread["no line of a dump"].append(number)
            continue
        kind, name = head.groups()
        values = _values(line[head.end() :])
        if kind == "Parent":
            parent = name
        elif kind == "Account":
            found.append(Association(name, "", parent, "", values))
        elif kind == "User":
            found.append(Association(parent, name, parent, values.pop("Partition", ""), values))
    return found


def _values(text: str) -> dict[str, str]:
    """Return the ``Name=value`` parts of a line of a dump; some values are quoted."""
    parts = (part.partition("=") for part in _PART.split(text.lstrip(":")) if "=" in part)
    return {name.strip(":"): value.strip("'") for name, _, value in parts}


def read_associations(path: Path, unread: Unread) -> list[Association]:
    """Read the output of ``sacctmgr show assoc -P``; without a column ParentName, all accounts are below the root."""
    found = list[Association]()
    for line, row in read_rows(path, unread):
        account, user = row.get("Account", ""), row.get("User", "")
        if not account:
            unread["Account: none"].append(line)
            continue
        parent = account if user else ("" if account == ROOT else row.get("ParentName") or row.get("Par Name") or ROOT)
        found.append(Association(account, user, parent, row.get("Partition", ""), _shown(row)))
    return found


def read_qos(path: Path, unread: Unread) -> list[Qos]:
    """Read the output of ``sacctmgr show qos -P``."""
    kept = ("GraceTime", "Preempt", "PreemptExemptTime", "PreemptMode", "Flags", "UsageFactor", "UsageThres")
    found = list[Qos]()
    for line, row in read_rows(path, unread):
        if not row.get("Name"):
            unread["Name: none"].append(line)
            continue
        others = {name: row[name] for name in kept if row.get(name, "") not in NOTHING}
        found.append(Qos(row["Name"], _shown(row) | others))
    return found


def _shown(row: dict[str, str]) -> dict[str, str]:
    return {name: row[column] for column, name in SHOWN.items() if row.get(column, "") not in NOTHING}
