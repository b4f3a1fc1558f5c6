import json
import math
import pickle
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vinesim as vs
from vinesim.formats.scenario.document import ScenarioDocument
from vinesim.formats.scenario.keys import unknown_key
from vinesim.formats.source.yaml_source import steps_of
from vinesim.formats.study.file import is_study, read_study, study, study_schema
from vinesim.formats.study.text import inlined, to_yaml
from vinesim.metrics.numbers import numbers
from vinesim.model.errors import InputError
from vinesim.model.run_numbers import NUMBERS
from vinesim.model.study import Axis, Study, Until
from vinesim.policies.online.high import High
from vinesim.policies.online.pref import Pref
from vinesim.studies.check import check_points
from vinesim.studies.expand import expand, scenario_of

EXAMPLES = Path(__file__).parents[3] / "examples"
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
}
TEXT = "scenario: s.yaml\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    return tmp_path


@pytest.fixture
def read(folder):
    def read(text):
        (folder / "study.yaml").write_text(text)
        return read_study(folder / "study.yaml")

    return read


@pytest.fixture
def problems(read):
    def problems(text, and_points=False):
        found = read(text) if and_points else None
        with pytest.raises(InputError) as error:
            read(text) if found is None else check_points(found)
        return [re.sub(r"^\S*/(study|s)\.yaml", r"\1.yaml", str(problem)) for problem in error.value.problems]

    return problems


def column(found, name):
    """The labels of an axis of one column."""
    (axis,) = (axis for axis in found.axes if axis.columns == (name,))
    return [label for (label,) in axis.labels]


def test_the_example_is_valid_and_its_schema_the_current_one():
    found = read_study(EXAMPLES / "study.yaml")
    assert (found.n_points, found.n_runs, check_points(found)) == (6, 30, 6)
    assert json.loads((EXAMPLES / "study.schema.json").read_text()) == json.loads(json.dumps(study_schema()))
    assert (EXAMPLES / "study.yaml").read_text().startswith("# yaml-language-server: $schema=study.schema.json\n")
    assert is_study(EXAMPLES / "study.yaml")
    assert not is_study(EXAMPLES / "quickstart.yaml")


def test_a_study_is_reported_in_full(read):
    found = read(
        TEXT
        + """
description: many
axes:
  policy: [high, flat]
  arrivals.iat: {log: [1 us, 1 ms], n: 4}
  horizon: {linear: [10, 40], n: 4}
  size: {zip: {workload.options.n_jobs: [3, 4], workload.options.operations: [1e6, 2e6]}}
  deployment:
    cases:
      few: {"datacenter.racks[0].units": {GPU: 1}}
      many: {"datacenter.racks[0].units": {GPU: 9}, prices.GPU: 4}
replications: 10
seed: 5
until: {ci_width: 0.05, of: jobs.latency_us.mean, at_most: 200}
warm_up: mser5
record: [jobs.latency_us, utilization]
"""
    )
    assert found.columns == (
        "policy",
        "arrivals.iat",
        "horizon",
        "workload.options.n_jobs",
        "workload.options.operations",
        "deployment",
    )
    assert (found.n_points, found.n_runs) == (2 * 4 * 4 * 2 * 2, 1280)
    assert column(found, "arrivals.iat") == [1.0, 10.0, 100.0, 1000.0]
    assert column(found, "horizon") == [10, 20, 30, 40]
    assert found.axes[3].labels == ((3, 1e6), (4, 2e6))
    assert found.axes[4].settings[1] == {"datacenter.racks[0].units": {"GPU": 9}, "prices.GPU": 4}
    assert found.until == Until(0.05, "jobs.latency_us.mean", 0.95, 200)
    assert (found.seed, found.warm_up, found.record) == (5, "mser5", ("jobs.latency_us", "utilization"))


def test_the_scenario_in_the_study_and_its_seed(read, folder):
    inline = read(json.dumps({"scenario": {**SCENARIO, "seed": 4}, "warm_up": {"share": 0.2}}))
    assert inline.seed == 4
    assert inline.warm_up == {"share": 0.2}
    assert inline.scenario["arrivals"] == {"iat": 7}
    assert read(TEXT).seed == 0
    assert [r.run_id for r in expand(study({"scenario": SCENARIO}))] == [r.run_id for r in expand(read(TEXT))]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["1 us", "2 ms", 3], [1.0, 2000.0, 3.0]),
        ([1, 2], [1, 2]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([5, "x"], ["5", "x"]),
        ([True, False], [True, False]),
        ([True, 3], ["true", "3"]),
        ([{"a": [1, None]}, [2, "b"]], ["{a: [1, null]}", "[2, b]"]),
        (["1 KiB", "2 MB"], [1024.0, 2e6]),
        (["1 KiB", "2 s"], ["1 KiB", "2 s"]),
        (np.array([1.5, 2.5]), [1.5, 2.5]),
    ],
)
def test_labels_of_values(values, labels):
    found = study({"scenario": SCENARIO, "axes": {"options.x": values}})
    assert column(found, "options.x") == labels
    assert [type(label) for label in column(found, "options.x")] == [type(label) for label in labels]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["1", "2"], [1, 2]), (["1", "0.5"], [1.0, 0.5]), (["1", "x"], ["1", "x"]), (["1_0", "2"], ["1_0", "2"])],
)
def test_labels_of_cases(labels, expected):
    cases = {label: {"horizon": i + 1} for i, label in enumerate(labels)}
    found = column(study({"scenario": SCENARIO, "axes": {"x": {"cases": cases}}}), "x")
    assert (found, list(map(type, found))) == (expected, list(map(type, expected)))


def test_spaced_values_have_exact_ends_and_twelve_digits():
    found = study({"scenario": SCENARIO, "axes": {"arrivals.iat": {"log": [3, "0.7 s"], "n": 50}}})
    values = column(found, "arrivals.iat")
    assert (values[0], values[-1]) == (3, 700000.0)
    assert all(value == float(f"{value:.12g}") for value in values)
    np.testing.assert_allclose(np.diff(np.log(values)), np.log(700000 / 3) / 49, rtol=1e-9)
    counts = study({"scenario": SCENARIO, "axes": {"workload.options.n_jobs": {"linear": [10, 1], "n": 10}}})
    assert column(counts, "workload.options.n_jobs") == list(range(10, 0, -1))


@pytest.mark.parametrize("form", ["log", "linear"])
def test_integers_beyond_64_bits_can_be_spaced(form):
    found = study({"scenario": SCENARIO, "axes": {"horizon": {form: [1, 10**29], "n": 3}}})
    middle = {"log": math.sqrt(1e29), "linear": 5e28}[form]
    assert column(found, "horizon") == [1, pytest.approx(middle), 10**29]


def test_policies_of_python():
    class Mine(High):
        name = "mine"

    found = study({"scenario": SCENARIO, "axes": {"policy": [High, "flat", Mine, Pref(mode="first"), Pref()]}})
    assert column(found, "policy") == ["high", "flat", "mine", "pref mode=first", "pref"]
    ids = [run.run_id for run in expand(found)]
    assert len(set(ids)) == 5
    named = study({"scenario": SCENARIO, "axes": {"policy": ["high"]}})
    assert ids[0] == expand(named)[0].run_id
    assert check_points(found) == 5
    with pytest.raises(InputError, match=r"file.py:Class"):
        to_yaml(found)
    copy = cloudpickle.loads(cloudpickle.dumps(found))
    runs = expand(copy)
    assert [run.run_id for run in runs] == ids
    assert scenario_of(copy, runs[3]).policy == Pref(mode="first")


def test_files_that_the_study_names_start_at_the_study(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "s.yaml").write_text(json.dumps(SCENARIO))
    (tmp_path / "b" / "mine.py").write_text(
        "from vinesim.policies.online.high import High\nclass Mine(High):\n    name = 'mine'\n"
    )
    (tmp_path / "b" / "d.txt").write_text("2 0 0\n")
    text = (
        "scenario: ../a/s.yaml\naxes:\n  policy: [mine.py:Mine]\n  datacenter: [{file: d.txt}]\n"
        "  prices: {cases: {x: {prices.GPU: 3}}}\n"
    )
    (tmp_path / "b" / "study.yaml").write_text(text)
    assert check_points(read_study(tmp_path / "b" / "study.yaml")) == 1


def test_every_problem_comes_at_once_with_its_place(problems):
    found = problems(
        """scenarioo: x
scenario: s.yaml
replications: 0
axes:
  policyy: [high]
  arrivals.iatt: [5]
  arrivals.iat: {log: [0, 1 ms], n: 4}
  datacenter.racks[3].count: [1, 2]
  workload.options.n_jobs: []
  z: {zip: {sampling: [1, 2], horizon: [3]}}
  c: {cases: {a: {horizon: 3, network.locl: 3}, b: {prices: 3, prices.GPU: 5}}}
  seed: [1, 2]
  power.GPU: {logg: [1, 2], n: 3}
  prices.FPGA: [3, 3.0]
  options.a: {linear: [1 us, 1 MB], n: 3}
  options.b: {linear: [1, 2, 3], n: 1}
until: {ci_width: 0.05, of: job.latency_us.mean}
warm_up: mser
record: [jobs.latency]
seed: -1
"""
    )
    starts = [
        "study.yaml:1:1: scenarioo: expected a key: one of description, folder, scenario",
        "study.yaml:3:15: replications: expected at least 1, found 0",
        "study.yaml:5:3: axes.policyy: expected a key of the scenario: one of description",
        "study.yaml:6:3: axes.arrivals.iatt: expected a key of arrivals: one of iat",
        "study.yaml:7:23: axes.arrivals.iat.log: expected two values above 0, found [0, '1 ms']",
        "study.yaml:8:31: axes.datacenter.racks[3].count[0]: expected an item of a list of 1, found [3]",
        "study.yaml:9:28: axes.workload.options.n_jobs: expected at least one value, found an empty list",
        "study.yaml:10:12: axes.z.zip: expected lists of equal length, found sampling: 2, horizon: 1",
        "study.yaml:11:31: axes.c.cases.a.network.locl: expected a key of network",
        "study.yaml:12:3: axes.seed: expected a key that can be an axis",
        "study.yaml:13:14: axes.power.GPU: expected a list of values, or one of {log: ...}",
        "study.yaml:14:20: axes.prices.FPGA[1]: expected each position once, found 3.0 again",
        "study.yaml:15:23: axes.options.a.linear: expected two numbers or two quantities of one kind",
        "study.yaml:16:23: axes.options.b.linear: expected two values: the first and the last, found 3",
        "study.yaml:16:37: axes.options.b.n: expected at least 2, found 1",
        "study.yaml:17:29: until.of: expected a number of a run",
        "study.yaml:18:10: warm_up: expected none, mser5, {jobs: N} or {share: x}, found 'mser'",
        "study.yaml:19:10: record[0]: expected a number of a run",
        "study.yaml:20:7: seed: expected at least 0, found -1",
    ]
    assert [f[: len(s)] for f, s in zip(found, starts, strict=True)] == starts
    for i, word in ((0, "scenario"), (2, "policy"), (3, "arrivals.iat"), (8, "network.local"), (10, "log")):
        assert found[i].endswith(f"Did you mean {word}?")
    assert found[15].endswith("Did you mean jobs.latency_us.mean?")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (
            "axes: {}\n",
            "study.yaml:1:1: scenario: expected the scenario: a file name, or the contents of a scenario file",
        ),
        ("scenario: no.yaml\n", "study.yaml:1:11: scenario: expected a file that can be read, found no such file"),
        ("scenario: [3]\n", "study.yaml:1:11: scenario: expected a scenario file, or a scenario's mapping"),
        ("scenario: study.yaml\naxes: [3]\n", "study.yaml:2:7: axes: expected a mapping, found a list"),
        (TEXT + "axes: {policy: high}\n", "study.yaml:2:16: axes.policy: expected a list of values"),
        (TEXT + "axes: {a: {cases: {x: 3}}}\n", "study.yaml:2:23: axes.a.cases.x: expected a mapping, found 3"),
        (TEXT + "axes: {a: {cases: {}}}\n", "study.yaml:2:19: axes.a.cases: expected at least one"),
        (TEXT + "axes: {a: {zip: {horizon: 3}}}\n", "study.yaml:2:27: axes.a.zip.horizon: expected a list of at leas"),
        (
            TEXT + "axes: {a: {cases: {x: {prices: {}, prices.GPU: 3}}}}\n",
            "study.yaml:2:36: axes.a.cases.x.prices.GPU: expected each key once, found prices and prices.GPU",
        ),
        (
            TEXT + "axes: {arrivals.iat: [1], a: {cases: {x: {arrivals: {iat: 3}}}}}\n",
            "study.yaml:2:27: axes.a: expected keys that no other axis sets, found arrivals, where the axis arr",
        ),
        (
            TEXT + "axes: {policy: [high], a: {zip: {policy: [flat]}}}\n",
            "study.yaml:2:24: axes.a: expected columns with different names, ignoring case, found policy, whic",
        ),
        (
            TEXT + "axes: {Run_id: {cases: {x: {horizon: 3}}}}\n",
            "study.yaml:2:8: axes.Run_id: expected columns with different names, ignoring case, found Run_id",
        ),
        (TEXT + "axes: {arrivals.iat: {log: [3, 3], n: 4}}\n", "study.yaml:2:28: axes.arrivals.iat.log: expected two"),
        (
            TEXT + "axes: {a..b: [3]}\n",
            "study.yaml:2:8: axes.a..b: expected a key of the scenario, such as arrivals.iat",
        ),
        (TEXT + "axes: {arrivals.iat.x: [3]}\n", "study.yaml:2:8: axes.arrivals.iat.x: expected nothing below arriv"),
        (
            TEXT + "seed: 9223372036854775807\nreplications: 2\n",
            "study.yaml:2:7: seed: expected a last seed of at most 2^63 - 1, found 9223372036854775807 + 1",
        ),
        (
            TEXT + "axes: {horizon: {linear: [1, 2], n: 9000}, arrivals.iat: {linear: [1, 2], n: 9000}}\n",
            "study.yaml:2:7: axes: expected at most 10,000,000 runs, found 81,000,000: 9000 x 9000 points of 1",
        ),
        (
            TEXT + "replications: 5\nuntil: {ci_width: 0.1, of: makespan_us, at_most: 4}\n",
            "study.yaml:3:8: until: expected at_most of at least the replications, 5, found 4",
        ),
        (TEXT + "warm_up: {jobs: 1, share: 0.1}\n", "study.yaml:2:10: warm_up: expected exactly one of jobs, share"),
        (TEXT + "until: {ci_width: 0, of: exit_reason}\n", "study.yaml:2:19: until.ci_width: expected more than 0"),
        ("", "study.yaml: expected a study, found an empty file"),
    ],
)
def test_wrong(problems, text, start):
    assert problems(text)[0][: len(start)] == start


def test_problems_of_points(problems):
    found = problems(
        TEXT + "axes:\n  policy: [high, flta]\n  options: [{}, {mode: only}]\n  arrivals.iat: [5, 7]\n", and_points=True
    )
    assert len(found) == 2
    assert found[0].startswith(
        "policy=high, options={mode: only}, arrivals.iat=5 and policy=high, options={mode: only}, arrivals.iat=7: "
        "options.mode: expected one of in_order"
    )
    assert found[1].startswith("policy=flta, options={}, arrivals.iat=5 and 3 other points: policy: expected one of fl")


def test_a_problem_of_all_points_is_reported_where_it_stands(problems):
    text = (
        "scenario:\n  datacenter: {racks: [{units: {GPUU: 3}}]}\n  workload: {generator: 500jobs}\n"
        "  arrivals: {iat: 3}\naxes: {policy: [high, flat]}\n"
    )
    (found,) = problems(text, and_points=True)
    assert found.startswith("study.yaml:2:33: scenario.datacenter.racks[0].units.GPUU: expected a processor type")


def test_a_missing_file_of_a_point(problems):
    (found,) = problems(TEXT + "axes: {workload: [{generator: 500jobs}, {file: t.txt}]}\n", and_points=True)
    assert "workload={file: t.txt}: " in found
    assert "no such file" in found


def test_the_values_of_a_study_are_checked_in_python_too():
    axis = Axis(("a",), ((1,),), ({"horizon": 1},))
    for wrong in (
        lambda: Axis((), (), ()),
        lambda: Axis(("a",), (), ()),
        lambda: Axis(("a",), ((1,), (2,)), ({"horizon": 1},)),
        lambda: Axis(("a",), ((1, 2),), ({"horizon": 1},)),
        lambda: Study(SCENARIO, (axis, axis)),
        lambda: Study(SCENARIO, replications=0),
        lambda: Study(SCENARIO, seed=-1),
        lambda: Study(SCENARIO, seed=2**63 - 2, until=Until(0.1, "makespan_us", at_most=3)),
    ):
        with pytest.raises(InputError):
            wrong()
    assert Study(SCENARIO, (axis,), seed=2**63 - 1).n_runs == 1


STEP_KEY = "processor_types[0].batching.step.exchange.toke"


def test_every_key_of_the_document_is_known_and_no_other():
    for key in (
        "arrivals.poisson.mean",
        "datacenter.racks[0].nodes[3].units.GPU",
        "processor_types[0].attributes.sms",
        "workload.options.shares.INT",
        "options.anything.at.all",
        "power.GPU.INT",
        "overhead.file",
        "affinity.peak.GPU.INT",
        "task_types[4]",
        "processor_types[0].batching.step.exchange.token",
        "processor_types[0].batching.step.llama.exchange.token",
        *ScenarioDocument.model_fields,
    ):
        assert unknown_key(steps_of(key)) is None, key
    for key in ("arrivals.mean", "datacenter.racks.units", "task_types.x", "seed.x", "datacenter[0]", STEP_KEY):
        assert unknown_key(steps_of(key)) is not None, key


def test_the_kinds_of_numbers_are_those_of_a_summary():
    scenario = vs.read_scenario(EXAMPLES / "quickstart.yaml")
    kinds = {kind for kind in NUMBERS for name in numbers(vs.simulate(scenario).summary) if name.startswith(kind)}
    optional = {
        kind
        for kind in NUMBERS
        if kind.split(".")[0] in ("deadlines", "fairness", "periods", "energy", "bound", "outages", "serving")
        or kind == "utilization.by_resource"
        or kind
        in (
            "jobs.killed",
            "jobs.withdrawn",
            "jobs.started",
            "jobs.refused",
            "jobs.ended",
        )  # with limits, withdrawals, drops
    }
    assert {"jobs.latency_us", "tasks.response_us", "utilization.by_type", "exit_reason", "energy_j"} <= kinds
    assert all(kind in kinds for kind in NUMBERS if kind not in optional and "warm_up" not in kind and "." in kind)


def test_text_of_a_study_reads_back_to_the_same_runs(tmp_path):
    mapping = {
        "scenario": "papers.yaml",
        "description": "1e5: yes",
        "axes": {
            "policy": ["high", "my_policy.py"],
            "arrivals.iat": {"log": ["1 us", "1 ms"], "n": 4},
            "x": {"zip": {"affinity": [None, {"file": "papers/affinity.txt"}], "options": [{}, {"a": "1e3"}]}},
            "d": {"cases": {"20": {"datacenter.file": "papers/deployment.txt"}, "0.5": {"prices": None}}},
        },
        "replications": 2,
        "seed": 3,
        "warm_up": {"jobs": 5},
        "until": {"ci_width": 0.05, "of": "jobs.latency_us.mean"},
        "record": ["jobs"],
    }
    first = study(mapping, EXAMPLES)
    (tmp_path / "study.yaml").write_text(to_yaml(first, tmp_path))
    second = read_study(tmp_path / "study.yaml")
    runs = expand(first)
    for other in (
        second,
        inlined(first),
        pickle.loads(pickle.dumps(second)),
        cloudpickle.loads(cloudpickle.dumps(first)),
    ):
        assert [(r.run_id, r.point, r.seed) for r in expand(other)] == [(r.run_id, r.point, r.seed) for r in runs]
        assert (other.until, other.warm_up, other.record, other.description) == (
            first.until,
            first.warm_up,
            first.record,
            first.description,
        )
    assert to_yaml(second, tmp_path) == (tmp_path / "study.yaml").read_text()
    assert len({r.run_id for r in runs}) == len(runs)


def test_an_inlined_study_is_as_its_scenario_was_when_it_was_read(read, folder):
    found = read(TEXT)
    kept = inlined(found)
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "arrivals": {"iat": 8.25}}))
    assert expand(found)[0].run_id != expand(kept)[0].run_id
    assert scenario_ids(kept) == scenario_ids(replace(found, scenario=SCENARIO))


def scenario_ids(found):
    return [run.run_id for run in expand(found)]


@given(
    st.dictionaries(st.text(max_size=8), st.text(max_size=12), max_size=3),
    st.lists(st.text(max_size=9) | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=4),
)
def test_any_value_survives_the_text(options, values):
    found = study({"scenario": {**SCENARIO, "options": {"x": options, "y": values}}})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "study.yaml").write_text(to_yaml(found, folder), "utf-8")
        assert read_study(Path(folder) / "study.yaml").scenario == found.scenario


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("{horizon: [a, b], sampling: [c, d]}", "axes.z.labels.sampling: expected a key of zip: horizon, found"),
        ("{horizon: [a]}", "axes.z.labels.horizon: expected a label for each of 2 values, found 1"),
        ("{horizon: [a, [b]]}", "axes.z.labels.horizon[1]: expected a number or a text, found"),
        ("{horizon: [a, a]}", "axes.z.zip: expected each position once, found a again"),
    ],
)
def test_labels_of_zipped_values_are_checked(tmp_path, labels, problem):
    file = tmp_path / "study.yaml"
    file.write_text(f"{TEXT}axes: {{z: {{zip: {{horizon: [1, 2]}}, labels: {labels}}}}}\n")
    with pytest.raises(InputError) as error:
        read_study(file)
    assert problem in str(error.value)
