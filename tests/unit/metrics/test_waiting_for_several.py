"""Why a task that holds several units waited: by hand, and against looking at every node at many instants."""

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import vinesim as vs
from tests.cli.conftest import vinesim  # noqa: F401
from tests.demands import demands_of, taken
from tests.real_nodes import nodes_of, real_scenario
from tests.unit.metrics.test_waiting import recorded
from vinesim.metrics.waiting import waiting_of, waits_of
from vinesim.model.workload import ANY_LEAD

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
NODE = [("CPU", 8.0), ("GPU", 1.0), ("GPU", 1.0)]


def cluster(gpus, cores, times, arrivals):
    """Two nodes with a CPU of 8, two GPUs each; a third without GPUs, and a CPU of 4."""
    types = (vs.ProcessorType("CPU"), vs.ProcessorType("GPU"))
    rows = [(name, shelf, size) for shelf in range(2) for name, size in NODE] + [("CPU", 2, 4.0)]
    center = vs.Datacenter(
        [["CPU", "GPU"].index(name) for name, *_ in rows], [0] * 7, [shelf for _, shelf, _ in rows], types,
        capacity=[size for *_, size in rows],
    )  # fmt: skip
    n = len(gpus)
    work = vs.Workload(
        np.zeros(n), np.arange(n + 1), arrivals, times, *np.zeros((3, n)), np.full(n, -1), units=gpus,
        companions={"CPU": cores}, lead_types=np.zeros(n), lead_sets=[["GPU"]], task_types=(vs.TaskType("T"),),
        demand=np.ones(n),
    )  # fmt: skip
    return vs.Scenario(center, work, "high", affinity=np.ones((2, 1)))


def test_a_task_learns_what_it_lacked(tmp_path):
    """At 10 one GPU is free at each node, so two on none; at 60 two are, with 2 of 8 cores; at 90 it starts."""
    case = cluster([1, 1, 1, 2], [2.0, 2.0, 6.0, 4.0], [60.0, 90.0, 20.0, 30.0], [0.0, 0.0, 0.0, 10.0])
    result = recorded(tmp_path / "run", case)
    assert result.tasks["unit"].tolist()[:2] == [1, 2]
    found = waiting_of(tmp_path / "run", 3)
    assert (found.n_units, found.lead_types, found.companions) == (2, ["GPU"], {"CPU": 4.0})
    assert (found.arrival_us, found.start_us, found.unit, found.unit_type, found.moves) == (10.0, 20.0, 4, "GPU", 0)
    cpu, gpu = found.types
    assert (cpu.can_run, cpu.is_asked_for, cpu.companion, cpu.capacity) == (False, False, 4.0, 8.0)
    assert (gpu.can_run, gpu.is_asked_for, gpu.companion, gpu.free_at_arrival) == (True, True, 0.0, 0)
    assert found.shortage.nowhere_us == [10.0, 0.0]
    assert (found.shortage.scattered_us, found.shortage.n_free) == (0.0, 1)
    assert [(o.rack, o.shelf, o.free_us, o.freed_by, o.taken_us) for o in found.openings] == [(0, 1, 20.0, 2, None)]
    assert waiting_of(tmp_path / "run", 0).shortage is None


def test_a_share_of_a_unit_is_reported_with_its_type(tmp_path, vinesim):  # noqa: F811
    case = cluster([1] * 5, [8.0, 8.0, 1.0, 1.0, 1.0], [60.0, 90.0, 20.0, 30.0, 9.0], [0.0, 0.0, 1.0, 1.0, 1.0])
    case = replace(case, workload=replace(case.workload, demand=[0.5] * 5))
    recorded(tmp_path / "run", case)
    reported = " ".join(vinesim("explain", tmp_path / "run", "--job", 4).out.split())
    assert "4 GPU were free, on no node 0.5 of a GPU with 1 of CPU." in reported


def test_parts_on_different_nodes_are_fragmentation(tmp_path):
    """Node 0 has both GPUs and 1 core left, node 1 one GPU and all cores but 3: each part is somewhere."""
    case = cluster([1, 2, 1, 1, 2], [1.0, 1.0, 7.0, 3.0, 4.0], [1.0, 1.0, 50.0, 80.0, 9.0], [0.0, 0.0, 2.0, 2.0, 5.0])
    recorded(tmp_path / "run", case)
    found = waiting_of(tmp_path / "run", 4)
    assert (found.start_us, found.shelf) == (52.0, 0)
    assert found.shortage.nowhere_us == [47.0, 0.0]
    assert found.fragmentation is not None
    assert (found.fragmentation.time_us, found.fragmentation.needed) == (47.0, 2.0)


def test_the_command_says_it(tmp_path, vinesim):  # noqa: F811
    case = cluster([1, 1, 1, 2], [2.0, 2.0, 6.0, 4.0], [60.0, 90.0, 20.0, 30.0], [0.0, 0.0, 0.0, 10.0])
    recorded(tmp_path / "run", case)
    reported = " ".join(vinesim("explain", tmp_path / "run", "--job", 3).out.split())
    assert "takes 2 GPU and 4 of CPU on one node" in reported
    assert "It needs 2 GPU and 4 of CPU on one node." in reported
    assert "For 10.0 us no node had room for it: at 10.0 us 1 GPU was free, on no node 2 with 4 of CPU." in reported
    assert "Lacking: no node had 2 GPU for 10.0 us." in reported
    assert "moved" not in reported
    assert "held as companion: 4" in reported


def test_each_unit_counts_with_its_own_capacity_and_only_types_asked_for(tmp_path):
    """Of the two big units, only that of 4 has room for 2; the task does not ask for OTHER."""
    types = (vs.ProcessorType("BIG"), vs.ProcessorType("OTHER", capacity=8.0))
    center = vs.Datacenter([0, 0, 1], [0] * 3, [0, 1, 2], types, capacity=[1.0, 4.0, 8.0])
    work = vs.Workload(
        np.zeros(2), np.arange(3), [0.0, 1.0], [10.0, 10.0], *np.zeros((3, 2)), np.full(2, -1), demand=[3.0, 2.0],
        lead_types=[0, 0], lead_sets=[["BIG"]], task_types=(vs.TaskType("T"),),
    )  # fmt: skip
    recorded(tmp_path / "run", vs.Scenario(center, work, "high", affinity=np.ones((2, 1))))
    found = waiting_of(tmp_path / "run", 1)
    big, other = found.types
    assert (found.start_us, found.unit, found.holds_several, found.shortage) == (10.0, 1, False, None)
    assert (big.can_run, big.capacity, big.takes, big.free_at_arrival) == (True, 4.0, 2.0, 0)
    assert (other.can_run, other.is_asked_for, other.has_affinity, other.free_at_arrival) == (False, False, True, 1)
    assert [(o.unit, o.free_us) for o in found.openings] == [(1, 10.0)]
    assert found.fragmentation is None


def rows_of(case, result):
    """(task, unit, begin, end, amount) of all that was held."""
    rows = result.tasks if result.segments is None else result.segments
    begin, end = (
        rows[a if result.segments is None else b] for a, b in (("init_us", "begin_us"), ("finish_us", "end_us"))
    )
    order = np.lexsort((case.datacenter.shelf, case.datacenter.rack))
    size = case.datacenter.unit_capacity[order]
    amount = rows["amount"] if "amount" in rows else size[rows["unit"]]
    there = rows["unit"] >= 0
    columns = (rows["task"], rows["unit"], begin, end, amount)
    return list(zip(*(column[there].tolist() for column in columns), strict=True))


def places_of(case, task):
    """Where a task could start on empty nodes: (rack, shelf, lead), the number of units, and for it and each companion
    the units with their size and what is taken of them."""
    work, center = case.workload, case.datacenter
    number = np.argsort(np.lexsort((center.shelf, center.rack)))
    names = [p.name for p in center.processor_types]
    type_of_task = int(np.repeat(work.job_task_type, np.diff(work.job_first))[task])
    n_units = 1 if work.units is None else int(work.units[task])
    demand = float(demands_of(work)[task])
    companions = {name: float(amount[task]) for name, amount in (work.companions or {}).items() if amount[task] > 0}
    code = ANY_LEAD if work.lead_types is None else int(work.lead_types[task])
    found = []
    for node in nodes_of(case):
        of = {}
        for unit in node:
            of.setdefault(names[center.unit_type[unit]], []).append(
                (int(number[unit]), float(center.unit_capacity[unit]))
            )
        for name, members in of.items():
            is_named = code == ANY_LEAD or name in work.lead_sets[code]
            if not is_named or name in companions or case.affinity[names.index(name), type_of_task] <= 0:
                continue
            parts = [(n_units, [(unit, size, taken(demand, size)) for unit, size in members])]
            parts += [
                (1, [(unit, size, amount) for unit, size in of.get(other, [])]) for other, amount in companions.items()
            ]
            if all(sum(takes <= size * (1 + 1e-9) for _, size, takes in units) >= n for n, units in parts):
                found.append(((int(center.rack[node[0]]), int(center.shelf[node[0]]), name), parts))
    return found


def looks_free(places, n_parts, held, task, until, time):
    """{(rack, shelf, lead)} where the task could start, {part: whether a node has it}, from what is held alone."""
    load = Counter()
    for other, unit, begin, end, amount in held:
        if begin < time < end and (other != task or begin < until):
            load[unit] += amount
    found, somewhere = set(), [[False] * n_parts]
    for place, parts in places:
        here = [
            sum(load[u] < size * (1 - 1e-9) and load[u] + takes <= size * (1 + 1e-9) for u, size, takes in units) >= n
            for n, units in parts
        ]
        somewhere.append(here)
        if all(here):
            found.add(place)
    return found, [any(part) for part in zip(*somewhere, strict=True)]


@pytest.mark.parametrize("policy", ["high", "pref", "fcfs"])
def test_openings_and_shortages_are_what_one_sees_at_every_instant(tmp_path, policy):
    compared = short = 0
    for seed in range(20):
        case = real_scenario(seed, policy)
        work = case.workload
        case = vs.Scenario(**{**vars_of(case), "workload": vs.Workload(**{**vars_of(work), "requests": None})})
        result = recorded(tmp_path / str(seed), case)
        if len(result.outcome.followers):
            continue
        held, tasks = rows_of(case, result), result.tasks
        end = float(result.summary["makespan_us"])
        held = [(t, u, b, end if np.isnan(e) else e, a) for t, u, b, e, a in held]
        times = sorted({*tasks["arrival_us"], *(b for _, _, b, _, _ in held), *(e for _, _, _, e, _ in held)})
        for job, found in enumerate(waits_of(tmp_path / str(seed), range(work.n_jobs))):
            if not found.holds_several:
                continue
            until = found.arrival_us + found.waited_us
            places = places_of(case, found.task)
            nowhere, scattered = np.zeros(1 + len(found.companions)), 0.0
            for low, high in itertools.pairwise(times):
                low, high = max(low, found.arrival_us), min(high, until)
                if high - low < 1e-9:
                    continue
                middle = (low + high) / 2
                seen, parts = looks_free(places, len(nowhere), held, found.task, until, middle)
                reported = {(o.rack, o.shelf, o.unit_type) for o in found.openings if o.free_us < middle < o.end_us}
                assert reported == seen, (seed, job, middle)
                compared += 1
                if not seen:
                    nowhere += (high - low) * ~np.array(parts)
                    scattered += (high - low) * all(parts)
            lack = found.shortage
            if lack is None:
                assert nowhere.sum() + scattered < 1e-6
                continue
            short += 1
            np.testing.assert_allclose(lack.nowhere_us, nowhere, rtol=1e-9, atol=1e-6)
            assert lack.scattered_us == pytest.approx(scattered, rel=1e-9, abs=1e-6)
    assert compared > 45
    assert short > 5


def vars_of(case):
    return {name: getattr(case, name) for name in case.__dataclass_fields__}
