"""Cases of inputs without bound or checks: what a file may ask for, and what is found before anything runs."""

import json
from pathlib import Path

from verification.cases.case import case, vinesim, write

UNIT = "datacenter: {racks: [{units: {GPU: 1}}]}\n"


def said(folder: Path, *words: str) -> str:
    """The exit code of a command, and the place of its first problem."""
    done = vinesim(folder, *words)
    lines = done.stderr.splitlines()[1:2]
    return f"{done.returncode} {lines[0].split(': ')[1] if lines else ''}".strip()


@case("rel-mmpp-unbounded", right="mmpp: 2 arrivals, on_off: 2 arrivals, spikes: 2 workload.options.spikes")
def unbounded(folder: Path) -> str:
    """Billions of stays in the states of an arrival process, and of spikes."""
    jobs = "workload: {generator: 500jobs}\n"
    write(
        folder,
        mmpp_yaml=UNIT + jobs + "arrivals: {mmpp: {mean: 1 h, rates: [1, 10], stay: [1 ms, 1 ms]}}",
        on_off_yaml=UNIT + jobs + "arrivals: {on_off: {mean: 1 h, on: 1 ms, off: 1 ms}}",
        spikes_yaml="extends: none\nprocessor_types: [{name: GPU}]\ntask_types: [T]\nnetwork: none\n"
        "affinity: {absolute: {GPU: {T: 1}}}\napplications: [{name: T, relative_deadline: 1 s}]\npolicy: fcfs\n"
        + UNIT
        + "workload: {generator: requests, options: {rates: {T: 1}, duration_us: 1000000, spikes: 1000000000}}",
    )
    return ", ".join(f"{name}: {said(folder, 'validate', f'{name}.yaml')}" for name in ("mmpp", "on_off", "spikes"))


@case("rel-resample-tiny-block", right="1 ns: 2 workload.resample.block, 1e-300: 2 workload.resample.block")
def tiny_block(folder: Path) -> str:
    """Blocks of which a log has billions."""
    nodes = "extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\npolicy: fcfs\n"
    nodes += "datacenter: {racks: [{nodes: [{units: {CPU: {cores: 8}}}]}]}\n"
    write(folder, j_csv="arrival_s,time_s,cores\n0,5,1\n10,5,1\n30,5,1\n")
    seen = []
    for block in ("1 ns", "1e-300"):
        write(folder, s_yaml=nodes + f"workload: {{file: j.csv, resample: {{block: {block}}}}}")
        seen.append(f"{block}: {said(folder, 'validate', 's.yaml')}")
    return ", ".join(seen)


@case("rel-study-warm-up", right="validate: 2 warm_up.jobs, sweep: 2 warm_up.jobs")
def study_warm_up(folder: Path) -> str:
    """A warm-up of more jobs than each run has."""
    write(
        folder,
        s_yaml=UNIT + "workload: {generator: identical, options: {n_jobs: 20}}\narrivals: {iat: 1}",
        study_yaml="scenario: s.yaml\naxes: {policy: [high, flat]}\nwarm_up: {jobs: 30}",
    )
    words = {"validate": ("validate", "study.yaml"), "sweep": ("sweep", "study.yaml", "--out", "o", "--workers", "1")}
    return ", ".join(f"{name}: {said(folder, *command)}" for name, command in words.items())


@case("rel-plan-json-unchecked", right="changed: 2 its checksum; a key is missing: 2 its checksum", seconds=180)
def plan_json(folder: Path) -> str:
    """Numbers and keys of an answer are changed before its page is written."""
    write(
        folder,
        s_yaml=UNIT + "workload: {generator: identical, options: {n_jobs: 20}}\narrivals: {iat: 1}\nprices: {GPU: 5}",
        plan_yaml='scenario: s.yaml\nchoose: {"datacenter.racks[0].units.GPU": {from: 1, to: 3}}\n'
        "minimize: cost.purchase\nlimits: {makespan_us: {below: 1 d}}\nconfirm: {horizon: 1}\n",
    )
    vinesim(folder, "plan", "plan.yaml", "--out", "out", "--workers", "1")
    answer = folder / "out" / "plan.json"
    whole, seen = answer.read_text(), []
    for what, old, new in (("changed", '"n": 1', '"n": 2'), ("a key is missing", '"judgements"', '"judgementz"')):
        assert old in whole, json.loads(whole).keys()
        answer.write_text(whole.replace(old, new))
        done = vinesim(folder, "report", "out")
        seen.append(f"{what}: {done.returncode} {'its checksum' if 'checksum' in done.stderr else done.stderr}")
    return "; ".join(seen)
