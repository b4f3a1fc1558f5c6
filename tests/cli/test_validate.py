"""``vinesim validate`` runs no code of a file that somebody sent, and what does run it says so."""

import json

import pytest

from tests.small_site import job, write_site

MINE = """
import pathlib
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start

pathlib.Path(__file__).with_name("proof").write_text("it ran")

class Mine(OnlinePolicy):
    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if unit >= 0 else nothing()
"""
SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
    "policy": "mine.py:Mine",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    axes = {"policy": ["high", "mine.py:Mine"], "options.in_order": ["no"]}
    plain = {name: value for name, value in SCENARIO.items() if name != "policy"}
    (tmp_path / "study.yaml").write_text(json.dumps({"scenario": {**plain, "options": {}}, "axes": axes}))
    (tmp_path / "old.yaml").write_text(json.dumps({"scenario": SCENARIO, "axes": {"arrivals.iat": [7, 8]}}))
    return tmp_path


@pytest.mark.parametrize("file", ["s.yaml", "old.yaml"])
def test_a_policy_in_a_file_is_left_unchecked_and_that_is_said(vinesim, folder, file):
    done = vinesim("validate", folder / file)
    assert done.code == 0, done.err
    assert not (folder / "proof").exists()
    assert f"Not checked: the policy {folder / 'mine.py'}:Mine, because it is code." in done.out
    assert "running the code" not in done.err
    checked = vinesim("validate", folder / file, "--run-policy-file")
    assert checked.code == 0
    assert (folder / "proof").exists()
    assert "Not checked" not in checked.out
    assert checked.err == f"vinesim: running the code in {folder / 'mine.py'}\n"


def test_what_a_policy_in_a_file_would_raise_is_reported_only_by_running_it(vinesim, folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "options": {"speed": 3}}))
    assert vinesim("validate", folder / "s.yaml").code == 0
    refused = vinesim("validate", folder / "s.yaml", "--run-policy-file")
    assert refused.code == 2
    assert "speed" in refused.err


def test_an_axis_of_policies_is_not_run_either_and_the_others_are_checked(vinesim, folder):
    assert vinesim("validate", folder / "study.yaml").code == 0
    assert not (folder / "proof").exists()
    study = json.loads((folder / "study.yaml").read_text())
    study["axes"]["options.in_order"] = ["perhaps"]
    (folder / "study.yaml").write_text(json.dumps(study))
    done = vinesim("validate", folder / "study.yaml")
    assert done.code == 2
    assert "policy=high, options.in_order=perhaps" in done.err
    assert not (folder / "proof").exists()


def test_built_in_policies_are_checked_as_before(vinesim, folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "policy": "hihg"}))
    done = vinesim("validate", folder / "s.yaml")
    assert done.code == 2
    assert "Did you mean high?" in done.err


def test_reading_what_was_run_before_runs_nothing(vinesim, folder):
    (folder / "study.yaml").write_text(json.dumps({"scenario": SCENARIO, "replications": 2}))
    assert vinesim("sweep", folder / "study.yaml", "--out", folder / "out", "--workers", 1).code == 0
    (folder / "proof").unlink()
    for words in (("report", folder / "out"), ("compare", folder / "out", "--by", "policy", "--of", "makespan_us")):
        vinesim(*words)
        assert not (folder / "proof").exists()


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_run_and_sweep_say_once_whose_code_they_run(vinesim, folder, json_too):
    def words_of_run(*words):
        done = vinesim("run", folder / "s.yaml", "--engine", "reference", *words, *json_too)
        assert done.code == 0, done.err
        return "".join(line for line in done.err.splitlines() if "Overloaded" not in line)

    assert words_of_run() == f"vinesim: running the code in {folder / 'mine.py'}"
    assert words_of_run("--policy", "high") == ""
    done = vinesim("sweep", folder / "old.yaml", "--out", folder / "out", "--workers", 1, *json_too)
    assert done.code == 0
    assert done.err.count("running the code") == 1


PLAN = {
    "scenario": {name: value for name, value in SCENARIO.items() if name != "policy"},
    "choose": {
        "datacenter.racks[0].units.CPU_INTEL": {"from": 1, "to": 4, "label": "CPUs"},
        "policy": ["high", "flat"],
    },
    "minimize": "units.count",
    "limits": {"jobs.latency_us.p99": {"below": "10 ms"}},
}


def test_a_plan_is_checked_and_summarised(vinesim, folder):
    (folder / "plan.yaml").write_text(json.dumps(PLAN))
    done = vinesim("validate", folder / "plan.yaml")
    assert done.code == 0, done.err
    summary = "CPUs (4) x policy (2); 8 candidates; least units.count; jobs.latency_us.p99 below 10.0 ms; at most 2,000"
    assert f"plan.yaml is valid: {summary} runs" in done.out.replace("\n", "")
    wrong = {**PLAN, "minimize": "energy_j", "limits": {"jobs.latncy_us.p99": {"below": 1}}}
    (folder / "plan.yaml").write_text(json.dumps(wrong))
    refused = vinesim("validate", folder / "plan.yaml")
    assert (refused.code, "Did you mean jobs.latency_us.p99?" in refused.err) == (2, True)


def test_no_code_of_a_plan_is_run(vinesim, folder):
    choose = {"policy": ["high", "mine.py:Mine"]}
    (folder / "plan.yaml").write_text(json.dumps({**PLAN, "choose": choose}))
    done = vinesim("validate", folder / "plan.yaml")
    assert done.code == 0, done.err
    assert not (folder / "proof").exists()
    assert "Not checked: the policy" in done.out


def test_a_scenario_is_checked_with_the_changes_that_a_run_takes(vinesim, folder):
    s = folder / "s.yaml"
    done = vinesim("validate", s, "--policy", "flat", "--set", "workload.options.n_jobs=7")
    assert done.code == 0, done.err
    assert "; 7 jobs, " in done.out
    assert "policy flat" in done.out
    options = ("--policy", "delay", "--option")
    assert vinesim("validate", s, *options, "wait_us=5").code == 0
    for words in ((*options, "wait=5"), ("--policy", "flt"), ("--policy", "high", "--set", "arrivals.iaat=7")):
        checked, run = vinesim("validate", s, *words), vinesim("run", s, *words)
        assert (checked.code, checked.err) == (run.code, run.err)
        assert "Did you mean" in checked.err
    twice = vinesim("validate", s, "--policy", "flat", "--set", "policy=high")
    assert "expected it, or --policy, found both" in twice.err


@pytest.mark.parametrize("file", ["study.yaml", "plan.yaml"])
def test_changes_are_for_scenarios(vinesim, folder, file):
    (folder / "plan.yaml").write_text(json.dumps(PLAN))
    done = vinesim("validate", folder / file, "--policy", "flat", "--set", "arrivals.iat=3")
    assert done.code == 2
    assert "--set: expected a scenario file with it" in done.err
    assert "--policy: expected a scenario file with it" in done.err


@pytest.mark.parametrize("document", [{**PLAN, "choose": {"policy": ["high"]}}, {"scenario": PLAN["scenario"]}])
def test_a_warm_up_that_leaves_no_jobs_is_refused_before_the_run(vinesim, folder, document):
    file = folder / "file.yaml"
    study = {} if "choose" in document else {"axes": {"workload.options.n_jobs": [4, 3]}}
    file.write_text(json.dumps({**document, **study, "warm_up": {"jobs": 2}}))
    assert vinesim("validate", file).code == 0
    file.write_text(json.dumps({**document, **study, "warm_up": {"jobs": 3}}))
    column = len(file.read_text()) - 2
    text = f"file.yaml:1:{column}: warm_up.jobs: expected fewer than the 3 jobs of the workload, found 3 jobs"
    verb = ("plan",) if "choose" in document else ("sweep",)
    for words in (("validate", file), (*verb, file, "--out", folder / "out")):
        done = vinesim(*words)
        assert (done.code, text in done.err) == (2, True), done.err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("policy", ["srtf", "optimal"])
def test_a_policy_that_a_run_refuses_is_refused_before(vinesim, tmp_path, policy):
    """Here as it takes requests from serving engines, or plans before the run."""
    batching = {"max_sequences": 4, "max_batched_tokens": 64, "memory_tokens": 640, "step": {"base": "1 ms"}}
    scenario = {
        "extends": "none",
        "processor_types": [{"name": "GPU", "batching": batching}],
        "task_types": ["TASK"],
        "affinity": {"absolute": {"GPU": 1}},
        "network": "none",
        "datacenter": {"racks": [{"units": {"GPU": 1}}]},
        "workload": {"file": "requests.csv"},
        "policy": policy,
    }
    (tmp_path / "requests.csv").write_text("arrival_s,input_tokens,output_tokens\n0,9,2\n")
    (tmp_path / "s.yaml").write_text(json.dumps(scenario))
    found = [vinesim(command, tmp_path / "s.yaml") for command in ("validate", "run")]
    assert [one.code for one in found] == [2, 2]
    assert all(f"no batching; {policy}" in one.err for one in found)


def test_options_of_slurm_that_do_not_fit_the_jobs_are_refused_before_the_run(vinesim, tmp_path):
    site = write_site(tmp_path / "site", [job(1, 0, 60, "-n1")])
    assert vinesim("import", "slurm", site, "-o", tmp_path / "site.parquet").code == 0
    change = ("--set", "options.partitions.night={max_time: 5}")
    study = {"scenario": "site.yaml", "axes": {"options.partitions.night": [{"max_time": 5}]}}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    found = [vinesim(command, tmp_path / "site.yaml", *change) for command in ("validate", "run")]
    found.append(vinesim("validate", tmp_path / "study.yaml"))
    assert [one.code for one in found] == [2, 2, 2]
    assert all("expected a partition of the scenario, found 'night'" in one.err for one in found)


AXES = {"arrivals.iat": [7, 8]}


def test_an_axis_of_the_jobs_that_no_point_has_is_an_error_as_in_a_sweep(vinesim, folder):
    """No job has a user; all have a size."""
    plain = {**SCENARIO, "policy": "high"}
    study = folder / "record.yaml"
    study.write_text(json.dumps({"scenario": plain, "axes": AXES, "record": ["by.user", "by.size"]}))
    for done in (vinesim("validate", study), vinesim("sweep", study, "--out", folder / "out", "--workers", 1)):
        assert done.code == 2
        assert "record: expected one of by.task_type, by.size, by.hour, found by.user\n" in done.err
    assert not (folder / "out").exists()
    study.write_text(json.dumps({"scenario": plain, "axes": AXES, "record": ["by.size"]}))
    assert vinesim("validate", study).code == 0


@pytest.mark.parametrize("kind", ["study", "plan"])
def test_a_recorded_function_is_tried_only_by_running_it(vinesim, folder, kind):
    """And then as before a sweep: this one divides by zero."""
    (folder / "my.py").write_text("def mine(result):\n    return 1 / 0\n")
    document = {"scenario": {**SCENARIO, "policy": "high"}, "record": ["my.py:mine"]}
    document |= {"axes": AXES} if kind == "study" else {"choose": AXES, "minimize": "mine"}
    (folder / "record.yaml").write_text(json.dumps(document))
    done = vinesim("validate", folder / "record.yaml")
    assert done.code == 0, done.err
    assert "Not checked: the function" in done.out
    tried = vinesim("validate", folder / "record.yaml", "--run-policy-file")
    assert tried.code == 2
    assert "expected mine(result) to return a value, found ZeroDivisionError" in tried.err


def test_problems_of_the_scenario_join_those_of_a_study_or_plan(tmp_path, vinesim):
    scenario = {"datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPUU": 2}}]}, "workload": {"generator": "500jobs"}}
    scenario |= {"arrivals": {"iat": "7 uss"}, "policy": "hihg"}
    (tmp_path / "s.yaml").write_text(json.dumps(scenario))
    key = "datacenter.racks[0].units.CPU_INTEL"
    plan = {"scenario": "s.yaml", "choose": {key: {"from": 0, "to": 4}}, "minimize": "energy_j", "budget": {"rums": 3}}
    study = {"scenario": "s.yaml", "axes": {key: [1, 2]}, "replicatons": 3}
    for given, own in ((plan, "budget.rums"), (study, "replicatons")):
        (tmp_path / "file.yaml").write_text(json.dumps(given))
        for done in (
            vinesim("validate", str(tmp_path / "file.yaml")),
            vinesim("plan" if given is plan else "sweep", str(tmp_path / "file.yaml"), "--out", str(tmp_path / "out")),
        ):
            assert done.code == 2
            assert "4 problems in the input" in done.err
            for words in (own, "Did you mean GPU?", "arrivals.iat", "Did you mean high?"):
                assert words in done.err
    plan["choose"] = {key: {"from": 4, "to": "x"}}  # so that its section is not judged twice
    (tmp_path / "file.yaml").write_text(json.dumps(plan))
    text = vinesim("validate", str(tmp_path / "file.yaml")).err
    assert "arrivals.iat" in text
    assert "GPUU" not in text


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({**SCENARIO, "policy": "high"}, {"what": "scenario", "units": {"CPU_INTEL": 2}, "jobs": 3, "policy": "high"}),
        (
            {"scenario": {**SCENARIO, "policy": "high"}, "axes": {"arrivals.iat": [7, 8]}, "replications": 2},
            {"what": "study", "axes": {"arrivals.iat": 2}, "points": 2, "replications": 2, "runs": 4},
        ),
        (PLAN, {"what": "plan", "candidates": 8, "goals": ["least units.count"], "runs": 2000}),
        (SCENARIO, {"what": "scenario", "unchecked": ["policy mine.py:Mine"]}),
    ],
)
def test_what_is_valid_is_given_as_json(vinesim, folder, monkeypatch, document, found):
    monkeypatch.chdir(folder)
    (folder / "d.yaml").write_text(json.dumps(document))
    done = vinesim("validate", "d.yaml", "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert answer == answer | {"file": "d.yaml", "valid": True, "n_problems": 0, "problems": []} | found


def test_problems_are_given_as_json_too(vinesim, folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "policy": "hihg", "sampling": -1}))
    done = vinesim("validate", folder / "s.yaml", "--json")
    assert done.code == 2
    answer = json.loads(done.out)
    assert (answer["valid"], answer["n_problems"]) == (False, 2)
    assert {one["where"].rpartition(": ")[2] for one in answer["problems"]} == {"policy", "sampling"}
    assert {"high" in one["remedy"] for one in answer["problems"]} == {True, False}
    assert "2 problems in the input" in done.err
    (folder / "mine.py").write_text(MINE.replace("class Mine(OnlinePolicy)", "class Mine(OnlinePolicies)"))
    (folder / "s.yaml").write_text(json.dumps(SCENARIO))
    broken = vinesim("validate", folder / "s.yaml", "--json", "--run-policy-file")
    assert broken.code == 2
    assert "OnlinePolicies" in json.loads(broken.out)["problems"][0]["found"]
