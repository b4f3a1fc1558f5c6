"""The files of an answer: what is damaged, of another folder or another version is refused in one sentence."""

import json
import shutil
from pathlib import Path

import pytest

import vinesim as vs
from tests.plans.conftest import CPUS, little_plan
from vinesim.formats.results.checksums import BLANK, is_intact, with_checksum
from vinesim.plans.record import without_empty
from vinesim.plans.stored import read_answer
from vinesim.policies.identity import content_id


@pytest.fixture
def folder(planned, tmp_path) -> Path:
    """A copy of a plan's folder."""
    shutil.copytree(planned[1], tmp_path / "out")
    return tmp_path / "out"


def refusal(folder: Path) -> str:
    with pytest.raises(vs.InputError) as error:
        read_answer(folder)
    (problem,) = error.value.problems
    return str(problem).removeprefix(f"{folder}/")


def rewritten(file: Path, change) -> None:
    """Change a plan.json and give it the right checksum."""
    document = json.loads(file.read_text())
    change(document)
    file.write_bytes(with_checksum(json.dumps({**document, "checksum": BLANK}).encode()))


def test_the_answer_is_read_where_it_was_written_and_where_it_was_copied(planned, folder):
    assert read_answer(folder) == read_answer(planned[1])
    assert read_answer(folder)["recommended"]["point"] == planned[0].recommended.point


@pytest.mark.parametrize("change", [("450", "451"), ('"judgements"', '"judgementz"'), ("{", "{ ")])
def test_an_edited_answer_is_refused(folder, change):
    text = (folder / "plan.json").read_text()
    assert change[0] in text
    (folder / "plan.json").write_text(text.replace(*change, 1))
    assert refusal(folder).startswith("plan.json: expected an answer whose checksum matches, found a damaged or edited")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '"x"', "\0"])
def test_what_is_no_answer_is_refused(folder, text):
    (folder / "plan.json").write_text(text)
    assert refusal(folder).startswith(
        "plan.json: expected an answer that vinesim plan wrote, found something else. Rep"
    )


@pytest.mark.parametrize("form", [None, 1, 2, "2"])
def test_an_answer_of_another_version_is_refused(folder, form):
    rewritten(folder / "plan.json", lambda document: document.update(format=form))
    assert refusal(folder).startswith(f"plan.json: expected an answer of format 3, found format {form}. Repeat")


def test_the_answer_of_another_folder_is_refused(folder, tmp_path):
    other = little_plan()
    other["choose"][CPUS] = [6]
    vs.plan({**other, "looks": [3], "confirm": {"replications": 0, "horizon": 1}}, tmp_path / "other", workers=1)
    shutil.copy(tmp_path / "other" / "plan.json", folder)
    assert refusal(folder).startswith(
        "plan.json: expected the answer to the study.yaml next to it, found the answer to"
    )


def test_runs_that_are_gone_are_missed(folder):
    part = next((folder / "runs").glob("*.parquet"))
    part.unlink()
    n = read_count(folder)
    assert refusal(folder).startswith(f"runs: expected the {n:,} runs of the answer, found ")
    shutil.rmtree(folder / "runs")
    assert refusal(folder).startswith("runs: expected the parts of a sweep, found no such folder")


def read_count(folder: Path) -> int:
    return len(json.loads((folder / "plan.json").read_text())["run_ids"]) // 8


def test_more_runs_in_the_folder_are_no_harm(folder):
    more = {**little_plan(), "limits": {"jobs.latency_us.mean": {"below": 600}}}
    before = (folder / "plan.json").read_bytes()
    vs.plan(more, folder, workers=1)
    (folder / "plan.json").write_bytes(before)
    assert read_answer(folder)["plan"]["limits"][0]["value"] == 450


def test_the_scenarios_carry_checksums(planned, folder):
    files = [folder / "recommendation.yaml", *(folder / "points").iterdir()]
    assert len(files) > 2
    for file in files:
        assert is_intact(file.read_bytes())
        vs.read_scenario(file)
        edited = file.read_text().replace("n_jobs: 20", "n_jobs: 21")
        file.write_text(edited)
        with pytest.raises(
            vs.InputError, match="expected a scenario whose checksum matches, found a damaged or edited"
        ):
            vs.read_scenario(file)
        file.write_text(edited.rpartition("# sha256:")[0])  # an edit that is meant
        assert vs.read_scenario(file).workload.n_jobs == 21


MANY = {
    "racks": [
        {"units": {"CPU_INTEL": 2, "GPU": 0}, "count": 2},
        {"units": {"CPU_INTEL": {"count": 0}, "GPU": {"count": 3}}},
        {"units": {"GPU": 4}, "count": 0},
        {
            "nodes": [
                {"units": {"CPU_INTEL": 1, "GPU": 0}, "count": 2},
                {"units": {"GPU": 2}, "count": 0},
                {"units": {"GPU": 2}, "count": 0, "group": "fast"},
            ]
        },
    ]
}


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (
            MANY,
            {
                "racks": [
                    {"units": {"CPU_INTEL": 2}, "count": 2},
                    {"units": {"GPU": {"count": 3}}},
                    {
                        "nodes": [
                            {"units": {"CPU_INTEL": 1}, "count": 2},
                            {"units": {"GPU": 2}, "count": 0, "group": "fast"},
                        ]
                    },
                ]
            },
        ),
        (
            {"units": [{"type": "GPU", "rack": 0, "shelf": 1, "count": 0}, {"type": "GPU", "rack": 1, "shelf": 0}]},
            {"units": [{"type": "GPU", "rack": 1, "shelf": 0}]},
        ),
        ({"racks": [{"units": {"GPU": 0}}]}, {"racks": [{"units": {"GPU": 0}}]}),
        ({"file": "x.csv"}, {"file": "x.csv"}),
    ],
)
def test_what_there_is_none_of_is_left_out(section, expected):
    assert without_empty(section) == expected


def test_the_datacenter_stays_the_same_without_it():
    def built(section):
        workload = {"generator": "identical", "options": {"n_jobs": 5}}
        document = {"datacenter": section, "workload": workload, "arrivals": {"iat": 5}}
        (run,) = vs.expand(study := vs.study({"scenario": document}))
        from vinesim.studies.expand import scenario_of

        return scenario_of(study, run)

    one, other = built(MANY), built(without_empty(MANY))
    assert content_id(one) == content_id(other)
    assert (
        vs.simulate(one, engine="reference").summary["jobs"] == vs.simulate(other, engine="reference").summary["jobs"]
    )
