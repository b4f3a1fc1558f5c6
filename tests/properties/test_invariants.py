"""The checker of results can fail: each rule names the damage that is done to a result which it passes."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import vinesim as vs
from tests.invariants import RULES, violations
from tests.policies.kinds.choosy import Choosy
from tests.policies.kinds.consolidate import Consolidate
from tests.policies.kinds.repack import Repack
from tests.properties.held_plainly import Folder
from tests.requests_scenarios import request_scenario
from tests.strategies import Limits, seeded_scenario
from vinesim.formats.results.folder import write_result
from vinesim.model.application import Application
from vinesim.model.batching import Batching
from vinesim.model.electricity import Electricity, Series
from vinesim.model.step_times import StepTime
from vinesim.policies.online.high import High
from vinesim.policies.registry import resolve

pytestmark = pytest.mark.filterwarnings("ignore:network:vinesim.InputWarning")
APART = vs.Network(intra_rack=4.0, inter_rack=2.0, hop_latency_us=0.5)


@dataclass(frozen=True)
class Promising(High):
    """As high with in_order, and says that it leaves no unit idle; which is so where one unit is all there is."""

    name: ClassVar[str] = "test_promising"
    work_conserving: ClassVar[bool] = True
    starts_in_order: ClassVar[bool] = True


def workload(n=4, types=1, **more):
    """n jobs of two tasks of 4 us each, that arrive one a us, with 8 bytes of data in rack 1."""
    zeros = np.zeros(2 * n)
    columns: dict[str, Any] = {
        "job_task_type": np.arange(n) % types,
        "job_first": 2 * np.arange(n + 1),
        "arrival_us": np.arange(n) * 1.0,
        "operations": np.full(2 * n, 4.0),
        "data_bytes": zeros + 8.0,
        "data_rack": zeros + 1,
        "data_shelf": zeros,
        "preferred_type": zeros - 1,
        "task_types": tuple(vs.TaskType(f"T{t}") for t in range(types)),
    }
    return vs.Workload(**{**columns, **more})


def plain(policy=Promising, outages=(), **more):
    """Two units in two racks, that differ in speed."""
    kinds = tuple(vs.ProcessorType(name, idle_power_w=3.0, sleep_power_w=asleep, attributes={"cores": cores})
                  for name, asleep, cores in (("A", 1.0, 4.0), ("B", None, 9.0)))  # fmt: skip
    parts: dict[str, Any] = {
        "datacenter": vs.Datacenter([0, 1], [0, 1], [0, 0], kinds),
        "workload": workload(),
        "affinity": np.array([[1.0], [2.0]]),
        "overhead_us": np.array([[1.0], [0.5]]),
        "power_w": np.array([[7.0], [9.0]]),
        "network": APART,
        "sampling_us": 5.0,
    }
    return vs.Scenario(policy=policy, outages=outages, **{**parts, **more})


def shared():
    """One unit that shares its speed."""
    kind = vs.ProcessorType("S", capacity=4.0, parallelism=1.0)
    work = workload(demand=np.tile([1.0, 2.0], 4), deadline_us=np.array([20.0, 30.0, math.inf, 70.0]))
    return vs.Scenario(vs.Datacenter([0], [1], [0], (kind,)), work, "high", affinity=np.ones((1, 1)), network=APART)


def cores(policy="easy_backfill", **more):
    """Tasks that request 6 cores run on B only."""
    return plain(policy, workload=workload(requests={"cores": np.full(8, 6.0)}), **more)


def parted():
    """Jobs of a partition of the first node, one at a time, and others."""
    work = workload(partition=np.array([0, 0, -1, -1]), partition_names=("near",))
    return plain("high", workload=work, partitions=(vs.Partition("near", [[0, 0]], {"A": 1}),))


def in_a_cohort():
    """The same, where the partition has a cohort that lends it nothing."""
    case = parted()
    return replace(case, partitions=tuple(replace(one, cohort="c") for one in case.partitions))


def capped():
    """The plain case where only one of the units may run something at a time."""
    case = plain("high")
    return replace(case, datacenter=replace(case.datacenter, power_cap_w=12.0))


def reserved():
    """The plain case with maintenance of node 0 after all that it runs."""
    case = plain("high")
    last_us = float(np.nanmax(vs.simulate(case, engine="reference").tasks["finish_us"]))
    return replace(case, reservations=(vs.Reservation("upgrade", last_us, last_us + 9.0),))


def billed():
    """The plain case with a price of electricity that falls as it runs, and emissions."""
    grid = Electricity(Series([0.0, 9.0], [3.0, 0.5], 20.0, start_us=2.0), 400.0, pue=1.25)
    return plain("high", electricity=grid)


def serving():
    """Requests on an engine that prefills and one that decodes."""
    engine = {"max_sequences": 4, "max_batched_tokens": 64, "memory_tokens": 160, "step": StepTime(10.0, 1.0)}
    kinds = (
        vs.ProcessorType("P", batching=Batching(**engine, role="prefill", token_bytes=8)),
        vs.ProcessorType("D", batching=Batching(**engine, role="decode")),
    )
    work = workload(
        operations=np.ones(8),
        input_tokens=np.array([50, 10] * 4),
        output_tokens=np.array([3, 1] * 4),
        **dict.fromkeys(("data_bytes", "data_rack", "data_shelf"), np.zeros(8)),
    )
    return vs.Scenario(
        vs.Datacenter([0, 1], [0, 1], [0, 0], kinds), work, "high", affinity=np.ones((2, 1)), network=APART
    )


def interrupted():
    return plain("high", [vs.Outage(0, 0, 5.0, 9.0)])


def ending():
    """The same with checkpoints and limits."""
    case = interrupted()
    work = case.workload
    columns = {"checkpoint_us": np.full(work.n_tasks, 1.3), "limit_us": np.full(work.n_jobs, 40.0)}
    return replace(case, workload=replace(work, **columns))


def withdrawn():
    """The plain case with jobs that are withdrawn before, while and after they run."""
    case = plain()
    at_us = np.where(np.arange(case.workload.n_jobs) % 2, np.inf, case.workload.arrival_us + 1.0)
    return replace(case, workload=replace(case.workload, withdraw_us=at_us))


def following():
    """The plain case where the last job waits for the second one."""
    work = replace(workload(), after_first=np.array([0, 0, 0, 0, 1]), after=np.array([1]))
    return plain("high", workload=work)


def refusing():
    """The plain case under a policy that drops tasks."""
    return plain(Choosy())


def requests():
    """Requests of two nodes, and others that are consolidated, on the nodes that hold their data."""
    base = request_scenario(3, "fcfs", {}, noise=False)
    kinds = (vs.ProcessorType("GPU"),)
    center = vs.Datacenter([0, 0, 0], [0, 0, 0], [0, 1, 2], kinds, 1, 3)
    pair = Application("A0", 12.0, gang_size=2, max_consolidated=2)
    one = Application("A1", 30.0, max_consolidated=3, nodes=((0, 1), (0, 2)))
    code = np.array([0, 1, 1, 1, 1, 0, 1, 1, 0])
    counts = np.where(code == 0, 2, 1)
    n = counts.sum()
    work = vs.Workload(
        code,
        np.concatenate(([0], np.cumsum(counts))),
        np.array([0.0, 0, 0, 0, 0, 1, 1, 2, 2]),
        np.full(n, 4.0),
        *np.zeros((3, n)),
        np.full(n, -1),
        demand=np.ones(n),
        application=code,
        task_types=base.workload.task_types[:2],
        application_names=("A0", "A1"),
    )
    return vs.Scenario(
        center,
        work,
        "fcfs",
        {"consolidate": "yes"},
        np.ones((1, 2)),
        np.full((1, 2), 0.5),
        applications=(pair, one),
        seed=1,
    )


def periods(policy="bf", **options):
    limits = Limits(units=4, jobs=9, slowdown=False, horizons=False)
    return seeded_scenario(4, policy, options, limits)


def folder_of(case) -> Folder:
    return Folder.of(vs.simulate(case, engine="reference"))


def found(case, folder):
    """The rules that name something, and what all of them say."""
    rebuilt = Folder(None, folder.tables, folder.summary)
    broken = violations(case, rebuilt, resolve(case.policy, case.options))
    return {text.partition(":")[0] for text in broken}, broken


def lost(segments):
    """The row of the run that was interrupted."""
    return np.flatnonzero(segments["outcome"] == "interrupted")[0]


def after(segments):
    """A row of a run on the same unit after the outage."""
    return np.flatnonzero((segments["unit"] == segments["unit"][lost(segments)]) & (segments["begin_us"] >= 9))[0]


def put(table, column, row, value):
    """A damage: one value of a column."""

    def damage(folder, row=row):
        row = row(folder.tables[table]) if callable(row) else row
        folder.tables[table][column] = folder.tables[table][column].copy()
        folder.tables[table][column][row] = value(folder.tables[table][column][row]) if callable(value) else value

    return damage


def tell(path, value):
    """A damage: one number of the summary."""

    def damage(folder):
        *parts, last = path.split("/")
        place = folder.summary
        for part in parts:
            place = place[part]
        place[last] = value(place[last]) if callable(value) else value

    return damage


def without(table):
    def damage(folder):
        del folder.tables[table]

    return damage


def swap(table, one, other, *columns):
    """A damage: two rows exchange some of their columns."""

    def damage(folder):
        for column in columns:
            values = folder.tables[table][column].copy()
            values[[one, other]] = values[[other, one]]
            folder.tables[table][column] = values

    return damage


def later(us, first=0):
    """A damage: a task and all after it are given to their units later, and end as much later."""

    def damage(folder):
        for column in ("init_us", "start_us", "finish_us"):
            folder.tables["tasks"][column] = folder.tables["tasks"][column] + us * (np.arange(8) >= first)

    return damage


def more(by):
    return lambda value: value + by


def retyped(folder):
    folder.tables["tasks"]["unit"] = folder.tables["tasks"]["unit"].astype(np.int64)


DAMAGES = [
    ("columns_are_as_declared", plain, retyped),
    ("columns_are_as_declared", plain, put("units", "active_us", 0, np.nan)),
    ("every_task_once", plain, put("tasks", "task", 3, 2)),
    ("every_task_once", plain, put("tasks", "unit_type", 3, more(1))),
    ("every_task_once", plain, put("tasks", "arrival_us", 3, more(0.5))),
    ("every_task_once", plain, put("units", "rack", 1, 0)),
    ("jobs_are_their_tasks", plain, put("jobs", "finish_us", 1, more(1.0))),
    ("jobs_are_their_tasks", plain, put("jobs", "latency_us", 1, more(-1.0))),
    ("jobs_are_their_tasks", plain, put("jobs", "tasks", 1, 3)),
    ("jobs_are_their_tasks", plain, put("tasks", "generation_us", 1, more(1.0))),
    ("jobs_are_their_tasks", shared, put("jobs", "deadline_us", 0, more(1.0))),
    ("exit_reason", plain, tell("exit_reason", "STALLED")),
    ("exit_reason", plain, tell("exit_reason", "HORIZON")),
    ("exit_reason", plain, tell("exit_reason", "INTERRUPTED")),
    ("exit_reason", plain, put("tasks", "finish_us", 3, np.nan)),
    ("exit_reason", plain, tell("makespan_us", more(1.0))),
    ("exit_reason", plain, tell("provenance/reason", "why not")),
    ("times_in_order", plain, put("tasks", "init_us", 4, 1.5)),
    ("times_in_order", plain, put("tasks", "start_us", 3, 1e6)),
    ("times_in_order", plain, put("tasks", "start_us", 3, np.nan)),
    ("nothing_starts_before_it_may", following, put("tasks", "init_us", 6, 3.5)),
    ("jobs_are_their_tasks", following, put("jobs", "eligible_us", 3, more(1.0))),
    ("latencies_of_the_summary", following, tell("jobs/wait_us/mean", more(1e-3))),
    ("segments_follow_one_another", interrupted, put("tasks", "restarts", 0, more(1))),
    ("segments_follow_one_another", interrupted, put("tasks", "lost_us", 0, more(1.0))),
    ("segments_follow_one_another", interrupted, put("segments", "end_us", 2, more(-0.5))),
    ("segments_follow_one_another", interrupted, tell("outages/restarts", more(1))),
    ("service_time", plain, put("tasks", "finish_us", 3, more(1e-9))),
    ("service_time", plain, put("tasks", "start_us", 3, more(-0.25))),
    ("service_time", shared, put("tasks", "finish_us", 3, more(1e-3))),
    ("service_time", requests, put("tasks", "finish_us", 3, more(1.0))),
    ("work_done_is_work_asked", ending, put("segments", "end_us", after, more(0.5))),
    ("limits_are_kept", ending, put("segments", "end_us", after, more(50.0))),
    ("nothing_on_a_node_that_is_down", interrupted, put("segments", "end_us", lost, more(1.0))),
    ("nothing_on_a_node_that_is_down", interrupted, put("segments", "begin_us", after, 6.0)),
    ("amounts_are_the_demands", shared, put("tasks", "amount", 3, 1.0)),
    ("amounts_are_the_demands", shared, put("tasks", "amount", 3, 0.0)),
    ("units_can_run_their_tasks", lambda: plain("high", affinity=np.array([[0.0], [1.0]])), put("tasks", "unit", 3, 0)),
    ("no_unit_over_its_capacity", plain, put("tasks", "init_us", 6, 3.5)),
    ("no_unit_over_its_capacity", shared, put("tasks", "amount", 3, 4.0)),
    ("active_time_is_the_union_of_intervals", plain, put("units", "active_us", 1, more(1e-3))),
    ("active_time_is_the_union_of_intervals", shared, put("units", "allocated_us", 0, more(1e-3))),
    ("active_time_is_the_union_of_intervals", plain, put("units", "utilization", 1, more(1e-3))),
    ("samples_are_the_shares", plain, put("utilization", "active", 2, more(1e-3))),
    ("samples_are_the_shares", plain, put("utilization", "t_end_us", 2, more(1.0))),
    ("samples_are_the_shares", plain, without("utilization")),
    ("counts_of_the_summary", plain, tell("tasks/count", 7)),
    ("counts_of_the_summary", plain, tell("jobs/finished", 3)),
    ("counts_of_the_summary", plain, tell("tasks/by_type/A", more(1))),
    ("counts_of_the_summary", ending, tell("jobs/killed", more(1))),
    ("counts_of_the_summary", withdrawn, tell("jobs/withdrawn", more(1))),
    ("counts_of_the_summary", withdrawn, tell("jobs/started", more(1))),
    ("counts_of_the_summary", refusing, tell("jobs/refused", more(1))),
    ("jobs_are_their_tasks", refusing, put("jobs", "refused", 0, True)),
    ("jobs_are_their_tasks", refusing, put("tasks", "dropped_us", 0, 1.0)),
    ("types_that_run_nothing_are_named", plain, tell("provenance/resources", ["A"])),
    ("latencies_of_the_summary", plain, tell("tasks/wait_us/mean", more(1e-3))),
    ("latencies_of_the_summary", plain, tell("jobs/latency_us/p90", more(1e-3))),
    ("latencies_of_the_summary", plain, tell("tasks/response_us/max", None)),
    ("latencies_of_the_summary", plain, tell("jobs/bounded_slowdown/max", 2.0)),
    ("utilization_of_the_summary", plain, tell("utilization/active/by_type/A", more(1e-3))),
    ("utilization_of_the_summary", plain, tell("utilization/overall", more(1e-3))),
    ("utilization_of_the_summary", plain, tell("utilization/allocated/percentiles/p50", more(1e-3))),
    ("deadlines_that_were_missed", shared, tell("deadlines/missed", more(1))),
    ("deadlines_that_were_missed", shared, tell("deadlines/missed_pct", more(1.0))),
    ("the_table_is_its_requests", requests, put("applications", "missed", 1, more(1))),
    ("the_table_is_its_requests", requests, put("applications", "p99_us", 1, more(1.0))),
    ("the_table_is_its_requests", requests, put("applications", "consolidated_mean", 1, more(0.1))),
    ("the_table_is_its_requests", requests, put("applications", "on_fastest", 0, 0.5)),
    ("the_table_is_its_requests", requests, put("applications", "goodput_per_s", 0, more(1.0))),
    ("the_table_is_its_requests", requests, put("applications", "missed_pct_worst_minute", 0, more(1.0))),
    ("the_table_is_its_requests", requests, tell("applications/mean/jain", more(0.1))),
    ("consolidation_within_the_limit", requests, lambda folder: None),
    ("gangs_start_at_once", requests, put("tasks", "init_us", 1, more(1.0))),
    ("gangs_start_at_once", requests, put("tasks", "shelf", 1, 0)),
    ("applications_stay_on_their_nodes", requests, put("tasks", "unit", 2, 0)),
    ("jobs_stay_on_the_nodes_of_their_partition", parted, put("tasks", "unit", 1, 1)),
    ("quotas_are_kept", parted, put("tasks", "init_us", 1, 0.5)),
    ("cohorts_lend_no_more_than_they_have", in_a_cohort, put("tasks", "init_us", 1, 0.5)),
    ("caps_are_kept", capped, put("tasks", "init_us", 1, 0.5)),
    ("nothing_runs_into_reservations", reserved, put("tasks", "init_us", 6, 23.0)),
    ("energy_is_the_integral_of_power", plain, put("units", "active_j", 0, more(1e-6))),
    ("energy_is_the_integral_of_power", plain, put("units", "wake_up_j", 0, more(1e-6))),
    ("energy_adds_up", plain, put("units", "energy_j", 0, more(1e-6))),
    ("energy_adds_up", plain, tell("energy_j", more(1e-6))),
    ("energy_adds_up", plain, tell("energy/by_type/A", more(1e-6))),
    ("energy_adds_up", plain, tell("energy/by_state/sleep", more(1e-6))),
    ("energy_adds_up", periods, put("periods", "energy_j", 1, more(1e-6))),
    ("bills_are_those_of_the_energy", billed, tell("energy/cost", more(1e-9))),
    ("bills_are_those_of_the_energy", billed, tell("energy/carbon_g", more(1e-9))),
    ("periods_are_those_of_the_run", periods, put("periods", "active", 1, more(1))),
    ("periods_are_those_of_the_run", periods, put("periods", "energy_j", 1, more(1e-6))),
    ("periods_are_those_of_the_run", periods, put("periods", "slav", 1, 1.0)),
    ("periods_are_those_of_the_run", periods, put("periods", "period", 1, 7)),
    ("tokens_come_in_order", serving, put("tasks", "first_token_us", 0, more(9e9))),
    ("tokens_come_in_order", serving, put("tasks", "scheduled_us", 2, 0.0)),
    ("roles_are_kept", serving, put("segments", "unit", 0, 1)),
    ("memories_hold_what_fits", serving, put("units", "memory_peak", 0, 1e9)),
    ("in_order_of_arrival", plain, swap("tasks", 2, 5, "init_us", "start_us", "finish_us", "unit")),
    ("order_within_an_application", requests, swap("tasks", 2, 9, "init_us", "start_us", "finish_us")),
    ("no_unit_idles_while_a_task_waits", plain, later(1.0)),
    ("requests_are_met", cores, put("tasks", "unit", 3, 0)),
]


@pytest.mark.parametrize(
    ("rule", "make", "damage"), DAMAGES, ids=[f"{i}-{rule}" for i, (rule, *_) in enumerate(DAMAGES)]
)
def test_each_damage_is_named_by_its_rule(rule, make, damage):
    case = make()
    folder = folder_of(case)
    assert found(case, folder) == (set(), [])
    damage(folder)
    if rule == "consolidation_within_the_limit":  # of the scenario: the run was allowed more
        listed = tuple(replace(a, max_consolidated=1) for a in case.applications)
        case = replace(case, applications=listed)
    names, broken = found(case, folder)
    assert rule in names, broken


def test_every_rule_is_damaged():
    assert {rule.__name__ for rule in RULES} == {rule for rule, *_ in DAMAGES}


@pytest.mark.parametrize("make", [plain, interrupted, requests, periods, shared])
def test_what_is_written_is_what_is_checked(make, tmp_path):
    """The files of a folder say the same as the result."""
    case = make()
    result = vs.simulate(case, engine="reference")
    write_result(tmp_path / "run", result)
    written, held = Folder.read(tmp_path / "run"), Folder.of(result)
    assert written.holds == held.holds or repr(written.holds) == repr(held.holds)
    assert repr(written.tasks) == repr(held.tasks)
    assert found(case, written) == (set(), [])


@pytest.mark.parametrize(
    ("policy", "limits"),
    [(Consolidate, Limits(units=4, demands="none", sharing=False)), (Repack, Limits(units=4, slowdown=False))],
)
def test_what_is_joined_or_moved_is_checked_too(policy, limits):
    seen = 0
    for seed in range(15):
        case = seeded_scenario(seed, policy, {}, limits)
        folder = folder_of(case)
        assert found(case, folder) == (set(), []), seed
        several = folder.has_segments or (folder.tables["tasks"].get("amount", np.ones(1)) == 0).any()
        seen += several
    assert seen > 5
