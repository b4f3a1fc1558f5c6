"""Small studies of a policy in plain Python, so that nothing is compiled; and policies that fail in every way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vinesim.formats.study.file import study
from vinesim.model.study import Study

POLICIES = '''
import os
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np

from vinesim.model.errors import InputWarning
from vinesim.policies.online.high import High

HERE = Path(__file__).parent


class Plain(High):
    compiled: ClassVar[bool] = False


class DiesOnce(Plain):
    """Ends its process in the run of one seed, the first time only."""

    def unit_order(self, n, random):
        if not (HERE / "died").exists():
            (HERE / "died").touch()
            os._exit(9)


class Dies(Plain):
    """Ends its process whenever it runs."""

    def unit_order(self, n, random):
        with open(HERE / "deaths", "a") as deaths:
            deaths.write("x")
        os._exit(9)


class Warns(Plain):
    """Warns in each run."""

    def unit_order(self, n, random):
        warnings.warn("the units are many", InputWarning, stacklevel=1)


class Goes(Plain):
    """Goes to another folder, when it is loaded and in each run."""

    os.chdir("/")

    def unit_order(self, n, random):
        os.chdir("/")


class Breaks(Plain):
    """Breaks its contract until somebody mends it."""

    def unit_order(self, n, random):
        return None if (HERE / "mended").exists() else np.zeros(n, int)
'''


@pytest.fixture
def make_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Study]:
    """``make_study(axes, changes of the scenario, replications=3)``: on a little datacenter, 4 runs in a chunk."""
    monkeypatch.setattr("vinesim.studies.chunks.MAX_RUNS", 4)
    (tmp_path / "policies.py").write_text(POLICIES)

    def make(axes: dict[str, Any] | None = None, changes: dict[str, Any] | None = None, **more: Any) -> Study:
        scenario = {
            "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
            "workload": {"generator": "mix", "options": {"n_jobs": 12, "shares": {"INT": 1, "MEM": 2}}},
            "arrivals": {"poisson": {"mean": 7}},
            "policy": "policies.py:Plain",
        }
        axes = {"arrivals.poisson.mean": [5, 10, 20], "datacenter.racks[0].units.GPU": [1, 2]} if axes is None else axes
        return study({"scenario": {**scenario, **(changes or {})}, "axes": axes, "replications": 3, **more}, tmp_path)

    return make


def files(folder: Path) -> dict[str, bytes]:
    """The data set of a sweep: the bytes of its files of rows by name."""
    return {file.name: file.read_bytes() for file in (folder / "runs").iterdir()}
