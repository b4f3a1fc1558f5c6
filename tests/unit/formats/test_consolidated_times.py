"""The section consolidated_times of a scenario file: steps, lines, rows by task type, and what is wrong in it."""

import numpy as np
import pytest

import vinesim as vs

FILE = """
processor_types: [{name: FAST}, {name: SLOW}]
affinity: {table: none, absolute: {FAST: {FP_GOOD: 1, INT: 1}, SLOW: {FP_GOOD: 1}}}
datacenter: {racks: [{units: {FAST: 1, SLOW: 1}}]}
workload: {generator: identical, options: {n_jobs: 2, operations: 100}}
arrivals: {iat: 1}
"""


def read(tmp_path, text, rest=""):
    (tmp_path / "s.yaml").write_text(FILE + f"consolidated_times: {text}\n" + rest)
    return vs.read_scenario(tmp_path / "s.yaml")


def row(scenario, processor, task):
    names = [p.name for p in scenario.datacenter.processor_types]
    kinds = [t.name for t in scenario.workload.task_types]
    return scenario.consolidated_us[names.index(processor), kinds.index(task)].tolist()


def test_between_two_sizes_the_next_larger_one_counts(tmp_path):
    found = read(tmp_path, "{FAST: {2: 10 us, 4: 1 ms}}")
    assert row(found, "FAST", "FP_GOOD") == [10, 10, 1000, 1000]
    assert row(found, "FAST", "INT") == [10, 10, 1000, 1000]
    assert np.isnan(row(found, "FAST", "IO")).all()  # cannot run there
    assert np.isnan(row(found, "SLOW", "FP_GOOD")).all()


def test_or_the_line_between_them(tmp_path):
    found = read(tmp_path, "{between: linear, FAST: {2: 10, 4: 30}}")
    assert row(found, "FAST", "FP_GOOD") == [10, 10, 20, 30]


def test_rows_by_task_type_and_tables_of_other_lengths(tmp_path):
    found = read(tmp_path, '{FAST: {FP_GOOD: {1: 5, 3: 6}, "*": {1: 7}}, SLOW: {FP_GOOD: {1: 9}}}')
    assert row(found, "FAST", "FP_GOOD") == [5, 6, 6]
    assert row(found, "FAST", "INT")[0] == 7
    assert np.isnan(row(found, "FAST", "INT")[1:]).all()
    assert row(found, "SLOW", "FP_GOOD")[0] == 9


def test_estimates_start_from_the_table(tmp_path):
    text = FILE.replace("operations: 100}", "operations: 100}, estimate_error: 1.0e-9")
    (tmp_path / "s.yaml").write_text(text + "consolidated_times: {FAST: {1: 7}, SLOW: {1: 9, 2: 9}}\n")
    found = vs.read_scenario(tmp_path / "s.yaml")
    np.testing.assert_allclose(found.workload.estimate_us, 8, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{FSAT: {1: 5}}", "FAST"),
        ("{FAST: {FP_GOD: {1: 5}}}", "FP_GOOD"),
        ("{FAST: {0: 5}}", "FAST"),
        ("{FAST: {1: }}", "FAST"),
        ("{FAST: {1: -5}}", "FAST"),
        ("{SLOW: {INT: {1: 5}}}", "affinity 0"),
        ("{between: sometimes, FAST: {1: 5}}", "steps"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, text, words):
    with pytest.raises(vs.InputError, match=words) as error:
        read(tmp_path, text)
    assert all("consolidated_times" in problem.where for problem in error.value.problems)
