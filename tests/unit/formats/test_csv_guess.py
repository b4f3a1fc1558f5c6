"""What the columns of a log are taken for: names, bad cells, and units that are judged together."""

import numpy as np
import pytest

from vinesim.formats.importers.csv_columns import columns_of
from vinesim.formats.importers.csv_guess import guessed
from vinesim.formats.importers.csv_names import named
from vinesim.formats.source.table_source import open_table
from vinesim.model.errors import InputError

MS_SINCE_1970 = 1_664_575_200_000
DAY_MS = 86_400_000


@pytest.fixture
def guess(tmp_path):
    """The guesses for a log by its columns, and what the user says of some."""

    def read(given=None, **columns):
        rows = [columns.keys(), *zip(*columns.values(), strict=True)]
        (tmp_path / "log.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
        return guessed(columns_of(open_table(tmp_path / "log.csv")), given or {})

    return read


def meanings(found):
    return " ".join(one.meaning + "!" * one.is_doubtful for one in found.values())


@pytest.mark.parametrize(
    ("name", "stem", "unit"),
    [
        ("cpu_time", "", ""),
        ("CPUTimeRAW", "", ""),
        ("gpu_time", "", ""),
        ("gpu_hours", "", ""),
        ("cpu_ms", "", ""),
        ("cores_time", "", ""),
        ("memory_s", "", ""),
        ("user_date", "", ""),
        ("gpu_milli", "", ""),
        ("wait_time_s", "", ""),
        ("cpu_milli", "cores", "milli"),
        ("job_end_time", "end", ""),
        ("run_time", "time", ""),
        ("task_start_ts", "start", ""),
        ("runtime_hours", "time", "hours"),
        ("mem_gb", "memory", "gb"),
        ("job", "job_id", ""),
        ("time_s", "time", "s"),
        ("nvidia.com/gpu", "gpus", ""),
        ("run_s", "time", "s"),
        ("run", "", ""),
        ("gpu_num", "gpus", ""),
        ("num_cores_req", "cores", ""),
        ("NODES_REQUESTED", "nodes", ""),
        ("RequestMemory", "memory", ""),
        ("ngpu", "gpus", ""),
        ("num_input_tokens", "input_tokens", ""),
        ("cpu_used", "", ""),
        ("request_count", "", ""),
        ("plan_cpu", "", ""),
        ("time_submit", "arrival", ""),
        ("t_submit", "arrival", ""),
        ("t_run", "", ""),
        ("id_user", "user", ""),
        ("Requested Wall Time", "limit", ""),
        ("request_time", "", ""),
    ],
)
def test_a_name_says_what_a_column_is_unless_it_says_a_time_of_it(name, stem, unit):
    found = named(name)
    assert (found.stem, found.unit if found.stem else "") == (stem, unit)
    assert bool(found.why_not) == (not stem)


@pytest.mark.parametrize("column", ["cpus", "ncpus", "num_gpus", "priority", "runtime_s", "submit", "mem_gb"])
def test_a_bad_cell_does_not_change_what_a_column_is(guess, column):
    columns = {"submit": [1, 2, 3, 4], "runtime_s": [5, 6, 7, 8], column: [1, 2, 3, "abc"]}
    assert guess(**columns)[column].meaning == guess(**columns | {column: [1, 2, 3, 4]})[column].meaning != "ignore"


@pytest.mark.parametrize(
    ("n_bad", "expected"), [(0, "cores"), (1, "cores"), (2, "cores"), (3, "ignore!"), (4, "ignore!")]
)
def test_half_of_the_cells_decide(guess, n_bad, expected):
    cells = [1, 2, 3, 4]
    cells[:n_bad] = ["abc"] * n_bad
    assert meanings(guess(submit=[1, 2, 3, 4], time_s=[1, 2, 3, 4], cpus=cells)) == f"arrival_s time_s {expected}"


@pytest.mark.parametrize("number", ["3_7", "3.5", "x"])  # 3_7 is 37 to DuckDB
def test_a_job_is_not_dropped_for_a_number_that_cannot_be_read(guess, number):
    found = guess(submit=[1, 2, 3], time_s=[1, 2, 3], jobid=[1, 2, number])
    assert meanings(found) == "arrival_s time_s ignore"
    assert meanings(guess(submit=[1, 2, 3], time_s=[1, 2, 3], jobid=[1, 2, 3])) == "arrival_s time_s job_id"


def test_users_and_partitions_may_be_empty_and_applications_not(guess):
    found = guess(submit=[1, 2], time_s=[1, 2], user=["a", ""], app=["x", ""])
    assert meanings(found) == "arrival_s time_s user ignore!"
    assert "1 cells are empty" in found["app"].why


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0.5], "gpus"),
        ([1, 2], "gpus"),
        ([1, 1.5], "gpus"),
        ([2.5, 1.5], "ignore!"),
        ([0, 1.5, 1.5], "ignore!"),
        ([1, 1.5, 1.5], "ignore!"),
        ([0.5, 0.5, 1.5], "gpus"),
    ],
)
def test_gpus_may_be_shares(guess, values, expected):
    times = list(range(len(values)))
    assert meanings(guess(submit=times, time_s=times, gpus=values)) == f"arrival_s time_s {expected}"


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("elapsed", ["0:00:00", "0:00:00", "0:10:00"], "time_clock"),
        ("mem", ["0 B", "0 B", "1 GiB"], "memory"),
        ("mem", ["0n", "0n", "4Gn"], "memory_slurm"),
        ("cpus", ["0m", "0m", "500m"], "cores_kubernetes"),
        ("submit", ["1970-01-01T00:00:00", "1970-01-01T00:00:00", "x"], "arrival_date"),
    ],
)
def test_nothing_of_something_is_an_amount_too(guess, name, cells, expected):
    assert guess(**{name: cells})[name].meaning == expected


@pytest.mark.parametrize(
    ("zone", "words"), [("", "taken as UTC where no time zone is given"), ("Z", "with time zones"), ("+02", "with")]
)
def test_the_first_instant_of_1970_has_a_zone_too(guess, zone, words):
    assert words in guess(submit=[f"1970-01-01T02:00:00{zone}"])["submit"].why
    assert words in guess(submit=[f"1970-01-01T00:00:00{zone.replace('+02', 'Z')}"])["submit"].why


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (630_000_000, "arrival_epoch_s"),
        (629_999_999, "arrival_s"),
        (4.1e9, "arrival_epoch_s"),
        (4_100_000_001, "arrival_s"),
    ],
)
def test_times_since_1970_are_known_by_their_size(guess, seconds, expected):
    assert meanings(guess(submit=[seconds] * 2, time_s=[1, 2])) == f"{expected} time_s"


def arrivals(n=40, span=30 * DAY_MS):
    return np.linspace(0, span, n).astype(int)


@pytest.mark.parametrize("rows", [slice(None), slice(200), slice(5)])
def test_durations_are_in_the_unit_of_the_arrivals(guess, rows):
    """As in a public log whose first 200 rows were read otherwise than all."""
    draw = np.random.default_rng(1)
    submit = np.sort(draw.integers(0, 30 * 86400, 500)) * 1000 + MS_SINCE_1970
    duration = (draw.lognormal(11, 3, 500) // 1000 + 1).astype(int) * 1000
    found = guess(submission_time=submit[rows], duration=duration[rows])
    assert meanings(found).rstrip("!") == "arrival_epoch_ms time_ms"


@pytest.mark.parametrize(
    ("submit", "duration", "expected"),
    [
        (MS_SINCE_1970 + arrivals(), [9e8] * 40, "arrival_epoch_ms time_ms"),  # 10 days; s: 28 years
        (MS_SINCE_1970 + arrivals(), [3600] * 40, "arrival_epoch_ms time_ms!"),  # 4 s, or an hour
        (MS_SINCE_1970 // 1000 + arrivals(span=3600), [600] * 40, "arrival_epoch_s time_s"),
        (MS_SINCE_1970 // 1000 + arrivals(span=3600), [3600] * 40, "arrival_epoch_s time_s"),
        (MS_SINCE_1970 // 1000 + arrivals(span=3600), [3601] * 40, "arrival_epoch_s time_s!"),  # longer than the log
        (MS_SINCE_1970 // 1000 + arrivals(19, 3600), [3601] * 19, "arrival_epoch_s time_s"),  # few jobs
        (arrivals(), [9e8] * 40, "arrival_ms! time_ms!"),  # in s both are too long
        (arrivals(), [1e6] * 40, "arrival_ms! time_ms!"),  # in s the log would be of 82 years
        (arrivals(span=6e8), [1e6] * 40, "arrival_s time_s"),
        (arrivals(span=7e8), [1e6] * 40, "arrival_ms! time_ms!"),
        (arrivals(span=6e8), [1.1e6] * 40, "arrival_ms! time_ms!"),
        (np.repeat([1e8, 7.3e8], 20), [1e6] * 40, "arrival_s time_s"),
        (np.repeat([1e8, 7.3e8 + 1], 20), [1e6] * 40, "arrival_ms! time_ms!"),
        (np.repeat([0, 3600], 10), [3600] * 20, "arrival_s time_s"),
        (np.repeat([0, 3600], 10), [3601] * 20, "arrival_s time_s!"),
        (["2024-05-01T00:00:00", "2024-05-31T00:00:00"] * 20, [86400] * 40, "arrival_date time_s"),
        (["2024-05-01T00:00:00", "2024-05-03T00:00:00"] * 20, [172801] * 40, "arrival_date time_s!"),
        (["2024-05-01T00:00:00", "2024-05-31T00:00:00"] * 20, [2e6] * 40, "arrival_date time_ms!"),
    ],
)
def test_times_without_a_unit_are_judged_together(guess, submit, duration, expected):
    if isinstance(submit, np.ndarray) and len(submit) > 2:  # the quantiles between which a log is are its ends
        submit = np.concatenate((np.repeat(submit[0], 3), submit[3:-3], np.repeat(submit[-1], 3)))
    assert meanings(guess(submit=submit, duration=duration)) == expected


def test_a_doubt_says_what_would_be_too_long(guess):
    submit = np.repeat([1e8, 7.3e8], 20)
    assert "in s the median duration would be" in guess(submit=submit, duration=[2e6] * 40)["duration"].why
    assert "in s the log would be" in guess(submit=submit * 2, duration=[2e6] * 40)["duration"].why


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"submit_ms": [0, 9000], "end": [5000, 14000]}, "arrival_ms end_ms!"),
        ({"submit": [0, 9000], "duration_ms": [5, 9]}, "arrival_s! time_ms"),
        ({"submit": [MS_SINCE_1970] * 3, "end": [MS_SINCE_1970 + 9, 0, 0]}, "arrival_epoch_ms end_epoch_ms!"),
        ({"submit": [0, 9000], "duration_s": [5, 9]}, "arrival_s time_s"),
        ({"submit_h": [0, 10], "duration": [5, 9]}, "arrival_h time_h!"),
        ({"submit_s": [MS_SINCE_1970] * 2, "duration_s": [5, 9]}, "arrival_epoch_ms! time_s"),
        ({"submit_us": [1_700_000_000, 1_800_000_000], "duration_s": [5, 9]}, "arrival_us time_s"),
        ({"submit": [0, 10], "duration_s": [3600, 3600], "timelimit": [7200, 7200]}, "arrival_s time_s limit_s"),
        ({"submit": [0, 10], "duration_s": [3600, 3600], "timelimit": [120, 120]}, "arrival_s time_s limit_min!"),
        ({"submit": [0, 10], "duration_s": [3600, 3600], "timelimit": [3600, 3600]}, "arrival_s time_s limit_s"),
        ({"submit": [0, 10], "duration_s": [3600, 3600], "timelimit": [2, 2]}, "arrival_s time_s limit_h!"),
        ({"submit": [0, 10], "duration_s": [9e5, 9e5], "timelimit": [2, 2]}, "arrival_s time_s limit_s!"),
        ({"submit": [0, 10], "elapsed": ["01:00:00"] * 2, "timelimit": [120, 120]}, "arrival_s time_clock limit_min!"),
    ],
)
def test_the_unit_of_one_time_is_held_against_the_others(guess, names, expected):
    assert meanings(guess(**names)) == expected


def test_durations_whose_name_says_a_unit_are_doubted_if_they_are_longer_than_the_log(guess):
    submit = arrivals(span=3600)
    assert meanings(guess(submit_s=submit, duration_h=[1] * 40)).endswith("time_h!")
    assert meanings(guess(submit_s=submit, duration_min=[50] * 40)).endswith("time_min")
    submit = np.repeat([0, 3600], 10)
    assert meanings(guess(submit_s=submit, duration_s=[3600] * 20)).endswith("time_s")
    assert meanings(guess(submit_s=submit, duration_s=[3601] * 20)).endswith("time_s!")
    assert meanings(guess(submit_s=submit[1:], duration_s=[3601] * 19)).endswith("time_s")
    submit = arrivals(span=3600)
    assert meanings(guess({"duration_h": "time_h"}, submit_s=submit, duration_h=[1] * 40)).endswith("time_h")


@pytest.mark.parametrize(
    ("cores", "memory", "expected"),
    [
        (192, 1536, "memory_gib"),  # 8 GiB for each core; in MiB 8 MiB
        (1, 1536, "memory_mib"),
        (1, 4096, "memory_mib"),
        (1, 32 * 1024, "memory_mib"),
        (1, 33 * 1024, "memory_mib!"),
        (1, 512, "memory_mib"),
        (1, 511, "memory_mib!"),
        (1, 16, "memory_gib"),
        (1, 100, "memory_gib!"),
        (1, 4 * 2**20, "memory_kib"),
        (1, 4 * 2**30, "memory"),
        (64, 256 * 2**30, "memory"),
        (2000, 4, "memory_gib!"),
        (0, 4, "memory_gib"),
    ],
)
def test_memory_without_a_unit_is_judged_by_the_cores(guess, cores, memory, expected):
    found = guess(submit=[0, 1], time_s=[1, 2], cpus=[cores] * 2, mem=[memory] * 2)
    assert meanings({"mem": found["mem"]}) == expected


def test_memory_is_judged_by_thousandths_of_cores_and_without_cores(guess):
    found = guess(submit=[0, 1], time_s=[1, 2], cpu_milli=[64000] * 2, mem=[256 * 1024] * 2)
    assert meanings({"mem": found["mem"]}) == "memory_mib"
    assert meanings(guess(submit=[0, 1], time_s=[1, 2], mem=[8, 8])).endswith("memory_gib")
    assert meanings(guess(submit=[0, 1], time_s=[1, 2], mem=[0, 0])).split()[-1].startswith("memory")


@pytest.mark.parametrize(("memory", "is_doubtful"), [(4, False), (3, True), (4 * 2**20, False), (5 * 2**20, True)])
def test_memory_whose_name_says_a_unit_is_doubted_where_no_machine_has_it(guess, memory, is_doubtful):
    found = guess(submit=[0, 1], time_s=[1, 2], cpus=[1, 1], mem_mib=[memory] * 2)
    assert found["mem_mib"].is_doubtful == is_doubtful


def test_tasks_per_node_need_nodes_or_a_gang(guess):
    own = {"submit": [0, 1], "time_s": [1, 2], "cores": [4, 4]}
    assert meanings(guess(**own, nodes=[2, 3])) == "arrival_s time_s cores ignore!"
    assert meanings(guess(**own, nodes=[1, 1])) == "arrival_s time_s cores nodes"
    assert meanings(guess(**own, nodes=[2, 3], tasks_per_node=[4, 4])) == "arrival_s time_s cores nodes tasks_per_node"
    assert meanings(guess(**own, tasks_per_node=[4, 4])) == "arrival_s time_s cores ignore"
    assert meanings(guess(**own, gang=["node"] * 2, spread=["packed"] * 2)) == "arrival_s time_s cores gang spread"
    assert meanings(guess({"n": "nodes"}, **own, n=[2, 2])) == "arrival_s time_s cores nodes"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("submit,walltime_s,runtime_s", "arrival_s limit_s time_s"),  # as of PBS and Cobalt
        ("submit,walltime_s,cores", "arrival_s time_s cores"),
        ("submit,walltime_s,runtime_s,limit_s", "arrival_s time_s ignore limit_s"),
    ],
)
def test_a_wall_time_is_the_limit_next_to_the_time_that_a_job_took(guess, names, expected):
    columns = dict(zip(names.split(","), ([0, 9], [60, 90], [50, 80], [70, 99]), strict=False))
    assert meanings(guess(**columns)) == expected


def test_numbers_that_may_be_the_size_of_a_job_are_marked_unless_it_is_known(guess):
    found = guess(submit=[0, 9], runtime_s=[60, 90], plan_cpu=[600, 50], cpu_model=["a", "b"])
    assert meanings(found) == "arrival_s time_s ignore! ignore"
    assert "--column plan_cpu=cores" in found["plan_cpu"].why
    assert meanings(guess(submit=[0, 9], runtime_s=[60, 90], plan_cpu=[600, 50], cores=[6, 1])).count("!") == 0


@pytest.mark.parametrize("first", ["0,,1,0,4", "5,job,60"])
def test_a_table_without_a_header_is_refused(tmp_path, first):
    (tmp_path / "log.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(InputError, match="no header"):
        open_table(tmp_path / "log.csv")


def test_gpus_of_jobs_with_several_nodes_may_be_in_total(guess):
    found = guess(submit=[0, 9], runtime_s=[60, 90], gpu_num=[16, 8], node_num=[2, 1])
    assert meanings(found) == "arrival_s time_s gpus ignore!"
    assert "--column gpu_num=total_gpus" in found["node_num"].why
