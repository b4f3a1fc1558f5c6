"""A custom generator: in a file, or in an installed package."""

import importlib.metadata
import os
import sys
import types

import numpy as np
import pytest

import vinesim as vs
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.studies.expand import expand
from vinesim.studies.sweep import sweep
from vinesim.workloads import registry

OWN = """
import numpy as np
from vinesim.workloads.assemble import assemble
from vinesim.workloads.distributions import Distribution, Exponential


def staircase(setting, *, n_jobs: int = 4, step: float = 10.0, noise: Distribution = Exponential(1.0)):
    '''Each job is larger than the one before.'''
    sizes = step * np.arange(1, n_jobs + 1) + noise.draw(n_jobs, setting.sizes())
    return assemble(np.ones(n_jobs, int), np.zeros(n_jobs, int), sizes, **setting.common())
"""
SCENARIO = """
datacenter:
  racks:
    - units: {CPU_INTEL: 2, GPU: 1}
workload: {generator: my_jobs.py:staircase, options: {n_jobs: 6, noise: {constant: 0}}}
arrivals: {iat: 7 us}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_jobs.py").write_text(OWN)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


def edit(path, old, new):
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))


def test_in_a_scenario_with_options_and_arrivals(folder):
    work = read_scenario(folder / "s.yaml").workload
    assert work.operations.tolist() == [10, 20, 30, 40, 50, 60]
    assert work.arrival_us.tolist() == [0, 7, 14, 21, 28, 35]
    assert read_scenario(folder / "s.yaml", ["workload.options.step=1"]).workload.operations[0] == 1


def test_the_function_may_be_omitted_and_python_finds_it_too(folder):
    one = vs.generator(str(folder / "my_jobs.py")).generate(seed=3)
    two = vs.generator(str(folder / "my_jobs.py") + ":staircase").generate(seed=3)
    assert np.array_equal(one.operations, two.operations)
    assert one.n_jobs == 4


def test_an_edited_file_is_run_again_and_changes_the_ids(folder):
    study = {"scenario": "s.yaml", "axes": {"workload.options.step": [1, 2]}, "replications": 2}
    before = [run.run_id for run in expand(vs.study(study, folder))]
    edit(folder / "my_jobs.py", "step * np", "2 * step * np")
    assert read_scenario(folder / "s.yaml").workload.operations[0] == 20
    assert not {*before} & {run.run_id for run in expand(vs.study(study, folder))}
    (folder / "b").mkdir()
    for name in ("my_jobs.py", "s.yaml"):
        (folder / name).rename(folder / "b" / name)
    moved = [run.run_id for run in expand(vs.study(study, folder / "b"))]
    study["scenario"] = "b/s.yaml"
    study["axes"]["workload.generator"] = ["b/my_jobs.py:staircase"]
    assert [run.run_id for run in expand(vs.study(study, folder))] == moved
    assert len({*moved}) == 4


def test_in_a_sweep_every_replication_has_its_own_workload(folder):
    axes = {"workload.options.noise": [{"constant": 0}, {"exponential": {"mean": 1e9}}]}
    found = sweep(vs.study({"scenario": "s.yaml", "axes": axes, "replications": 3}, folder), workers=1)
    assert not found.failures
    latency = found.table["jobs.latency_us.mean"].reshape(2, 3)
    assert len(set(latency[0])) == 1
    assert len(set(latency[1])) == 3


def test_on_the_command_line(folder):
    import subprocess

    words = ["generate", "my_jobs.py", "--option", "n_jobs=3", "--option", "noise={constant: 1 ms}", "-o", "w.parquet"]
    done = subprocess.run([sys.executable, "-m", "vinesim", *words], cwd=folder, capture_output=True, text=True)
    assert "wrote w.parquet: 3 jobs" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "vinesim", "validate", "s.yaml"], cwd=folder, capture_output=True)
    assert done.returncode == 2
    assert b"s.yaml:5:23: workload.generator: expected a workload without running code" in done.stderr
    words = ["validate", "--run-policy-file", "s.yaml"]
    done = subprocess.run([sys.executable, "-m", "vinesim", *words], cwd=folder, capture_output=True)
    assert b"6 jobs" in done.stdout


def test_in_an_installed_package(monkeypatch, folder):
    module = types.ModuleType("my_package_of_jobs")
    module.__file__ = str(folder / "my_jobs.py")
    exec(compile(OWN, module.__file__, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = importlib.metadata.EntryPoint("staircase", f"{module.__name__}:staircase", registry.ENTRY_POINTS)
    broken = importlib.metadata.EntryPoint("broken", "no_such_package:x", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken, entry] if group == entry.group else [])
    registry.generators.cache_clear()
    try:
        with pytest.warns(vs.InputWarning, match="generator broken of an installed package"):
            assert vs.generator("staircase").summary == "Each job is larger than the one before."
        edit(folder / "s.yaml", "my_jobs.py:staircase", "staircase")
        assert read_scenario(folder / "s.yaml").workload.operations[-1] == 60
    finally:
        registry.generators.cache_clear()


WRONG = {
    "import nowhere": ("import numpy as np", "import nowhere", r"my_jobs.py:2: expected a Python file that loads"),
    "raises": ("    sizes =", "    sizes = 1 / 0 +", r"my_jobs.py:9: .*makes a workload, found ZeroDivisionError"),
    "exits": (
        "    sizes =",
        "    raise SystemExit(0)\n    sizes =",
        r"my_jobs.py:9: .*, found SystemExit",
    ),
    "no workload": ("    return assemble", "    return 3 or assemble", "returns a Workload, found int"),
    "positional": ("setting, *, n_jobs", "setting, n_jobs", "options by keyword only"),
    "no type": ("step: float = ", "step=", "staircase.step: expected a type"),
    "other type": ("step: float = ", "step: set = ", "staircase.step: expected a type"),
    "no setting": ("setting, *, ", "*, ", "a first parameter, setting"),
    "its own error": ("    sizes =", "    setting.oops()\n    sizes =", "AttributeError"),
    "wrong columns": ("* np.arange(1, n_jobs + 1)", "* -np.ones(n_jobs)", r"operations"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_reported_in_one_error(folder, case):
    old, new, says = WRONG[case]
    edit(folder / "my_jobs.py", old, new)
    with pytest.raises(InputError, match=says):
        read_scenario(folder / "s.yaml")


@pytest.mark.parametrize(
    ("generator", "says"),
    [
        ("my_jobs.py:stair", r"workload.generator=\S+ expected \S*my_jobs.py:staircase, found"),
        ("none.py:x", r"a Python file, found no file"),
        ("jbos", r"Did you mean jobs\?"),
    ],
)
def test_wrong_names(folder, generator, says):
    with pytest.raises(InputError, match=says):
        read_scenario(folder / "s.yaml", [f"workload.generator={generator}"])


def test_unknown_options_are_reported_with_the_closest(folder):
    with pytest.raises(InputError, match="Did you mean n_jobs"):
        read_scenario(folder / "s.yaml", ["workload.options.njobs=3"])
