"""Folders of runs and sweeps to report about."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.results.checksums import BLANK, with_checksum
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.study.file import read_study
from vinesim.metrics.numbers import numbers
from vinesim.model.catalog import ProcessorType, TaskType
from vinesim.model.datacenter import Datacenter
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import read_scenario
from vinesim.policies.registry import resolve
from vinesim.policies.replacing import changed
from vinesim.studies.chunks import chunk_of
from vinesim.studies.expand import expand, scenario_of
from vinesim.studies.layout import Layout
from vinesim.studies.parts import write_chunk
from vinesim.workloads.registry import generator

EXAMPLES = Path(__file__).parents[2] / "examples"
EVIL = "</script ><script>window.evil=1</script>"
EVIL_TASK = '"><img src=x onerror="window.evil=2">&amp;'


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the README at a pace at which jobs wait, sampled."""
    folder = tmp_path_factory.mktemp("run") / "quickstart"
    write_result(folder, vs.simulate(read_scenario(EXAMPLES / "quickstart.yaml", ["arrivals.iat=6"])))
    return folder


def transfers() -> Scenario:
    """Two racks with data to move, several task types, not sampled."""
    workload = generator("mix").generate(
        {"n_jobs": 300, "shares": {"INT": 0.5, "FP_GOOD": 0.5}, "data_bytes": 65536.0, "iat_us": 200.0},
        seed=3,
        nodes=[(rack, shelf) for rack in range(2) for shelf in range(10)],
    )
    units = [(name, rack, shelf) for rack in range(2) for shelf in range(10) for name in ("CPU_INTEL", "GPU")]
    return Scenario(Datacenter.of(units), workload, policy="closer_to_data")


@pytest.fixture(scope="session")
def two_racks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "two_racks"
    write_result(folder, vs.simulate(transfers()))
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Units that run four tasks at a time, each at full speed, named to break a careless page; cut off early."""
    types = (ProcessorType(EVIL, capacity=4.0), ProcessorType("{{data}} & <b>"))
    workload = generator("500jobs").generate({"n_jobs": 60, "iat_us": 60.0, "preferred": None}, seed=0)
    workload = vs.Workload(
        **{
            **vars(workload),
            "demand": np.resize([1.0, 0.5, vs.ONE_SLOT, 2.0], workload.n_tasks),
            "task_types": tuple(TaskType(EVIL_TASK if i == 2 else f"t{i}") for i in range(7)),
        }
    )
    center = Datacenter(np.array([0, 0, 1], np.int32), np.zeros(3, np.int32), np.arange(3, dtype=np.int32), types)
    scenario = Scenario(center, workload, affinity=np.full((2, 7), 600_000.0), horizon_us=1500.0)
    folder = tmp_path_factory.mktemp("run") / "<i>shared"
    write_result(folder, vs.simulate(scenario))
    return folder


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty processor types, names as long as a line, energies and a price with many digits."""
    long = "A_NAME_THAT_A_VENDOR_GAVE_TO_A_PROCESSOR_TYPE_AND_NOBODY_CAN_READ_ALOUD_"
    names = [f"{long if i < 3 else 'TYPE_'}{i:02d}" for i in range(60)]
    types = tuple(ProcessorType(name, price=1e300 if name.endswith("00") else 1.0) for name in names)
    kinds = (TaskType("TASK_" + 120 * "x"), TaskType("SHORT"))
    center = Datacenter(np.arange(60), np.zeros(60, np.int32), np.arange(60), types)
    n = 240
    workload = vs.Workload(
        job_task_type=np.arange(n) % 2,
        job_first=np.arange(n + 1),
        arrival_us=np.zeros(n),
        operations=np.full(n, 60e6),
        **{name: np.zeros(n) for name in ("data_bytes", "data_rack", "data_shelf")},
        preferred_type=np.full(n, -1),
        task_types=kinds,
    )
    rates = 1.0 + np.arange(60)[:, np.newaxis] / 60 * np.ones(2)
    scenario = Scenario(center, workload, affinity=rates, power_w=np.full((60, 2), 1234.5678))
    folder = tmp_path_factory.mktemp("run") / "wide"
    result = vs.simulate(scenario, engine="reference")
    write_result(folder, result, lambda draft: write_record(draft, scenario))
    return folder


@pytest.fixture(scope="session")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that began at a date, on nodes with names, with jobs of users and partitions, recorded for explain."""
    folder = tmp_path_factory.mktemp("run")
    whose = [("ada" if i % 3 else "bob", "gpu" if i % 2 else "all") for i in range(40)]
    rows = [f"{7000 + i},{user},{part},{600 * i},{1 + i % 3},3600" for i, (user, part) in enumerate(whose)]
    (folder / "jobs.csv").write_text("\n".join(["job_id,account,partition,arrival_s,cores,time_s", *rows]) + "\n")
    (folder / "s.yaml").write_text(
        "extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\nstart_date: 2024-05-06 23:30:00\n"
        "datacenter: {racks: [{nodes: [{count: 2, units: {CPU: {cores: 4}}, names: 'c[01-02]'}]}]}\n"
        "partitions: [{name: all}, {name: gpu}]\npolicy: easy_backfill\n"
        "workload: {file: jobs.csv, columns: {account: user}}\n"
    )
    scenario = read_scenario(folder / "s.yaml")
    result = vs.simulate(scenario, engine="reference")
    policy = resolve(scenario.policy, scenario.options)
    write_result(folder / "dated", result, lambda draft: write_record(draft, scenario, policy=policy))
    return folder / "dated"


@pytest.fixture(scope="session")
def mostly_at_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 100 tasks of type A 96 start at once and 4 wait 10 us; of two tasks of type B one waits 1 us."""
    types, kinds = (ProcessorType("FOR_A"), ProcessorType("FOR_B")), (TaskType("A"), TaskType("B"))
    center = Datacenter(np.array([0] * 96 + [1]), np.zeros(97, np.int32), np.arange(97), types)
    n = 102
    workload = vs.Workload(
        job_task_type=[0, 1],
        job_first=[0, 100, n],
        arrival_us=np.zeros(2),
        operations=np.array([10.0] * 100 + [1.0] * 2),
        **{name: np.zeros(n) for name in ("data_bytes", "data_rack", "data_shelf")},
        preferred_type=np.full(n, -1),
        task_types=kinds,
    )
    folder = tmp_path_factory.mktemp("run") / "mostly"
    write_result(folder, vs.simulate(Scenario(center, workload, affinity=np.eye(2)), engine="reference"))
    return folder


STUDY = """
description: Latency & <em>load</em>
scenario:
  datacenter: {racks: [{units: {CPU_INTEL: 4, GPU: 4}}]}
  workload: {generator: 500jobs, options: {n_jobs: 20}}
  arrivals: {poisson: {mean: 20 us}}
  policy: high
axes:
  policy: [high, flat]
  arrivals.poisson.mean: {log: [10 us, 1 ms], n: 4}
  deployment:
    cases:
      "</script>few": {"datacenter.racks[0].units": {CPU_INTEL: 6, GPU: 2}}
      many: {"datacenter.racks[0].units": {CPU_INTEL: 2, GPU: 6}}
replications: 3
"""


@pytest.fixture(scope="session")
def whole_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished sweep of 16 points, 3 replications each, in files of 12 rows."""
    folder = tmp_path_factory.mktemp("sweep") / "sweep"
    folder.mkdir()
    (folder / "study.yaml").write_bytes(with_checksum(f"{STUDY}# {BLANK}\n".encode()))
    study = read_study(folder / "study.yaml")
    runs, layout = expand(study), Layout.of(study)
    rows = {
        run.run_id: numbers(vs.simulate(scenario_of(study, run), engine="reference").summary, study.record)
        for run in runs
    }
    for i in range(0, len(runs), 12):
        write_chunk(folder, chunk_of(runs[i : i + 12]), rows, layout, is_done=True)
    (folder / "journal").rmdir()
    return folder


@pytest.fixture
def sweep(whole_sweep: Path, tmp_path: Path) -> Path:
    """A copy of the sweep, to change."""
    return Path(shutil.copytree(whole_sweep, tmp_path / "sweep"))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """A copy of a run's folder, to change."""
    return lambda folder: Path(shutil.copytree(folder, tmp_path / "copy"))


def stalled() -> Scenario:
    """Every task prefers an FPGA, of which there is none."""
    workload = generator("500jobs").generate({"n_jobs": 3, "preferred": "FPGA"}, seed=0)
    return changed(transfers(), workload=workload, policy="pref", options={"mode": "only"})
