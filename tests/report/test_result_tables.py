"""Opening a result folder: what is missing or damaged is told, all of it."""

import json

import pytest

from vinesim.formats.result_tables import open_result
from vinesim.model.errors import InputError


def test_names_come_from_the_provenance_or_from_the_summary(example, copied):
    with open_result(example) as result:
        assert result.processor_types == {0: "CPU_INTEL", 2: "GPU"}
    folder = copied(example)
    summary = json.loads((folder / "summary.json").read_text())
    summary["provenance"] |= {"processor_types": ["a", "b", "c"], "task_types": ["x", "y", "z"]}
    (folder / "summary.json").write_text(json.dumps(summary))
    with open_result(folder) as result:
        assert result.processor_types == {0: "a", 2: "c"}
        assert result.task_types == {2: "z"}
    del summary["provenance"]["processor_types"], summary["provenance"]["task_types"]
    (folder / "summary.json").write_text(json.dumps(summary))
    with open_result(folder) as result:
        assert result.processor_types == {0: "CPU_INTEL", 2: "GPU"}
        assert result.task_types == {2: "task type 2"}


def test_everything_wrong_is_told_at_once(example, copied):
    folder = copied(example)
    (folder / "tasks.parquet").write_bytes(b"PAR1 and then nothing")
    (folder / "jobs.parquet").unlink()
    (folder / "units.parquet").write_bytes((folder / "utilization.parquet").read_bytes())
    (folder / "summary.json").write_text('{"jobs": ')
    with pytest.raises(InputError) as wrong, open_result(folder):
        pass
    assert len(wrong.value.problems) == 4
    for text in ("summary.json:1:", "tasks.parquet", "jobs.parquet", "columns unit, unit_type, rack"):
        assert text in str(wrong.value)


def test_damage_inside_a_table_is_told_when_it_is_read(example, copied):
    folder = copied(example)
    data = bytearray((folder / "tasks.parquet").read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    (folder / "tasks.parquet").write_bytes(data)
    with open_result(folder) as result, pytest.raises(InputError, match="tables that can be read"):
        result.columns("SELECT * FROM tasks")


@pytest.mark.parametrize("summary", ["[]", "{}", '{"jobs": 1}'])
def test_another_summary_is_refused(example, copied, summary):
    folder = copied(example)
    (folder / "summary.json").write_text(summary)
    with pytest.raises(InputError, match="the summary of a run with"), open_result(folder):
        pass


def test_folders_that_are_no_result(tmp_path, whole_sweep):
    for folder, found in ((tmp_path, "found none"), (tmp_path / "x", "no such folder"), (whole_sweep, "a sweep")):
        with pytest.raises(InputError, match=found), open_result(folder):
            pass
