"""A stored plan answers under other prices and limits from its runs; what other prices mean for an answer."""

import json
from pathlib import Path

import pytest

import vinesim as vs
from vinesim.pages.plan import write_plan_page
from vinesim.plans import again

QUICK = Path(__file__).parents[2] / "examples" / "quickstart.yaml"
PLAN = """\
scenario: scenario.yaml
choose:
  datacenter.racks[0].units.GPU: {from: 16, to: 22}
  datacenter.racks[0].units.CPU_INTEL: [0, 20]
minimize: cost.purchase
limits: {jobs.latency_us.p99: {below: 100 us}}
confirm: {replications: 0, horizon: 1}
"""
OWN = """\
def late(result):
    return float((result.jobs["latency_us"] > 30).mean())
"""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "scenario.yaml").write_text(QUICK.read_text())
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def _points(answer):
    return None if answer.recommended is None else tuple(answer.recommended.choice.values())


def _again(folder, file, **changes):
    """Return the answer of the stored runs to the plan of a file with some text replaced."""
    was, text = vs.read_plan(file), file.read_text()
    for old, new in changes.items():
        text = text.replace(*new) if isinstance(new, tuple) else text.replace(old, new)
    other = file.with_name("other.yaml")
    other.write_text(text)
    return again.answered_again(folder, was, vs.read_plan(other))


def test_other_prices_and_limits_are_answered_by_stored_runs_as_by_a_new_plan(here):
    file = here / "plan.yaml"
    vs.plan(file, here / "out", workers=1)
    rows = sorted((here / "out" / "runs").iterdir())
    scenario = here / "scenario.yaml"
    cheap = here / "cheap.yaml"
    cheap.write_text(scenario.read_text().replace("CPU_INTEL: 2000", "CPU_INTEL: 10"))
    dear = _again(here / "out", file, one=("scenario.yaml", "cheap.yaml"), two=("100 us", "1 ms"))
    new = vs.plan(here / "other.yaml", workers=1)
    assert _points(dear) == _points(new)
    assert dear.recommended.objectives[0].estimate == new.recommended.objectives[0].estimate
    assert sorted((here / "out" / "runs").iterdir()) == rows
    assert (dear.counts["runs_done_now"], dear.status.value) == (0, "recommended, not confirmed")


def test_other_choices_and_other_runs_are_refused(here):
    file = here / "plan.yaml"
    vs.plan(file, here / "out", workers=1)
    with pytest.raises(vs.InputError, match="choices of the stored runs"):
        _again(here / "out", file, one=("to: 22", "to: 21"))
    (here / "pref.yaml").write_text(QUICK.read_text().replace("policy: high", "policy: pref"))
    with pytest.raises(vs.InputError, match="a change of policy"):
        _again(here / "out", file, one=("scenario.yaml", "pref.yaml"))


def test_a_price_stays_the_best_up_to_where_another_point_costs_the_same(here):
    """With a limit that GPUs with and without CPUs keep, the recommendation changes where both cost the same."""
    file = here / "plan.yaml"
    file.write_text(PLAN.replace("100 us", "1 ms").replace("looks", "") + "screen: false\n")
    answer = vs.plan(file, workers=1)
    best = _points(answer)
    for each in answer.price_ranges:
        assert each.low <= each.price <= each.high
        rival = each.below or each.above
        if rival is None:
            continue
        at = each.low if each.below else each.high
        prices = {"GPU": 3000.0, "CPU_INTEL": 2000.0} | {each.kind: at}
        cost = [prices["GPU"] * gpus + prices["CPU_INTEL"] * cpus for gpus, cpus in (best, rival.choice.values())]
        assert cost[0] == pytest.approx(cost[1])


def test_a_front_has_its_knee_and_a_latency_its_cheapest_point(here):
    file = here / "plan.yaml"
    text = PLAN.replace("limits: {jobs.latency_us.p99: {below: 100 us}}", "screen: false")
    file.write_text(text.replace("minimize: cost.purchase", "minimize: [cost.purchase, jobs.latency_us.p99]"))
    answer = vs.plan(file, workers=1)
    front = [tuple(goal.estimate for goal in row.objectives) for row in answer.front]
    lows, highs = (tuple(pick(column) for column in zip(*front, strict=True)) for pick in (min, max))
    scaled = {
        point: sum((value - low) / (high - low) for value, low, high in zip(point, lows, highs, strict=True))
        for point in front
    }
    assert answer.knee is None or tuple(g.estimate for g in answer.knee.objectives) == min(scaled, key=scaled.get)
    file.write_text(text.replace("minimize: cost.purchase", "minimize: jobs.latency_us.mean"))
    answer = vs.plan(file, workers=1)
    best = answer.recommended.objectives[0].estimate
    if answer.nearly is not None:
        assert answer.nearly.objectives[0].estimate <= 1.05 * best


def test_limits_and_objectives_may_name_numbers_of_ones_own(here):
    (here / "own.py").write_text(OWN)
    file = here / "plan.yaml"
    limits = "limits: {late: {below: 0.01}}\nrecord: [own.py:late]"
    file.write_text(PLAN.replace("limits: {jobs.latency_us.p99: {below: 100 us}}", limits))
    answer = vs.plan(file, here / "out", workers=1)
    assert answer.recommended.judgements[0].limit.number == "late"
    assert json.loads((here / "out" / "plan.json").read_text())["status"].startswith("recommended")
    again_late = _again(here / "out", file, one=("0.01", "0.02"))
    assert again_late.recommended.judgements[0].limit.number == "late"
    (here / "cheap.yaml").write_text((here / "scenario.yaml").read_text().replace("CPU_INTEL: 2000", "CPU_INTEL: 10"))
    with pytest.warns(vs.InputWarning, match="own.py:late: as in the stored runs"):
        _again(here / "out", file, one=("scenario.yaml", "cheap.yaml"))
    for wrong in ("record: [own.py:lat]", "record: [own.py]", "record: [jobs.count]", ""):
        file.write_text(
            PLAN.replace("limits: {jobs.latency_us.p99: {below: 100 us}}", limits.split("\n")[0] + f"\n{wrong}")
        )
        with pytest.raises(vs.InputError):
            vs.plan(file, here / "no", workers=1)
        assert not (here / "no").exists()


def test_other_loads_are_run_and_name_the_point_that_keeps_the_limits(here):
    """Without CPUs, 25 us a task and 5 tasks every 7 us take 17.9 GPUs; at 1.1 times the load 19.6, at 1.2 21.4, which
    21 do nearly: the queue of 500 jobs stays short."""
    file = here / "plan.yaml"
    text = PLAN.replace("[0, 20]", "[0]") + "what_if: {load: [0.9, 1.1, 1.2, 1.5]}\n"
    file.write_text(text)
    answer = vs.plan(file, here / "out", workers=1)
    assert _points(answer) == (18, 0)
    gpus = [None if each.instead is None else next(iter(each.instead.choice.values())) for each in answer.at_loads]
    assert [each.holds for each in answer.at_loads] == [True, False, False, False]
    assert gpus == [None, 20, 21, None]
    assert sorted(entry.name for entry in (here / "out" / "what_if").iterdir()) == ["0.9", "1.1", "1.2", "1.5"]
    stored = json.loads((here / "out" / "plan.json").read_text())["at_loads"]
    assert [each["load"] for each in stored] == [0.9, 1.1, 1.2, 1.5]
    write_plan_page(here / "out")
    assert "Under other loads" in (here / "out" / "plan.html").read_text()
