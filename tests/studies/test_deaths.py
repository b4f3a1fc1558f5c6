"""Workers, heads and schedulers are killed while a sweep runs: it goes on, or ends with a word and an exit code."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.studies.conftest import files
from vinesim.model.errors import InputError
from vinesim.studies import work
from vinesim.studies.backends import open_backend
from vinesim.studies.backends.loky import Loky
from vinesim.studies.sweep import read_sweep, sweep

ROOT = Path(__file__).parents[2]

KILLERS = '''
import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil

from vinesim.policies.online.high import High

HERE = Path(__file__).parent


def siblings(name):
    """The processes of that name next to this one, below the program that sweeps."""
    sweeping = psutil.Process(int((HERE / "pid").read_text()))
    return [process for process in sweeping.children(recursive=True) if name in process.name()]


@dataclass(frozen=True)
class Plain(High):
    compiled: ClassVar[bool] = False


@dataclass(frozen=True)
class Kills(Plain):
    """Kills something in its first run."""

    def unit_order(self, n, random):
        try:
            (HERE / type(self).__name__).touch(exist_ok=False)
        except FileExistsError:
            return None
        for pid in self.victims():
            os.kill(pid, signal.SIGKILL)
        return None


@dataclass(frozen=True)
class Worker(Kills):
    def victims(self):
        return [os.getpid()]


@dataclass(frozen=True)
class Agent(Kills):
    def victims(self):
        return [process.pid for process in siblings("ray::RuntimeEnv")]


@dataclass(frozen=True)
class Raylet(Kills):
    def victims(self):
        return [os.getppid()]


@dataclass(frozen=True)
class Head(Kills):
    def victims(self):
        return [process.pid for process in siblings("gcs_server")]


@dataclass(frozen=True)
class Listens(Kills):
    """Tells what the sweep's processes listen on."""

    def victims(self):
        sweeping = psutil.Process(int((HERE / "pid").read_text()))
        found = []
        for process in [sweeping, *sweeping.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                found += [c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        (HERE / "listens.json").write_text(json.dumps(found))
        return []
'''


@pytest.fixture
def swept(tmp_path):
    """``swept(policies, *words)``: the exit code and errors of a sweep of 4 runs a policy, in its own process."""
    (tmp_path / "killers.py").write_text(KILLERS)
    (tmp_path / "home").mkdir()
    script = """
import os
from pathlib import Path
from vinesim.cli.start import main
from vinesim.studies import chunks
if __name__ == "__main__":
    Path("pid").write_text(str(os.getpid()))
    chunks.MAX_RUNS = 2
    main()
"""
    (tmp_path / "script.py").write_text(script)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path / "home")}

    def run(policies, *words):
        study = {
            "scenario": {
                "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
                "workload": {"generator": "identical", "options": {"n_jobs": 12}},
                "arrivals": {"poisson": {"mean": 7}},
            },
            "axes": {"policy": [f"killers.py:{name}" for name in policies]},
            "replications": 4,
        }
        (tmp_path / "study.yaml").write_text(json.dumps(study))
        command = [sys.executable, "script.py", "sweep", "study.yaml", "--out", "out", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    return run


@pytest.mark.parametrize("words", [("--backend", "loky", "--workers", "2"), ("--backend", "dask", "--workers", "2")])
def test_a_killed_worker_costs_one_try(swept, tmp_path, words, monkeypatch):
    if "dask" in words:
        pytest.importorskip("distributed")
    code, _ = swept(["Plain", "Worker"], *words)
    assert (code, (tmp_path / "Worker").exists()) == (0, True)
    assert read_sweep(tmp_path / "out").table.n_rows == 8
    assert files(tmp_path / "out") == undisturbed(tmp_path, monkeypatch)


def undisturbed(folder, monkeypatch):
    """The files of the same sweep when nothing is killed any more."""
    monkeypatch.setattr("vinesim.studies.chunks.MAX_RUNS", 2)
    sweep(folder / "study.yaml", folder / "whole", workers=1)
    return files(folder / "whole")


def test_without_workers_the_sweep_itself_is_killed_and_goes_on(swept, tmp_path, monkeypatch):
    assert swept(["Plain", "Worker"], "--workers", "1")[0] == -signal.SIGKILL
    assert read_sweep(tmp_path / "out").table.n_rows == 4
    assert swept(["Plain", "Worker"], "--workers", "1")[0] == 0
    assert files(tmp_path / "out") == undisturbed(tmp_path, monkeypatch)


def test_a_ray_that_is_started_here_listens_on_the_loopback_and_replaces_a_killed_worker(swept, tmp_path):
    pytest.importorskip("ray")
    code, _ = swept(["Plain", "Listens", "Worker"], "--backend", "ray", "--workers", "2")
    assert (code, (tmp_path / "Worker").exists()) == (0, True)
    assert read_sweep(tmp_path / "out").table.n_rows == 12
    listens = json.loads((tmp_path / "listens.json").read_text())
    assert len(listens) > 4
    assert {address.removeprefix("::ffff:") for address in listens} == {"127.0.0.1"}
    token = tmp_path / "home" / ".ray" / "auth_token"
    assert (len(token.read_text()), token.stat().st_mode & 0o777) == (64, 0o600)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["Agent", "Raylet", "Head"])
def test_a_ray_that_ends_is_started_again(swept, tmp_path, victim):
    pytest.importorskip("ray")
    code, err = swept(["Plain", victim, "Worker"], "--backend", "ray", "--workers", "2")
    assert (code, (tmp_path / victim).exists()) == (0, True)
    assert "vinesim: Ray stopped; starting it again" in err
    assert read_sweep(tmp_path / "out").table.n_rows == 12


@pytest.mark.slow
def test_a_ray_cluster_that_ends_is_reported(make_study, tmp_path, monkeypatch):
    if importlib.util.find_spec("ray") is None:  # it is to be imported by the sweep
        pytest.skip("ray is not there")
    code = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
    for name, value in {"AUTH_MODE": "token", "AUTH_TOKEN": "0123456789abcdef" * 2, "USAGE_STATS_ENABLED": "0"}.items():
        monkeypatch.setenv(f"RAY_{name}", value)
    _ends_on_the_way(make_study, tmp_path, code, "ray", r"--address .*: expected the address of a Ray cluster")


def test_a_dask_scheduler_that_ends_is_reported(make_study, tmp_path):
    pytest.importorskip("distributed")
    code = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""
    _ends_on_the_way(make_study, tmp_path, code, "dask", "--backend dask: expected a scheduler that answers")


def _ends_on_the_way(make_study, tmp_path, code, backend, reported):
    """A cluster of that code is killed when some runs of a sweep are done; what it has done is kept."""
    import psutil

    (tmp_path / "cluster.py").write_text(code)
    cluster = psutil.Popen([sys.executable, "cluster.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def on_progress(progress):
        if progress.n_done:
            _kill([*cluster.children(recursive=True), cluster])

    try:
        address = cluster.stdout.readline().decode().strip()
        with pytest.raises(InputError, match=reported):
            sweep(make_study(), tmp_path / "out", backend=backend, address=address, workers=1, on_progress=on_progress)
    finally:
        cluster.stdin.close()
        cluster.wait(60)
        cluster.stdout.close()
    assert read_sweep(tmp_path / "out").table.n_rows >= 4
    sweep(make_study(), tmp_path / "out", workers=1)
    sweep(make_study(), tmp_path / "whole", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def _kill(processes):
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def test_a_worker_that_dies_while_it_is_free_is_replaced():
    workers = Loky(1)
    try:
        worker = workers._free[0].submit(os.getpid).result()
        looks_after_it = workers._free[0]._executor_manager_thread
        os.kill(worker, signal.SIGKILL)
        looks_after_it.join(60)
        assert workers._free[0]._flags.broken is not None
        workers.submit(work.WorkItem(None, {}, b"", {}, "", "", version="another"))
        (finished,) = workers.finished()
        assert "VineSim another" in str(finished.outcome.refused)
    finally:
        workers.close()


def test_ctrl_c_does_not_reach_a_worker_that_only_just_starts():
    import psutil

    workers = Loky(1)
    try:
        workers.submit(work.WorkItem(None, {}, b"", {}, "", "", version="another"))
        started = [p for p in psutil.Process().children(recursive=True) if "loky" in " ".join(p.cmdline())]
        assert started
        for process in started:
            process.send_signal(signal.SIGINT)
        (finished,) = workers.finished()
        assert "another" in str(finished.outcome.refused)
    finally:
        workers.close()


def test_ray_is_not_started_without_its_token(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr("ray.init", lambda *_, **__: pytest.fail("Ray was started"))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    for address in (None, "localhost:6379"):
        with pytest.raises(
            InputError, match="RAY_AUTH_MODE=token: without it, anyone who reaches Ray runs code as you"
        ):
            open_backend("ray", 1, address, 2, print)


def test_rows_that_are_not_there_at_the_end_are_reported(make_study, tmp_path, monkeypatch):
    real = work.write_chunk
    seen = []

    def write_some(*arguments, **options):
        seen.append(1)
        if len(seen) != 2:
            real(*arguments, **options)

    monkeypatch.setattr(work, "write_chunk", write_some)
    with pytest.raises(InputError, match="a row or a reason for every run, found 4 runs with neither"):
        sweep(make_study(), tmp_path / "out", workers=1)
    monkeypatch.undo()
    monkeypatch.setattr("vinesim.studies.chunks.MAX_RUNS", 4)
    assert sweep(make_study(), tmp_path / "out", workers=1).n_found == 18
