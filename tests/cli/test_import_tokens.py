"""``vinesim import csv`` of a log of requests with tokens: an engine is made for it, or taken from another scenario."""

import json

import pytest

import vinesim as vs

ROWS = [
    {
        "request_id": "a",
        "input_toks": 2358,
        "output_toks": 531,
        "arrival_time": 1787267980.25,
        "last_token_ts": 27554.2,
    },
    {"request_id": "b", "input_toks": 1034, "output_toks": 769, "arrival_time": 1787267980.5, "last_token_ts": 27562.3},
    {"request_id": "c", "input_toks": 1200, "output_toks": None, "arrival_time": 1787267980.75},
    {"request_id": "d", "input_toks": 1200, "output_toks": 0, "arrival_time": 1787267981.0},
]
LIKE = """extends: none
processor_types:
  - {name: A, batching: {max_sequences: 8, max_batched_tokens: 512, memory_tokens: 8000, step: {base: 10 ms}}}
task_types: [MODEL]
affinity: {absolute: {A: 1}}
network: none
datacenter: {racks: [{units: {A: 3}}]}
workload: {generator: jobs, options: {n_jobs: 5, sizes: 5}}
arrivals: {iat: 5 s}
policy: least_tokens
"""


@pytest.fixture
def imported(vinesim, tmp_path):
    def take(name, text, *words, code=0):
        (tmp_path / name).write_text(text)
        done = vinesim("import", "csv", tmp_path / name, "-o", tmp_path / "requests.csv", "--json", *words)
        assert done.code == code, done.err
        return json.loads(done.out) if code == 0 else done.err

    take.scenario = tmp_path / "requests.yaml"
    return take


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_requests_of_an_engine(imported):
    report = imported("log.jsonl", lines(ROWS))
    assert report["columns"]["input_toks"]["is"] == "input_tokens"
    assert report["columns"]["output_toks"]["is"] == "output_tokens"
    assert {reason: found["lines"] for reason, found in report["dropped"].items()} == {
        "output_toks: empty": [3],
        "output_toks: a cell that cannot be read": [4],
    }
    scenario = vs.read_scenario(imported.scenario)
    assert scenario.workload.arrival_us.tolist() == [0, 0.25e6]
    assert scenario.workload.input_tokens.tolist() == [2358, 1034]
    (engine,) = scenario.datacenter.processor_types
    assert engine.batching.memory_tokens == 40_000
    result = vs.simulate(scenario, engine="reference")
    assert result.summary["serving"]["first_token_us"]["max"] > 0


def test_the_made_engine_holds_the_longest_request(imported):
    imported("log.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,90001,10\n")
    scenario = vs.read_scenario(imported.scenario)
    assert scenario.datacenter.processor_types[0].batching.longest > 90_011


def test_how_long_requests_took_is_left_to_the_engine(imported):
    report = imported("log.csv", "arrival_s,prompt_tokens,completion_tokens,duration_s\n0,10,5,3\n1,10,5,4\n")
    assert report["columns"]["duration_s"] == {
        "is": "ignore",
        "why": "an engine's steps say how long a request takes",
        "is_doubtful": False,
    }
    assert vs.read_scenario(imported.scenario).workload.times_us is None
    words = {finding["what"] for finding in report["findings"]}
    assert {"prompts", "answers"} <= words
    assert not words & {"durations", "load, ENGINE", "size of jobs"}


def test_the_engines_of_another_scenario(imported, tmp_path):
    (tmp_path / "like.yaml").write_text(LIKE)
    imported("log.jsonl", lines(ROWS), "--like", tmp_path / "like.yaml")
    scenario = vs.read_scenario(imported.scenario)
    assert scenario.datacenter.n_units == 3
    assert scenario.policy == "least_tokens"


def test_tokens_of_one_kind_only(imported):
    error = imported("log.csv", "arrival_s,prompt_tokens\n0,10\n", code=2)
    assert "expected a column that says the output_tokens of a request" in error
    assert "--column NAME=output_tokens" in error


# a block has 64 tokens: two turns of a conversation, and a third that goes another way; a system prompt; nothing shared
BLOCKS = [
    {"timestamp": 0, "input_length": 150, "output_length": 9, "hash_ids": [1, 2, 3]},
    {"timestamp": 60_000, "input_length": 250, "output_length": 9, "hash_ids": [1, 2, 4, 5]},
    {"timestamp": 120_000, "input_length": 320, "output_length": 9, "hash_ids": [1, 2, 4, 6, 7]},
    {"timestamp": 180_000, "input_length": 130, "output_length": 9, "hash_ids": [1, 2, 8]},
    {"timestamp": 240_000, "input_length": 100, "output_length": 9, "hash_ids": [20, 2]},
    {"timestamp": 300_000, "input_length": 64, "output_length": 9, "hash_ids": [20]},
    {"timestamp": 360_000, "input_length": 70, "output_length": 9, "hash_ids": [30, 31]},
]


def test_prefixes_of_a_log_that_names_the_blocks_of_prompts(imported):
    report = imported("log.jsonl", lines(BLOCKS))
    scenario = vs.read_scenario(imported.scenario)
    work = scenario.workload
    assert work.arrival_us.tolist() == [60e6 * i for i in range(7)]  # such logs count in ms
    assert work.prefix.tolist() == [0, 0, 0, 0, 1, 1, -1]
    assert work.prefix_tokens.tolist() == [128, 192, 192, 128, 64, 64, 0]
    assert report["columns"]["prefix"] == {"is": "prefix", "why": "from hash_ids", "is_doubtful": False}
    (found,) = [finding for finding in report["findings"] if finding["what"] == "prefixes"]
    share = 100 * (128 + 192 + 128 + 64) / work.input_tokens.sum()
    assert (found["came_before_pct"], found["can_be_found_pct"]) == pytest.approx((share, share))
    for engine in ("reference", "compiled"):
        found = vs.simulate(scenario, engine=engine).outcome.serving.found_tokens.tolist()
        assert found == [0, 128, 192, 128, 0, 48, 0]  # of the last but one all but its last token, in blocks of 16


def test_branches_of_a_prefix_are_prefixes_of_their_own(imported):
    ids = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 4, 5], [1, 4, 5]]
    rows = [BLOCKS[0] | {"timestamp": i, "hash_ids": one} for i, one in enumerate(ids)]
    report = imported("log.jsonl", lines(rows))
    assert vs.read_scenario(imported.scenario).workload.prefix.tolist() == [0, 0, 0, 1, 1]
    (found,) = [finding for finding in report["findings"] if finding["what"] == "prefixes"]
    assert found["came_before_pct"] == pytest.approx(100 * (150 + 150 + 64 + 150) / 750)
    assert found["can_be_found_pct"] == pytest.approx(100 * (150 + 150 + 150) / 750)


def test_a_mapping_makes_the_prefixes_again(imported, tmp_path):
    text = "arrival_ms,prompt_tokens,completion_tokens,hash_ids\n0,150,3,1 2 a\n\n5,130,3,1 2 b\n"
    imported("log.csv", text)
    (tmp_path / "again.yaml").write_text((tmp_path / "requests.mapping.yaml").read_text())
    imported("log.csv", text, "--mapping", tmp_path / "again.yaml")
    work = vs.read_scenario(imported.scenario).workload
    assert (work.prefix.tolist(), work.prefix_tokens.tolist()) == ([0, 0], [128, 128])
    imported("log.csv", text, "--column", "hash_ids=ignore")
    assert vs.read_scenario(imported.scenario).workload.prefix is None


def test_blocks_of_several_sizes_are_refused(imported):
    rows = [BLOCKS[0], BLOCKS[1] | {"hash_ids": [1]}]
    error = imported("log.jsonl", lines(rows), code=2)
    assert "log.jsonl: hash_ids: expected an id for each block of a prompt" in error
    assert "--column hash_ids=ignore" in error
