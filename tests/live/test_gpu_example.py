"""The kernels of the examples for GPUs, in PyTorch and in CuPy, on the GPU or the CPU of this machine."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from benchmarks.live_cluster import is_up, one_node, stopped
from vinesim.formats.cluster.file import read_cluster
from vinesim.live import kernels
from vinesim.live.client import connect
from vinesim.live.folder import JOURNAL
from vinesim.live.kernels import kernel_for, load, payload_for, prepare_all, source_of
from vinesim.model.packages import is_installed

FOLDER = Path(__file__).parents[2] / "examples" / "gpu"
TORCH = pytest.param("torch", "encode", marks=pytest.mark.skipif(not is_installed("torch"), reason="needs PyTorch"))
CUPY = ("cupy", "edges")


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """Loads the kernels of an example, as a device process does. Returns its cluster."""
    for registry, empty in (("_KERNELS", {}), ("_PREPARE", []), ("_PAYLOADS", {})):
        monkeypatch.setattr(kernels, registry, empty)

    def ready(library):
        cluster = read_cluster(FOLDER / f"{library}.yaml")
        load(source_of(cluster.kernels), tmp_path)
        prepare_all()
        return cluster

    return ready


@pytest.mark.parametrize(("library", "name"), [TORCH, CUPY])
def test_each_request_gets_its_own_result_however_many_there_are(ready, library, name):
    cluster, random = ready(library), np.random.default_rng(1)
    (application,) = cluster.applications
    payloads = [payload_for(name, 1.0, random) for _ in range(application.application.max_consolidated)]
    run = kernel_for(name, "GPU")
    alone = [run([one])[0].copy() for one in payloads]
    for one, result in zip(alone, run(payloads), strict=True):
        np.testing.assert_allclose(result, one, rtol=0, atol=1e-4)
    assert not np.allclose(alone[0], alone[1], atol=1e-2)


def test_the_edges_are_those_of_sobel(ready):
    from scipy.ndimage import sobel

    ready("cupy")
    (frame,) = [payload_for("edges", 1.0, np.random.default_rng(2))]
    (found,) = kernel_for("edges", "GPU")([frame])
    expected = np.hypot(sobel(frame, axis=1, mode="nearest"), sobel(frame, axis=0, mode="nearest"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("library", "name"), [TORCH, CUPY])
def test_a_cluster_serves_them(ready, library, name):
    ready(library)
    random = np.random.default_rng(3)
    payloads = [payload_for(name, 1.0, random) for _ in range(5)]

    async def answers(folder):
        async with connect(folder) as session:
            await is_up(session)
            mine = session.application(name.upper())
            return await asyncio.gather(*map(mine.request, payloads))

    text = (FOLDER / f"{library}.yaml").read_text().replace(f"{library}_kernels.py", "kernels.py")
    with one_node(text, (FOLDER / f"{library}_kernels.py").read_text()) as folder:
        found = asyncio.run(answers(folder))
        asyncio.run(stopped(folder))
        with closing(sqlite3.connect(folder / JOURNAL)) as journal:
            assert journal.execute("SELECT outcome FROM requests").fetchall() == [("done",)] * len(payloads)
    for result, one in zip(found, payloads, strict=True):
        np.testing.assert_allclose(result, kernel_for(name, "GPU")([one])[0], rtol=0, atol=1e-4)
