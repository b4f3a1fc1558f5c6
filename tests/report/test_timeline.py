"""The timeline: valid trace events whose slices are the tasks."""

import gzip
import itertools
import json
from collections import defaultdict

import numpy as np
import pytest

from tests.cli.conftest import vinesim  # noqa: F401
from vinesim.formats.results.parquet import read_table
from vinesim.report.timeline import write_timeline


@pytest.fixture
def events_of(tmp_path):
    def make(folder, *args, **more):
        write_timeline(folder, tmp_path / "timeline.json", *args, **more)
        return json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]

    return make


def tasks_by_thread(events):
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["cat"] == "task":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return threads


@pytest.mark.parametrize("name", ["example", "two_racks"])
def test_slices_of_a_unit_do_not_overlap_and_add_up_to_its_active_time(request, events_of, name):
    folder = request.getfixturevalue(name)
    units = read_table(folder / "units.parquet")
    active = np.zeros(len(units["unit"]))
    for (rack, unit), spans in tasks_by_thread(events_of(folder)).items():
        assert units["rack"][unit] == rack
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in itertools.pairwise(spans))
        active[unit] = sum(end - begin for begin, end in spans)
    np.testing.assert_allclose(active, units["active_us"], rtol=1e-9)


def test_every_task_is_there_with_what_it_waited(two_racks, events_of):
    tasks = read_table(two_racks / "tasks.parquet")
    slices = [event for event in events_of(two_racks) if event.get("cat") == "task"]
    assert sorted(event["args"]["task"] for event in slices) == tasks["task"].tolist()
    for event in slices[::50]:
        task = event["args"]["task"]
        assert event["args"]["job"] == tasks["job"][task]
        assert event["args"]["wait_us"] == tasks["init_us"][task] - tasks["arrival_us"][task]


def test_transfer_and_execution_lie_inside_their_task(two_racks, events_of):
    events = events_of(two_racks)
    tasks = read_table(two_racks / "tasks.parquet")
    moved = int((tasks["start_us"] > tasks["init_us"]).sum())
    assert moved > 20
    assert sum(event.get("cat") == "transfer" for event in events) == moved
    assert sum(event.get("cat") == "execution" for event in events) == moved
    around = None
    for event in events:
        if event.get("cat") == "task":
            around = event
        elif event["ph"] == "X":
            assert (event["pid"], event["tid"]) == (around["pid"], around["tid"])
            assert event["ts"] >= around["ts"]
            assert event["ts"] + event["dur"] <= around["ts"] + around["dur"] + 1e-6


def test_tasks_at_the_same_time_get_threads_of_their_own(shared, events_of):
    events = events_of(shared)
    threads = tasks_by_thread(events)
    assert len(threads) > 3
    for spans in threads.values():
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in itertools.pairwise(spans))
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert len(names) == len(set(names)) == len(threads)
    unfinished = [event for event in events if event.get("args", {}).get("unfinished")]
    assert unfinished
    assert all(event["ts"] + event["dur"] == pytest.approx(1500.0) for event in unfinished)


def test_racks_and_units_are_named_and_samples_counted(example, events_of):
    events = events_of(example)
    names = {event["args"]["name"] for event in events if event["ph"] == "M" and "name" in event["args"]}
    assert {"rack 0", "shelf 20: GPU, unit 20", "utilisation"} <= names
    samples = read_table(example / "utilization.parquet")
    counted = [event for event in events if event["ph"] == "C"]
    assert len(counted) == len(samples["group"])
    assert {event["name"] for event in counted} == {"all", "CPU_INTEL", "GPU"}


def test_a_window_holds_what_was_on_a_unit_in_it(example, tmp_path):
    tasks = read_table(example / "tasks.parquet")
    there = (tasks["init_us"] < 600.0) & (tasks["finish_us"] >= 500.0)
    written = write_timeline(example, tmp_path / "t.json", 500.0, 600.0)
    assert written.n_tasks == written.n_slices == written.n_in_window == int(there.sum()) < 2500


def test_a_limit_takes_the_first_and_says_so(vinesim, example, tmp_path):  # noqa: F811
    done = vinesim("timeline", example, "-o", tmp_path / "t.json.gz", "--limit", "10")
    assert done.code == 0
    assert "first of 2,500 slices" in " ".join(done.out.split())
    events = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"]
    assert [e["args"]["task"] for e in events if e.get("cat") == "task"] == list(range(10))


def test_wrong_words(vinesim, example, tmp_path):  # noqa: F811
    for words, named in ((("--from", "5", "--to", "5"), "0 <= from < to"), (("--limit", "0"), "at least 1")):
        done = vinesim("timeline", example, *words)
        assert done.code == 2
        assert named in done.err
    assert vinesim("timeline", tmp_path).code == 2
    assert not (example / "timeline.json").exists()


def test_a_run_with_dates_has_them_and_the_numbers_of_its_log(dated, events_of, tmp_path):
    events = events_of(dated, "2024-05-07", "2024-05-07 01:00")
    slices = [event for event in events if event.get("cat") == "task"]
    assert slices
    for event in slices:
        assert event["args"]["job_id"] == 7000 + event["args"]["job"]
        assert event["args"]["begins"] < "2024-05-07 01:00:00"
        assert event["args"]["ends"] >= "2024-05-07 00:00:00"
    content = json.loads((tmp_path / "timeline.json").read_text())
    assert content["otherData"] == {"time 0": "2024-05-06 23:30:00"}
