import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vinesim.formats.scenario.file import scenario_schema
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.affinity import table_1
from vinesim.model.catalog import TaskType
from vinesim.model.errors import InputError, InputWarning
from vinesim.model.network import PRESETS, Network
from vinesim.model.scenario import Scenario
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id
from vinesim.policies.registry import resolve
from vinesim.workloads.registry import GENERATORS

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted(
    file for file in EXAMPLES.glob("*.yaml") if file.stem not in {"study", "energy_latency", "tipping_point"}
)
SMALL = """
datacenter:
  racks:
    - units: {CPU_INTEL: 2, GPU: 1}
workload: {generator: identical, options: {n_jobs: 3}}
arrivals: {iat: 7 us}
"""


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_example_is_valid_and_says_what_it_is_for(file):
    assert isinstance(read_scenario(file, check_policy=resolve), Scenario)
    assert file.read_text().startswith("# yaml-language-server: $schema=scenario.schema.json\n")
    assert _breaches(scenario_schema(), yaml.safe_load(file.read_text())) == []


def test_the_schema_in_examples_is_the_current_one():
    assert json.loads((EXAMPLES / "scenario.schema.json").read_text()) == json.loads(json.dumps(scenario_schema()))


def test_text_files_and_generator_make_the_same_500_jobs():
    a, b = read_scenario(EXAMPLES / "papers.yaml"), read_scenario(EXAMPLES / "quickstart.yaml")
    for name in ("arrival_us", "operations", "job_first", "preferred_type", "job_task_type", "data_rack"):
        np.testing.assert_array_equal(getattr(a.workload, name), getattr(b.workload, name))
    np.testing.assert_array_equal(a.datacenter.unit_type, b.datacenter.unit_type)
    np.testing.assert_allclose(a.affinity, b.affinity)


def test_quickstart_values():
    s = read_scenario(EXAMPLES / "quickstart.yaml")
    assert s.datacenter.count_by_type() == {"CPU_INTEL": 20, "GPU": 20}
    assert (s.policy, s.sampling_us, s.workload.n_jobs, s.workload.n_tasks) == ("high", 100.0, 500, 2500)
    assert s.workload.arrival_us[2] == 14.0
    assert s.datacenter.processor_types[2].price == 3000
    assert s.power_w[2, 2] == 250
    assert s.power_w[3, 2] == 0  # no FPGA in the datacenter


def test_two_racks_alternate_and_units_of_measure():
    s = read_scenario(EXAMPLES / "two_racks.yaml")
    assert s.datacenter.n_racks == 2
    assert s.datacenter.unit_type[:4].tolist() == [0, 2, 0, 2]
    assert s.datacenter.shelf[20:23].tolist() == [0, 1, 2]
    assert s.network == Network()
    assert set(s.workload.data_bytes) == {65536.0}
    assert len(set(zip(s.workload.data_rack.tolist(), s.workload.data_shelf.tolist(), strict=True))) == 40


def test_neurasmus_in_words_is_the_generators_own_affinity():
    s = read_scenario(EXAMPLES / "neurasmus.yaml")
    np.testing.assert_array_equal(s.affinity, GENERATORS["neurasmus"].affinity())
    file = EXAMPLES / "neurasmus.yaml"
    short = read_scenario(file, ["processor_types=null", "task_types=null", "affinity=null", "extends=builtin"])
    assert content_id(short) == content_id(s)


def test_new_and_changed_types_next_to_the_built_in_ones(scenario):
    s = scenario(
        SMALL,
        "processor_types=[{name: V100, price: 9, attributes: {sms: 80}}, {name: GPU, idle_power: 30, sleep_power: 1}]",
        "task_types=[DNN]",
        "affinity={peak: {V100: {INT: 1000, FP_GOOD: 0.5}}, absolute: {GPU: {FP_GOOD: 7, DNN: 8}}}",
        "datacenter.racks[0].units.V100=2",
        "overhead={V100: {FP_GOOD: 5 ms}}",
        "prices={GPU: 4}",
    )
    names = [p.name for p in s.datacenter.processor_types]
    assert names[:3] == ["CPU_INTEL", "CPU_ARM", "GPU"]
    assert names[6] == "V100"
    assert [t.name for t in s.workload.task_types][7] == "DNN"
    assert s.affinity[6].tolist() == [1000, 0, 500, 0, 0, 0, 0, 0]
    assert s.affinity[2].tolist() == [0, 0, 7, 0, 0, 0, 0, 8]
    np.testing.assert_array_equal(s.affinity[:2, :7], table_1()[:2])
    assert s.overhead_us[6, 2] == 5000
    gpu, v100 = s.datacenter.processor_types[2], s.datacenter.processor_types[6]
    assert (gpu.idle_power_w, gpu.sleep_power_w, gpu.price) == (30, 1, 4)
    assert (v100.price, v100.attributes) == (9, {"sms": 80})


def test_racks_of_nodes_units_listed_and_storage(scenario):
    nodes = "datacenter.racks=[{count: 2, nodes: [{units: {GPU: 2, CPU_ARM: 1}, count: 2}, {units: {CPU_INTEL: 1}}]}]"
    center = scenario(SMALL, nodes).datacenter
    assert center.unit_type.tolist() == [2, 2, 1, 2, 2, 1, 0] * 2
    assert center.shelf.tolist() == [0, 0, 0, 1, 1, 1, 2] * 2
    assert center.rack.tolist() == [0] * 7 + [1] * 7
    shelves = scenario(SMALL, "datacenter.racks=[{units: {GPU: 3, CPU_ARM: 2}, per_shelf: 2, layout: alternate}]")
    assert shelves.datacenter.unit_type.tolist() == [2, 1, 2, 1, 2]
    assert shelves.datacenter.shelf.tolist() == [0, 0, 1, 1, 2]
    listed = scenario(
        SMALL,
        "datacenter={units: [{type: GPU, rack: 1, shelf: 3, count: 2}], storage: [{rack: 2, shelf: 5}], n_racks: 9}",
    )
    assert listed.datacenter.rack.tolist() == [1, 1]
    assert (listed.datacenter.n_racks, listed.datacenter.n_shelves) == (9, 6)
    assert set(listed.workload.data_rack) == {2}


def test_networks(scenario, tmp_path):
    assert scenario(SMALL, "network=table4").network == PRESETS["table4"]
    assert scenario(SMALL, "network={preset: none, intra_rack: 10 Gb/s, inter_rack: 1 Gb/s}").network == Network(
        hop_latency_us=0.0
    )
    (tmp_path / "net.yaml").write_text("local: 80 Gb/s\nhop_latency: 300 ns\n")
    found = scenario(SMALL, "network={file: net.yaml}").network
    assert (found.local, found.hop_latency_us) == (10000, 0.3)
    with pytest.warns(InputWarning, match="local > intra_rack > inter_rack"):
        scenario(SMALL, "network={inter_rack: 100 Gb/s}").network.warn_if_unordered()


def test_arrivals(scenario, tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n30.5\n")
    assert scenario(SMALL, "arrivals={file: a.txt}").workload.arrival_us.tolist() == [1, 2, 30.5]
    assert scenario(SMALL, "arrivals={times: [0, 1 ms, 1 s]}").workload.arrival_us.tolist() == [0, 1000, 1e6]
    one, two = (scenario(SMALL, "arrivals={poisson: {mean: 5}}", f"seed={n}").workload for n in (1, 2))
    assert one.arrival_us[0] == 0
    assert one.arrival_us[1] != two.arrival_us[1]
    trace = EXAMPLES / "papers" / "trace.txt"
    s = scenario(
        SMALL, f"workload={{file: {trace}}}", "datacenter.racks[0].units.GPU=9", "arrivals={poisson: {mean: 5}}"
    )
    assert 4 < np.diff(s.workload.arrival_us).mean() < 6


def test_parquet_workload_brings_times_and_task_types(scenario, tmp_path):
    work = GENERATORS["identical"].generate({"n_jobs": 4, "task_type": "X"}, task_types=[TaskType("X")])
    write_workload(tmp_path / "w.parquet", work)
    text = (
        "datacenter: {racks: [{units: {GPU: 1}}]}\nworkload: {file: w.parquet}\naffinity: {absolute: {GPU: {X: 3}}}\n"
    )
    s = scenario(text)
    assert [t.name for t in s.workload.task_types] == ["X"]
    assert s.affinity[2].tolist() == [3]
    assert s.workload.arrival_us.tolist() == work.arrival_us.tolist()
    assert scenario(text, "arrivals={iat: 1}").workload.arrival_us.tolist() == [0, 1, 2, 3]


def test_rows_without_a_task_type_have_the_only_one_of_the_scenario(scenario, tmp_path):
    (tmp_path / "w.csv").write_text("arrival_s,operations\n0,7\n")
    (tmp_path / "t.csv").write_text("arrival_s,operations,task_type\n0,7,TASK\n")
    text = (
        "extends: none\nprocessor_types: [{name: A}]\nnetwork: none\ndatacenter: {racks: [{units: {A: 1}}]}\n"
        "task_types: [B]\naffinity: {absolute: {A: {B: 3}}}\nworkload: {file: w.csv}\n"
    )
    assert [t.name for t in scenario(text).workload.task_types] == ["B"]
    for wrong in ("workload.file=t.csv", "task_types=[B, C]"):
        with pytest.raises(InputError, match=r"expected task types of the scenario: B.*found TASK"):
            scenario(text, wrong)


def test_policy_in_a_file_starts_at_the_scenario_file(scenario, tmp_path):
    source = "from vinesim.policies.online.high import High\nclass Mine(High):\n    name = 'mine'\n"
    (tmp_path / "mine.py").write_text(source)
    s = scenario(SMALL, "policy=mine.py:Mine")
    assert resolve(s.policy).name == "mine"
    assert scenario(SMALL, "options={in_order: yes}").options == {"in_order": "yes"}


def test_overrides_change_the_content_id_only_where_they_change_a_value(scenario):
    base = scenario(SMALL)
    assert content_id(scenario(SMALL, "arrivals.iat=7")) == content_id(base)
    assert content_id(scenario(SMALL, "description=other")) == content_id(base)
    more = scenario(SMALL, "datacenter.racks[0].units.GPU=30", "horizon=30 s", "options.in_order=yes", "seed=5")
    assert more.datacenter.count_by_type()["GPU"] == 30
    assert (more.horizon_us, more.seed) == (3e7, 5)


def test_override_of_an_alias_changes_one_place(scenario):
    text = SMALL.replace("- units: {CPU", "- units: &u {CPU") + "    \n"
    text = text.replace("workload:", "    - units: *u\nworkload:")
    assert scenario(text, "datacenter.racks[1].units.GPU=5").datacenter.count_by_type()["GPU"] == 6


@pytest.mark.parametrize(
    "override",
    ["x", "=3", "a..b=3", "datacenter.racks[7].count=1", "arrivals.iat=[", "datacenter.racks.x=1"],
)
def test_wrong_override(problems, override):
    (problem,) = problems(SMALL, override)
    assert problem.startswith(f"--set {override}: expected ")


def test_a_wrong_value_in_an_override_is_reported_there(problems):
    (problem,) = problems(SMALL, "arrivals.iat=5 uss")
    assert problem.startswith("--set arrivals.iat=5 uss: arrivals.iat: expected a time")


def test_all_problems_come_at_once_with_places_in_order(problems):
    found = problems(
        """datacentr: {}
datacenter:
  racks:
    - units: {CPU_INTL: 20, GPU: -1}
      per_shelf: x
workload: {generator: 500job}
arrivals: {iat: 7 uss}
network: {hops: 3}
sampling: 0
policy: hihg
seed: 1
seed: -2
"""
    )
    starts = [
        "s.yaml:1:1: datacentr: ",
        "s.yaml:4:34: datacenter.racks[0].units.GPU: expected at least 0, found -1",
        "s.yaml:5:18: datacenter.racks[0].per_shelf: expected a whole number, found 'x'",
        "s.yaml:6:23: workload.generator: expected one of 500jobs, ",
        "s.yaml:7:17: arrivals.iat: expected a time",
        "s.yaml:8:11: network.hops: expected a key: one of preset, ",
        "s.yaml:9:11: sampling: expected a value above 0, found 0",
        "s.yaml:10:9: policy: expected one of flat, high",
        "s.yaml:12:1: seed: expected each key once, found a second one. Keep one.",
    ]
    assert [f[: len(s)] for f, s in zip(found, starts, strict=True)] == starts
    assert found[0].endswith("Did you mean datacenter?")
    assert found[3].endswith("Did you mean 500jobs?")


@pytest.mark.parametrize("layout", ["blocks", "alternate"])
def test_a_count_of_0_leaves_a_kind_out(tmp_path, layout):
    racks = [
        f"{{units: {{CPU_INTEL: 0, GPU: 3}}, layout: {layout}}}",
        "{nodes: [{units: {CPU_INTEL: 1, FPGA: 0}, count: 2}, {units: {FPGA: 1}, count: 0}]}",
        "{units: {FPGA: 4}, count: 0}",
    ]
    (tmp_path / "s.yaml").write_text(SMALL)
    change = f"datacenter={{racks: [{', '.join(racks)}]}}"
    center = read_scenario(tmp_path / "s.yaml", [change]).datacenter
    assert center.count_by_type() == {"CPU_INTEL": 2, "GPU": 3}
    with pytest.raises(InputError, match="at least one unit, found none"):
        read_scenario(tmp_path / "s.yaml", ["datacenter={racks: [{units: {GPU: 0}}]}"])


def test_names_are_checked_in_every_section_at_once(problems):
    found = problems(
        """datacenter: {racks: [{units: {CPU_INTL: 2, GPU: 1}}]}
workload: {generator: 500jobs, options: {data_bytes: 64 KiBB, tasks: 3, n_jobs: 0}}
arrivals: {file: none.txt}
affinity: {absolute: {gpu: {FPGOOD: 3}}, peak: {FPGA: {MEM: 1}}}
prices: {CPUINTEL: 3}
power: {GPU: {FP_GOD: 2}}
options: {in_order: maybe}
"""
    )
    keys = [
        "1:30: datacenter.racks[0].units.CPU_INTL",
        "2:54: workload.options.data_bytes",
        "2:64: workload.options.tasks",
        "3:18: arrivals.file",
        "4:23: affinity.absolute.gpu",
        "4:29: affinity.absolute.gpu.FPGOOD",
        "4:55: affinity.peak.FPGA",
        "5:10: prices.CPUINTEL",
        "6:15: power.GPU.FP_GOD",
        "7:11: options.in_order",
    ]
    positions = [
        next((f for f in found if f.split(":", 1)[1].split(": expected")[0].endswith(k[5:])), "") for k in keys
    ]
    assert all(positions), found
    assert found[0].endswith("found 'CPU_INTL'. Did you mean CPU_INTEL?")
    assert len(found) == len(keys)


@pytest.mark.parametrize(
    ("overrides", "start"),
    [
        (["workload="], "--set workload=: workload: expected the jobs and their tasks, found nothing"),
        (["arrivals="], "--set arrivals=: arrivals: expected when the jobs arrive, found nothing"),
        (["workload.file=x.txt"], "s.yaml:5:11: workload: expected exactly one of file, generator, found file and gen"),
        (["arrivals.poisson={mean: 3}"], "s.yaml:6:11: arrivals: expected exactly one of iat, poisson, gamma, weibull"),
        (["arrivals={times: [3, 1, 5]}"], "--set arrivals={times: [3, 1, 5]}: "),
        (["arrivals={times: [3]}"], "--set arrivals={times: [3]}: arrivals: expected 3 times, one per job, found 1"),
        (["workload={file: t.txt}"], "--set workload={file: t.txt}: workload.file: expected a file that can be read"),
        (["workload.options.n_jobs=0"], "--set workload.options.n_jobs=0: workload.options.n_jobs: expected a whole"),
        (["workload.options.iat_us=0"], "--set workload.options.iat_us=0: workload.options.iat_us: expected arrivals "),
        (["workload.options.task_type=MEMM"], "--set workload.options.task_type=MEMM: workload.options.task_type: "),
        (["workload.options.data_rack=4"], "--set workload.options.data_rack=4: workload.options.data_rack: expected"),
        (["network=papr"], "--set network=papr: network: expected one of paper, table4, none, or a mapping"),
        (["network={local: 0}"], "--set network={local: 0}: network.local: expected a value above 0"),
        (["network={file: no.yaml}"], "--set network={file: no.yaml}: network.file: expected a file that can be read"),
        (["network={hops_intra: null}"], "--set network={hops_intra: null}: network.hops_intra: expected a number"),
        (["power={GPU: 3}"], "--set power={GPU: 3}: power: expected a value of CPU_INTEL for FP_GOOD, found none"),
        (["power={GPU: -3}"], "--set power={GPU: -3}: power.GPU: expected at least 0, found -3"),
        (
            ["processor_types=[{name: A}, {name: A}]"],
            "--set processor_types=[{name: A}, {name: A}]: processor_types[1]",
        ),
        (["failures=3"], "--set failures=3: failures: expected a list of mappings with until and repair, found 3"),
        (["outages=[4]"], "--set outages=[4]: outages[0]: expected a mapping with rack, shelf and down, found 4"),
        (
            ["energy=3"],
            "--set energy=3: energy: expected a mapping with keys such as price_per_kwh, price_file and carb",
        ),
        (["seed=1.5"], "--set seed=1.5: seed: expected a whole number, found 1.5"),
        (["seed=true"], "--set seed=true: seed: expected a whole number, found true"),
        (["horizon=.inf"], "--set horizon=.inf: horizon: expected a time"),
        (
            ["extends=builtins"],
            "--set extends=builtins: extends: expected one of builtin, servers, none, found 'builtins'",
        ),
        (["datacenter={racks: []}"], "--set datacenter={racks: []}: datacenter.racks: expected at least one"),
        (
            ["datacenter.racks[0].units={}"],
            "--set datacenter.racks[0].units={}: datacenter.racks[0].units: expected at",
        ),
        (["datacenter.racks[0].count=9000000"], "s.yaml:3:3: datacenter: expected at most 10,000,000 units"),
        (["datacenter={units: [{type: GPU, rack: 0}]}"], "--set datacenter={units: [{type: GPU, rack: 0}]}: datacent"),
        (["datacenter={units: [{type: GPP, rack: 0, shelf: 0}]}"], "--set datacenter={units: [{type: GPP, rack: 0, sh"),
        (["affinity={table: none}"], "--set affinity={table: none}: affinity: expected a row for the processor type"),
        (["affinity={absolute: {GPU: {}, CPU_INTEL: {}}}"], "s.yaml:5:11: workload.job_task_type[0]: expected a unit"),
        (["policy=none.py:X"], "--set policy=none.py:X: policy: expected a Python file, found no file"),
        (["options.in_ordr=yes"], "--set options.in_ordr=yes: options.in_ordr: expected"),
        (["affinity={times: {GPU: {FP_GOOD: 1e-320}}}"], "--set affinity={times: {GPU: {FP_GOOD: 1e-320}}}: affinity"),
    ],
)
def test_one_problem(problems, overrides, start):
    found = problems(SMALL, *overrides)
    assert found[0].startswith(start), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "an empty file"),
        ("# only a comment\n", "an empty file"),
        ("- a\n- b\n", "a mapping of datacenter, workload"),
        ("just words\n", "a mapping of datacenter, workload"),
        ("a: [1, 2\nb: 3\n", "s.yaml:2:2: expected ',' or ']', found ':'"),
        ("a: b: c\n", "s.yaml:1:5: expected one `key: value` per line, found another colon. Put text with a colon in"),
        ("\tx: 1\n", "s.yaml:1:1: expected spaces, found a tab. Indent YAML with spaces only."),
        ("x:\n\ty: 1\n", "s.yaml:2:1: expected spaces, found a tab."),
        ("x: @y\n", "s.yaml:1:4: expected a value, found one that starts with '@'. Put it in quotes."),
        ("x:\n  - 1\n y: 2\n", "s.yaml:3:2: expected the end of the mapping or list, by its indentation"),
        ("a: 1\n--- \nb: 2\n", "expected YAML"),
        ("a: !!python/object/apply:os.system [ls]\n", "expected a value without a tag"),
        ("a: *nothing\n", "expected YAML"),
        ("? [a]\n: 3\n", "expected a name, found a list or mapping"),
        ("a: &a [*a]\n", "more"),
        ("[" * 5000, "too many levels"),
        ("seed: " + "9" * 6000 + "\n", "seed: expected"),
        ("a: \x07\n", "s.yaml:1:4: expected text, found the character U+0007"),
        ('a: "\\udfff"\n', "s.yaml:1:4: expected text, found U+DFFF, which is half a character"),
        ('"\\ud800": 1\n', "s.yaml:1:1: expected text, found U+D800, which is half a character"),
    ],
)
def test_what_is_no_scenario_at_all(problems, text, expected):
    assert expected in "\n".join(problems(text))


def test_aliases_that_multiply_are_refused(problems):
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 8))
    assert "200,000 values" in problems(text)[0]


def test_files_that_cannot_be_read(tmp_path):
    for target, found in ((tmp_path, "a folder"), (tmp_path / "no.yaml", "no such file")):
        with pytest.raises(InputError, match=found):
            read_scenario(target)
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"\x00\xff\x80PK")
    with pytest.raises(InputError, match="a binary file"):
        read_scenario(binary)
    if os.getuid() != 0:
        binary.chmod(0)
        with pytest.raises(InputError, match="no permission"):
            read_scenario(binary)


def test_problems_of_a_named_file_keep_their_place_in_it(scenario, problems, tmp_path):
    (tmp_path / "d.txt").write_text("2 0 0\n9 0 x\n")
    (found,) = problems(SMALL, "datacenter={file: d.txt}")
    assert "d.txt:2:5: " in found
    (tmp_path / "d.txt").write_text("2 0 0\n2 0 1\n")
    assert scenario(SMALL, "datacenter={file: d.txt}").datacenter.n_units == 2


def test_reading_a_scenario_does_not_load_the_compiler():
    code = (
        "import sys, vinesim; assert not {'pydantic', 'yaml', 'numba'} & set(sys.modules)\n"
        "import vinesim.policies.documents as s; s.read_scenario(sys.argv[1]); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(EXAMPLES / "quickstart.yaml")], check=True)


def test_every_key_of_the_document_is_described():
    def fields(schema):
        for part in [schema, *schema["$defs"].values()]:
            for option in [part, *part.get("anyOf", [])]:
                for key, value in option.get("properties", {}).items():
                    yield f"{part.get('title')}.{key}", value

    assert [name for name, value in fields(scenario_schema()) if "description" not in value] == []


WORDS = """ 0 -1 1e400 nan .nan null [] {} GPU x yes * &a !!int ' : ? % é - racks workload <<: a:b"""
WORDS = st.sampled_from([*WORDS.split(" "), "7 us", "\t", "9" * 30, "- ", "a: b", "\x00"])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_give_a_scenario_or_an_input_error(tmp_path, data):
    text = data.draw(st.sampled_from([SMALL, *(f.read_text() for f in FILES)]))
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(tokens) - 1))
        action = data.draw(st.sampled_from(["replace", "insert", "delete", "move"]))
        if action == "replace":
            tokens[at] = data.draw(WORDS)
        elif action == "insert":
            tokens.insert(at, data.draw(WORDS))
        elif action == "delete":
            tokens[at] = ""
        else:
            tokens.insert(data.draw(st.integers(0, len(tokens))), tokens[at])
    file = tmp_path / "fuzz.yaml"
    file.write_text("".join(tokens), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            problems = None
            read_scenario(file, check_policy=resolve)
        except InputError as error:
            problems = error.problems
    assert problems is None or (problems and all(p.where and p.expected and p.found for p in problems))


def _breaches(schema, value, root=None, path="$"):
    """A JSON Schema validator for what the scenario's schema uses."""
    root = root or schema
    if "$ref" in schema:
        return _breaches(root["$defs"][schema["$ref"].split("/")[-1]], value, root, path)
    found = []
    if "anyOf" in schema and all(_breaches(s, value, root, path) for s in schema["anyOf"]):
        found.append(f"{path}: none of anyOf")
    if "oneOf" in schema and sum(not _breaches(s, value, root, path) for s in schema["oneOf"]) != 1:
        found.append(f"{path}: not one of oneOf")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} not in enum")
    kinds = {"object": dict, "array": list, "string": str, "number": int | float, "integer": int, "boolean": bool}
    kinds["null"] = type(None)
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return [*found, f"{path}: not {schema['type']}"]
    if isinstance(value, dict):
        found += [f"{path}: no {key}" for key in schema.get("required", ()) if key not in value]
        for key, item in value.items():
            extra = schema.get("additionalProperties", True)
            sub = schema.get("properties", {}).get(key, extra)
            if sub is False:
                found.append(f"{path}.{key}: unknown")
            elif sub is not True:
                found += _breaches(sub, item, root, f"{path}.{key}")
    if isinstance(value, list) and "items" in schema:
        found += [b for i, item in enumerate(value) for b in _breaches(schema["items"], item, root, f"{path}[{i}]")]
    if isinstance(value, int | float) and not value >= schema.get("minimum", value):
        found.append(f"{path}: below minimum")
    return found
