"""Figure 8 draws the utilisation as results give it: of the units that run kernels, without the CPUs that do not."""

from types import SimpleNamespace

import numpy as np
import pytest

from vinesim_papers.vinesim import fig8


def test_the_utilisation_of_accelerators_that_never_idle_is_all():
    pytest.importorskip("matplotlib")
    one = np.ones(2)
    curve = SimpleNamespace(x=np.array([0.0, 1.0]), mean=one, low=one, high=one)
    figure = fig8.ITEM.draw(SimpleNamespace(curve=lambda *_, **__: curve))["fig8"]
    _, used = figure.axes
    assert used.get_ylabel() == "utilisation, %"
    assert max(np.max(line.get_ydata()) for line in used.lines) == 100.0
