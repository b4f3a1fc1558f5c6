"""Jobs whose tasks start together, in the columns of a workload's table."""

import numpy as np
import pytest

import vinesim as vs
from vinesim.formats.scenario.workload_table import read_workload
from vinesim.formats.scenario.workload_writer import write_workload
from vinesim.model.workload import ANYWHERE, NO_GANG, NODE, RACK
from vinesim.policies.documents import read_scenario

TYPES = (vs.ProcessorType("CPU"),)


@pytest.fixture
def read(tmp_path):
    """The workload of a table: the header, then rows."""

    def read(*lines):
        (tmp_path / "jobs.csv").write_text("\n".join(lines) + "\n")
        return read_workload(tmp_path / "jobs.csv", TYPES)

    return read


def test_the_rows_of_a_job_start_together_where_it_says(read):
    rows = (
        "0,0,node,packed,2",
        "0,0,node,packed,2",
        "1,1,rack,spread,",
        "1,1,rack,spread,",
        "2,2,,,",
        "3,3,anywhere,,",
    )
    work = read("job,arrival_s,gang,spread,tasks_per_node", *rows)
    assert work.job_first.tolist() == [0, 2, 4, 5, 6]
    assert work.gang_within.tolist() == [NODE, RACK, NO_GANG, ANYWHERE]
    assert work.gang_spread.tolist() == [False, True, False, False]
    assert work.tasks_per_node.tolist() == [2, 0, 0, 0]


def test_nodes_times_tasks_per_node_are_equal_tasks_of_a_gang(read):
    work = read("arrival_s,operations,nodes,tasks_per_node,gang", "5,7,2,3,rack", "0,2,,,", "9,1,2,,", "9,1,1,4,node")
    assert work.arrival_us.tolist() == [0, 5e6, 9e6, 9e6]
    assert np.diff(work.job_first).tolist() == [1, 6, 2, 4]
    assert work.operations.tolist() == [2] + [7] * 6 + [1] * 6
    assert work.gang_within.tolist() == [NO_GANG, RACK, ANYWHERE, NODE]
    assert work.tasks_per_node.tolist() == [0, 3, 1, 4]
    assert work.gang_nodes.tolist() == [0, 2, 2, 1]


def test_a_job_with_a_row_for_each_task_says_how_many_nodes_it_has(read):
    work = read("job,arrival_s,operations,nodes,tasks_per_node", *(f"0,0,{size},2,2" for size in (5, 6, 7, 8)))
    assert (work.operations.tolist(), work.gang_nodes.tolist(), work.n_jobs) == ([5, 6, 7, 8], [2], 1)


def test_empty_columns_are_no_gangs(read):
    work = read("arrival_s,gang,spread,tasks_per_node,nodes", "0,,,,", "1,,packed,0,")
    assert (work.gang_within, work.gang_spread, work.tasks_per_node) == (None, None, None)


def test_a_table_written_and_read_again_is_the_same(read, tmp_path):
    work = read("arrival_s,nodes,tasks_per_node,spread", "0,2,2,spread", "1,,,", "2,3,1,packed")
    write_workload(tmp_path / "again.parquet", work, TYPES)
    again = read_workload(tmp_path / "again.parquet", TYPES)
    for name in ("job_first", "gang_within", "gang_spread", "tasks_per_node", "gang_nodes"):
        assert getattr(again, name).tolist() == getattr(work, name).tolist()


def test_a_gang_that_is_too_large_is_reported_with_its_line(tmp_path):
    (tmp_path / "jobs.csv").write_text("arrival_s,nodes,tasks_per_node\n0,,\n1,2,2\n2,2,3\n")
    scenario = "extends: none\nprocessor_types: [{name: CPU}]\nnetwork: none\nworkload: {file: jobs.csv}\n"
    (tmp_path / "s.yaml").write_text(
        f"{scenario}affinity: {{absolute: {{CPU: {{TASK: 1}}}}}}\ntask_types: [TASK]\n"
        "datacenter: {racks: [{nodes: [{count: 2, units: {CPU: 2}}]}]}\n"
    )
    with pytest.raises(vs.InputError) as wrong:
        read_scenario(tmp_path / "s.yaml")
    words = "jobs.csv:4: expected a node with room for 3 such tasks, found a gang of"
    assert words in str(wrong.value)
    assert "found a gang of 6 tasks, job 2" in str(wrong.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("arrival_s,gang", "0,racks"), "jobs.csv: gang: expected node or rack or anywhere, found 'racks'"),
        (("arrival_s,spread", "0,spread"), "jobs.csv:2: expected spread: nothing, as the job has no gang"),
        (("arrival_s,tasks_per_node", "0,", "1,2"), "jobs.csv:3: expected tasks_per_node: nothing, as the job has no"),
        (("arrival_s,nodes", "0,0"), "jobs.csv:2: expected nodes: a whole number, 1 or more, found '0'"),
        (("job,arrival_s,nodes", *["0,0,2"] * 3), "nodes: a number so that nodes x tasks_per_node is 3, "),
        (("arrival_s,nodes,gang", "0,2,node"), "jobs.csv:2: expected nodes: 1, as the tasks are to be within one node"),
        (("arrival_s,nodes,tasks_per_node", "0,2000000,9"), "jobs.csv:2: expected nodes: at most 1,000,000 tasks"),
        (("job,arrival_s,gang", "0,0,node", "0,0,rack"), "gang[1]: expected one value per job"),
    ],
)
def test_wrong_cells_are_reported_with_their_lines(read, lines, words):
    with pytest.raises(vs.InputError) as wrong:
        read(*lines)
    assert words in str(wrong.value)
