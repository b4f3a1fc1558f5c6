"""The folders of a run, a sweep and a plan, whose files are damaged one at a time."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from verification.fuzz.samples import Sample
from verification.fuzz.worker import Worker

SCENARIO = """
datacenter: {racks: [{units: {CPU_INTEL: 2, GPU: 1}}]}
workload: {generator: mix, options: {n_jobs: 12, shares: {INT: 1, MEM: 2}}}
arrivals: {poisson: {mean: 1 ms}}
policy: high
"""
STUDY = "{scenario: scenario.yaml, axes: {policy: [high, flat]}, replications: 2}"
PLAN = """
scenario: scenario.yaml
choose: {"datacenter.racks[0].units.GPU": {from: 1, to: 2}}
minimize: units.count
limits: {jobs.latency_us.p99: {below: 1 s}}
budget: {runs: 8}
screen: false
confirm: {horizon: 1}
"""
INPUTS = {"scenario.yaml": SCENARIO.encode(), "study.yaml": STUDY.encode(), "plan.yaml": PLAN.encode()}
REPORT = ("-o", "page.html")
MADE_BY = {  # folder -> the command that makes it, which is also run on the damaged folder, and those that read it
    "run": (
        ("run", "scenario.yaml", "--engine", "reference", "--explain", "--out", "run"),
        (("report", "run", *REPORT), ("explain", "run", "--slowest", "2"), ("timeline", "run", "-o", "trace.json")),
    ),
    "sweep": (
        ("sweep", "study.yaml", "--workers", "1", "--out", "sweep"),
        (("report", "sweep", *REPORT), ("compare", "sweep", "--by", "policy", "--of", "jobs.latency_us.mean")),
    ),
    "plan": (
        ("plan", "plan.yaml", "--workers", "1", "--out", "plan"),
        (("report", "plan", *REPORT),),
    ),
}


def samples_of_results(worker: Worker) -> list[Sample]:
    """Make the folders; return a sample for each of their files."""
    with TemporaryDirectory() as name:
        folder, found = Path(name), []
        write(folder, INPUTS)
        for kind, (command, readers) in MADE_BY.items():
            seen = worker.run(folder, command)
            if not (folder / kind).is_dir():
                raise RuntimeError(f"vinesim {' '.join(command)}: {seen.errors}{seen.traceback}")
            paths = [path for path in (folder / kind).rglob("*") if path.is_file()]
            files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
            for target in sorted(files):
                found.append(Sample("results", target, {**INPUTS, **files}, target, (*readers, command)))
    return found


def write(folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Write files by their path in a folder; None is a folder of that name."""
    for name, data in files.items():
        path = folder / name
        if data is None:
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
