"""What people see on a terminal, on pages and in figures: names of others, narrow terminals, waits, dates, axes."""

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import vinesim as vs
from verification.cases.case import case, vinesim, write

CPU, GPU, TASK = map(json.dumps, ("EVIL\x1b]0;owned\a\x1b[31m", "\u202eabc\rx", "T\x1b[2J"))
HOSTILE = f"""
extends: none
processor_types: [{{name: {CPU}}}, {{name: {GPU}}}]
task_types: [{TASK}]
affinity: {{absolute: {{{CPU}: {{{TASK}: 1}}, {GPU}: {{{TASK}: 1}}}}}}
datacenter: {{racks: [{{units: {{{CPU}: 1, {GPU}: 1}}}}]}}
network: none
workload: {{generator: identical, options: {{n_jobs: 5, task_type: {TASK}}}}}
arrivals: {{iat: 1}}
"""
SMALL = """
datacenter: {racks: [{units: {GPU: 1}}]}
workload: {generator: identical, options: {n_jobs: 2}}
arrivals: {iat: 1}
"""


@case("rel-terminal-escapes", right="no control characters; they are shown as \\x1b and \\u202e")
def terminal_escapes(folder: Path) -> str:
    """Names of a file move the cursor, set the title and turn the text."""
    write(folder, s_yaml=HOSTILE)
    text = ""
    for words in (
        ("validate", "s.yaml"),
        ("run", "s.yaml", "--explain", "--out", "out"),
        ("explain", "out", "--slowest", "1"),
        ("run", "s.yaml", "--set", "policy=\x1b[2J"),
    ):
        done = vinesim(folder, *words)
        text += done.stdout + done.stderr
    obeyed = sorted({letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf")})
    shown = " and ".join(name for name in ("\\x1b", "\\u202e") if name in text)
    return f"{obeyed or 'no control characters'}; they are shown as {shown}"


@case("rel-columns-0", right="at 0 columns as at 80; at 20 all numbers")
def columns_0(folder: Path) -> str:
    """Terminals that say that they have no columns, and narrow ones."""
    write(folder, s_yaml=SMALL)

    def table(columns: str) -> str:
        command = [sys.executable, "-m", "vinesim", "run", "s.yaml"]
        variables = {**os.environ, "COLUMNS": columns}
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True)
        return "\n".join(line for line in done.stdout.splitlines() if "simulated in" not in line)

    zero = "as at 80" if table("0") == table("80") else "otherwise"
    return f"at 0 columns {zero}; at 20 {'some' if '...' in table('20') else 'all'} numbers"


def said(done: subprocess.CompletedProcess[str]) -> str:
    """The exit code, and the last line on standard error up to what it advises."""
    return f"exit {done.returncode}: {re.split(r'[.;] |: those', done.stderr.splitlines()[-1].strip())[0]}"


@case(
    "rel-read-error-named-output",
    right="exit 2: out/tasks.parquet: expected a file that can be read, found a folder",
)
def read_error(folder: Path) -> str:
    """A file of a result is a folder."""
    write(folder, s_yaml=SMALL)
    vinesim(folder, "run", "s.yaml", "--out", "out")
    (folder / "out" / "tasks.parquet").unlink()
    (folder / "out" / "tasks.parquet").mkdir()
    return said(vinesim(folder, "timeline", "out"))


@case(
    "rel-record-of-another-run",
    right="exit 2: a/explain.parquet: expected a row for each of the run's 20 tasks, found 2",
)
def record_of_another_run(folder: Path) -> str:
    """The record for explain of one run lies in the folder of another, whose list of checksums is gone."""
    write(folder, s_yaml=SMALL)
    for name, n in (("a", 20), ("b", 2)):
        vinesim(folder, "run", "s.yaml", "--set", f"workload.options.n_jobs={n}", "--explain", "--out", name)
    (folder / "b" / "explain.parquet").rename(folder / "a" / "explain.parquet")
    (folder / "a" / "SHA256SUMS").unlink()
    return said(vinesim(folder, "explain", "a", "--job", "15"))


JOBS = """JobIDRaw|User|Partition|Submit|End|ElapsedRaw|TimelimitRaw|State|ReqTRES
7001|ada|p|2024-05-06T08:00:00|2024-05-06T09:00:00|3600|60|COMPLETED|cpu=3,mem=1G,node=1
7002|bob|p|2024-05-06T08:10:00|2024-05-06T09:10:00|600|10|COMPLETED|cpu=4,mem=1G,node=1
7003|ada|p|2024-05-06T08:20:00|2024-05-06T10:10:00|3600|60|COMPLETED|cpu=1,mem=1G,node=1
"""
NODES = "NodeName=c01 CPUTot=4 RealMemory=16000 State=IDLE Partitions=p\n"


@case("ux-slurm", right="on c01; room, but reserved for job 7002 until 2024-05-06 09:00:00")
def slurm(folder: Path) -> str:
    """A job of a Slurm log waits though its node has room: for whom, in the log's numbers, names and dates."""
    write(folder, jobs_txt=JOBS, nodes_txt=NODES)
    vinesim(folder, "import", "slurm", "jobs.txt", "--nodes", "nodes.txt", "-o", "may.parquet")
    vinesim(folder, "run", "may.yaml", "--explain", "--out", "may")
    reported = " ".join(vinesim(folder, "explain", "may", "--job-id", "7003").stdout.split())
    reason = reported.partition("09:00:00: ")[2].partition(";")[0].partition(" It needs")[0]
    return f"on {reported.partition(' on ')[2].partition(' ')[0]}; {reason}"


STUDY = """
scenario:
  datacenter: {racks: [{units: {CPU_INTEL: 8, GPU: 8}}]}
  workload: {generator: 500jobs, options: {n_jobs: 20}}
  arrivals: {on_off: {mean: 16 us, 'on': 2 ms, 'off': 2 ms}}
axes:
  policy: [high, flat, pref, earliest_finish, earliest_completion, delay]
  arrivals.on_off.mean: [12.0, 18.3377056298, 100.0]
"""


@case(
    "ux-share", right="columns policy and on_off.mean, us; a chart of half the figure or more, lines thinner than usual"
)
def share(folder: Path) -> str:
    """A sweep of policies and loads: what its axes are called, and what a figure of 88 x 60 mm shows."""
    write(folder, study_yaml=STUDY)
    words = vinesim(folder, "sweep", "study.yaml", "--out", "out", "--workers", "1").stdout
    header = next((line for line in words.splitlines() if "latency" in line), "").split("  ")
    titles = [title.strip() for title in header if title.strip()][:2]
    figures = [vs.plot(folder / "out", inches=inches) for inches in (None, (88 / 25.4, 60 / 25.4))]
    figures[1].draw_without_rendering()
    half = "half the figure or more" if figures[1].axes[0].get_position().height >= 0.5 else "less than half the figure"
    usual, small = (figure.axes[0].get_lines()[0].get_linewidth() for figure in figures)
    return f"columns {' and '.join(titles)}; a chart of {half}, lines {'thinner than' if small < usual else 'as'} usual"


@case("overload-silent", right="run 1, sweep 1, compare 1")
def overload(folder: Path) -> str:
    """Jobs of 10 s, one a second, on two units: how often each command says that this is too much."""
    document = """
datacenter: {racks: [{units: {CPU_INTEL: 2}}]}
workload: {generator: identical, options: {n_jobs: 100, operations: 5e11}}
arrivals: {iat: 1 s}
affinity: {absolute: {CPU_INTEL: {FP_GOOD: 50000}}}
"""
    write(folder, s_yaml=document, t_yaml="scenario: s.yaml\naxes: {policy: [fcfs, high]}\n")
    commands = ("run s.yaml", "sweep t.yaml --out o --workers 1", "compare o --by policy --of jobs.wait_us.mean")
    reported = [vinesim(folder, *words.split()).stdout.lower().count("overloaded") for words in commands]
    return ", ".join(f"{words.split()[0]} {n}" for words, n in zip(commands, reported, strict=True))
