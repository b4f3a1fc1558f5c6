"""Opening a result folder: what is missing or damaged is reported, all of it."""

import json
import subprocess

import numpy as np
import pytest

from vinesim.formats.results.checksums import write_sums
from vinesim.formats.results.parquet import write_table
from vinesim.formats.results.tables import open_result
from vinesim.model.columns import APPLICATIONS
from vinesim.model.errors import InputError, InputWarning


def test_names_come_from_the_provenance_or_from_the_summary(example, copied):
    with open_result(example) as result:
        assert result.processor_types == {0: "CPU_INTEL", 2: "GPU"}
    folder = copied(example)
    summary = json.loads((folder / "summary.json").read_text())
    summary["provenance"] |= {"processor_types": ["a", "b", "c"], "task_types": ["x", "y", "z"]}
    (folder / "summary.json").write_text(json.dumps(summary))
    write_sums(folder)
    with open_result(folder) as result:
        assert result.processor_types == {0: "a", 2: "c"}
        assert result.task_types == {2: "z"}
    del summary["provenance"]["processor_types"], summary["provenance"]["task_types"]
    (folder / "summary.json").write_text(json.dumps(summary))
    write_sums(folder)
    with open_result(folder) as result:
        assert result.processor_types == {0: "CPU_INTEL", 2: "GPU"}
        assert result.task_types == {2: "task type 2"}


def test_everything_wrong_is_reported_at_once(example, copied):
    folder = copied(example)
    (folder / "tasks.parquet").write_bytes(b"PAR1 and then nothing")
    (folder / "jobs.parquet").unlink()
    (folder / "units.parquet").write_bytes((folder / "utilization.parquet").read_bytes())
    (folder / "summary.json").write_text('{"jobs": ')
    with pytest.raises(InputError, match=r"jobs.parquet: .* no such file") as wrong, open_result(folder):
        pass
    assert len(wrong.value.problems) == 4
    write_sums(folder)  # as if they had been written so
    with pytest.raises(InputError) as wrong, open_result(folder):
        pass
    assert len(wrong.value.problems) == 4
    for text in ("summary.json:1:", "tasks.parquet", "jobs.parquet", "columns unit, unit_type, rack"):
        assert text in str(wrong.value)


def test_damage_inside_a_table_is_reported_when_it_is_read(example, copied):
    folder = copied(example)
    data = bytearray((folder / "tasks.parquet").read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    (folder / "tasks.parquet").write_bytes(data)
    with (
        pytest.raises(InputError, match=r"tasks.parquet: expected the contents listed in SHA256SUMS"),
        open_result(folder),
    ):
        pass
    write_sums(folder)
    with open_result(folder) as result, pytest.raises(InputError, match="tables that can be read"):
        result.columns("SELECT * FROM tasks")


@pytest.mark.parametrize("summary", ["[]", "{}", '{"jobs": 1}'])
def test_another_summary_is_refused(example, copied, summary):
    folder = copied(example)
    (folder / "summary.json").write_text(summary)
    write_sums(folder)
    with pytest.raises(InputError, match="the summary of a run with"), open_result(folder):
        pass


def test_folders_that_are_no_result(tmp_path, whole_sweep):
    for folder, found in ((tmp_path, "found none"), (tmp_path / "x", "no such folder"), (whole_sweep, "a sweep")):
        with pytest.raises(InputError, match=found), open_result(folder):
            pass


@pytest.mark.parametrize("name", ["summary.json", "tasks.parquet", "utilization.parquet", "SHA256SUMS"])
def test_one_flipped_bit_is_found_in_every_file(example, copied, name):
    folder = copied(example)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(InputError, match=r"Write it again with vinesim run --out"), open_result(folder):
        pass


def test_files_that_came_or_went_are_found(example, two_racks, copied):
    folder = copied(example)
    (folder / "utilization.parquet").unlink()
    with pytest.raises(InputError, match=r"utilization.parquet: .* found no such file"), open_result(folder):
        pass
    (folder / "utilization.parquet").write_bytes((example / "utilization.parquet").read_bytes())
    (folder / "explain.json").write_text("{}")
    with pytest.raises(InputError, match=r"explain.json: expected a line in SHA256SUMS"), open_result(folder):
        pass


def test_other_tools_can_check_the_list(example):
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=example, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()[::2]) == sorted(f"{f.name}:" for f in example.iterdir() if f.name != "SHA256SUMS")


def test_a_result_without_a_list_is_read_with_a_warning(example, copied):
    folder = copied(example)
    (folder / "SHA256SUMS").unlink()
    with (
        pytest.warns(InputWarning, match="has no SHA256SUMS: it is read without a check"),
        open_result(folder) as result,
    ):
        assert result.summary["jobs"]["count"] == 500


def test_a_table_of_an_older_version_is_refused_with_the_column_that_it_lacks(example, copied):
    folder = copied(example)
    older = {column.name: np.zeros(1) for column in APPLICATIONS.columns if column.name != "consolidated_mean"}
    write_table(folder / "applications.parquet", {**older, "batch_mean": np.ones(1)})
    write_sums(folder)
    with pytest.raises(InputError, match=r"columns consolidated_mean, found .*batch_mean.* Write it again"):
        open_result(folder).__enter__()
    write_table(folder / "applications.parquet", {**older, "consolidated_mean": np.ones(1)})
    write_sums(folder)
    with open_result(folder) as result:
        assert result.rows("SELECT consolidated_mean FROM applications") == [(1.0,)]
