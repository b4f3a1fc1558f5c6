"""``vinesim fit serving``: from measured requests or steps to an engine that a scenario can have."""

import json

import numpy as np
import pytest
import yaml

from tests.unit.studies.test_serving_fit import KNOWN, requests_of, steps_of
from vinesim.policies.documents import read_scenario

LIMITS = ("--max-sequences", 16, "--max-batched-tokens", 256, "--memory-tokens", 6000)
NAMES = ("input_tokens", "output_tokens", "queued_ts", "first_token_ts", "last_token_ts")
SCENARIO = """\
extends: engine.yaml
datacenter: {racks: [{units: {L4: 2}}]}
workload: {file: workload.csv}
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "requests.csv"
    requests = requests_of(KNOWN)
    table = np.stack([*requests[:2], *(column / 1e6 for column in requests[2:])], axis=1)
    np.savetxt(path, table, fmt="%.17g", delimiter=",", header=",".join(NAMES), comments="")
    return path


def test_an_engine_is_fitted_and_written(vinesim, tmp_path, log):
    done = vinesim("fit", "serving", log, *LIMITS, "--name", "L4", "--output", tmp_path / "engine.yaml")
    assert done.code == 0, done.err
    assert "fitted to the first 30 of 60 requests; the other 30 judge the fit" in done.out
    step = yaml.safe_load(done.out[done.out.index("batching:") : done.out.index("wrote")])["batching"]["step"]
    assert step == {"base": "8 ms", "prefill_token": "40 us", "sequence": "100 us", "memory_token": "300 ns"}
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    (tmp_path / "workload.csv").write_text("arrival_s,input_tokens,output_tokens\n0,100,5\n1,200,1\n")
    (kind,) = read_scenario(tmp_path / "scenario.yaml").datacenter.processor_types
    assert (kind.name, kind.batching.memory_tokens, kind.batching.step_of("TASK").base_us) == ("L4", 6000, 8000)


def test_as_json(vinesim, log):
    done = vinesim("fit", "serving", log, *LIMITS, "--json")
    found = json.loads(done.out)
    assert (found["requests"], found["seen"]) == (60, 30)
    assert found["scenario"]["batching"]["max_sequences"] == 16
    of_unseen = found["of_unseen"]["first_token_us"]
    assert of_unseen["fitted"]["p90"] == pytest.approx(of_unseen["measured"]["p90"], rel=0.01)


def test_steps_need_no_settings(vinesim, tmp_path):
    table = np.stack(steps_of(KNOWN), axis=1)
    header = "prefill_tokens,sequences,memory_tokens,time_us"
    np.savetxt(tmp_path / "steps.csv", table, delimiter=",", header=header, comments="")
    done = vinesim("fit", "serving", tmp_path / "steps.csv", "--output", tmp_path / "step.yaml")
    assert done.code == 0, done.err
    assert "the first 100 of 200 steps" in done.out
    step = {"base": "8 ms", "prefill_token": "40 us", "sequence": "100 us", "memory_token": "300 ns"}
    assert yaml.safe_load((tmp_path / "step.yaml").read_text()) == {"step": step}


def test_all_that_is_missing_is_named(vinesim, tmp_path, log):
    done = vinesim("fit", "serving", log, "--output", tmp_path / "engine.yaml")
    assert done.code == 2
    assert "--max-sequences" in done.err
    assert "--max-batched-tokens" in done.err
    assert not (tmp_path / "engine.yaml").exists()


def test_a_request_that_never_fits_is_named(vinesim, log):
    done = vinesim("fit", "serving", log, *LIMITS[:-1], 100)
    assert done.code == 2
    assert "memory" in done.err


def test_the_settings_may_be_in_a_file(vinesim, tmp_path, log):
    meta = {"engine_kwargs": {"max_num_seqs": 16, "max_num_batched_tokens": 9999}, "kv_cache": {"num_kv_tokens": 6000}}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    settings = ("--meta", tmp_path / "meta.json", "--max-batched-tokens", 256)
    done = vinesim("fit", "serving", log, *settings, "--json")
    batching = json.loads(done.out)["scenario"]["batching"]
    assert [batching[name] for name in ("max_sequences", "max_batched_tokens", "memory_tokens")] == [16, 256, 6000]
