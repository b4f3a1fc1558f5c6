"""The shipped plans: each is valid as it stands, and the one on a log answers with the real log."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.plan.file import read_plan
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.plans.check import check_plan
from vinesim.plans.space import Space
from vinesim.reproduction.claim import Verdict
from vinesim.reproduction.reproduce import reproduce
from vinesim_papers.vinesim import plan as papers
from vinesim_papers.vinesim.plan import HERE
from vinesim_papers.vinesim.plan_llm import ITEM

ROOT = Path(__file__).parents[2]
PLANS = ROOT / "examples" / "plans"
LOG = ROOT.parent / "shared" / "data" / "azure-llm2023" / "code.csv.gz"
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
NAMES = ("datacenter.racks[0].units.LARGE", "datacenter.racks[0].units.SMALL")
WITHOUT_LOG = [file for file in sorted(PLANS.glob("*.yaml")) if file.name not in ("llm.yaml", "serving_log.yaml")]


def few_requests(folder: Path) -> Path:
    """A log of 20 requests, a second apart, the last one first."""
    rows = [f"2023-11-16 18:17:{10 + i}.9799600,100,{tokens}\n" for i, tokens in enumerate((16, 17, 64, 65, 0) * 4)]
    (folder / "log.csv").write_text(HEAD + "".join(reversed(rows)))
    return folder / "log.csv"


def requests(folder: Path, log: Path, monkeypatch) -> Path:
    """The plan of the log in a folder, next to the workload that the example's script makes of it."""
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
    plan = requests(tmp_path, few_requests(tmp_path), monkeypatch)
    found = vs.plan(plan, workers=1)
    assert sum(found.recommended.choice[name] for name in NAMES) == 1
    text = (tmp_path / "llm_requests.csv").read_text().splitlines()
    assert text[1:3] == ["0.000000,SHORT,SHORT,16", "1.000000,MEDIUM,MEDIUM,17"]
    assert [line.split(",")[1] for line in text[3:6]] == ["MEDIUM", "LONG", "SHORT"]


def test_the_plan_of_engines_for_a_day_of_a_log_is_valid(tmp_path, monkeypatch):
    log = tmp_path / "serving_log.csv"
    log.write_text(few_requests(tmp_path).read_text().replace(",0\n", ",9\n"))
    arguments = ["serving_log.py", str(log), "-o", str(tmp_path / "serving_log_day.csv")]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(PLANS / "serving_log.py"), run_name="__main__")
    (tmp_path / "plan.yaml").write_text((PLANS / "serving_log.yaml").read_text())
    plan = read_plan(tmp_path / "plan.yaml")
    check_plan(plan, Space(plan))
    rows = (tmp_path / "serving_log_day.csv").read_text().splitlines()
    assert rows[:3] == ["time_s,requests", "0,12.00", "60,0.00"]  # the hour after midnight has 60 % of the 20 requests
    assert len(rows) == 1 + 24 * 60
    assert sum(float(row.split(",")[1]) for row in rows[1:]) == pytest.approx(20 * 15.71)


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="no log of Azure's requests at ../shared/data")
def test_the_fewest_gpus_for_a_real_log(tmp_path, monkeypatch):
    found = vs.plan(requests(tmp_path, LOG, monkeypatch), tmp_path / "out", workers=1)
    assert found.is_proved
    large, small = (found.recommended.choice[name] for name in NAMES)
    assert large + small == found.recommended.objectives[0].estimate
    summary = vs.simulate(vs.read_scenario(tmp_path / "out" / "recommendation.yaml")).summary
    assert summary["jobs"]["count"] == 8819
    assert summary["deadlines"]["missed_pct"] <= 1
    fewer = [row for row in found.runners if row.objectives[0].estimate < large + small]
    assert fewer
    assert all(row.judgements[0].estimate > 1 for row in fewer)


def test_a_wrong_log_is_reported_line_by_line(tmp_path, monkeypatch):
    log = few_requests(tmp_path)
    log.write_text(log.read_text() + "yesterday,100,7\n2023-11-16 18:18:00,100,-1\n")
    with pytest.raises(SystemExit, match=r"log.csv:22: expected TIMESTAMP: .*\n.*log.csv:23: expected GeneratedTokens"):
        requests(tmp_path, log, monkeypatch)
    assert not (tmp_path / "llm_requests.csv").exists()


def test_the_claim_asks_the_shipped_question_over_fewer_gpus():
    shipped, claimed = (YamlSource(file).data for file in (PLANS / "llm.yaml", HERE / "plan_llm.yaml"))
    for name, largest in zip(NAMES, (24, 16), strict=True):
        assert (shipped["choose"].pop(name), claimed["choose"].pop(name)) == (
            {"from": 0, "to": largest},
            {"from": 0, "to": 8},
        )
    assert shipped == claimed


@pytest.mark.slow
def test_the_claim_takes_any_log(tmp_path):
    fewest, which = reproduce(ITEM, inputs={"requests": few_requests(tmp_path)}).judged
    assert (fewest.verdict, which.verdict) == (Verdict.REPRODUCED, Verdict.NOT)
    assert which.measured == "0 LARGE, 1 SMALL; 1 LARGE, 0 SMALL"


@pytest.mark.slow
@pytest.mark.skipif(not LOG.exists(), reason="no log of Azure's requests at ../shared/data")
def test_the_claim_holds_for_the_real_log():
    report = reproduce(ITEM, inputs={"requests": LOG})
    assert [(judged.claim.id, judged.verdict) for judged in report.judged] == [
        ("VP.6", Verdict.REPRODUCED),
        ("VP.7", Verdict.REPRODUCED),
    ]


def test_the_regret_of_a_plan_is_that_next_to_every_point():
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
