"""The kernels of the example: every implementation gives what the others give."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from benchmarks.gpu.found import gpu
from vinesim.formats.cluster.file import read_cluster
from vinesim.live import kernels
from vinesim.live.kernels import kernel_for, load, payload_for, source_of

FOLDER = Path(__file__).parents[2] / "examples" / "live"


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory):
    """Its kernels, and none that other tests of this process have loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "_KERNELS", {})
        load(source_of(str(FOLDER / "kernels.py")), tmp_path_factory.mktemp("kernels"))
        yield


@pytest.mark.parametrize("name", ["search", "option", "sql", "video"])
def test_all_types_give_the_same_results(name):
    random = np.random.default_rng(3)
    payloads = [payload_for(name, float(size), random) for size in (1, 2, 3)]
    alone = [kernel_for(name, "CPU")([one])[0] for one in payloads]
    together = kernel_for(name, "ACC")(payloads)
    assert len(alone) == 3
    if name in ("option", "video"):
        np.testing.assert_allclose(alone, together, rtol=1e-9)
    else:
        assert alone == together


def test_the_results_are_right():
    (found,) = kernel_for("search", "CPU")([np.eye(64, dtype=np.float32)[5]])
    documents = np.random.default_rng(0).standard_normal((20_000, 64), dtype=np.float32)
    assert found == np.argsort(documents[:, 5])[::-1][:10].tolist()
    (rows,) = kernel_for("sql", "CPU")([7])
    amounts = [(row % 7, (row * 37) % 1000) for row in range(50_000) if row % 100 == 7]
    assert rows == [[day, sum(a for d, a in amounts if d == day)] for day in range(7)]


def test_a_kernel_that_is_not_there_is_named():
    with pytest.raises(LookupError, match=r"no kernel 'none' for GPU; there are: .*search on CPU"):
        kernel_for("none", "GPU")


@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="needs numba-cuda")
@pytest.mark.parametrize("simulated", ["1", "0"], ids=["in the simulator of CUDA", "on a GPU"])
def test_option_pricing_on_a_gpu_gives_what_a_cpu_gives(tmp_path, simulated):
    if simulated == "0" and not gpu():
        pytest.skip("needs a GPU")
    script = (
        "from pathlib import Path\nfrom vinesim.live.kernels import *\n"
        f"load(source_of({str(FOLDER / 'kernels.py')!r}), Path({str(tmp_path)!r}))\n"
        "import sys\nsys.modules['vinesim_live_kernels'].N_OPTIONS = 50\n"
        "one = [{'spot': 100.0, 'rate': 0.02, 'volatility': 0.2}]\n"
        "print(kernel_for('option', 'GPU')(one)[0] / kernel_for('option', 'CPU')(one)[0])"
    )
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": simulated}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(1.0, rel=1e-9)


def test_the_load_fits_the_cluster():
    cluster, load_of = read_cluster(FOLDER / "cluster.yaml"), vs.read_scenario(FOLDER / "load.yaml")
    served = {one.application.name: one.application for one in cluster.applications}
    for application in load_of.applications:
        assert served[application.name] == application
    assert cluster.datacenter.n_units == load_of.datacenter.n_units
