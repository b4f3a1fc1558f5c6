"""A sampling that is too fine: refused before the run where it can be known, else the only thing left out."""

import json

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result

SCENARIO = {
    "datacenter": {"racks": [{"units": {"GPU": 1}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 2, "operations": 30e6}},
    "arrivals": {"iat": "1 s"},
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(SCENARIO))
    return path


@pytest.mark.parametrize("sampling", ["1 ns", "0.09 us"])
def test_a_sampling_too_fine_for_the_arrivals_is_refused_before_the_run(file, sampling):
    with pytest.raises(vs.InputError, match=r"sampling=.*expected an interval that gives at most 10,000,000 samples"):
        vs.read_scenario(file, [f"sampling={sampling}"])
    assert vs.read_scenario(file, ["sampling=1 us"]).sampling_us == 1.0


def test_a_horizon_shortens_what_must_be_sampled(file):
    assert vs.read_scenario(file, ["sampling=1 ns", "horizon=1 ms"]).sampling_us == 1e-3
    with pytest.raises(vs.InputError, match="samples"):
        vs.read_scenario(file, ["sampling=1 ns", "horizon=11 ms"])


def test_validate_refuses_it_too(file, vinesim):  # noqa: F811
    file.write_text(json.dumps({**SCENARIO, "sampling": "1 ns"}))
    done = vinesim("validate", file)
    assert (done.code, "sampling" in done.err) == (2, True)


def test_what_could_not_be_known_leaves_the_samples_out_and_nothing_else(file, tmp_path):
    """One job at 0 whose length no arrival tells: the run's other results are written."""
    case = vs.read_scenario(file, ["workload.options.n_jobs=1", "workload.options.operations=1e15", "sampling=1 us"])
    result = vs.simulate(case, engine="reference")
    with pytest.warns(
        vs.InputWarning,
        match="the utilisation over time is left out, the rest of the result is complete: sampling_us: expected",
    ):
        write_result(tmp_path / "out", result)
    with open_result(tmp_path / "out") as found:
        assert "utilization" not in found.names
        assert found.rows("SELECT count(*) FROM tasks") == [(len(result.tasks["task"]),)]
    assert not (tmp_path / "out" / "utilization.parquet").exists()
    fine = vs.simulate(vs.changed(case, sampling_us=1e4), engine="reference")
    assert fine.utilization is not None
    assert np.isclose(fine.summary["makespan_us"], result.summary["makespan_us"])
