"""What is shown of units and waits, everywhere: against a plain reading of the result folder's tables."""

import base64
import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vinesim as vs
from tests.demands import demands_of, taken
from tests.invariants import violations
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.kinds.overcommit import Pile, PileInBatches
from tests.policies.kinds.repack import Repack
from tests.properties.held_plainly import Folder, Room, close, is_number
from tests.strategies import Limits, scenarios, seeded_scenario
from vinesim.cli import tables
from vinesim.formats.results.checksums import write_sums
from vinesim.formats.results.explain_record import write_record
from vinesim.formats.results.folder import write_result
from vinesim.formats.results.tables import open_result
from vinesim.formats.source.units import UNITS
from vinesim.metrics.activity import stored_activity
from vinesim.metrics.waiting import waits_of
from vinesim.policies.registry import resolve
from vinesim.report import racks, usage
from vinesim.report import run as page
from vinesim.report.timeline import write_timeline

gantt = pytest.importorskip("vinesim.plots.gantt")
pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
SMALL = {"units": 6, "jobs": 7, "tasks_of_job": 4}
KINDS = (  # policy, its options, and what a scenario for it may hold
    ("high", {}, Limits(units=4, jobs=12, tasks_of_job=5, slowdown=False)),  # where room is left in pieces
    ("high", {}, Limits(**SMALL, outages=True)),
    ("flat", {}, Limits(**SMALL)),
    (Consolidate, {}, Limits(**SMALL, outages=True)),
    (Pile, {}, Limits(**SMALL)),
    (PileInBatches, {}, Limits(**SMALL)),
    (Repack, {}, Limits(**SMALL, slowdown=False)),
    ("bf", {}, Limits(**SMALL, slowdown=False)),
    ("rr", {"order": "new_first"}, Limits(**SMALL, slowdown=False)),
)
CELLS = 7


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_number_and_picture_of_units_follows_from_the_tables(data):
    policy, options, limits = data.draw(st.sampled_from(KINDS))
    case = replace(data.draw(scenarios(policy, options, limits)), sampling_us=data.draw(st.sampled_from([None, 3.7])))
    check(case)


SEEN = Counter()


def check(case):
    """Run a scenario, write its folder, and compare all that is shown with the plain reading of it."""
    with TemporaryDirectory() as name:
        path = Path(name) / "run"
        result = vs.simulate(case, engine="reference")
        write_result(path, result, lambda draft: write_record(draft, case))
        folder = Folder.read(path)
        assert violations(case, folder, resolve(case.policy, case.options)) == []
        count_kinds(folder)
        check_job_waits(case, folder)
        check_terminal(folder, result)
        check_page(folder)
        check_gantt(folder)
        check_timeline(folder)
        check_explain(case, folder)


def count_kinds(folder):
    """Which of the things that can happen to units did."""
    outcomes = {h.outcome for h in folder.holds}
    SEEN["moved"] += "moved" in outcomes
    SEEN["lost"] += "interrupted" in outcomes
    SEEN["over"] += any(row["utilization"] > 1.01 for row in folder.units)
    SEEN["differ"] += any(abs(row["utilization"] - row["active"]) > 0.01 for row in folder.units)
    SEEN["sampled"] += folder.utilization is not None
    mean = sum(row["utilization"] for row in folder.units) / len(folder.units)
    SEEN["weighted"] += abs(folder.summary["utilization"]["overall"] - mean) > 0.01


def check_job_waits(case, folder):
    first, reported = case.workload.job_first, folder.summary["jobs"]["wait_us"]
    waits = [folder.job_wait(folder.tasks[first[j] : first[j + 1]]) for j in range(case.workload.n_jobs)]
    waits = [wait for wait in waits if is_number(wait)]
    assert (reported["max"] is None) == (not waits)
    assert not waits or (close(reported["max"], max(waits)) and close(reported["mean"], sum(waits) / len(waits)))


def check_terminal(folder, result):
    table = tables._run_table(result.summary, {})
    reported = dict(zip(*(list(column.cells) for column in table.columns), strict=True))
    groups = {"overall" if name == "all" else name: units for name, units in folder.groups().items()}
    both = {name: folder.shares(units, 0.0, folder.makespan) for name, units in groups.items()}
    are_two = any(not close(*shares) for shares in both.values())
    expected = {}
    for place, title in enumerate(("allocated", "active")) if are_two else ((0, "utilisation"),):
        expected |= {f"{title}, {name}": 100 * shares[place] for name, shares in both.items()}
    titles = ("allocated", "active", "utilisation")
    shown = {name: value for name, value in reported.items() if name.split(",")[0] in titles}
    assert shown.keys() == expected.keys()
    assert all(abs(float(shown[name].rstrip("%")) - value) <= 0.0501 for name, value in expected.items())


def check_page(folder):
    """The page's data, as sampled and, without samples, from the segments; and the cells of the racks."""
    samples, away = folder.path / "utilization.parquet", folder.path.parent / "away"
    with patch.object(usage, "MAX_INTERVALS", 5), patch.object(racks, "MAX_INTERVALS", CELLS):
        view = page_data(folder)
        if samples.exists():
            samples.rename(away)
            write_sums(folder.path)
            page_data(folder)
            away.rename(samples)
            write_sums(folder.path)
    for name, place in (("matrix", 0), ("active_matrix", 1)):
        if name in view:
            scale = view["scale"] if name == "matrix" else 1.0
            found = np.frombuffer(base64.b64decode(view[name]), np.uint8).reshape(len(folder.units), CELLS)
            for unit, i in itertools.product(range(len(folder.units)), range(CELLS)):
                low, high = (folder.makespan * k / CELLS for k in (i, i + 1))
                expected = folder.shares([unit], low, high)[place]
                assert abs(found[unit, i] / 255 * scale - expected) <= scale * 0.5001 / 255
    assert view["utilization"] == pytest.approx([row["utilization"] for row in folder.units], rel=1e-3, abs=1e-4)
    assert ("active" in view) == ("active_matrix" in view) == folder.is_shared
    if folder.is_shared:
        assert view["active"] == pytest.approx([row["active"] for row in folder.units], rel=1e-3, abs=1e-4)
    with open_result(folder.path) as result:
        html = page._summary(result, {})
    reported = folder.summary["utilization"]
    by_type = reported["active"]["by_type"].items()
    differs = any(not close(reported["by_type"][name], share) for name, share in by_type)
    differs |= not close(reported["overall"], reported["active"]["overall"])
    assert (f"active for {reported['active']['overall']:.1%}" in html) == differs
    assert ("<dt>Allocated</dt>" in html) == differs


def page_data(folder):
    """Check the usage over time; returns the rack view."""
    with open_result(folder.path) as result:
        activity = stored_activity(result)
        order = {code: place for place, code in enumerate(result.processor_types)}
        names = list(result.processor_types.values())
        types = np.array([order[unit["unit_type"]] for unit in folder.units])
        check_usage(folder, usage.usage(result, activity, names, types))
        return racks.racks_of(activity, order, result.place_names)


def check_usage(folder, reported):
    edges, groups = reported["edges_us"], folder.groups()
    if not reported["groups"][0]["allocated"]:
        return
    for group in reported["groups"]:
        for name, place in (("allocated", 0), ("active", 1)):
            for i, share in enumerate(group.get(name, ())):
                expected = folder.shares(groups[group["name"]], edges[i], min(edges[i + 1], folder.makespan))[place]
                assert share == pytest.approx(expected, rel=2e-3, abs=2e-3)  # edges and shares are rounded


def _by_unit(bar):
    """The order of bars, which rounding does not change."""
    begin, end, unit = bar
    return unit, round(begin, 6), round(end, 6)


def check_gantt(folder):
    if folder.makespan <= 0:
        return
    with open_result(folder.path) as result:
        figure, n_tasks = gantt.gantt_figure(result)
        with patch.object(gantt, "MAX_ROWS", 0), patch.object(gantt, "CELLS", CELLS):
            grouped, _ = gantt.gantt_figure(result)
    shown = [hold for hold in folder.holds if hold.end > 0.0 and hold.begin < folder.makespan]
    assert n_tasks == len({hold.task for hold in shown})
    scale = max((size for size in UNITS["us"].values() if size <= folder.makespan), default=1.0)
    expected = []
    for hold in shown:
        there = min(hold.start, hold.end) if is_number(hold.start) else hold.end
        expected.append((there / scale, hold.end / scale, hold.unit))
        if there > hold.begin:
            expected.append((hold.begin / scale, there / scale, hold.unit))
    axes = figure.axes[0]
    bars = [(p.get_x(), p.get_x() + p.get_width(), round(p.get_y() + p.get_height() / 2)) for p in axes.patches]
    np.testing.assert_allclose(sorted(bars, key=_by_unit), sorted(expected, key=_by_unit), atol=1e-9)
    (image,) = grouped.axes[0].images
    for label, load in zip(grouped.axes[0].get_yticklabels(), image.get_array(), strict=True):
        rack, _, kind = label.get_text().rpartition(": ")
        name = kind.partition(" ")[2]
        units = [u for u in folder.groups()[name] if not rack or folder.units[u]["rack"] == int(rack.split()[1])]
        for i, share in enumerate(load):
            low, high = (folder.makespan * k / CELLS for k in (i, i + 1))
            assert close(share, folder.shares(units, low, high)[0])


def check_timeline(folder):
    file = folder.path.parent / "timeline.json"
    written = write_timeline(folder.path, file)
    events = json.loads(file.read_text())["traceEvents"]
    n_units = len(folder.units)
    slices = [event for event in events if event.get("cat") == "task"]
    found = sorted((e["args"]["task"], e["tid"] % n_units, e["ts"], e["ts"] + e["dur"]) for e in slices)
    expected = sorted((h.task, h.unit, h.begin, h.end) for h in folder.holds)
    np.testing.assert_allclose(found, expected, atol=1e-9) if expected else None
    assert (written.n_slices, written.n_tasks) == (len(expected), len({h.task for h in folder.holds}))
    for unit in range(n_units):
        on_unit = [e for e in slices if e["tid"] % n_units == unit]
        if folder.is_shared:
            held = sum(e["dur"] * e["args"]["percent_of_unit"] / 100 for e in on_unit)
            assert held == pytest.approx(folder.units[unit]["allocated_us"], rel=1e-4, abs=1e-3)
    ends = Counter(
        next((w for w in ("unfinished", "moved", "interrupted") if e["args"].get(w)), "finished") for e in slices
    )
    assert ends == Counter(h.outcome for h in folder.holds)
    for event in slices:
        row = folder.tasks[event["args"]["task"]]
        if "interrupted" not in event["args"]:
            assert close(event["args"]["wait_us"], folder.wait(row))
    counters = {(e["name"], e["ts"]): e["args"]["percent"] for e in events if e["ph"] == "C"}
    if (folder.path / "utilization.parquet").exists():
        for row in folder.rows("utilization"):
            names = ({"allocated": "utilization", "active": "active"}) if folder.is_shared else {"": "utilization"}
            for name, column in names.items():
                reported = counters[f"{row['group']}, {name}" if name else row["group"], row["t_start_us"]]
                assert reported == pytest.approx(100 * row[column], abs=1e-3)


def check_explain(case, folder):
    """The wait, the units that had room at every moment of it, and for how long there was room in pieces only."""
    work, demand = case.workload, demands_of(case.workload)
    down = [
        (number, outage.down_us, outage.up_us)
        for outage in case.outages
        for number, unit in enumerate(folder.units)
        if (unit["rack"], unit["shelf"]) == (outage.rack, outage.shelf)
    ]
    jobs = range(0, work.n_jobs, 2)
    for job, found in zip(jobs, waits_of(folder.path, jobs), strict=True):
        rows = [row for row in folder.tasks if row["job"] == job]
        last = max(rows, key=lambda row: (not is_number(row["init_us"]), row["init_us"], row["task"]))
        if all(is_number(row["init_us"]) for row in rows):
            assert close(found.waited_us, folder.wait(last))
            assert len(rows) > 1 or close(found.waited_us, folder.job_wait(rows))
            assert found.start_us == last["init_us"]
            first = min(
                (h for h in folder.holds if h.task == found.task and h.begin >= found.start_us),
                key=lambda h: (h.begin, h.end == h.begin, h.end),  # one that is interrupted at once is no start
            )
            assert found.unit == first.unit
        else:
            assert found.start_us is None
        withdrawn = math.inf if work.withdraw_us is None else work.withdraw_us[job]
        until = max(found.arrival_us, min(folder.makespan, withdrawn)) if found.start_us is None else found.start_us
        lost = [(h.begin, h.end) for h in folder.holds if h.task == found.task and h.part == 0 and h.begin < until]
        for kind in found.types:
            code = folder.names.index(kind.name)
            wanted = taken(demand[found.task], kind.capacity)
            has_affinity = case.affinity[code, work.job_task_type[job]] > 0
            assert kind.has_affinity == has_affinity
            assert kind.can_run == (has_affinity and wanted <= kind.capacity * (1 + 1e-9))
        usable = {kind.name: kind.takes for kind in found.types if kind.can_run and not kind.lacks}
        needs = {
            number: usable[folder.names[unit["unit_type"]]]
            for number, unit in enumerate(folder.units)
            if folder.names[unit["unit_type"]] in usable
        }
        room = Room(folder, found.task, until, needs, down)
        times = {
            found.arrival_us,
            until,
            *(t for h in folder.holds for t in (h.begin, h.end)),
            *(t for d in down for t in d[1:]),
        }
        times = sorted(t for t in times if found.arrival_us <= t <= until and math.isfinite(t))
        fragmented = 0.0
        for low, high in itertools.pairwise(times):
            middle = (low + high) / 2
            if high - low < 1e-9 or any(begin < middle < end for begin, end in lost):  # then it did not wait
                continue
            reported = {o.unit for o in found.openings if o.free_us < middle < o.end_us}
            assert reported == room.free(middle), (job, middle)
            fragmented += (high - low) * room.is_fragmented(middle)
            SEEN["moments"] += 1
        assert close(found.fragmentation.time_us if found.fragmentation else 0.0, fragmented, 1e-6)
        if found.fragmentation:
            SEEN["fragmented"] += 1
            one = found.fragmentation
            assert one.needed <= one.room * (1 + 1e-9)
            assert one.largest < one.needed or math.isinf(demand[found.task])  # of several sizes of units
            after = one.at_us + min(h for h in (t - one.at_us for t in times) if h > 1e-9) / 2
            left = {unit: max(0.0, value) for unit, value in room.left(after).items()}
            assert close(one.room, sum(left.values()))
            assert close(one.largest, max(left.values()))


def test_all_that_can_happen_does():
    """The scenarios above are of every kind: seeded ones, so that the counts are the same each time."""
    SEEN.clear()
    for seed in range(2 * len(KINDS)):
        policy, options, limits = KINDS[seed % len(KINDS)]
        check(replace(seeded_scenario(seed, policy, options, limits), sampling_us=3.7 if seed % 3 else None))
    kinds = ("moved", "lost", "over", "differ", "weighted", "sampled", "fragmented")
    assert all(SEEN[name] for name in kinds), SEEN
    assert SEEN["moments"] > 100
