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
