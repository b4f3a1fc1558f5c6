"""A workload under another load, and a log made longer."""

import numpy as np
import pytest
import yaml

import vinesim as vs
from vinesim.explore.controls import controls_of
from vinesim.model.errors import InputError
from vinesim.policies.documents import read_scenario
from vinesim.studies.expand import expand, scenario_of
from vinesim.studies.same_workload import same_workload
from vinesim.studies.sweep import sweep

UNITS = {"datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]}, "policy": "high"}
MIX = {"generator": "mix", "options": {"n_jobs": 20, "shares": {"INT": 1, "MEM": 2}}}
DAY_US = 86400e6
WORKLOADS = {
    "generator": {"workload": MIX, "arrivals": {"iat": 5}},
    "random": {"workload": MIX, "arrivals": {"poisson": {"mean": 7}}},
    "requests": {
        "workload": {
            "generator": "requests",
            "options": {"duration_us": "1 s", "classes": {"a": {"rate": 20, "time": "1 ms", "deadline": "5 ms"}}},
        }
    },
    "table": {"workload": {"file": "jobs.csv"}},
    "trace": {"workload": {"file": "trace.txt"}, "arrivals": {"iat": 3}},
}


def _files(folder):
    rows = "".join(f"{i},INT,{9 + i},{1000 * i},{1000 * i + 500},{1000 * i + 90}\n" for i in range(6))
    header = "job,task_type,operations,arrival_us,deadline_us,withdraw_us\n"
    (folder / "jobs.csv").write_text(header + rows)
    (folder / "trace.txt").write_text("".join(f"2 0 0 0 30000000 2 {i}\n" for i in range(4)))


def _read(folder, document, changes=()):
    _files(folder)
    (folder / "a.yaml").write_text(yaml.safe_dump({**UNITS, **document}))
    return read_scenario(folder / "a.yaml", changes).workload


@pytest.mark.filterwarnings("ignore:the policy .* does not look at")
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "requests"])
def test_the_same_jobs_arrive_in_less_time(tmp_path, name):
    plain = _read(tmp_path, WORKLOADS[name])
    loaded = _read(tmp_path, WORKLOADS[name], ["workload.load=1.25"])
    np.testing.assert_array_equal(loaded.arrival_us, plain.arrival_us / 1.25)
    np.testing.assert_array_equal(loaded.operations, plain.operations)
    if plain.deadline_us is not None:
        lead = plain.deadline_us - plain.arrival_us
        np.testing.assert_allclose(loaded.deadline_us - loaded.arrival_us, lead)
        np.testing.assert_allclose(loaded.withdraw_us - loaded.arrival_us, plain.withdraw_us - plain.arrival_us)


@pytest.mark.parametrize("load", ["0", "-1", ".inf", "much"])
def test_a_load_is_a_number_above_0(tmp_path, load):
    with pytest.raises(InputError, match="load"):
        _read(tmp_path, WORKLOADS["table"], [f"workload.load={load}"])


@pytest.mark.parametrize("arrivals", [{"iat": 5}, {"poisson": {"mean": 7}}])
def test_a_sweep_of_loads_has_the_runs_of_their_scenarios(arrivals):
    scenario = {**UNITS, "workload": MIX, "arrivals": arrivals}
    study = vs.study({"scenario": scenario, "axes": {"workload.load": [1, 2.5]}, "replications": 3})
    rows = sweep(study, workers=1).table["jobs.latency_us.mean"]
    for engine in ("reference", "compiled"):
        runs = [vs.simulate(scenario_of(study, run), engine=engine) for run in expand(study)]
        assert rows.tolist() == [run.summary["jobs"]["latency_us"]["mean"] for run in runs]


def _log(folder, repeat, seed=0):
    rows = "".join(f"{i},INT,{9 + i},{i * DAY_US / 4}\n" for i in range(17))  # 4 days, and one job of the fifth
    (folder / "log.csv").write_text("job,task_type,operations,arrival_us\n" + rows)
    (folder / "a.yaml").write_text(yaml.safe_dump({**UNITS, "workload": {"file": "log.csv", "repeat": repeat}}))
    return read_scenario(folder / "a.yaml", [f"seed={seed}"]).workload


def test_a_log_goes_on_with_blocks_of_itself(tmp_path):
    works = [_log(tmp_path, {"times": 2.5, "block": "1 d"}, seed) for seed in range(5)]
    for work in works:
        np.testing.assert_array_equal(work.arrival_us, np.arange(40) * DAY_US / 4)
        days = work.operations.reshape(10, 4)
        np.testing.assert_array_equal(days[:4].ravel(), 9 + np.arange(16))
        assert {tuple(day) for day in days[4:].tolist()} <= {tuple(day) for day in days[:4].tolist()}
    assert len({tuple(work.operations) for work in works}) > 1
    np.testing.assert_array_equal(_log(tmp_path, {"times": 1, "block": "1 d"}).operations, works[0].operations[:16])


def test_replications_of_a_longer_log_differ(tmp_path):
    _log(tmp_path, {"times": 2, "block": "1 d"})
    study = vs.study({"scenario": "a.yaml", "replications": 4}, tmp_path)
    assert same_workload(study) is None
    works = [scenario_of(study, run).workload for run in expand(study)]
    assert len({tuple(work.operations) for work in works}) > 1


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"generator": "500jobs", "repeat": {"times": 2, "block": 5}}, "repeat only with a file"),
        ({"file": "jobs.csv", "repeat": {"times": 2, "block": 5}, "resample": {"block": 5}}, "repeat or resample"),
        ({"file": "jobs.csv", "repeat": {"times": 0.5, "block": 5}}, "times"),
        ({"file": "jobs.csv", "repeat": {"times": 2, "block": "1 d"}}, "a block of at most half"),
    ],
)
def test_what_cannot_be_repeated(tmp_path, workload, message):
    with pytest.raises(InputError, match=message):
        _read(tmp_path, {"workload": workload})


def test_explore_has_the_slider():
    (slider,) = (c for c in controls_of({**UNITS, "workload": MIX}) if c.key == "workload.load")
    assert (slider.title, slider.group, slider.value, slider.low, slider.high) == ("Load", "Load", 1.0, 0.1, 10.0)
