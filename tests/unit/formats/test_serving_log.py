"""Measured requests and steps of serving engines, and the settings that vLLM writes down."""

import gzip
import json

import duckdb
import pytest

from vinesim.formats.importers.engine_settings import read_engine_settings
from vinesim.formats.importers.serving_log import Requests, StepTimes, read_serving_log
from vinesim.model.errors import InputError

ROWS = [
    {"id": "b", "input_toks": 70, "output_toks": 3, "queued_ts": 12.5, "first_token_ts": 13, "last_token_ts": 15},
    {"id": "a", "input_toks": 50, "output_toks": 1, "queued_ts": 10.0, "first_token_ts": 11, "last_token_ts": 11},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def problems_of(path):
    with pytest.raises(InputError) as wrong:
        read_serving_log(path)
    return [str(problem).replace(f"{path}", path.name) for problem in wrong.value.problems]


def test_requests_are_in_the_order_of_the_queue(tmp_path):
    (tmp_path / "log.jsonl").write_text(lines(ROWS))
    found = read_serving_log(tmp_path / "log.jsonl")
    assert isinstance(found, Requests)
    assert found.input_tokens.tolist() == [50, 70]
    assert found.output_tokens.tolist() == [1, 3]
    assert [column.tolist() for column in found[2:]] == [[0, 2.5e6], [1e6, 3e6], [1e6, 5e6]]


def test_a_request_may_have_its_tokens_at_the_instant_it_is_queued(tmp_path):
    at_once = {"queued_ts": 10, "first_token_ts": 10, "last_token_ts": 10}
    (tmp_path / "log.jsonl").write_text(lines([ROWS[1] | at_once]))
    assert read_serving_log(tmp_path / "log.jsonl").last_token_us.tolist() == [0]


def test_csv_with_our_names_is_the_same(tmp_path):
    names = ["input_tokens", "output_tokens", "queued_ts", "first_token_ts", "last_token_ts"]
    text = ",".join(names) + "\n" + "".join(",".join(map(str, list(row.values())[1:])) + "\n" for row in ROWS)
    (tmp_path / "log.csv").write_text(text)
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(lines(ROWS).encode()))
    (tmp_path / "log.tsv").write_text(text.replace("input_tokens", "ContextTokens").replace(",", "\t"))
    duckdb.sql(f"COPY (FROM '{tmp_path / 'log.csv'}') TO '{tmp_path / 'log.parquet'}' (FORMAT parquet)")
    found, *others = (read_serving_log(tmp_path / f"log.{ending}") for ending in ("csv", "jsonl.gz", "tsv", "parquet"))
    for other in others:
        assert [column.tolist() for column in found] == [column.tolist() for column in other]


def test_steps_are_reported_by_their_columns(tmp_path):
    (tmp_path / "steps.csv").write_text(
        "prefill_tokens,sequences,memory_tokens,time_us\n100,3,500,9000\n0,4,510,8000\n"
    )
    found = read_serving_log(tmp_path / "steps.csv")
    assert isinstance(found, StepTimes)
    assert [column.tolist() for column in found] == [[100, 0], [3, 4], [500, 510], [9000, 8000]]


def test_missing_columns_are_named(tmp_path):
    (tmp_path / "log.csv").write_text("input_tokens,queued_ts,first_token_ts\n1,2,3\n")
    found = problems_of(tmp_path / "log.csv")
    assert [problem.split(", found")[0] for problem in found] == [
        "log.csv:1: expected a column output_tokens",
        "log.csv:1: expected a column last_token_ts",
    ]
    assert "prefill_tokens, sequences, memory_tokens, time_us" in found[-1]


def test_every_wrong_row_is_listed(tmp_path):
    wrong = [
        ROWS[0] | {"output_toks": 0},
        ROWS[0] | {"first_token_ts": None},
        ROWS[0] | {"last_token_ts": 12},
        {"input_toks": 5},
        ROWS[0] | {"input_toks": 2.5},
    ]
    (tmp_path / "log.jsonl").write_text("\n" + lines(wrong))
    found = problems_of(tmp_path / "log.jsonl")
    assert [problem.split(", found")[0] for problem in found] == [
        "log.jsonl:2: expected output_toks: a whole number, 1 to 1,073,741,824",
        "log.jsonl:3: expected first_token_ts: a number, 0 or more",
        "log.jsonl:4: expected times that rise from queued to first token to last token",
        "log.jsonl:5: expected output_toks: a whole number, 1 to 1,073,741,824",
        "log.jsonl:5: expected queued_ts: a number, 0 or more",
        "log.jsonl:5: expected first_token_ts: a number, 0 or more",
        "log.jsonl:5: expected last_token_ts: a number, 0 or more",
        "log.jsonl:6: expected input_toks: a whole number, 1 to 1,073,741,824",
    ]
    (tmp_path / "log.jsonl").write_text(lines(ROWS) + "[1]\nno json\n")
    assert [problem.split(", found")[0] for problem in problems_of(tmp_path / "log.jsonl")] == [
        "log.jsonl:3: expected a JSON object",
        "log.jsonl:4: expected a JSON object",
    ]


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
def test_an_empty_log_is_wrong(tmp_path, name):
    (tmp_path / name).write_text("")
    assert len(problems_of(tmp_path / name)) == 1


def test_a_header_alone_is_wrong(tmp_path):
    (tmp_path / "log.csv").write_text("input_tokens,output_tokens,queued_ts,first_token_ts,last_token_ts\n")
    assert problems_of(tmp_path / "log.csv") == ["log.csv:2: expected at least one row, found none"]


def test_settings_of_vllm(tmp_path):
    meta = {
        "engine_kwargs": {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "dtype": "bfloat16"},
        "kv_cache": {"block_size": 16, "num_kv_tokens": 41408, "enable_prefix_caching": True, "num_cpu_blocks": None},
    }
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    assert read_engine_settings(tmp_path / "meta.json") == {
        "max_sequences": 256,
        "max_batched_tokens": 2048,
        "memory_tokens": 41408,
        "block_tokens": 16,
        "prefix_caching": True,
    }
    del meta["kv_cache"]
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    assert read_engine_settings(tmp_path / "meta.json") == {"max_sequences": 256, "max_batched_tokens": 2048}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "a JSON document"),
        ("[]", "some of engine_kwargs.max_num_seqs"),
        ('{"engine_kwargs": {"max_num_seqs": "many"}}', "engine_kwargs.max_num_seqs: expected a whole number"),
        ('{"engine_kwargs": {"data_parallel_size": 2}}', "engine_kwargs.data_parallel_size: expected 1, one engine"),
        ('{"kv_cache": {"enable_prefix_caching": 1}}', "kv_cache.enable_prefix_caching: expected true or false"),
    ],
)
def test_wrong_settings(tmp_path, text, expected):
    (tmp_path / "meta.json").write_text(text)
    with pytest.raises(InputError) as wrong:
        read_engine_settings(tmp_path / "meta.json")
    assert expected in str(wrong.value)
