"""Folders to damage: sweeps in every state, and results that have between them every table; and how they are read."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import vinesim as vs
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.study.file import study as study_of
from vinesim.metrics.waiting import waiting_of
from vinesim.pages.write import write_report
from vinesim.policies.documents import read_scenario
from vinesim.report.timeline import write_timeline
from vinesim.studies.compare import compare
from vinesim.studies.sweep import read_sweep, sweep

ROOT = Path(__file__).parents[1]
BY = "datacenter.racks[0].units.GPU"
POLICIES = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vinesim.policies.online.high import High

STOP = Path(__file__).parent / "stop"


@dataclass(frozen=True)
class Plain(High):
    """Is stopped, as by Ctrl-C, in the run that finds no more to count down."""

    compiled: ClassVar[bool] = False

    def unit_order(self, n, random):
        if STOP.exists():
            left = int(STOP.read_text()) - 1
            STOP.write_text(str(left))
            if left == 0:
                raise KeyboardInterrupt


@dataclass(frozen=True)
class Fails(Plain):
    def unit_order(self, n, random):
        raise ValueError("always")
'''
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {"generator": "mix", "options": {"n_jobs": 12, "shares": {"INT": 1, "MEM": 2}}},
    "arrivals": {"poisson": {"mean": 7}},
    "policy": "policies.py:Plain",
}


@dataclass(frozen=True)
class Case:
    """A folder to damage: how it is read, what that gave, and what goes on in it afterwards."""

    name: str
    folder: Path
    read: Callable[[Path], object]
    expected: object
    go_on: Callable[[Path], object] | None = None  # for a sweep: the next one, and what it leaves
    after: object = None


def chunks_of_four() -> AbstractContextManager:
    """Have sweeps put four runs into a part, so that small ones have several."""
    return patch("vinesim.studies.chunks.MAX_RUNS", 4)


def sweeps(folder: Path) -> list[Case]:
    """Sweeps in every state."""
    (folder / "policies.py").write_text(POLICIES)
    axes = {"arrivals.poisson.mean": [5, 10], BY: [1, 2]}
    kept = {"scenario": SCENARIO, "record": ["jobs.latency_us", "utilization.by_type", "makespan_us"]}
    plain = study_of({**kept, "axes": axes, "replications": 4}, folder)
    axes = {"policy": ["policies.py:Plain", "policies.py:Fails"], BY: [1, 2]}
    failing = study_of({**kept, "axes": axes, "replications": 3}, folder)
    grown = replace(plain, replications=5)
    sweep(plain, folder / "finished", workers=1)
    sweep(failing, folder / "failing", workers=1)
    (folder / "stop").write_text("11")
    with suppress(KeyboardInterrupt):
        sweep(plain, folder / "stopped", workers=1)
    (folder / "stop").unlink()
    sweep(plain, folder / "growing", workers=1)
    with patch("vinesim.studies.store.write_chunk", side_effect=KeyboardInterrupt), suppress(KeyboardInterrupt):
        sweep(grown, folder / "growing", workers=1)
    studies = {"finished": plain, "failing": failing, "stopped": plain, "growing": grown}
    return [_sweep_case(folder, name, study) for name, study in studies.items()]


def _sweep_case(folder: Path, name: str, study: vs.Study) -> Case:
    def go_on(work: Path) -> object:
        sweep(study, work, workers=1)
        return {path.name: path.read_bytes() for path in (work / "runs").iterdir()}, _read_sweep(work)

    work = folder / "work"
    shutil.copytree(folder / name, work)
    case = Case(name, folder / name, _read_sweep, _read_sweep(work), go_on, go_on(work))
    shutil.rmtree(work)
    return case


def _read_sweep(folder: Path) -> object:
    page = folder.parent / "page.html"
    write_report(folder, page)
    pairs = compare(read_sweep(folder), BY, "jobs.latency_us.mean").rows()
    return page.read_bytes(), repr(pairs)


def results(folder: Path) -> list[Case]:
    """Results that have between them every table there is."""
    return [
        _result_case(folder, "run", "quickstart", ["workload.options.n_jobs=20", "sampling=20 us"]),
        _result_case(
            folder,
            "batch",
            "energy",
            ["workload.options.n_batches=3", "workload.options.tasks_per_batch=15", "horizon=40 s", "policy=ff"],
        ),
        _result_case(folder, "requests", "symphony", ["workload.options.duration_us=1 s", "policy=fcfs"]),
    ]


def _result_case(folder: Path, name: str, example: str, changes: list[str]) -> Case:
    scenario = read_scenario(ROOT / "examples" / f"{example}.yaml", changes)
    result = vs.simulate(scenario, engine="reference")
    write_result(folder / name, result, lambda draft: write_record(draft, scenario))
    work = folder / "work"
    shutil.copytree(folder / name, work)
    case = Case(name, folder / name, _read_result, _read_result(work))
    shutil.rmtree(work)
    return case


def _read_result(folder: Path) -> object:
    page, line = folder.parent / "page.html", folder.parent / "line.json"
    write_report(folder, page)
    write_timeline(folder, line)
    return page.read_bytes(), line.read_bytes(), repr(waiting_of(folder, 1))
