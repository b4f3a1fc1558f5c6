"""Jobs that ask for cores, memory and GPUs in the columns of a workload's table."""

import re

import duckdb
import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.formats.source import quantities
from vinesim.model.errors import InputError
from vinesim.model.workload import WHOLE_UNIT
from vinesim.policies.documents import read_scenario
from vinesim.policies.identity import content_id

SCENARIO = """
extends: none
processor_types: [{name: CPU}, {name: A100}, {name: T4}, {name: CPU_ARM}]
task_types: [TASK]
affinity: {absolute: {CPU: 1, A100: 1, T4: 1, CPU_ARM: 1}}
network: none
datacenter:
  racks:
    - nodes:
        - {count: 2, units: {CPU: {cores: 96}, A100: 8}, memory: 512 GiB, resources: {nic: 25 GB/s}}
        - {units: {CPU: {cores: 32}, T4: 2}, memory: 64 GiB}
workload: {file: jobs.csv}
"""
ONLY_CPUS = re.sub(r", (A100|T4): \d", "", SCENARIO)
TWO_CPUS = SCENARIO.replace("units: {CPU: {cores: 32}, T4", "units: {CPU_ARM: {cores: 32}, A100: 1, T4")
TWO_SIZES = SCENARIO.replace("{name: T4}", "{name: T4, capacity: 4}")
NO_MEMORY = re.sub(r", memory: \d+ GiB", "", SCENARIO)


@pytest.fixture
def jobs(tmp_path):
    """Read the scenario with a table of jobs: the header, then rows without their arrival."""

    def read(header, *rows, scenario=SCENARIO, overrides=()):
        (tmp_path / "s.yaml").write_text(scenario)
        lines = [f"arrival_s,{header}", *(f"{i},{row}" for i, row in enumerate(rows))]
        (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
        return read_scenario(tmp_path / "s.yaml", overrides)

    return read


@pytest.fixture
def problems(jobs):
    def read(*args, **kwargs):
        with pytest.raises(InputError) as error:
            jobs(*args, **kwargs)
        return [re.sub(r"^\S*/", "", str(problem)) for problem in error.value.problems]

    return read


def demands(work):
    """Of each task: units, demand, processor types, companions."""
    companions = work.companions or {}
    n = work.n_tasks
    units = [1] * n if work.units is None else work.units.tolist()
    share = [np.nan] * n if work.demand is None else work.demand.tolist()
    lead = [-1] * n if work.lead_types is None else work.lead_types.tolist()
    return [
        (
            units[i],
            share[i],
            "|".join(work.lead_sets[lead[i]]) if lead[i] >= 0 else "any",
            {name: float(amount[i]) for name, amount in companions.items() if amount[i]},
        )
        for i in range(n)
    ]


def test_gpus_are_the_lead_and_cores_and_memory_are_companions(jobs):
    made = jobs("cores,memory,gpus,gpu_share,gpu_type", "4,16 GiB,2,,A100", "1.5,,1,0.46,T4|A100", ",,1,1,")
    assert demands(made.workload) == [
        (2, WHOLE_UNIT, "A100", {"CPU": 4, "memory": 16 * 2**30}),
        (1, 0.46, "A100|T4", {"CPU": 1.5}),
        (1, WHOLE_UNIT, "A100|T4", {}),
    ]


def test_without_gpus_the_cores_are_the_lead(jobs):
    made = jobs("cores,memory,gpus", "4,1000,0", "8,,", "0,5 GB,0")
    assert demands(made.workload) == [
        (1, 4, "CPU", {"memory": 1000}),
        (1, 8, "CPU", {}),
        (1, 0, "CPU", {"memory": 5e9}),
    ]


def test_cores_and_memory_alone(jobs):
    assert demands(jobs("cores", "4", "6").workload) == [(1, 4, "CPU", {}), (1, 6, "CPU", {})]
    ((_, demand, lead, companions),) = demands(jobs("memory", "4 kB").workload)
    assert np.isnan(demand)
    assert (lead, companions) == ("any", {"memory": 4000})


def test_a_share_is_of_a_gpu_of_any_capacity(jobs):
    slices = SCENARIO.replace("A100: 8", "A100: {count: 8, capacity: 8}")
    made = jobs("gpus,gpu_share,gpu_type", "2,0.5,A100", "1,0.25,T4", scenario=slices)
    assert [demand for _, demand, *_ in demands(made.workload)] == [4, 0.25]


def test_gpus_below_1_are_a_share_of_one(jobs):
    made = jobs("cores,gpus,gpu_share,gpu_type", "4,0.5,,A100", "1,0.25,1,T4", "1,1,0.75,T4", "1,2,,A100", "1,0,0,")
    assert demands(made.workload) == [
        (1, 0.5, "A100", {"CPU": 4}),
        (1, 0.25, "T4", {"CPU": 1}),
        (1, 0.75, "T4", {"CPU": 1}),
        (2, WHOLE_UNIT, "A100", {"CPU": 1}),
        (1, 1, "CPU", {}),
    ]


def test_cores_are_of_the_cpu_that_stands_next_to_the_gpu(jobs):
    made = jobs("cores,gpus,gpu_type", "4,1,T4", "2,0,", scenario=TWO_CPUS)
    assert demands(made.workload) == [(1, WHOLE_UNIT, "T4", {"CPU_ARM": 4}), (1, 2, "CPU|CPU_ARM", {})]


def test_the_general_columns(jobs):
    made = jobs("units,types,demand,companion.CPU,companion.nic", "3,A100,0.5,6,1 GB/s", ",,,,", "2,T4|A100,whole,,0")
    ((*_, any_companions),) = [row for row in demands(made.workload) if row[2] == "any"]
    first, _, last = demands(made.workload)
    assert first == (3, 0.5, "A100", {"CPU": 6, "nic": 1000})
    assert any_companions == {}
    assert last == (2, WHOLE_UNIT, "A100|T4", {})


def test_a_request_of_the_type_stays_what_it_is(jobs):
    sized = SCENARIO.replace("{name: A100}", "{name: A100, attributes: {sms: 108}}")
    made = jobs("gpus,request.sms", "1,100", scenario=sized)
    assert made.workload.requests["sms"].tolist() == [100]
    assert made.workload.companions is None


def test_a_table_written_and_read_again_is_the_same(jobs, tmp_path):
    rows = ("4,16 GiB,2,,A100", "1.5,,1,0.46,T4|A100", "3,1 GB,0,,")
    one = jobs("cores,memory,gpus,gpu_share,gpu_type", *rows)
    write_workload(tmp_path / "jobs.parquet", one.workload, one.datacenter.processor_types)
    other = read_scenario(tmp_path / "s.yaml", ["workload.file=jobs.parquet"])
    assert demands(other.workload) == demands(one.workload)
    assert content_id(other) == content_id(one)
    plain = jobs("operations", "5")
    write_workload(tmp_path / "plain.parquet", plain.workload, plain.datacenter.processor_types)
    columns = duckdb.sql(f"DESCRIBE SELECT * FROM '{tmp_path / 'plain.parquet'}'").fetchall()
    assert not {"units", "types", "cores", "gpus"} & {column[0] for column in columns}


def test_a_parquet_file_may_hold_numbers_or_texts_of_amounts(tmp_path, jobs):
    made = jobs("memory", "1 KiB", "5")
    for cell in ("'1 KiB'::VARCHAR", "1024::DOUBLE", "1024::INTEGER"):
        path = tmp_path / "t.parquet"
        duckdb.sql(f"COPY (SELECT 0 AS arrival_s, {cell} AS memory) TO '{path}' (FORMAT parquet)")
        work = read_workload(path, made.datacenter.processor_types)
        assert work.companions["memory"].tolist() == [1024]


@pytest.mark.parametrize("text", ["0.1 GiB", "3 TB", ".5e1kB", " 7 MiB ", "25 GB/s", "1.1 Gb/s", "3 bps", "1e-3", "12"])
def test_amounts_are_read_as_in_the_scenario_file_to_the_last_bit(jobs, text):
    made = jobs("companion.nic", text, overrides=["datacenter.racks[0].nodes[0].resources.nic=9e15"])
    read = 0.0 if made.workload.companions is None else made.workload.companions["nic"][0]
    assert read == quantities.amount(text)


@pytest.mark.parametrize(
    ("header", "rows", "scenario", "expected"),
    [
        (
            "cores",
            ["4"],
            SCENARIO.replace("name: CPU}", "name: X86}")
            .replace("CPU: ", "X86: ")
            .replace(", {name: CPU_ARM}", "")
            .replace(", CPU_ARM: 1", "")
            .replace("{cores:", "{capacity:"),
            "jobs.csv:2: expected cores: 1 or more GPUs, as no node has a CPU, found '4'. CPUs are the types",
        ),
        (
            "memory",
            [",", "1 GiB"],
            NO_MEMORY,
            "jobs.csv:3: expected memory: none, as no node has memory, found '1 GiB'. Giv",
        ),
        (
            "gpus,gpu_share",
            ["1,1.2"],
            SCENARIO,
            "jobs.csv:2: expected gpu_share: a share of each GPU, above 0 and at most",
        ),
        (
            "gpus,gpu_share",
            ["1,0"],
            SCENARIO,
            "jobs.csv:2: expected gpu_share: a share of each GPU, above 0 and at most",
        ),
        (
            "gpus,gpu_share",
            ["0,0.5"],
            SCENARIO,
            "jobs.csv:2: expected gpu_share: nothing where gpus is 0, found '0.5'. Give",
        ),
        (
            "gpus,gpu_type",
            ["0,A100"],
            SCENARIO,
            "jobs.csv:2: expected gpu_type: nothing where gpus is 0, found 'A100'. Give",
        ),
        (
            "gpus,gpu_type",
            ["1,T4|A10"],
            SCENARIO,
            "jobs.csv:2: expected gpu_type: processor types, as A|B: of CPU, A100, T4,",
        ),
        (
            "gpus,gpu_type",
            ["1,T4"],
            SCENARIO.replace(", T4: 2", ""),
            "jobs.csv:2: expected gpu_type: a type that a node has: o",
        ),
        (
            "gpus,gpu_type",
            ["1,CPU"],
            SCENARIO,
            "jobs.csv:2: expected gpu_type: GPUs: one of A100, T4, not CPU, found 'CPU'",
        ),
        (
            "gpus",
            ["0", "2"],
            ONLY_CPUS,
            "jobs.csv:3: expected gpus: 0, as no node has a GPU, found '2'. GPUs are the types",
        ),
        (
            "gpus",
            ["-1"],
            SCENARIO,
            "expected gpus: a whole number, 0 or more, or a share below 1, found '-1'",
        ),
        (
            "gpus",
            ["1.5"],
            SCENARIO,
            "expected gpus: a whole number, 0 or more, or a share below 1, found '1.5'",
        ),
        ("gpus", ["2147483648"], SCENARIO, "expected gpus: a whole number, 0 or more, or a share below 1"),
        (
            "gpus,gpu_share",
            ["0.5,0.5"],
            SCENARIO,
            "jobs.csv:2: expected gpu_share: nothing where gpus is a share, found '0.5'. Keep one of them.",
        ),
        ("gpus", ["0.5"], TWO_SIZES, "jobs.csv:2: expected gpus: 1, as A100 and T4 differ in capacity, found '0.5'"),
        ("cores", ["-1"], SCENARIO, "jobs.csv:2: expected cores: a number, 0 or more, found '-1'"),
        (
            "memory",
            ["5 Gb"],
            SCENARIO,
            "jobs.csv:2: expected memory: a number, 0 or more, or with a unit: 16 GiB, found '5 Gb'",
        ),
        (
            "memory",
            ["5 parsecs"],
            SCENARIO,
            "jobs.csv:2: expected memory: a number, 0 or more, or with a unit: 16 GiB, found",
        ),
        ("units", ["0"], SCENARIO, "jobs.csv:2: expected units: a whole number, 1 or more, found '0'"),
        (
            "cores,gpus",
            ["4,1"],
            TWO_CPUS,
            "jobs.csv:2: expected cores: cores of one type of CPU at the node of A100 or T4, which has",
        ),
        (
            "companion.nics",
            ["4"],
            SCENARIO,
            "jobs.csv: companion.nics: expected a processor type: CPU, A100, T4, CPU_ARM,",
        ),
        ("companion.CPU_ARM", ["4"], SCENARIO, "jobs.csv:2: expected companion.CPU_ARM: none, as no node has CPU_ARM"),
        (
            "gpus,units",
            ["1,1"],
            SCENARIO,
            "jobs.csv: gpus: expected one way to say what a task runs on, found gpus along with units.",
        ),
        ("gpu_share", ["0.5"], SCENARIO, "jobs.csv: gpu_share: expected a column gpus as well, found none. Add it."),
        ("gpu", ["1"], SCENARIO, "Does it mean gpus?"),
        (
            "gpus",
            ["9"],
            SCENARIO,
            "jobs.csv:2: expected a node that has all it holds, found none with 9 of A100|T4 at one",
        ),
        (
            "cores,gpus,gpu_type",
            ["33,1,T4"],
            SCENARIO,
            "jobs.csv:2: expected a node that has all it holds, found none with 1",
        ),
        (
            "memory",
            ["1", "1 TiB"],
            SCENARIO,
            "jobs.csv:3: expected memory: no more than a unit has, found 1 TiB, 512 GiB on the largest",
        ),
        (
            "memory",
            ["5 GB/s"],
            SCENARIO,
            "jobs.csv:2: expected memory: a number, 0 or more, or with a unit: 16 GiB, found",
        ),
    ],
)
def test_a_demand_that_no_node_meets_is_one_error_with_its_line(problems, header, rows, scenario, expected):
    found = problems(header, *rows, scenario=scenario)
    assert len(found) == 1
    assert expected in found[0]


def test_the_row_of_an_error_is_that_of_the_file_whatever_the_order_of_arrival(tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "jobs.csv").write_text("arrival_s,gpus\n5,1\n\n3,9\n1,1\n")
    with pytest.raises(InputError, match=r"jobs\.csv:4: expected a node"):
        read_scenario(tmp_path / "s.yaml")
    duckdb.sql(f"COPY (SELECT * FROM '{tmp_path / 'jobs.csv'}') TO '{tmp_path / 'jobs.parquet'}' (FORMAT parquet)")
    with pytest.raises(InputError, match=r"jobs\.parquet: row 1: expected a node"):
        read_scenario(tmp_path / "s.yaml", ["workload.file=jobs.parquet"])


@pytest.mark.parametrize("policy", ["high", "flat"])
def test_both_engines_run_what_was_read(jobs, policy):
    rows = ("10,96,16 GiB,8,,A100", "10,4,1 GiB,1,0.5,", "10,4,1 GiB,1,0.5,T4", "5,90,,0,,", "7,3,400 GiB,2,,A100")
    made = jobs("operations,cores,memory,gpus,gpu_share,gpu_type", *rows, overrides=[f"policy={policy}"])
    one, other = (vs.simulate(made, engine=engine) for engine in ("compiled", "reference"))
    for name in one.tasks:
        assert np.array_equal(one.tasks[name], other.tasks[name], equal_nan=one.tasks[name].dtype.kind == "f")
    assert one.exit_reason == vs.ExitReason.ALL_DONE
    names = [made.datacenter.processor_types[p].name for p in one.tasks["unit_type"]]
    assert names[0] == names[4] == "A100"
    assert names[2] == "T4"
    assert names[3] == "CPU"


def test_a_mistake_in_the_datacenter_is_reported_without_rows_that_lack_it(problems):
    wrong = SCENARIO.replace("memory: 512 GiB", "memory: 512 GBi")
    header, rows = "time_s,cores,memory,gpus,companion.nic", ["10,4,6 GiB,1,1", "10,4,6 GiB,0,0"]
    (found,) = problems(header, *rows, scenario=wrong)
    assert "nodes[0].memory: expected a size" in found


def test_an_empty_time_is_reported_at_its_row(problems):
    found = problems("time_s,cores", "10,4", ",4", "10,4")
    assert found == ["jobs.csv:3: expected time_s: a time, found nothing"]


def test_a_withdrawal_before_the_arrival_is_reported_at_its_cell(problems):
    found = problems("time_s,cores,withdraw_s", "10,4,9", "10,4,0.5", "10,4,")
    expected = "withdraw_s: 0 or more, or infinite for never, and not before its arrival"
    assert found == [f"jobs.csv:3: expected {expected}, found '0.5'"]


def test_demands_are_reported_in_the_words_of_the_table(problems):
    (found,) = problems("cores,memory,gpus,gpu_type", "1,60 GiB,9,A100")
    assert found.startswith("jobs.csv:2: expected a node that has all it holds, found none with 9 of A100")
    assert "1 of CPU and 60 GiB of memory" in found
    (cores,) = problems("cores,gpus,gpu_type", "97,1,A100")
    assert cores.startswith("jobs.csv:2: expected cores: no more than a unit has, found 97, 96 on the largest")
    (alone,) = problems("cores", "97")
    assert alone.startswith("jobs.csv:2: expected cores: at most the capacity of the largest unit")


def test_a_row_that_stands_for_a_gang_is_reported_once(problems):
    found = problems("time_s,gpus,gpu_share,user,nodes,tasks_per_node", "10,1,2,ada,2,3", "10,0,0.5,,2,3")
    assert [text.split(": ")[0] for text in found] == ["jobs.csv:2", "jobs.csv:3"]
    found = problems("time_s,application,nodes", ",web,3", "10,,3")
    assert found == [
        "jobs.csv:2: expected time_s: a time, found nothing",
        "jobs.csv:3: expected application: a name, found nothing",
    ]
