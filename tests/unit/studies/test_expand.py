import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from vinesim.formats.study.file import read_study, scenario_source, study
from vinesim.formats.study.text import to_yaml
from vinesim.model.errors import InputError
from vinesim.model.study import Axis, Study
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.studies import identity
from vinesim.studies.expand import expand, scenario_of
from vinesim.studies.identity import run_id

EXAMPLES = Path(__file__).parents[3] / "examples"
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 1}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
}
POLICY = "import helpers\nfrom vinesim.policies.online.high import High\nclass Mine(High):\n    name = 'mine'\n"

# what each key may be, with values that decide different outcomes
CHANGES = {
    "policy": ["high", "flat", "pref"],
    "arrivals": [{"iat": 7}, {"iat": 8}, {"poisson": {"mean": 7}}, {"times": [0, 1, 2]}],
    "datacenter.racks[0].units": [{"CPU_INTEL": 2, "GPU": 1}, {"GPU": 1, "CPU_INTEL": 2}, {"GPU": 3}],
    "workload": [
        {"generator": "mix", "options": {"n_jobs": 3, "shares": {"INT": 1, "MEM": 2}}},
        {"generator": "mix", "options": {"n_jobs": 3, "shares": {"MEM": 2, "INT": 1}}},
        {"generator": "identical", "options": {"n_jobs": 3, "data_bytes": "1 KiB"}},
    ],
    "network": ["paper", "none", {"local": "1 MB/s"}],
    "sampling": [None, 10],
    "horizon": [None, 1000, 2000],
    "prices": [None, {"GPU": 3}],
    "power": [None, {"CPU_INTEL": 3, "GPU": 4}],
    "affinity": [None, {"absolute": {"GPU": {"*": 3}}}],
    "overhead": [None, {"GPU": 1}],
}
SETTINGS = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in CHANGES.items()})

CHOICES = st.lists(SETTINGS, min_size=1, max_size=3, unique_by=str)


def ids(found):
    return [run.run_id for run in expand(found)]


def id_of(document, folder=".", **more):
    (run,) = expand(study({"scenario": document, **more}, folder))
    return run.run_id


def test_runs_are_the_grid_with_the_first_axis_outermost_and_the_same_seeds_at_each_point():
    found = study(
        {
            "scenario": SCENARIO,
            "axes": {"policy": ["high", "flat"], "arrivals.iat": [5, 7, 9]},
            "replications": 2,
            "seed": 4,
        }
    )
    runs = expand(found)
    assert [(r.index, r.point_number, r.replication, r.seed) for r in runs] == [
        (i, i // 2, i % 2, 4 + i % 2) for i in range(12)
    ]
    assert [tuple(r.point.values()) for r in runs[::2]] == [(p, i) for p in ("high", "flat") for i in (5, 7, 9)]
    assert [r.settings for r in runs[::2]] == [r.point for r in runs[::2]]
    assert len(set(ids(found))) == 12
    (only,) = expand(study({"scenario": SCENARIO}))
    assert (only.point, only.settings, only.replication) == ({}, {}, 0)


def test_more_replications_and_other_labels_leave_the_ids():
    axes = {"x": {"cases": {"a": {"arrivals.iat": 5}, "b": {"arrivals.iat": 9}}}}
    few = expand(study({"scenario": SCENARIO, "axes": axes, "replications": 2}))
    many = expand(study({"scenario": SCENARIO, "axes": axes, "replications": 5}))
    assert [r.run_id for r in many if r.replication < 2] == [r.run_id for r in few]
    by_value = expand(study({"scenario": SCENARIO, "axes": {"arrivals.iat": [9.0, 5.0]}, "replications": 2}))
    assert {r.run_id for r in by_value} == {r.run_id for r in few}


@settings(max_examples=40, deadline=None)
@given(CHOICES, CHOICES, st.integers(0, 3))
def test_ids_are_those_of_the_whole_documents_and_tell_outcomes_apart(first, second, seed):
    """The fast path (sections, each once) against its plain meaning; and ids against content ids."""
    second = [{key: value for key, value in setting.items() if not any(key in f for f in first)} for setting in second]
    axes = [Axis((name,), tuple((i,) for i in range(len(s))), tuple(s)) for name, s in (("a", first), ("b", second))]
    found = Study(SCENARIO, tuple(axes), seed=seed, replications=2)
    contents = {}
    try:
        runs = expand(found)
    except InputError:  # two points are the same run
        reject()
    for run in runs:
        document = scenario_source(found).changed(run.settings).data
        assert run.run_id == run_id(document, Path(), run.seed)
        try:
            content = content_id(scenario_of(found, run))
        except InputError:
            continue
        assert contents.setdefault(run.run_id, content) == content


@settings(max_examples=40, deadline=None)
@given(st.data(), SETTINGS)
def test_the_order_of_keys_and_the_types_of_numbers_do_not_count(data, changes):
    document = scenario_source(Study(SCENARIO)).changed(changes).data

    def other(value, name=""):
        if isinstance(value, dict):
            keys = list(value)
            if name not in ("units", "shares"):
                keys = data.draw(st.permutations(keys))
            return {key: other(value[key], key) for key in keys}
        if isinstance(value, list):
            return [other(item) for item in value]
        return float(value) if type(value) is int and data.draw(st.booleans()) else value

    assert id_of(document) == id_of(other(document)) == id_of({**document, "description": "x", "seed": 0})


def test_what_the_id_tells_apart(monkeypatch):
    first = id_of(SCENARIO)
    units = {"datacenter": {"racks": [{"units": {"GPU": 1, "CPU_INTEL": 2}}]}}
    others = {
        "seed": id_of(SCENARIO, seed=1),
        "warm-up": id_of(SCENARIO, warm_up="mser5"),
        "warm-up of jobs": id_of(SCENARIO, warm_up={"jobs": 1}),
        "order of units": id_of({**SCENARIO, **units}),
        "a quantity is its text": id_of({**SCENARIO, "arrivals": {"iat": "7 us"}}),
        "true is not 1": id_of({**SCENARIO, "options": {"x": True}}),
        "1": id_of({**SCENARIO, "options": {"x": 1}}),
    }
    monkeypatch.setattr(identity, "code_version", lambda: "another")
    others["version"] = id_of(SCENARIO)
    assert len({first, *others.values()}) == len(others) + 1


def test_files_count_by_content_not_by_place(tmp_path):
    documents = {
        "datacenter": {"file": "d.txt"},
        "workload": {"file": "t.txt"},
        "arrivals": {"file": "a.txt"},
        "policy": "mine.py:Mine",
        "energy": {"price_file": "p.csv"},
    }
    contents = {
        "p.csv": "hour,price\n0,0.1\n",
        "d.txt": "2 0 0\n",
        "t.txt": "0 0 0 0 9 5 0\n",
        "a.txt": "0\n",
        "mine.py": POLICY,
        "helpers.py": "A = 1\n",
    }
    contents |= {"unused.py": "B = 1\n"}
    for folder in ("one", "two/three"):
        (tmp_path / folder).mkdir(parents=True)
        for name, text in contents.items():
            (tmp_path / folder / name).write_text(text)
    (tmp_path / "two" / "s.yaml").write_text(json.dumps({**documents, "datacenter": {"file": "three/d.txt"}}))
    first = id_of(documents, tmp_path / "one")
    assert id_of(documents, tmp_path / "two/three") == first
    moved = {**documents, "policy": "three/mine.py:Mine", "energy": {"price_file": "three/p.csv"}}
    moved |= {name: {"file": f"three/{moved[name]['file']}"} for name in ("datacenter", "workload", "arrivals")}
    assert id_of(moved, tmp_path / "two") == first
    for name, text in contents.items():
        (tmp_path / "one" / name).write_text(text + "# more\n")
        assert (id_of(documents, tmp_path / "one") == first) == (name == "unused.py"), name
        (tmp_path / "one" / name).write_text(text)
    assert id_of(documents, tmp_path / "one") == first


def test_a_file_counts_by_its_bytes_and_its_ending_and_not_by_its_name(tmp_path):
    for name in ("a.txt", "b.txt", "c.csv"):
        (tmp_path / name).write_text("0 0 0 0 9 5 0\n")
    of = {name: id_of({**SCENARIO, "workload": {"file": name}}, tmp_path) for name in ("a.txt", "b.txt", "c.csv")}
    assert of["a.txt"] == of["b.txt"] != of["c.csv"]
    axes = {"workload.file": ["a.txt", "b.txt"]}
    found = study({"scenario": {**SCENARIO, "workload": {"file": "a.txt"}}, "axes": axes}, tmp_path)
    with pytest.raises(InputError, match=r"at workload.file=b.txt: expected a scenario other than at .*=a.txt"):
        expand(found)


def test_files_deep_in_a_section_count_by_content_not_by_place(tmp_path):
    options = {"n_jobs": 3, "sizes": {"empirical": {"file": "sizes.csv"}}}
    scenario = {
        **SCENARIO,
        "workload": {"generator": "jobs", "options": options},
        "arrivals": {"series": {"file": "counts.csv"}},
    }
    ids = []
    for folder, size, count in (("one", 3, 5), ("two", 3, 5), ("three", 4, 5), ("four", 3, 6)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sizes.csv").write_text(f"{size}\n")
        (tmp_path / folder / "counts.csv").write_text(f"0,{count}\n1,2\n")
        ids.append(expand(study({"scenario": scenario}, tmp_path / folder))[0].run_id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    (tmp_path / "one" / "s.yaml").write_text(json.dumps(scenario))
    axes = {"workload.options.sizes": [{"empirical": {"file": "three/sizes.csv"}}]}
    found = study({"scenario": "one/s.yaml", "axes": axes}, tmp_path)
    assert set(scenario_of(found, expand(found)[0]).workload.operations) == {4.0}


def test_a_package_next_to_a_policy_counts_and_the_class_of_a_file(tmp_path):
    document = {**SCENARIO, "policy": "mine.py:Mine"}
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "helpers").mkdir()
    for name in ("__init__.py", "inner.py"):
        (tmp_path / "helpers" / name).write_text("")
    first = id_of(document, tmp_path)
    assert id_of({**document, "policy": "mine.py"}, tmp_path) != first
    (tmp_path / "helpers" / "inner.py").write_text("A = 1")
    assert id_of(document, tmp_path) != first


def test_a_missing_file_is_reported_with_its_point():
    found = study({"scenario": SCENARIO, "axes": {"workload": [{"file": "none.txt"}]}})
    with pytest.raises(InputError, match=r"^workload=\{file: none.txt\}: .*none.txt: expected a file that can be read"):
        expand(found)


def test_ids_are_the_same_in_every_process_and_on_every_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(identity, "code_version", lambda: "0")
    mapping = {"scenario": SCENARIO, "axes": {"arrivals.iat": {"log": ["1 us", "1 ms"], "n": 4}, "policy": ["flat"]}}
    found = ids(study(mapping))
    assert found == ["79fc0ecadf7613e3", "88ff4bc2124f86f4", "b92169b44bc25512", "02d41a53ba2a1ee6"]
    (tmp_path / "study.yaml").write_text(json.dumps(mapping))
    code = (
        "from vinesim.studies import identity; identity.code_version = lambda: '0'\n"
        "from vinesim.formats.study.file import read_study; from vinesim.studies.expand import expand\n"
        "print(*(r.run_id for r in expand(read_study('study.yaml'))))"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == found


@settings(max_examples=30, deadline=None)
@given(SETTINGS, st.integers(0, 9))
def test_the_scenario_of_a_run_is_that_of_the_same_overrides(tmp_path_factory, changes, seed):
    file = tmp_path_factory.mktemp("s") / "s.yaml"
    file.write_text(json.dumps(SCENARIO))
    found = Study(file, (Axis(("a",), ((0,),), (changes,)),), seed=seed)
    (run,) = expand(found)
    overrides = [f"{key}={json.dumps(value)}" for key, value in {**changes, "seed": seed}.items()]
    try:
        expected = content_id(read_scenario(file, overrides))
    except InputError:
        with pytest.raises(InputError):
            scenario_of(found, run)
    else:
        assert content_id(scenario_of(found, run)) == expected


def test_the_scenario_file_is_read_again_when_it_has_changed(tmp_path):
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    (tmp_path / "study.yaml").write_text("scenario: s.yaml\n")
    found = read_study(tmp_path / "study.yaml")
    first = ids(found)
    (tmp_path / "s.yaml").write_text(json.dumps({**SCENARIO, "horizon": 12345}))
    assert ids(found) != first
    assert scenario_of(found, expand(found)[0]).horizon_us == 12345


def test_expanding_loads_no_compiler():
    code = (
        "import sys, vinesim; vinesim.expand(vinesim.read_study(sys.argv[1]));"
        "assert not {'numba', 'scipy', 'duckdb', 'joblib'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(EXAMPLES / "study.yaml")], check=True)


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        ({"policy": ["mine.py:Mine", "high"]}, [("mine.py:Mine",), ("high",)]),
        (
            {"p": {"zip": {"policy": ["mine.py:Mine", "high"], "arrivals.iat": ["2 us", None]}}},
            [("mine.py:Mine", 2), ("high", None)],
        ),
        (
            {"arrivals": [None, {"file": "t.txt", "time_scale": 2}]},
            [(None,), ("{file: t.txt, time_scale: 2}",)],
        ),
    ],
)
def test_files_are_labelled_as_the_study_names_them(tmp_path, axis, labels):
    (tmp_path / "mine.py").write_text(POLICY.replace("import helpers\n", ""))
    (tmp_path / "t.txt").write_text("0\n1\n2\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/s.yaml").write_text(json.dumps(SCENARIO))
    given = study({"scenario": "site/s.yaml", "axes": axis}, tmp_path)
    assert list(given.axes[0].labels) == labels
    assert "../" in str(given.axes[0].settings)
    text = to_yaml(given, tmp_path)
    (tmp_path / "kept.yaml").write_text(text)
    kept = read_study(tmp_path / "kept.yaml")
    assert kept.axes[0].labels == given.axes[0].labels
    assert [run.run_id for run in expand(kept)] == [run.run_id for run in expand(given)]
