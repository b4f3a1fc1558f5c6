import numpy as np
import pytest

from vinesim.formats.results.table import Table
from vinesim.reproduction.data import Data


def data() -> Data:
    table = Table(
        {
            "policy": np.array(["high", "high", "high", "flat"], dtype=object),
            "arrivals.iat": np.array([7.0, 7.0, 30.0, 7.0]),
            "replication": np.array([0, 1, 0, 0]),
            "latency": np.array([24.0, 26.0, 20.0, 110.0]),
        }
    )
    return Data({"main": table}, {"count": lambda: calls.append(1) or len(calls)})


calls: list[int] = []


def test_mean_is_over_the_rows_that_match():
    assert data().mean("main", "latency", policy="high", **{"arrivals.iat": 7}) == 25
    assert data().mean("main", "latency", policy="flat") == 110
    assert data().mean("main", "latency", **{"arrivals.iat": 7 * (1 + 1e-12)}) == pytest.approx(160 / 3)


def test_a_point_that_is_not_there_is_an_error():
    with pytest.raises(KeyError, match="no row of main"):
        data().mean("main", "latency", policy="pref")


def test_a_curve_averages_the_replications():
    curve = data().curve("main", "latency", along="arrivals.iat", policy="high")
    assert curve.x.tolist() == [7, 30]
    assert curve.mean.tolist() == [25, 20]
    assert curve.low[0] < 25 < curve.high[0]
    assert np.isnan(curve.low[1])


def test_labels_keep_their_order():
    assert data().labels("main", "policy") == ["high", "flat"]


def test_a_single_run_is_done_once():
    found = data()
    calls.clear()
    assert (found.result("count"), found.result("count")) == (1, 1)
