"""Serving engines in a scenario file: they are read, checked with their place, and count for the content id."""

import pytest

import vinesim as vs
from vinesim.formats.cluster.file import read_cluster
from vinesim.model.batching import Batching
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id

FILE = """extends: none
processor_types:
  - name: ENGINE
    batching:
      max_sequences: 4
      max_batched_tokens: 64
      memory_tokens: 1000
      step: {base: 10 ms, prefill_token: 50 us}
task_types: [CHAT, CODE]
affinity: {absolute: {ENGINE: 1}}
datacenter: {racks: [{units: {ENGINE: 1}}]}
workload: {file: jobs.csv}
"""
STEPS = 'step: {CHAT: {base: 1 ms}, "*": {base: 2 ms}}'
JOBS = "arrival_us,task_type,input_tokens,output_tokens\n0,CHAT,100,3\n0,CODE,20,1\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "s.yaml").write_text(FILE)
    return tmp_path / "s.yaml"


def test_an_engine_is_read(path):
    case = read_scenario(path)
    batching = case.datacenter.processor_types[0].batching
    assert isinstance(batching, Batching)
    assert (batching.block_tokens, batching.when_full, batching.prefix_caching) == (16, "recompute", False)
    assert batching.n_blocks == 62
    result = vs.simulate(case, engine="reference")
    assert result.outcome.serving.first_token_us.tolist() == [26_000, 26_000]  # 64 tokens, then 36 and 20
    assert result.outcome.task_finish_us.tolist() == [46_000, 26_000]


def test_steps_by_task_type(path):
    """An engine serves task types whose steps take the same; another type of engine may serve the others."""
    path.write_text(FILE.replace("step: {base: 10 ms, prefill_token: 50 us}", STEPS))
    with pytest.raises(vs.InputError, match=r"same time for all task types that it serves \(CHAT, CODE\)"):
        read_scenario(path)
    path.with_name("jobs.csv").write_text(JOBS.replace("CODE", "CHAT"))
    assert vs.simulate(read_scenario(path), engine="reference").outcome.task_finish_us.tolist() == [4_000, 2_000]


def test_the_content_id_depends_on_it(path):
    ids = {content(path, *changes) for changes in ((), ("max_sequences=5",), ("step.base=11 ms",), ("block_tokens=8",))}
    assert len(ids) == 4


def content(path, *changes):
    return content_id(read_scenario(path, [f"processor_types[0].batching.{change}" for change in changes]))


WRONG = [
    ("max_sequences: 4", "max_sequences: 0", "s.yaml:5:", "max_sequences"),
    ("max_batched_tokens: 64", "max_batched_tokens: 3", "s.yaml:5:", "expected at least max_sequences (4)"),
    ("base: 10 ms", "basis: 10 ms", "s.yaml:8:", "basis"),
    (
        "step: {base: 10 ms, prefill_token: 50 us}",
        "step: {CHAT: {base: 1}, CDOE: {base: 1}}",
        "s.yaml:8:",
        "found 'CDOE'",
    ),
    ("name: ENGINE", "name: ENGINE\n    capacity: 3", "s.yaml:6:", "batching or capacity"),
    ("memory_tokens: 1000", "memory_tokens: 80", "jobs.csv:2:", "at most 81 input and output tokens"),
]


@pytest.mark.parametrize(("old", "new", "place", "message"), WRONG)
def test_wrong_engines_are_refused_with_their_place(path, old, new, place, message):
    path.write_text(FILE.replace(old, new))
    with pytest.raises(vs.InputError) as refused:
        read_scenario(path)
    assert place in str(refused.value)
    assert message in str(refused.value)


def test_a_live_cluster_has_none(tmp_path):
    text = FILE[FILE.index("processor_types") : FILE.index("datacenter")]
    (tmp_path / "cluster.yaml").write_text(text + "nodes: [{name: a, rack: 0, units: {ENGINE: 1}}]\n")
    with pytest.raises(vs.InputError, match=r"batching: expected none: a live scheduler starts tasks"):
        read_cluster(tmp_path / "cluster.yaml")
