"""Engines that only prefill or only decode, from a scenario file through a run to what the commands say of it."""

import json

import pytest

FILE = """\
extends: none
processor_types:
  - name: P
    price: 2
    batching: {max_sequences: 4, max_batched_tokens: 64, memory_tokens: 1600, role: prefill, token_bytes: 2 KiB,
               step: {base: 10 ms, prefill_token: 1 ms}}
  - name: D
    price: 1
    batching: {max_sequences: 4, max_batched_tokens: 64, memory_tokens: 1600, role: decode,
               step: {base: 10 ms, prefill_token: 1 ms}}
task_types: [MODEL]
affinity: {absolute: {P: 1, D: 1}}
datacenter: {racks: [{units: {P: 1, D: 1}}]}
network: {local: 1 MB/s, intra_rack: 500 kB/s, inter_rack: 250 kB/s}
workload: {file: jobs.csv}
policy: least_requests
"""
JOBS = "arrival_ms,input_tokens,output_tokens\n0,50,3\n0,10,1\n"
SENT_MS = 2 * 0.0002 + 50 * 2048 / 500  # two hops, and the cache of 50 tokens over the bandwidth


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "s.yaml").write_text(FILE)
    return tmp_path / "s.yaml"


@pytest.fixture
def folder(scenario, vinesim):
    done = vinesim("run", scenario, "--engine", "reference", "--explain", "--out", scenario.parent / "run")
    assert done.code == 0, done.err
    assert next(line.split()[4] for line in done.out.splitlines() if " transfer of the cache " in line) == "1"
    return scenario.parent / "run"


def test_the_summary_has_what_both_engines_did(folder):
    """Both prompts take one step of 70 ms; then the cache is sent, and two steps of 10 ms make two tokens."""
    summary = json.loads((folder / "summary.json").read_text())
    serving = summary["serving"]
    assert serving["first_token_us"]["max"] == 70_000
    assert serving["transfer_us"]["mean"] == pytest.approx(SENT_MS * 1e3)
    assert serving["token_us"]["max"] == pytest.approx((SENT_MS + 20) / 2 * 1e3)
    assert summary["jobs"]["latency_us"]["max"] == pytest.approx((70 + SENT_MS + 20) * 1e3)
    assert summary["tasks"]["by_type"] == {"P": 2, "D": 1}
    assert "early_ends" not in summary


def test_a_request_that_was_prefilled_did_not_wait(folder, vinesim):
    done = vinesim("explain", folder, "--job", 0)
    assert done.code == 0, done.err
    words = " ".join(done.out.split())
    assert "Job 0 did not wait" in words
    assert "It had run before: on unit 0" in words
    assert "(prefilled)" in words


@pytest.mark.parametrize("command", ["report", "gantt"])
def test_pages_and_pictures_are_made_of_it(folder, vinesim, command):
    path = folder.parent / {"report": "page.html", "gantt": "gantt.svg"}[command]
    done = vinesim(command, folder, "-o", path)
    assert done.code == 0, done.err
    assert path.stat().st_size > 1000
    if command == "report":
        assert "transfer of the cache</th><td>1</td>" in path.read_text()


def test_a_page_is_made_of_a_run_that_sent_no_cache(scenario, vinesim):
    (scenario.parent / "jobs.csv").write_text("arrival_ms,input_tokens,output_tokens\n0,50,1\n")
    run, page = scenario.parent / "run", scenario.parent / "page.html"
    assert vinesim("run", scenario, "--engine", "reference", "--out", run).code == 0
    done = vinesim("report", run, "-o", page)
    assert done.code == 0, done.err
    assert "transfer of the cache</th><td>0</td>" in page.read_text()


def test_a_study_compares_networks(scenario, vinesim):
    text = "scenario: s.yaml\naxes: {network.intra_rack: [500 kB/s, 50 kB/s]}\nrecord: [serving]\n"
    (scenario.parent / "study.yaml").write_text(text)
    done = vinesim("sweep", scenario.parent / "study.yaml", "--out", scenario.parent / "sweep")
    assert done.code == 0, done.err
    done = vinesim(
        "compare", scenario.parent / "sweep", "--by", "network.intra_rack", "--of", "serving.transfer_us.mean"
    )
    assert done.code == 0, done.err
    assert "205 ms" in done.out
    assert "2.05 s" in done.out


def test_a_plan_leaves_out_engines_without_a_partner_before_any_run(scenario, vinesim):
    counts = "datacenter.racks[0].units"
    text = f'scenario: s.yaml\nchoose: {{"{counts}.P": [0, 1], "{counts}.D": [0, 1, 2]}}\nminimize: cost.purchase\n'
    limits = "limits: {serving.first_token_us.max: {below: 1 s}}\nlooks: [1]\nconfirm: {replications: 0, horizon: 1}\n"
    (scenario.parent / "plan.yaml").write_text(text + limits)
    done = vinesim("plan", scenario.parent / "plan.yaml", "--out", scenario.parent / "plan", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["recommended"]["choice"] == {f"{counts}.P": 1, f"{counts}.D": 1}
    excluded = str(found)
    assert "it lacks an engine in the datacenter that only prefills and serves MODEL, as D is for decode" in excluded
    assert "it lacks an engine in the datacenter that decodes and serves MODEL, as P is for prefill" in excluded


WRONG = {
    "datacenter.racks[0].units.D=0": "s.yaml:3:3: processor_types.P.batching.role: expected an engine",
    "processor_types[0].batching.token_bytes=0.5": "token_bytes: expected bytes, 0 to 2^31 - 1, found 0.5",
    "processor_types[0].batching.role=prefil": "role: expected",
    "policy=drf": "no engines with role: prefill; drf keeps tasks in its scratch",
    "policy=dot_product": "no engines with role: prefill; dot_product scores nodes",
}


@pytest.mark.parametrize("change", WRONG)
def test_what_does_not_go_together_is_refused_before_a_run(scenario, vinesim, change):
    done = vinesim("validate", scenario, "--set", change)
    assert done.code == 2
    assert WRONG[change] in done.err


def test_both_roles_can_be_set_to_both(scenario, vinesim):
    both = [word for i in (0, 1) for word in ("--set", f"processor_types[{i}].batching.role=both")]
    assert vinesim("validate", scenario, *both).code == 0
