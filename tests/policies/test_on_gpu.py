"""ABF on a GPU: in the simulator of CUDA, its kernel compiled for real GPUs, and faults of a GPU's software."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vinesim as vs
from tests.properties.test_placement import question
from vinesim.policies.contract import PERIOD_US
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit
from vinesim.policies.placement.kernels import on_gpu

ROOT = Path(__file__).parents[2]
IN_THE_SIMULATOR = """
from tests.properties.test_placement import question
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit
for seed in range(6):
    tasks, servers = question(seed, n_servers=20, n_tasks=12)
    for pad in ("none", "pow2"):
        one = AcceleratedBestFit(block_size=4, pad=pad, device="cuda").place(tasks, servers)
        other = AcceleratedBestFit(block_size=4, pad=pad).place(tasks, servers)
        assert one.tolist() == other.tolist()
"""
TO_PTX = """
from pathlib import Path
from types import SimpleNamespace
import numba.cuda.dispatcher
from numba import cuda, float64, int32, int64
from vinesim.live.kernels import load, source_of
from vinesim.policies.placement.kernels.cuda_kernel import kernel_of
numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(7, 5))  # there need be none
reals, numbers = float64[::1], int64[::1]
abf = kernel_of(32).py_func, (float64[:, :, ::1], reals, int32[::1], reals, reals, reals, numbers, numbers, numbers)
load(source_of("examples/live/kernels.py"), Path(sys.argv[1]))
(option,) = [cell.cell_contents for cell in sys.modules["vinesim_live_kernels"].price_on_gpu().__closure__]
for function, signature in (abf, (option.py_func, (reals, reals, float64, float64, float64, reals))):
    text, _ = cuda.compile_ptx(function, signature, cc=(7, 5))
    assert ".target sm_75" in text
    assert text.count(".entry") == 1
"""


def run(code: str, *words: str, **environment: str) -> None:
    """Run Python code in a process of its own, in the folder of the project; it must succeed."""
    code = f"import sys\nsys.path.insert(0, '.')\n{code}"
    process = [sys.executable, "-c", code, *words]
    done = subprocess.run(process, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_cuda_kernel_in_the_simulator_places_as_the_cpu_does():
    pytest.importorskip("numba_cuda")
    run(IN_THE_SIMULATOR, NUMBA_ENABLE_CUDASIM="1")


def test_the_kernels_compile_to_ptx_without_a_gpu(tmp_path):
    pytest.importorskip("numba_cuda")
    run(TO_PTX, str(tmp_path))


def fails(*_):
    raise AttributeError("module 'numpy' has no attribute 'row_stack'")


@pytest.mark.parametrize("copies", [True, False], ids=["in the kernel", "in a copy"])
def test_a_fault_of_the_gpus_software_is_not_the_policys(monkeypatch, copies):
    pytest.importorskip("numba_cuda")
    from vinesim.policies.placement.kernels import cuda_kernel

    monkeypatch.setattr(on_gpu, "_cuda", lambda: SimpleNamespace(to_device=np.array if copies else fails))
    monkeypatch.setattr(cuda_kernel, "kernel_of", fails)
    scenario = vs.read_scenario(ROOT / "examples" / "energy.yaml", ["policy=abf", "options={device: cuda}"])
    found = r"expected GPU software that works, found AttributeError: module 'numpy' has no attribute 'row_stack'"
    with pytest.raises(vs.InputError, match=rf"policy\.options\.device: {found}\. Use device=cpu\."):
        vs.simulate(scenario)


def test_advice_on_performance_is_not_printed_and_other_warnings_are():
    with on_gpu.gpu_software():
        warnings.warn("\x1b[1mGrid size 5 will likely result in GPU under-utilization", stacklevel=1)
    with pytest.raises(vs.InputError, match="UserWarning: other"), on_gpu.gpu_software():
        warnings.warn("other", stacklevel=1)


@pytest.mark.parametrize("fault", ["lost", "moved", "load"])
def test_a_wrong_answer_of_the_gpu_is_an_error(fault):
    from vinesim.policies.placement.kernels.best_fit import Cost, best_fit_in_blocks
    from vinesim.policies.placement.kernels.instance import Instance

    tasks, servers = question(5, n_servers=20, n_tasks=30, loaded=False, nasty=False)
    cost = Cost("fitted", 1000.0, PERIOD_US)
    right = Instance.of(tasks, servers)
    placed = best_fit_in_blocks(right, cost, 2, "scan")
    on_gpu.check(Instance.of(tasks, servers), cost, 2, placed, right.load)
    if fault == "lost":
        placed[3] = -2
    elif fault == "moved":
        placed[0] = (placed[0] + 1) % len(servers.load)
    else:
        right.load[placed[0]] += 1.0
    with pytest.raises(vs.PolicyError, match="GPU"):
        on_gpu.check(Instance.of(tasks, servers), cost, 2, placed, right.load)


def test_what_is_missing_for_a_gpu_is_named(monkeypatch):
    cuda = pytest.importorskip("numba.cuda")
    tasks, servers = question(5)
    policy = AcceleratedBestFit(device="cuda")
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    for error, found in (("\nno driver\n", "no driver"), (None, r"no compiler \(NVVM\)")):
        monkeypatch.setattr(cuda, "cuda_error", lambda error=error: error)
        with pytest.raises(vs.InputError, match=f"policy.options.device: expected a GPU with CUDA, found {found}"):
            policy.place(tasks, servers)
    monkeypatch.setattr(on_gpu, "is_installed", lambda package: False)
    with pytest.raises(vs.InputError, match=r'python -m pip install "numba-cuda\[cu13\]>='):
        policy.place(tasks, servers)
