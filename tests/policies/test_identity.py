"""What decides the outcome is in the ids of scenarios and runs, and nothing else is."""

import json
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import vinesim as vs
from vinesim.policies import identity
from vinesim.policies.identity import content_id
from vinesim.policies.placement.best_fit import BestFit
from vinesim.policies.registry import policies
from vinesim.studies import identity as of_runs

SCENARIO = {
    "datacenter": {"racks": [{"units": {"CPU_INTEL": 2, "GPU": 2}}]},
    "workload": {"generator": "identical", "options": {"n_jobs": 3}},
    "arrivals": {"iat": 7},
}
MINE = """
from dataclasses import dataclass
from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, start
import helper
import deeper.inner

@dataclass(frozen=True)
class Mine(OnlinePolicy):
    wait_us: float = 5.0
    often: int = 3
    eager: bool = False
    mode: str = "yes"

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task)
        return start(task, unit) if helper.GO and unit >= 0 else nothing()
"""


def ids(folder, **more):
    """The content id and the run id of a scenario that lies in the folder."""
    document = {**SCENARIO, **more}
    (folder / "s.yaml").write_text(json.dumps(document))
    content = content_id(vs.read_scenario(folder / "s.yaml"))
    (run,) = vs.expand(vs.study({"scenario": document}, folder))
    return content, run.run_id


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deeper" / "below").mkdir(parents=True)
    for name, text in {
        "mine.py": MINE,
        "helper.py": "from second import GO\n",
        "second.py": "GO = True\n",
        "deeper/inner.py": "from deeper.below.most import LAST\n",
        "deeper/below/most.py": "LAST = 1\n",
        "unrelated.py": "Y = 1\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["mine.py", "helper.py", "second.py", "deeper/inner.py", "deeper/below/most.py", "unrelated.py"]
)
@pytest.mark.parametrize("edit", ["Z = 1\n", "# a comment\n"])
def test_an_edit_of_the_policy_or_of_a_module_next_to_it_changes_both_ids(folder, name, edit):
    before = ids(folder, policy="mine.py:Mine")
    file = folder / name
    text = file.read_text()
    file.write_text(text + edit)
    after = ids(folder, policy="mine.py:Mine")
    assert [a != b for a, b in zip(after, before, strict=True)] == [name != "unrelated.py"] * 2
    file.write_text(text)
    assert ids(folder, policy="mine.py:Mine") == before


@pytest.mark.parametrize("name", ["second.py", "deeper/below/most.py"])
def test_the_outcome_of_another_helper_is_under_another_id(folder, name):
    """An edited helper made a run stall, under the id of the run that was all done; or another one, of a package, did
    not, under the id of the run that it would have stalled."""
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "policy": "mine.py:Mine"}))
    (folder / "second.py").write_text("from deeper.below.most import GO\n")
    (folder / "deeper" / "inner.py").write_text("")
    found = {}
    for text in ("GO = True\n", "GO = False\n"):
        (folder / name).write_text(text)
        result = vs.simulate(vs.read_scenario(folder / "s.yaml"), engine="reference")
        found[result.provenance["content_id"]] = str(result.exit_reason)
    assert sorted(found.values()) == ["ALL_DONE", "STALLED"]


def test_the_id_in_a_result_is_that_of_the_code_that_ran(folder):
    (folder / "s.yaml").write_text(json.dumps({**SCENARIO, "policy": "mine.py:Mine"}))
    scenario = vs.read_scenario(folder / "s.yaml")
    before = content_id(scenario)
    result = vs.simulate(scenario, engine="reference")
    (folder / "second.py").write_text("GO = False\n")
    assert content_id(scenario) != before
    assert result.provenance["content_id"] == before


def test_the_version_counts(folder, monkeypatch):
    before = ids(folder)
    monkeypatch.setattr(identity, "code_version", lambda: "another")
    monkeypatch.setattr(of_runs, "code_version", lambda: "another")
    after = ids(folder)
    assert before[0] != after[0]
    assert before[1] != after[1]


def _plain_defaults(kind):
    return {
        item.name: item.default for item in fields(kind) if item.default is not MISSING and item.default is not None
    }


@pytest.mark.parametrize("policy", list(policies()))
def test_a_default_that_is_spelled_out_is_the_same_id(policy, tmp_path):
    defaults = _plain_defaults(policies()[policy])
    plain = ids(tmp_path, policy=policy)
    assert ids(tmp_path, policy=policy, options=defaults, period="10 s") == plain
    as_text = {name: str(value) for name, value in defaults.items()}  # as --option gives them
    assert ids(tmp_path, policy=policy, options=as_text) == plain
    for name in defaults:
        other = ids(tmp_path, policy=policy, options={name: "another"})
        assert other[0] != plain[0]
        assert other[1] != plain[1]


def test_left_out_defaults_of_the_document_are_the_same_id(tmp_path):
    assert ids(tmp_path) == ids(tmp_path, policy="high", options={}, extends="builtin", period=10_000_000, outages=None)


def test_the_defaults_of_a_file_count_without_running_it(folder):
    proof = folder / "it_ran"
    (folder / "mine.py").write_text(MINE + f"\nopen({str(proof)!r}, 'w')\n")
    plain = ids(folder, policy="mine.py:Mine")
    for options in (
        {"wait_us": "5 us", "often": 3.0, "eager": False, "mode": True},
        {"wait_us": "5", "often": "3", "eager": "no", "mode": "yes"},
    ):
        assert ids(folder, policy="mine.py:Mine", options=options) == plain
    found = {ids(folder, policy="mine.py:Mine", options={n: v})[1] for n, v in (("eager", "yes"), ("often", True))}
    assert len(found | {plain[1]}) == 3
    assert ids(folder, policy="mine.py:Mine", options={"wait_us": "6 us"})[0] != plain[0]
    assert not proof.exists()


def test_a_name_its_class_and_its_object_are_one_policy(tmp_path):
    def of(policy, **options):
        document = {**SCENARIO, "policy": policy, "options": options}
        return vs.expand(vs.study({"scenario": document}))[0].run_id

    assert of("bf") == of(BestFit) == of(BestFit()) == of(BestFit(cost="fitted"))
    assert of("bf", cost="marginal") == of(BestFit(cost="marginal")) != of("bf")
    (tmp_path / "s.yaml").write_text(json.dumps(SCENARIO))
    base = vs.read_scenario(tmp_path / "s.yaml")
    assert content_id(vs.changed(base, policy="bf")) == content_id(vs.changed(base, policy=BestFit()))


def test_options_that_a_replaced_policy_leaves_behind_do_not_count():
    def of(**options):
        study = vs.study(
            {"scenario": {**SCENARIO, "policy": "bf", "options": options}, "axes": {"policy": ["rr", "bf"]}}
        )
        return [run.run_id for run in vs.expand(study)]

    (rr, bf), (other_rr, other_bf) = of(cost="marginal"), of()
    assert rr == other_rr
    assert bf != other_bf
    assert of(cost="marginal", realloc="new")[0] != rr


def test_the_old_spelling_of_the_period_is_the_same_run(tmp_path):
    def of(**more):
        return vs.expand(vs.study({"scenario": {**SCENARIO, "policy": "bf", **more}}))[0].run_id

    assert of(options={"period_us": "5 s"}) == of(period="5 s") == of(period=5e6) != of()


def test_a_policy_file_lies_wherever_it_lies(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    for file in folder.rglob("*.py"):
        target = other / file.relative_to(folder)
        target.parent.mkdir(exist_ok=True)
        target.write_text(file.read_text())
    assert ids(folder, policy="mine.py:Mine") == ids(other, policy="mine.py:Mine")
    assert Path(folder) != other
