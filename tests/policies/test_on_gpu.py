"""ABF and DCBF on a GPU: in the simulator of CUDA, compiled for real GPUs, and faults of a GPU's software."""

import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vinesim as vs
from benchmarks.gpu.found import gpu
from tests.properties.test_placement import question
from vinesim.policies.contract import PERIOD_US
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit
from vinesim.policies.placement.kernels import on_gpu

ROOT = Path(__file__).parents[2]
AS_THE_CPU = """
import numpy as np
from tests.properties.test_placement import question
from vinesim.policies.placement import blocked_best_fit
from vinesim.policies.placement.blocked_best_fit import AcceleratedBestFit, DivideAndConquerBestFit
from vinesim.policies.placement.kernels import on_gpu
compared = []
compare = on_gpu.compare
on_gpu.compare = lambda *words: (compared.append(words), compare(*words))
variants = ("fitted", "literal", "fitfirst", "marginal")
for seed in range(8):
    tasks, servers = question(seed, n_servers=20, n_tasks=12)
    options = {"block_size": 4, "pad": ("none", "pow2")[seed % 2], "cost": variants[seed // 2]}
    one = AcceleratedBestFit(**options, device="cuda").place(tasks, servers)
    other = AcceleratedBestFit(**options).place(tasks, servers)
    assert one.tolist() == other.tolist()
assert len(compared) == 8, "other servers are a first call"
compared.clear()
on_gpu.SAMPLED = 4
sizes = iter((12, 5, 12, 20, 1, 12, 12))
for period, load in enumerate([servers.load, servers.load, servers.load * 2, servers.load, *[servers.load + 0.5] * 3]):
    load = load.copy()
    load[period] += 0.25  # one that changes alone, and all of them
    asked = question(period, n_servers=20, n_tasks=next(sizes))[0], servers._replace(load=load)
    policy = AcceleratedBestFit(block_size=4, device="cuda", check="full" if period == 6 else "sample")
    assert policy.place(*asked).tolist() == AcceleratedBestFit(block_size=4).place(*asked).tolist()
assert len(compared) == 2, "period 3 is the fourth call, and period 6 is checked fully"
compared.clear()
blocked_best_fit.MAX_THREADS = 4  # fewer than the servers of a block
for seed in range(8):
    options = {"blocks": (1, 2, 3, 20)[seed % 4], "cost": variants[seed // 2]}
    tasks, servers = question(seed, n_servers=20, n_tasks=12)
    on_cpu = DivideAndConquerBestFit(**options).place(tasks, servers).tolist()
    for _ in range(2):  # the loads there stay as they were
        one = DivideAndConquerBestFit(**options, device="cuda", check="full").place(tasks, servers)
        assert one.tolist() == on_cpu
assert len(compared) == 16
"""
TO_PTX = """
from pathlib import Path
from types import SimpleNamespace
import numba.cuda.dispatcher
from numba import cuda, float64, int32, int64
from vinesim.live.kernels import load, source_of
from vinesim.policies.placement.kernels.cuda_kernel import kernel_of, prepare, wide_kernel_of
capability, names = tuple(map(int, sys.argv[2:4])), sys.argv[4:]
numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)  # there need be none
reals, table, kinds = float64[::1], float64[:, ::1], int32[::1]
asked = table, reals, int64, kinds, table, float64, reals, reals
kernels = [(make(32, name).py_func, asked) for make in (kernel_of, wide_kernel_of) for name in names]
kernels.append((prepare.py_func, (reals, int64, int64, table, float64, table, reals, reals)))
load(source_of("examples/live/kernels.py"), Path(sys.argv[1]))
(option,) = [cell.cell_contents for cell in sys.modules["vinesim_live_kernels"].price_on_gpu().__closure__]
kernels.append((option.py_func, (reals, reals, float64, float64, float64, reals)))
bounds = kernel_of(1024, "fitted").targetoptions["launch_bounds"]
text, _ = cuda.compile_ptx(*kernels[0], cc=capability, launch_bounds=bounds)
assert ".maxntid 1024" in text, "its registers suffice for a block"
for function, signature in kernels:
    text, _ = cuda.compile_ptx(function, signature, cc=capability)
    assert ".target sm_{}{}".format(*capability) in text
    assert text.count(".entry") == 1
"""


def run(code: str, *words: str, **environment: str) -> None:
    """Run Python code in its own process, in the folder of the project; it must succeed."""
    code = f"import sys\nsys.path.insert(0, '.')\n{code}"
    process = [sys.executable, "-c", code, *words]
    done = subprocess.run(process, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_cuda_kernel_in_the_simulator_places_as_the_cpu_does():
    pytest.importorskip("numba_cuda")
    run(AS_THE_CPU, NUMBA_ENABLE_CUDASIM="1")


def test_the_cuda_kernel_on_a_gpu_places_as_the_cpu_does():
    if not gpu():
        pytest.skip("needs a GPU")
    run(AS_THE_CPU)


TO_COMPILE = [
    pytest.param("7 5 marginal literal", id="the oldest"),
    pytest.param("9 0 marginal literal fitfirst fitted", id="H100 and H200", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("words", TO_COMPILE)
def test_the_kernels_compile_to_ptx_without_a_gpu(tmp_path, words):
    pytest.importorskip("numba_cuda")
    run(TO_PTX, str(tmp_path), *words.split())


def fails(*_):
    raise AttributeError("module 'numpy' has no attribute 'row_stack'")


@pytest.mark.parametrize("copies", [True, False], ids=["in the kernel", "in a copy"])
def test_a_fault_of_the_gpus_software_is_not_the_policys(monkeypatch, copies):
    pytest.importorskip("numba_cuda")
    arrays = {"to_device": np.array, "device_array_like": np.empty_like, "pinned_array": np.empty}
    monkeypatch.setattr(on_gpu, "_cuda", lambda: SimpleNamespace(**arrays | ({} if copies else {"to_device": fails})))
    monkeypatch.setattr(on_gpu, "_KEPT", [])
    monkeypatch.setattr(on_gpu.Resident, "place", fails)
    scenario = vs.read_scenario(ROOT / "examples" / "energy.yaml", ["policy=abf", "options={device: cuda}"])
    found = r"expected GPU software that works, found AttributeError: module 'numpy' has no attribute 'row_stack'"
    with pytest.raises(vs.InputError, match=rf"policy\.options\.device: {found}\. Use device=cpu\."):
        vs.simulate(scenario)


def test_advice_on_performance_is_not_printed_and_other_warnings_are():
    with on_gpu.gpu_software():
        warnings.warn("\x1b[1mGrid size 5 will likely result in GPU under-utilization", stacklevel=1)
    with pytest.raises(vs.InputError, match="UserWarning: other"), on_gpu.gpu_software():
        warnings.warn("other", stacklevel=1)


OUTSIDE = {"lost": -2.0, "no number": np.nan, "endless": np.inf, "between two": 2.5}
SUMS, WORDS = "the loads are not the sums", {"unable": "1 tasks are on servers that cannot run them"}
FAULTS = (*OUTSIDE, "another block", *WORDS, "moved", "more", "less", "last bit", "another choice")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_answer_of_the_gpu_is_an_error(fault):
    from vinesim.policies.placement.kernels.best_fit import Cost, best_fit_in_blocks
    from vinesim.policies.placement.kernels.instance import Instance

    tasks, servers = question(5, n_servers=20, n_tasks=30, loaded=False, nasty=False)
    servers = servers._replace(load=np.arange(len(servers.load)) % 3 / 8)
    cost = Cost("fitted", 1000.0, PERIOD_US)
    after = Instance.of(tasks, servers)
    placed = best_fit_in_blocks(after, cost, 2, "scan")
    before, time, n_servers = Instance.of(tasks, servers), after.times_us(), len(after.load)
    work, found = servers.load.copy(), np.zeros((2, len(placed)))
    found[0] = placed
    for task, server in enumerate(placed):
        work[server] += tasks.demand[task]
        found[1, task] = work[server]
    assert np.allclose(work, after.load)
    work = servers.load.copy()

    def checked():
        try:
            return on_gpu.check(before, time, 2, found, work).tolist()
        finally:
            assert work.tolist() == servers.load.tolist()

    assert checked() == placed.tolist()
    on_gpu.compare(before, cost, 2, placed)
    assert before.load.tolist() == servers.load.tolist()
    is_another = fault == "another choice"
    if fault in OUTSIDE:
        found[0, 3] = OUTSIDE[fault]
    elif fault == "another block":
        found[0, 0] = n_servers - 1
    elif fault == "unable":
        time[0] = np.inf
    elif fault == "moved" or is_another:
        found[0, 0] = placed[0] = (placed[0] + 1) % (n_servers // 2)
    elif fault == "more":
        found[1, np.argmax(found[1])] += 1.0
    elif fault == "less":
        found[1] -= 0.01
    elif fault == "last bit":
        found[1, 7] = np.nextafter(found[1, 7], 0.0)
    if is_another:
        load = servers.load.copy()
        for task, server in enumerate(placed):
            load[server] += tasks.demand[task]
            found[1, task] = load[server]
        assert checked() == placed.tolist()  # a right answer, but to another question
        with pytest.raises(vs.PolicyError, match="other servers than on the CPU"):
            on_gpu.compare(before, cost, 2, placed)
        return
    words = "not placed on servers of their blocks" if fault in (*OUTSIDE, "another block") else WORDS.get(fault, SUMS)
    with pytest.raises(vs.PolicyError, match=words):
        checked()


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
