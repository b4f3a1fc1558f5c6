"""Tokens in tables, scenario files and logs."""

import gzip
import json

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.importers.token_counts import read_token_counts
from vinesim.formats.results.parquet import read_table
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.errors import InputError
from vinesim.policies.identity import content_id

SCENARIO = """
extends: none
processor_types: [{name: GPU}]
task_types: [TASK]
affinity: {absolute: {GPU: 1}}
datacenter: {racks: [{units: {GPU: 1}}]}
network: none
workload: {file: requests.csv, first_token_within: {chat: 2 s, "*": 1 s}}
policy: high
"""
TABLE = "arrival_s,application,input_tokens,output_tokens,token_within_ms\n0,chat,100,20,\n1,code,10,1,50\n"


def test_a_table_keeps_its_tokens(tmp_path):
    (tmp_path / "requests.csv").write_text(TABLE)
    work = read_workload(tmp_path / "requests.csv")
    write_workload(tmp_path / "requests.parquet", work)
    for one in (work, read_workload(tmp_path / "requests.parquet")):
        assert one.input_tokens.tolist() == [100, 10]
        assert one.output_tokens.tolist() == [20, 1]
        assert one.token_within_us.tolist() == [np.inf, 50e3]
        assert one.first_token_within_us is None


def test_a_table_keeps_its_prefixes(tmp_path):
    (tmp_path / "requests.csv").write_text(
        "arrival_s,input_tokens,output_tokens,prefix,prefix_tokens\n0,9,2,12,8\n1,9,2,,\n2,9,2,0,11\n"
    )
    work = read_workload(tmp_path / "requests.csv")
    write_workload(tmp_path / "requests.parquet", work)
    for one in (work, read_workload(tmp_path / "requests.parquet")):
        assert one.prefix.tolist() == [12, -1, 0]
        assert one.prefix_tokens.tolist() == [8, 0, 11]


def test_a_workload_without_tokens_is_written_as_before(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_s\n0\n")
    write_workload(tmp_path / "jobs.parquet", read_workload(tmp_path / "jobs.csv"))
    assert "input_tokens" not in read_table(tmp_path / "jobs.parquet")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "arrival_s,input_tokens,output_tokens\n0,1.5,0\n",
            "t.csv:2: expected input_tokens: a whole number, 1 or more",
        ),
        ("arrival_s,input_tokens,output_tokens\n0,3,0\n", "t.csv:2: expected output_tokens: a whole number, 1 or more"),
        ("arrival_s,input_tokens,output_tokens\n0,3,2\n1,3,\n", "t.csv:3: expected output_tokens: a value, or none"),
        ("arrival_s,input_tokens\n0,1\n", "output_tokens: expected tokens of each task"),
        ("arrival_s,token_within_s\n0,1\n", "input_tokens and output_tokens next to it"),
        ("arrival_s,input_tokens,output_tokens,token_within_s\n0,1,1,0\n", "token_within_s: a number above 0"),
    ],
)
def test_wrong_tokens(tmp_path, table, expected):
    (tmp_path / "t.csv").write_text(table)
    with pytest.raises(InputError) as error:
        read_workload(tmp_path / "t.csv")
    assert expected in str(error.value)


def test_a_scenario_gives_limits_by_application(tmp_path):
    (tmp_path / "requests.csv").write_text(TABLE)
    (tmp_path / "s.yaml").write_text(SCENARIO)
    scenario = vs.read_scenario(tmp_path / "s.yaml")
    assert scenario.workload.first_token_within_us.tolist() == [2e6, 1e6]
    assert scenario.workload.token_within_us.tolist() == [np.inf, 50e3]
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("chat: 2 s", "chat: 3 s"))
    other = vs.read_scenario(tmp_path / "s.yaml")
    assert content_id(scenario) != content_id(other)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("chat: 2 s", "chats: 2 s"))
    with pytest.raises(InputError, match=r"s.yaml:8:52: workload.first_token_within: .*chat, code.*found 'chats'"):
        vs.read_scenario(tmp_path / "s.yaml")


def test_load_moves_the_arrivals_and_no_limit(tmp_path):
    (tmp_path / "requests.csv").write_text(TABLE)
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("requests.csv,", "requests.csv, load: 2,"))
    work = vs.read_scenario(tmp_path / "s.yaml").workload
    assert work.arrival_us.tolist() == [0, 0.5e6]
    assert work.first_token_within_us.tolist() == [2e6, 1e6]


def test_the_tokens_of_a_log(tmp_path):
    rows = [{"input_toks": 5, "output_toks": 2, "other": "x"}, {"input_toks": 7, "output_toks": 1}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with gzip.open(tmp_path / "log.csv.gz", "wt") as file:
        file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5,2\n2023-11-16 18:17:04,7,1\n")
    for name in ("log.jsonl", "log.csv.gz"):
        first, second = read_token_counts(tmp_path / name)
        assert (first.tolist(), second.tolist()) == ([5, 7], [2, 1])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("log.jsonl", '{"input_toks": 5, "output_toks": 0}\n', "log.jsonl:1: expected output_toks: a whole number"),
        ("log.csv", "prompt_tokens,completion_tokens\n5,2\n,3\n", "log.csv:3: expected prompt_tokens: a whole number"),
        ("log.csv", "prompt_tokens,answer\n5,2\n", "log.csv: expected a column output_tokens, found prompt_tokens, an"),
    ],
)
def test_wrong_tokens_of_a_log(tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_token_counts(tmp_path / name)
    assert expected in str(error.value)
