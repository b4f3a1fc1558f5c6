"""The shipped plans: each is valid as it stands, and the one on a log answers with the real log."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.plan.file import read_plan
from vinesim.papers.vinesim import plan as papers
from vinesim.plans.check import check_plan
from vinesim.plans.space import Space

ROOT = Path(__file__).parents[2]
PLANS = ROOT / "examples" / "plans"
LOG = ROOT.parent / "shared" / "data" / "azure-llm2023" / "code.csv.gz"
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
WITHOUT_LOG = [file for file in sorted(PLANS.glob("*.yaml")) if file.name != "llm.yaml"]


def requests(folder: Path, log: Path, monkeypatch) -> Path:
    """The plan of the log in a folder, beside the workload that the example's script makes of it."""
    arguments = ["llm_requests.py", str(log), "-o", str(folder / "llm_requests.csv")]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(PLANS / "llm_requests.py"), run_name="__main__")
    (folder / "llm.yaml").write_text((PLANS / "llm.yaml").read_text())
    return folder / "llm.yaml"


@pytest.mark.parametrize("file", WITHOUT_LOG, ids=lambda file: file.stem)
def test_a_shipped_plan_is_valid(file):
    plan = read_plan(file)
    check_plan(plan, Space(plan))
    assert plan.description


def test_the_script_makes_classes_by_tokens_and_the_plan_runs(tmp_path, monkeypatch):
    rows = [f"2023-11-16 18:17:{10 + i}.9799600,100,{tokens}\n" for i, tokens in enumerate((16, 17, 64, 65, 0) * 4)]
    (tmp_path / "log.csv").write_text(HEAD + "".join(reversed(rows)))
    plan = requests(tmp_path, tmp_path / "log.csv", monkeypatch)
    found = vs.plan(plan, workers=1)
    units = found.recommended.choice
    assert units["datacenter.racks[0].units.LARGE"] + units["datacenter.racks[0].units.SMALL"] == 1
    text = (tmp_path / "llm_requests.csv").read_text().splitlines()
    assert text[1:3] == ["0.000000,SHORT,SHORT,16", "1.000000,MEDIUM,MEDIUM,17"]
    assert [line.split(",")[1] for line in text[3:6]] == ["MEDIUM", "LONG", "SHORT"]


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="no log of Azure's requests at ../shared/data")
def test_the_fewest_gpus_for_a_real_log(tmp_path, monkeypatch):
    found = vs.plan(requests(tmp_path, LOG, monkeypatch), tmp_path / "out", workers=1)
    assert found.is_proved
    large, small = (found.recommended.choice[f"datacenter.racks[0].units.{name}"] for name in ("LARGE", "SMALL"))
    assert large + small == found.recommended.objectives[0].estimate
    summary = vs.simulate(vs.read_scenario(tmp_path / "out" / "recommendation.yaml")).summary
    assert summary["jobs"]["count"] == 8819
    assert summary["deadlines"]["missed_pct"] <= 1
    fewer = [row for row in found.runners if row.objectives[0].estimate < large + small]
    assert fewer
    assert all(row.judgements[0].estimate > 1 for row in fewer)


def test_the_regret_of_a_plan_is_that_beside_every_point():
    question = papers.question("policy", {"workload": {"generator": "identical", "options": {"n_jobs": 20}}})
    answer = vs.plan(question, workers=1)
    every = papers.every_point(question)
    found = papers.Answered(answer, every)
    assert set(every) == set(range(question.space.n_points))
    assert found.regret_pct == pytest.approx(0, abs=3)
    worst = max(every, key=every.__getitem__)
    assert papers.Answered(answer, {**every, answer.recommended.point: every[worst]}).regret_pct > found.regret_pct
    assert np.isnan(papers.Answered(answer, {worst: 1.0}).regret_pct) or worst == answer.recommended.point
    assert found.ratio("policy", answer.recommended.choice["policy"]) == pytest.approx(1, abs=0.03)
