"""The same sweep on every back-end: the same files, whatever dies. In Dask and Ray the workers are other processes."""

import importlib.util
import signal
import subprocess
import sys
import time

import pytest

from tests.studies.conftest import files
from vinesim.model.errors import InputError
from vinesim.studies import work
from vinesim.studies.backends import open_backend
from vinesim.studies.backends.dask import Dask
from vinesim.studies.backends.ray_security import ask_for_token
from vinesim.studies.sweep import read_sweep, sweep

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the clusters' own libraries
]


@pytest.fixture
def no_orphans():
    """No process that a test starts outlives it."""
    import psutil

    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        left = [
            p for p in psutil.Process().children(recursive=True) if p.pid not in before and "tracker" not in _words(p)
        ]
        if not left:
            return
        psutil.wait_procs(left, 0.2)
    raise AssertionError([_words(process) for process in left])


def _words(process):
    import psutil

    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "tracker"  # gone


@pytest.fixture(scope="module")
def ray_address():
    """A Ray of two nodes of one CPU each, which asks for a token."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 2)
        pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        ask_for_token()  # Ray read the environment when it was imported, maybe by another test

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
        yield cluster.address
        cluster.shutdown()


@pytest.fixture(scope="module")
def dask_address():
    """A Dask scheduler with two workers of one thread each; it tries again by itself, but once, as each death costs a
    second."""
    pytest.importorskip("distributed")
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
    ):
        yield cluster.scheduler_address


RAY = pytest.param("ray at", marks=pytest.mark.slow)  # tests/studies/test_deaths.py tries Ray too


@pytest.fixture(params=["loky", "dask", "dask at", RAY])
def where(request):
    """The back-end's arguments of ``sweep``; "at" is a cluster that runs already."""
    name, _, at = request.param.partition(" ")
    if name == "dask":
        pytest.importorskip("distributed")
    return {"backend": name, **({"address": request.getfixturevalue(f"{name}_address")} if at else {"workers": 2})}


def test_the_files_are_the_same_everywhere(make_study, tmp_path, where, no_orphans):
    study = make_study()
    sweep(study, tmp_path / "here", workers=1)
    found = sweep(study, tmp_path / "there", **where)
    assert (found.failures, found.table.n_rows) == ((), 18)
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert sorted(entry.name for entry in (tmp_path / "there").iterdir()) == [
        "inputs",
        "origin.json",
        "runs",
        "study.yaml",
    ]


@pytest.mark.parametrize("where", ["loky", "dask at", RAY], indirect=True)  # whoever started the workers
def test_workers_that_do_not_see_the_folder_send_the_rows(make_study, tmp_path, where):
    study = make_study({"policy": ["policies.py:Plain", "policies.py:Breaks"]})
    with pytest.MonkeyPatch.context() as patch:  # to a worker the file by which it knows the folder is never there
        patch.setattr(work.WorkItem, "__init__", _changed(work.WorkItem.__init__, token="nowhere"))
        sweep(study, tmp_path / "there", **where)
    sweep(study, tmp_path / "here", workers=1)
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert len(read_sweep(tmp_path / "there").failures) == 3


def test_deaths_of_workers_cost_a_retry_and_the_guilty_run_is_named(make_study, tmp_path, where, no_orphans):
    names = ["Plain", "DiesOnce", "Dies", "Breaks"]
    n = 1 if where == {"backend": "dask", "workers": 2} else 2  # of a Dask that runs already each is looked at twice
    study = make_study({"policy": [f"policies.py:{name}" for name in names]}, replications=n)
    found = sweep(study, tmp_path / "out", **where)
    reported = [(failure.point["policy"], failure.seed, failure.message) for failure in found.failures]
    assert [name for name, _, _ in reported] == ["policies.py:Dies"] * n + ["policies.py:Breaks"] * n
    assert [seed for _, seed, _ in reported] == [*range(n), *range(n)]
    assert all("died" in text and "3 times" in text for _, _, text in reported[:n])
    assert all("permutation" in text for _, _, text in reported[n:])
    assert found.table["policy"].tolist() == ["policies.py:Plain"] * n + ["policies.py:DiesOnce"] * n
    assert len(read_sweep(tmp_path / "out").failures) == 2 * n


def test_many_deaths_at_once(make_study, tmp_path):
    study = make_study({"policy": ["policies.py:Dies", "policies.py:Plain"]}, replications=4)
    found = sweep(study, tmp_path / "out", workers=2)
    assert [failure.point["policy"] for failure in found.failures] == ["policies.py:Dies"] * 4
    assert found.table.n_rows == 4


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(make_study, tmp_path, where, no_orphans):
    study = make_study()
    with pytest.raises(KeyboardInterrupt):
        sweep(study, tmp_path / "out", on_progress=_interrupted_after(2), **where)
    assert len(files(tmp_path / "out")) >= 1
    goes_on = where if "address" in where else {"workers": 1}  # a cluster that runs already takes further work
    sweep(study, tmp_path / "out", **goes_on)
    sweep(study, tmp_path / "whole", workers=1)
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def _interrupted_after(n):
    calls = []

    def on_progress(progress):
        calls.append(progress)
        if len(calls) == n:
            raise KeyboardInterrupt

    return on_progress


def test_a_policy_of_a_script_goes_with_the_study(make_study, tmp_path):
    code = f"""
from dataclasses import dataclass
from typing import ClassVar
from vinesim import study, sweep
from vinesim.policies.online.high import High

@dataclass(frozen=True)
class Mine(High):
    compiled: ClassVar[bool] = False

scenario = {make_study().scenario!r}
if __name__ == "__main__":
    mine = study({{"scenario": scenario, "axes": {{"policy": [Mine]}}, "replications": 2}})
    found = sweep(mine, workers=2, backend="loky")
    print(found.table["policy"].tolist(), found.failures)
"""
    (tmp_path / "script.py").write_text(code)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['high', 'high'] ()\n", "")


def test_workers_end_when_the_sweep_is_killed(tmp_path):
    import psutil

    code = """
import time
from vinesim.studies.backends.loky import Loky
if __name__ == "__main__":
    team = Loky(2)
    team._free[0].submit(time.sleep, 1000)
    print(team._free[1].submit(abs, -1).result(), flush=True)
    time.sleep(1000)
"""
    (tmp_path / "script.py").write_text(code)
    with subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == b"1\n"
        workers = psutil.Process(script.pid).children(recursive=True)
        assert len(workers) >= 2
        script.send_signal(signal.SIGKILL)
        script.wait()
    _, alive = psutil.wait_procs(workers, 20)
    assert not alive


@pytest.mark.parametrize("backend", ["dask", "ray"])
def test_an_address_where_nothing_listens(make_study, backend):
    if importlib.util.find_spec({"dask": "distributed", "ray": "ray"}[backend]) is None:
        pytest.skip(f"{backend} is not there")
    with pytest.raises(InputError, match=r"--address localhost:1: expected the address of a .* Is it running\?"):
        sweep(make_study(), backend=backend, address="localhost:1")


def test_another_version_of_vinesim_is_refused(make_study, tmp_path, monkeypatch):
    monkeypatch.setattr(work.WorkItem, "__init__", _changed(work.WorkItem.__init__, version="0.0.1"))
    with pytest.raises(InputError, match=r"expected VineSim 0\.0\.1, found .* Install the same version everywhere"):
        sweep(make_study(), tmp_path / "out", workers=1)


def _changed(real, **values):
    """The constructor, with these attributes as they are here."""

    def make(item, *arguments, **named):
        real(item, *arguments, **named)
        for name, value in values.items():
            object.__setattr__(item, name, value)

    return make


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r'the package ray, found it is not installed. Install it: .*python -m pip install "ray>='
    ):
        open_backend("ray", 2, None, 1, print)


def test_a_scheduler_without_workers(monkeypatch):
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    monkeypatch.setattr("vinesim.studies.backends.dask.WORKERS_TIMEOUT_S", 0.5)
    said = []
    with (
        LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as cluster,
        pytest.raises(InputError, match="a scheduler with workers"),
    ):
        Dask(None, cluster.scheduler_address, said.append)
    assert said == ["waiting for the first Dask worker"]
