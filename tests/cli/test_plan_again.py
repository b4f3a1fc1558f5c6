"""``vinesim plan DIR --set`` from end to end: other prices, limits and objectives from the stored runs."""

import json

import pytest

from tests.cli.test_plan import PLAN
from vinesim.cli.exit_codes import ExitCode

CPUS, GPUS = (f"datacenter.racks[0].units.{kind}" for kind in ("CPU_INTEL", "GPU"))
NO_LIMIT = "limits={jobs.latency_us.mean: {below: 1 s}}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The folder of a plan whose runs are all there: no point is screened out or lost in a race."""
    import vinesim as vs

    home = tmp_path_factory.mktemp("plan")
    (home / "plan.yaml").write_text(PLAN.replace("confirm: {replications: 20, horizon: 2}", "screen: false"))
    vs.plan(home / "plan.yaml", home / "out", workers=1)
    return home / "out"


def again(vinesim, folder, *changes):
    """The exit code, the recommended choice and its cost under other values."""
    done = vinesim("plan", folder, "--json", *(word for change in changes for word in ("--set", change)))
    best = json.loads(done.out)["recommended"]
    return done.code, best and best["choice"], best and best["objectives"][0]["estimate"]


def test_other_prices_and_limits_give_another_answer_and_write_nothing(vinesim, stored):
    before = {file: file.read_bytes() for file in stored.rglob("*") if file.is_file()}
    code, choice, cost = again(vinesim, stored, "prices.CPU_INTEL=2000")
    assert (code, cost) == (0, 2000 * choice[CPUS] + 3000 * choice[GPUS])
    code, dear, cost = again(vinesim, stored, "prices.CPU_INTEL=2000", "prices.GPU=9000")
    assert (code, cost) == (0, 2000 * dear[CPUS] + 9000 * dear[GPUS])
    assert again(vinesim, stored, NO_LIMIT, "prices.GPU=1")[1:] == ({CPUS: 3, GPUS: 0}, 6000.0)
    assert again(vinesim, stored, NO_LIMIT, "minimize=jobs.latency_us.mean")[1][CPUS] > 3
    none = again(vinesim, stored, "limits={jobs.latency_us.mean: {below: 1 ns}}")
    assert none == (ExitCode.NO_PLAN, None, None)
    assert {file: file.read_bytes() for file in stored.rglob("*") if file.is_file()} == before


def test_the_words_are_those_of_a_plan(vinesim, stored):
    out = vinesim("plan", stored, "--set", NO_LIMIT).out
    assert out.startswith("Recommended")
    assert "cost.purchase (least): 6,000" in out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("choose={policy: [high, flat]}", "the choices of the stored runs"),
        ("policy=flat", "policy"),
        ("workload.load=2", "a change of workload"),
        ("prices.GPUS=1", "Did you mean GPU?"),
        ("limit={}", "Did you mean limits?"),
        ("prices.GPU", "expected key=value"),
    ],
)
def test_what_stored_runs_do_not_answer_is_refused_by_name(vinesim, stored, change, words):
    done = vinesim("plan", stored, "--set", change)
    assert (done.code, done.out) == (ExitCode.BAD_INPUT, "")
    assert words in done.err


def test_it_takes_the_folder_of_a_plan_and_nothing_else(vinesim, stored, tmp_path):
    (tmp_path / "plan.yaml").write_text(PLAN)
    for words in ((tmp_path / "plan.yaml",), (stored, "--out", tmp_path / "other")):
        done = vinesim("plan", *words, "--set", "prices.GPU=1")
        assert (done.code, done.out) == (ExitCode.BAD_INPUT, "")
        assert "expected the folder of a plan, without --out" in done.err
    assert not (tmp_path / "other").exists()
    assert vinesim("plan", tmp_path, "--set", "prices.GPU=1").code == ExitCode.BAD_INPUT
