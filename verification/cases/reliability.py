"""Full disks, limits, signals and kills, and files that change: what is finished stays, and nothing is wrong."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

from verification.cases.case import case, vinesim, write

SCENARIO = """
datacenter: {racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}
workload: {generator: mix, options: {n_jobs: 30, shares: {INT: 1, MEM: 2}}}
arrivals: {poisson: {mean: 7 us}}
"""
MANY_PARTS = {  # a plan whose search makes a part of the data set for each few runs
    "scenario": {
        "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 2}}]},
        "workload": {
            "generator": "mix",
            "options": {"n_jobs": 40, "tasks_per_job": 3, "operations": 5e6, "shares": {"INT": 1, "MEM": 2}},
        },
        "affinity": {"absolute": {"CPU_INTEL": {"INT": 5e4, "MEM": 4e4}, "GPU": {"INT": 3e5, "MEM": 1.5e4}}},
        "arrivals": {"poisson": {"mean": 60}},
        "prices": {"CPU_INTEL": 2000, "GPU": 3000},
    },
    "choose": {
        "datacenter.racks[0].units.CPU_INTEL": {"from": 0, "to": 24},
        "datacenter.racks[0].units.GPU": {"from": 0, "to": 14},
        "policy": ["high", "earliest_completion"],
    },
    "minimize": {"utility": "cost.purchase / 1000 + 0.1 * jobs.latency_us.p99"},
    "limits": {"jobs.latency_us.p99": {"below": "600 us"}},
    "budget": {"runs": 150},
    "confirm": {"replications": 30, "horizon": 2},
}


def limited(folder: Path, kind: int, most: int, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``vinesim`` under a limit of the operating system."""
    return subprocess.run(
        [sys.executable, "-m", "vinesim", *words],
        cwd=folder,
        env={**{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}, **variables},
        preexec_fn=lambda: resource.setrlimit(kind, (most, most)),
        capture_output=True,
        text=True,
    )


@case("rel-cache-full", right="exit 0, 1 warning", seconds=200)
def cache_full(folder: Path) -> str:
    """No room for compiled policies on the disk."""
    write(folder, s_yaml=SCENARIO)
    words = ("run", "s.yaml", "--engine", "compiled")
    done = limited(folder, resource.RLIMIT_FSIZE, 10_000, *words, XDG_CACHE_HOME=str(folder / "cache"))
    return f"exit {done.returncode}, {done.stderr.count('compiled policies are not kept')} warning"


@case("rel-file-limit-advice", right="exit 2, the limit is named, nothing is to be removed", seconds=200)
def file_limit(folder: Path) -> str:
    """A plan with a low limit of open files."""
    write(folder, p_yaml=json.dumps(MANY_PARTS))
    words = ("plan", "p.yaml", "--out", "p", "--workers", "1")
    done = limited(folder, resource.RLIMIT_NOFILE, 32, *words)
    advice = "a file is to be removed" if "Remove the file" in done.stderr else "nothing is to be removed"
    return f"exit {done.returncode}, the limit is {'' if 'ulimit -n' in done.stderr else 'not '}named, {advice}"


SWAPS = """
import os
import re
from pathlib import Path
from vinesim.policies.online.high import High

class Swaps(High):
    compiled = False

    def unit_order(self, n, random):
        if Path("other.csv").exists():
            os.replace("other.csv", "w.csv")
"""


@case("rel-input-edited-during-sweep", right="exit 2, then exit 0 and the rows of the file")
def edited(folder: Path) -> str:
    """A workload is replaced during the first run of a sweep, and put back for the next sweep."""
    rows = [f"{i},INT,{{size}},{7 * i}" for i in range(20)]
    table, other = ("\n".join(["job,task_type,operations,arrival_us", *rows]).format(size=n) for n in (1e4, 9e4))
    study = {
        "scenario": {
            "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
            "workload": {"file": "w.csv"},
        },
        "axes": {"policy": ["swaps.py:Swaps", "high"], "datacenter.racks[0].units.GPU": [1, 2, 3]},
        "record": ["makespan_us"],
    }
    write(folder, w_csv=table, swaps_py=SWAPS, st_yaml=json.dumps(study))
    words = ("sweep", "st.yaml", "--workers", "1", "--json", "--out")
    expected = vinesim(folder, *words, "undisturbed").stdout
    write(folder, other_csv=other)
    first = vinesim(folder, *words, "out")
    write(folder, w_csv=table)
    second = vinesim(folder, *words, "out")
    same = "the rows of the file" if second.stdout == expected else "other rows"
    return f"exit {first.returncode}, then exit {second.returncode} and {same}"


INTERRUPTED = """
import os, signal, threading
from vinesim.cli.stopping import SIGNALS, raising_on
from vinesim.formats.source.database import connected
try:
    with raising_on(*SIGNALS), connected(1) as connection:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
        connection.execute("SELECT sum(sqrt(range)) FROM range(3000000000)").fetchall()
except BaseException as wrong:
    print(type(wrong).__name__)
"""


@case("rel-interrupt-in-query", right="KeyboardInterrupt")
def interrupted_query(folder: Path) -> str:
    """A signal while DuckDB answers."""
    return subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True).stdout.strip()


@case("rel-killed-draft-blocks-folder", right="sweep 0, run 0 0")
def drafts(folder: Path) -> str:
    """What killed commands left in the folders of a sweep and of a result."""
    write(folder, s_yaml=SCENARIO, st_yaml="{scenario: s.yaml, axes: {policy: [high, flat]}}")
    (folder / "s" / "runs").mkdir(parents=True)
    (folder / "s" / ".study.yaml.123.tmp").touch()
    sweep = vinesim(folder, "sweep", "st.yaml", "--out", "s", "--workers", "1")
    first = vinesim(folder, "run", "s.yaml", "--out", "o")
    (folder / "o" / ".report.html.123.tmp").touch()
    second = vinesim(folder, "run", "s.yaml", "--out", "o")
    return f"sweep {sweep.returncode}, run {first.returncode} {second.returncode}"


ENDED = """
import os, sys
at, number = map(int, sys.argv[1:3])
del sys.argv[1:3]
seen = 0
def hook(event, arguments):
    global seen
    if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
        seen += 1
        if seen == at:
            os.kill(os.getpid(), number)
sys.addaudithook(hook)
from vinesim.__main__ import main
main()
"""


@case("rel-run-result-gone", right="INT: whole, TERM: whole, KILL: whole", seconds=200)
def replaced(folder: Path) -> str:
    """A result is replaced, and a signal comes at each of its steps."""
    write(folder, s_yaml=SCENARIO)
    kinds = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
    return ", ".join(f"{name}: {_after(folder / name, folder / 's.yaml', kind)}" for name, kind in kinds.items())


def _after(folder: Path, scenario: Path, kind: int) -> str:
    folder.mkdir()
    vinesim(folder, "run", str(scenario), "--out", "o")
    at = 0
    while True:
        at += 1
        words = [sys.executable, "-c", ENDED, str(at), str(kind), "run", str(scenario), "--seed", str(at), "--out", "o"]
        ended = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        checks = ["sha256sum", "-c", "--quiet", "SHA256SUMS"]
        if not (folder / "o").exists() or subprocess.run(checks, cwd=folder / "o", capture_output=True).returncode:
            return f"no whole result after step {at}"
        if ended.returncode == 0:
            return "whole" if len(list(folder.iterdir())) == 1 else "not tidied up"


PRINTS = """
from vinesim.policies.online.high import High

class Prints(High):
    compiled = False

    def unit_order(self, n, random):
        print("called")
"""


@case("rel-policy-prints-into-json", right="exit 0, standard output is JSON, the policy's words are on standard error")
def policy_prints(folder: Path) -> str:
    """A policy prints while ``run --json`` writes to standard output."""
    write(folder, s_yaml=SCENARIO, p_py=PRINTS)
    done = vinesim(folder, "run", "s.yaml", "--policy", "p.py:Prints", "--json")
    try:
        json.loads(done.stdout)
        what = "JSON"
    except ValueError:
        what = "no JSON"
    where = "on" if "called" in done.stderr else "not on"
    return f"exit {done.returncode}, standard output is {what}, the policy's words are {where} standard error"


@case("rel-resample-partition", right="jobs.csv:3 with each of 6 seeds")
def resample_partition(folder: Path) -> str:
    """A job of a partition that is not declared, in a log that is resampled."""
    rows = [f"{10 * i},1,1,gpu" for i in range(2, 8)]
    write(
        folder,
        jobs_csv="\n".join(["arrival_s,time_s,cores,partition", "0,5,1,gpu", "5,5,1,batch", *rows]),
        s_yaml="""
extends: none
processor_types: [{name: CPU}]
network: none
datacenter: {racks: [{nodes: [{units: {CPU: {cores: 8}}}]}]}
partitions: [{name: gpu}]
workload: {file: jobs.csv, resample: {block: 10 s}}
""",
    )
    seen = {vinesim(folder, "validate", "s.yaml", "--set", f"seed={seed}").stderr for seed in range(6)}
    places = sorted(re.search(r"jobs\.csv:\d+|\w+Error|s\.yaml:\d+", text)[0] for text in seen if text)  # type: ignore[index]
    return f"{', '.join(places)} with each of 6 seeds"
