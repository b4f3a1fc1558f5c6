"""Real Slurm on this machine for some seconds: slurmctld and a slurmd for each node, without a database.

All files are in one folder, and every process ends with :func:`real_slurm`.
"""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scontrol")
PATIENCE_S = 60.0
OF_THIS_MACHINE = """ClusterName=real
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
"""
FIELDS = {  # of scontrol -> of sacct
    "JobId": "JobID", "UserId": "User", "Partition": "Partition", "SubmitTime": "Submit", "EligibleTime": "Eligible",
    "StartTime": "Start", "EndTime": "End", "TimeLimit": "Timelimit", "JobState": "State", "ExitCode": "ExitCode",
    "NodeList": "NodeList",
}  # fmt: skip


def missing_programs() -> list[str]:
    """Return which programs of Slurm this machine lacks."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


class CannotStart(Exception):
    """The daemons do not start on this machine, as in some containers."""


class RealSlurm:
    """Running daemons; ``folder`` has their slurm.conf."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lines: dict[str, str] = {}  # by job, how it was submitted
        self.env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": str(folder / "slurm.conf"), "LC_ALL": "C",
                    "TZ": "UTC", "HOME": str(folder)}  # fmt: skip

    def run(self, *command: str, text: str = "") -> str:
        """Return what a command prints."""
        done = subprocess.run(command, env=self.env, input=text, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout

    def submit(self, seconds: float, *options: str) -> None:
        """Submit a job that sleeps."""
        script = f"#!/bin/sh\nexec sleep {seconds:g}\n"
        job = self.run("sbatch", "--parsable", "-o", "/dev/null", "-D", "/", *options, text=script).strip()
        self.lines[job] = f"sbatch {' '.join(options)} a.sh"

    def jobs(self) -> list[dict[str, str]]:
        """Return the jobs, by the fields of sacct."""
        found = []
        for line in self.run("scontrol", "show", "jobs", "-o").splitlines():
            fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
            job = {ours: fields[name] for name, ours in FIELDS.items()}
            found.append(job | {"User": job["User"].split("(")[0], "SubmitLine": self.lines[job["JobID"]]})
        return sorted(found, key=lambda job: int(job["JobID"]))

    def wait_for_jobs(self) -> None:
        """Wait until no job is pending or runs."""
        self._wait(lambda: all(job["State"] not in ("PENDING", "RUNNING", "COMPLETING") for job in self.jobs()))

    def wait_for_nodes(self) -> None:
        """Wait until all nodes are idle. Raises :class:`CannotStart`."""
        try:
            self._wait(self._are_idle)
        except TimeoutError as late:
            raise CannotStart(str(late)) from None

    def _wait(self, is_over: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_over():
            if time.monotonic() > end:
                log = self.folder / "slurmctld.log"
                raise TimeoutError(log.read_text()[-2000:] if log.exists() else "slurmctld writes no log")
            time.sleep(0.2)

    def _are_idle(self) -> bool:
        try:
            lines = self.run("scontrol", "show", "nodes", "-o").splitlines()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False  # slurmctld does not answer yet
        return bool(lines) and all("State=IDLE " in line for line in lines)


@contextmanager
def real_slurm(folder: Path, conf: str, nodes: Sequence[str], cpus: int) -> Iterator[RealSlurm]:
    """Start the daemons, wait until all nodes are idle, and end them afterwards. Raises :class:`CannotStart`."""
    for name in ("state", *(f"spool/{node}" for node in nodes)):
        (folder / name).mkdir(parents=True)
    ports = _free_ports(1 + len(nodes))
    head = OF_THIS_MACHINE.format(folder=folder, user=pwd.getpwuid(os.getuid()).pw_name, port=ports[0])
    made = [f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=1000"
            for node, port in zip(nodes, ports[1:], strict=True)]  # fmt: skip
    (folder / "slurm.conf").write_text(head + "\n".join(made) + "\n" + conf)
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # not used, but looked for
    slurm, started = RealSlurm(folder), list[subprocess.Popen[bytes]]()
    try:
        for command in (("slurmctld", "-D"), *(("slurmd", "-D", "-N", node) for node in nodes)):
            started.append(subprocess.Popen(command, env=slurm.env, cwd=folder, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip
        slurm.wait_for_nodes()
        yield slurm
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()


def _free_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
