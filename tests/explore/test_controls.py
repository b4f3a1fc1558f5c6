"""The controls of a scenario, and the changes that a page may make."""

import pytest
import yaml

from tests.explore.conftest import EXAMPLES, GPUS
from vinesim.engine.simulate import simulate
from vinesim.explore.controls import MAX_CONTROLS, controls_of, n_left_out
from vinesim.explore.page import explore_page
from vinesim.explore.state import Explored, override
from vinesim.explore.view import view_of
from vinesim.model.errors import InputError


def by_key(explored, changes=None):
    return {control.key: control for control in explored.controls(changes or {})}


def test_they_are_what_the_file_says(quickstart):
    found = by_key(quickstart)
    gpus, iat = found[GPUS], found["arrivals.iat"]
    assert (gpus.kind, gpus.value, gpus.low, gpus.high, gpus.is_whole, gpus.is_log) == (
        "number",
        20,
        0,
        80,
        True,
        False,
    )
    assert gpus.title == "GPU units of rack 0"
    assert (iat.value, iat.unit, iat.low, iat.high, iat.is_log) == ("7 us", "us", 0.7, 70.0, True)
    assert found["workload.options.n_jobs"].value == 40  # of the command line
    assert found["prices.GPU"].title == "Price of GPU"
    assert found["network.preset"].words == ("paper", "table4", "none")
    assert "workload.generator" not in found  # 500jobs is no quantity
    assert [control.group for control in found.values()][:3] == ["Datacenter", "Datacenter", "Load"]


def test_cores_are_no_units():
    found = by_key(Explored(EXAMPLES / "gpu_cluster.yaml"))
    cores = found["datacenter.racks[0].nodes[0].units.CPU.cores"]
    assert cores.title == "Cores of CPU of rack 0 kind 0"
    assert cores.low == 1  # a CPU has some
    assert found["datacenter.racks[0].nodes[0].units.A100"].low == 0
    assert found["datacenter.racks[0].nodes[1].count"].title == "Nodes of rack 0 kind 1"


CLUSTER = """extends: none
processor_types: [{name: CPU}, {name: A100}]
network: none
datacenter: {racks: [{nodes: [{count: 2, units: {CPU: {cores: 32}, A100: 4}, memory: 128 GiB}]}]}
partitions:
  - {name: gpu, racks: [0], nodes: [{rack: 0, shelf: 1}], quota: {CPU|A100: 60, memory: 200 GiB}, user_quota: {A100: 6}}
failures:
  - {until: {mean: 3 h}, repair: {mean: 10 min, distribution: weibull, shape: 1.5}}
  - {shelf: 1, rack: 0, until: {mean: 1 d}, repair: {mean: 1 h}}
workload: {file: jobs.csv}
policy: fcfs
"""


def test_quotas_and_failures_have_controls(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_s,time_s,cores,gpus,user,partition\n0,60,4,4,ada,gpu\n")
    (tmp_path / "a.yaml").write_text(CLUSTER)
    explored = Explored(tmp_path / "a.yaml")
    found = {key: control.title for key, control in by_key(explored).items() if key[:4] in ("part", "fail")}
    assert found == {
        "partitions[0].quota.CPU|A100": "Quota of CPU|A100 in partition 0",
        "partitions[0].quota.memory": "Quota of memory in partition 0",
        "partitions[0].user_quota.A100": "Quota of A100 of a user in partition 0",
        "failures[0].until.mean": "Mean time until a node fails",
        "failures[0].repair.mean": "Mean time until it is repaired",
        "failures[0].repair.shape": "Shape of the time until it is repaired",
        "failures[1].until.mean": "Mean time until a node fails, failures 1",
        "failures[1].repair.mean": "Mean time until it is repaired, failures 1",
    }
    changes = {
        "partitions[0].quota.CPU|A100": 40,
        "partitions[0].quota.memory": "64 GiB",
        "failures[1].until.mean": "9 h",
    }
    changed = explored.scenario(changes)
    assert dict(changed.partitions[0].quota) == {"CPU|A100": 40.0, "memory": 64 * 2.0**30}
    assert changed.failures[1].until.mean_us == 9 * 3600e6


ENGINES = """extends: none
processor_types:
  - {name: CPU}
  - name: P
    batching: {max_sequences: 4, max_batched_tokens: 64, memory_tokens: 1600, role: prefill, token_bytes: 2 KiB,
               step: {base: 10 ms, prefill_token: 1 ms}}
  - name: D
    batching: {max_sequences: 4, max_batched_tokens: 64, memory_tokens: 1600, role: decode, prefix_caching: true,
               step: {MODEL: {base: 10 ms, exchange: {base: 20 us, token: 0.5 us, times: 8}}}}
task_types: [MODEL]
affinity: {absolute: {P: 1, D: 1}}
datacenter: {racks: [{units: {P: 1, D: 1}}]}
network: {local: 1 MB/s, intra_rack: 500 kB/s, inter_rack: 250 kB/s}
workload: {file: jobs.csv}
policy: least_requests
"""


def test_engines_have_controls(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_ms,input_tokens,output_tokens\n0,50,3\n0,10,1\n")
    (tmp_path / "a.yaml").write_text(ENGINES)
    explored = Explored(tmp_path / "a.yaml", (), "reference")
    found = {key: control for key, control in by_key(explored).items() if control.group == "Engines"}
    assert {control.title for control in found.values()} == {
        *(f"{name} of {kind}" for kind in "PD" for name in ("Max sequences", "Max batched tokens", "Memory tokens")),
        *("Role of P", "Step, base of P", "Step, prefill_token of P", "Role of D", "Prefix caching of D"),
        *(f"Step, MODEL, {name} of D" for name in ("base", "exchange, base", "exchange, token", "exchange, times")),
    }
    assert found["processor_types[1].batching.role"].words == ("both", "prefill", "decode")
    slower = {"processor_types[1].batching.step.base": "50 ms"}
    apart = dict.fromkeys(("processor_types[1].batching.role", "processor_types[2].batching.role"), "both")
    times = []
    for changes in ({}, slower, apart):
        scenario = explored.scenario(changes)
        numbers = view_of(scenario, simulate(scenario, engine="reference").outcome)["numbers"]
        times.append((numbers["serving.first_token_us.p99"], numbers["serving.token_us.p99"]))
    assert times[1][0] == times[0][0] + 40_000
    assert times[2][1] < times[0][1]  # nothing is sent
    with pytest.raises(InputError, match="expected an engine in the datacenter that only prefills"):
        explored.scenario(dict(list(apart.items())[:1]))


@pytest.mark.parametrize(
    "wrong", ["partitions: 3", "partitions: [3]", "failures: {mean: 3}", "processor_types: [3]", "failures: [[[3]]]"]
)
def test_sections_of_another_form_are_refused(tmp_path, wrong):
    (tmp_path / "a.yaml").write_text("datacenter: {racks: []}\nworkload: {}\npolicy: fcfs\n" + wrong + "\n")
    with pytest.raises(InputError, match=wrong.partition(":")[0]):
        Explored(tmp_path / "a.yaml")


def test_options_are_those_of_the_policy_that_is_chosen(quickstart):
    assert "options.in_order" in by_key(quickstart)
    found = by_key(quickstart, {"policy": "delay"})
    assert "options.in_order" not in found
    assert {key for key in found if key.startswith("options.")}


@pytest.mark.parametrize(
    "name", ["quickstart", "symphony", "gpu_cluster", "energy", "two_racks", "neurasmus", "rbss", "papers", "serving"]
)
def test_every_control_can_be_set_to_the_ends_of_its_slider(name):
    """Whatever a control can say is a value that the scenario's file takes at that key."""
    explored = Explored(EXAMPLES / f"{name}.yaml")
    found = by_key(explored)
    assert found
    assert len({control.title for control in found.values()}) == len(found)
    for control in found.values():
        ends = control.words[:1] or ((control.low, control.high) if control.kind == "number" else (True,))
        for end in ends:
            value = int(end) if control.is_whole else f"{end:g} {control.unit}" if control.unit else end
            data = explored.source({control.key: value}).data
            again = {each.key: each for each in controls_of(data, data.get("policy"))}
            if control.key in again and control.key not in ("network.preset", "network"):
                assert again[control.key].value == value


def test_a_change_that_no_control_makes_is_refused(quickstart, tmp_path):
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('run')")
    changes = {"policy": f"{evil}:X", "workload.file": "/etc/passwd", GPUS: True, "options.in_order": "maybe"}
    with pytest.raises(InputError) as wrong:
        quickstart.scenario(changes)
    text = str(wrong.value)
    for key in changes:
        assert key in text
    assert "a control of this page" in text


def test_a_variant_that_cannot_be_is_reported_as_run_reports_it(quickstart):
    with pytest.raises(InputError, match=r"arrivals\.iat.*a time, 0 or more"):
        quickstart.scenario({"arrivals.iat": "7 parsecs"})


@pytest.mark.parametrize("value", [5, 0.25, True, "6.5 us", "no", "1e3", "a: b", "10 Gb/s", "[x]"])
def test_an_override_reads_back_as_the_value(value):
    assert yaml.safe_load(override("key", value).removeprefix("key=")) == value


def test_a_site_with_many_users_keeps_the_controls_of_its_policy_the_load_and_the_seed(tmp_path):
    """And the page says how many others it leaves out. A weight that is 0 can become one that counts."""
    users = {f"u{i}": {"shares": 1, "max_jobs": 2} for i in range(150)}
    options = {"accounts": {"a": {"shares": 1, "users": users}}, "nodes": {"c": {"names": "c1", "weight": 1}}}
    racks = [{"nodes": [{"count": 1, "group": "c", "units": {"CPU": {"cores": 4}}, "memory": "8 GiB"}]}]
    document = {
        "extends": "none",
        "processor_types": [{"name": "CPU"}],
        "network": "none",
        "datacenter": {"racks": racks},
        "workload": {"file": "jobs.csv"},
        "policy": "slurm",
        "options": options,
    }
    found = {control.key: control for control in controls_of(document)}
    assert len(found) == MAX_CONTROLS
    assert {"seed", "workload.load", "policy", "options.bf_interval", "options.accounts.a.users.u0.shares"} <= {*found}
    assert n_left_out(document) == 300 + len(controls_of({**document, "options": {}})) + 2 - MAX_CONTROLS
    assert found["options.priority_weight_age"].high == 10_000
    (tmp_path / "jobs.csv").write_text("arrival_s,time_s,cores\n0,60,4\n")
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(document))
    text = Explored(tmp_path / "a.yaml")
    text.scenario = lambda changes: None  # the jobs of a site have more columns
    notes = [section.html for section in explore_page(text).sections if section.anchor == "controls"]
    assert f"{n_left_out(document)} more values of the file have no control here" in notes[0]
