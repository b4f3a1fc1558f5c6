"""The time of a step of a serving engine in a scenario file, and the files of profiles that it names."""

import gzip

import pytest

from vinesim.formats.scenario.batching import moved_profile, read_attention, read_layers, read_profile, step_time
from vinesim.formats.scenario.step_parts import StepPart, StepRow
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.parts import Part
from vinesim.formats.source.yaml_source import YamlSource
from vinesim.model.errors import InputError
from vinesim.model.step_times import Exchange
from vinesim.policies.documents import read_scenario

DENSE = "layer,tokens,time_us\nqkv,1,2\nqkv,8,16\nhead,1,10\nhead,4,10\nhead,8,18\n"
PER_SEQUENCE = "layer,sequences,time_us\nsampler,1,1\nsampler,4,4\n"
ATTENTION = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n" + "".join(
    f"{p},{k},{n},{m},{p + k + n * m}\n"
    for p in (0, 8)
    for k in ((0, 16) if p else (0,))
    for n in (0, 4)
    for m in ((16, 32) if n else (0,))
    if p or n
)
PROFILE = """\
dense_file: dense.csv
per_sequence_file: sequences.csv
attention_file: attention.csv.gz
layers: 10
repeats: {head: 1, attention: 5, sampler: 2}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dense.csv").write_text(DENSE)
    (tmp_path / "sequences.csv").write_text(PER_SEQUENCE)
    (tmp_path / "attention.csv.gz").write_bytes(gzip.compress(ATTENTION.encode()))
    (tmp_path / "profile.yaml").write_text(PROFILE)
    return tmp_path


def read(folder, text):
    (folder / "step.yaml").write_text(text)
    source = YamlSource(folder / "step.yaml")
    part = checked_part(source, (), StepPart, source.data)
    step = None if part is None else step_time(source, (), part, folder)
    source.raise_if_any()
    return step


def problems_of(folder, text):
    with pytest.raises(InputError) as wrong:
        read(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in wrong.value.problems]


def test_times_have_units(folder):
    exchange = "{base: 20 us, token: 640 ns, times: 128}"
    step = read(folder, f"{{base: 11.8 ms, prefill_token: 52 us, memory_token: 50 ns, exchange: {exchange}}}")
    assert (step.base_us, step.prefill_token_us, step.sequence_us, step.memory_token_us) == (11800, 52, 0, 0.05)
    assert step.exchange == Exchange(20.0, 0.64, 128)


def test_layers_run_as_often_as_the_user_says(folder):
    _, profile = read_profile(folder / "profile.yaml")
    assert profile.tokens.tolist() == [1, 4, 8]
    assert profile.tokens_us.tolist() == [10 * 2 + 10, 10 * 8 + 10, 10 * 16 + 18]
    assert profile.sequences_us.tolist() == [2, 8]
    assert [axis.tolist() for axis in profile.axes] == [[0, 8], [0, 16], [0, 4], [0, 16, 32]]
    assert profile.attention_us[1, 1, 1, 2] == 5 * (8 + 16 + 4 * 32)


def test_tables_end_where_the_shortest_layer_does(folder):
    (folder / "dense.csv").write_text(DENSE + "qkv,16,32\n")
    assert read_profile(folder / "profile.yaml")[1].tokens[-1] == 8


def test_a_profile_may_be_moved(folder):
    section, _ = read_profile(folder / "profile.yaml")
    moved = moved_profile(section, folder / "profile.yaml", folder / "other")
    assert moved["dense_file"] == "../dense.csv"
    assert moved["layers"] == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{base: soon}", "step.yaml:1:8: base: expected a time, 0 or more"),
        ("{bas: 1 ms}", "step.yaml:1:2: bas: expected a key: one of base, prefill_token"),
        ("{sequence: 0 us}", "expected a time above 0, or a profile, found none"),
        ("{profile: {layers: 2}}", "expected at least one of dense_file, per_sequence_file, attention_file"),
        ("{profile: {dense_file: dense.csv}}", "expected how often each layer of dense_file, and attention, runs"),
        ("{exchange: {times: 0}}", "exchange.times: expected at least 1"),
        ("{profile: {dense_file: none.csv, layers: 1}}", "profile.dense_file: expected a file that can be read"),
        (
            "{profile: {dense_file: dense.csv, layers: 1, repeats: {hed: 1}}}",
            "profile.repeats.hed: expected a layer: one of qkv, head, found 'hed'. Did you mean head?",
        ),
    ],
)
def test_what_is_wrong_is_said(folder, text, expected):
    assert any(expected in problem for problem in problems_of(folder, text)), problems_of(folder, text)


def test_every_problem_of_all_files_is_listed(folder):
    (folder / "dense.csv").write_text("layer,tokens,time_us\nqkv,0,2\nqkv,8,-1\n,8,1\nhead,4,1\nhead,4,2\n")
    (folder / "sequences.csv").write_text("layer,time_us\nsampler,1\n")
    (folder / "attention.csv.gz").write_text("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,x,1\n")
    found = problems_of(folder, "profile:\n  " + PROFILE.replace("\n", "\n  ").rstrip())
    assert [problem.split(", found")[0] for problem in found] == [
        "dense.csv:2: expected tokens: a whole number, 1 to 1,000,000,000",
        "dense.csv:3: expected time_us: a number, 0 or more",
        "dense.csv:4: expected layer: a name",
        "dense.csv:6: expected each number of tokens of a layer once",
        "sequences.csv:1: expected a column sequences",
        "attention.csv.gz:2: expected kv_decode: a number, 0 to 1,000,000,000",
    ]


def test_points_of_attention_lie_on_a_grid(folder):
    rows = "".join(f"{i},{2 * i},{3 * i},{4 * i},1\n" for i in range(1, 60))
    (folder / "attention.csv").write_text("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n" + rows)
    with pytest.raises(
        InputError, match="points on a grid of at most 4,000,000, found numbers that span one of 12,960,000"
    ):
        read_attention(folder / "attention.csv")


def test_points_of_attention_must_tell_the_others(folder):
    (folder / "attention.csv").write_text(ATTENTION.splitlines()[0] + "\n8,0,0,0,1\n0,0,4,16,1\n")
    with pytest.raises(InputError, match="at least two numbers along each column"):
        read_attention(folder / "attention.csv")


def test_a_point_of_attention_is_measured_once(folder):
    (folder / "attention.csv").write_text(ATTENTION + "8,16,4,32,1\n")
    with pytest.raises(InputError, match="each point once, found that of line 9 again"):
        read_attention(folder / "attention.csv")


def test_layers_are_read_in_any_order(folder):
    (folder / "dense.csv").write_text("time_us,layer,tokens,note\n4,a,8,x\n2,a,1,y\n")
    ((name, (tokens, us)),) = read_layers(folder / "dense.csv", "tokens").items()
    assert (name, tokens.tolist(), us.tolist()) == ("a", [1, 8], [2, 4])


class _Document(Part):
    step: StepRow


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("step: {base: 1 ms}", ["*"]),
        ("step: {llama: {base: 1 ms}, '*': {base: 2 ms}}", ["llama", "*"]),
    ],
)
def test_it_is_given_once_or_by_task_type(tmp_path, text, names):
    (tmp_path / "s.yaml").write_text(text)
    source = YamlSource(tmp_path / "s.yaml")
    part = checked_part(source, (), _Document, source.data)
    source.raise_if_any()
    assert list(part.step) == names


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("step: {base: 1 ms, sequenc: 1 us}", "s.yaml:1:20: step.sequenc: "),
        ("step: {llama: {base: 1 ms, sequenc: 1 us}}", "s.yaml:1:28: step.llama.sequenc: "),
        ("step: {base: soon}", "s.yaml:1:14: step.base: "),
        ("step: 5", "s.yaml:1:7: step: "),
    ],
)
def test_a_problem_is_found_where_it_is(tmp_path, text, where):
    (tmp_path / "s.yaml").write_text(text)
    source = YamlSource(tmp_path / "s.yaml")
    checked_part(source, (), _Document, source.data)
    with pytest.raises(InputError) as wrong:
        source.raise_if_any()
    assert [problem.where.startswith(f"{tmp_path}/{where.split(': ')[0]}") for problem in wrong.value.problems] == [
        True
    ]
    assert wrong.value.problems[0].where.endswith(where.split(": ")[1])


SCENARIO = """\
extends: engines/engine.yaml
datacenter: {racks: [{units: {L4: 1}}]}
workload: {file: load.csv}
"""
ENGINE = """\
extends: none
processor_types:
- name: L4
  batching: {max_sequences: 4, max_batched_tokens: 8, memory_tokens: 640, step: {profile: {PROFILE}}}
task_types: [TASK]
affinity: {absolute: {L4: 1}}
"""


def test_files_of_an_extended_scenario_start_from_its_folder(folder):
    (folder / "engines").mkdir()
    section = PROFILE.strip().replace("\n", ", ").replace("file: ", "file: ../")
    (folder / "engines" / "engine.yaml").write_text(ENGINE.replace("PROFILE", section))
    (folder / "load.csv").write_text("arrival_s,input_tokens,output_tokens\n0,20,5\n")
    (folder / "scenario.yaml").write_text(SCENARIO)
    (kind,) = read_scenario(folder / "scenario.yaml").datacenter.processor_types
    assert kind.batching.step_of("TASK").profile.tokens.tolist() == [1, 4, 8]
