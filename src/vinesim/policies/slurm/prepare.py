"""Build all arrays of the policy for the start of a run, from a scenario's nodes and jobs and the policy's options."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.model.errors import InputError, Problem
from vinesim.model.scenario import Scenario
from vinesim.model.streams import stream
from vinesim.policies.slurm.books import ARRAYS
from vinesim.policies.slurm.codes import (
    BACKFILL,
    CALCULATION,
    EVENT_RUN,
    FULL_RUN,
    LIMITS,
    N_COUNTED,
    PREEMPT_MODES,
    US_PER_S,
)
from vinesim.policies.slurm.node_sets import n_words, packed
from vinesim.policies.slurm.prepare_accounts import Accounts
from vinesim.policies.slurm.prepare_jobs import Jobs, wholes_of
from vinesim.policies.slurm.prepare_limits import holders_of
from vinesim.policies.slurm.prepare_nodes import Places
from vinesim.policies.slurm.prepare_switches import switches_of
from vinesim.policies.slurm.queue import find_fair_shares

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm

MOST_RECORDS = 2_000  # of a backfill plan
NEVER = 1e300


def prepared(policy: "Slurm", scenario: Scenario) -> dict[str, np.ndarray]:
    """Return all arrays for the jobs of a site. Raises :class:`InputError` where the options do not fit them."""
    problems = list[Problem]()
    places = Places.of(policy, scenario, problems)
    accounts = Accounts.of(policy.accounts)
    jobs = Jobs.of(policy, scenario, places, accounts, problems)
    known = places.arrays() | jobs.arrays() | accounts.arrays()
    known |= holders_of(policy, jobs, accounts, places) | classes_of(policy, jobs, places)
    known |= switches_of(policy, places.names)
    if problems:
        raise InputError(problems[:20], len(problems))
    known |= _clock(policy, scenario)
    known |= _books(policy, known, places)
    arrays = {name: np.asarray(known[name]).astype(kind).reshape(-1) for name, kind in ARRAYS.items()}
    if arrays["usage"].any():  # otherwise all have the best factor until the first calculation
        find_fair_shares(SimpleNamespace(**arrays), policy)
    return arrays


def _clock(policy: "Slurm", scenario: Scenario) -> dict[str, Any]:
    """Return the phases of the clocks, drawn from the seed, and when each periodic action is first due."""
    random = stream(scenario.seed, "policy.slurm")
    phase, due, last = np.zeros(6), np.full(6, NEVER), np.full(6, -NEVER)
    periods_s = {
        FULL_RUN: policy.sched_interval,
        LIMITS: 30.0,
        CALCULATION: policy.priority_calc_period,
    }
    for kind, period_s in periods_s.items():
        phase[kind] = random.random() * period_s * US_PER_S
    for kind in (FULL_RUN, LIMITS, CALCULATION):
        due[kind] = phase[kind] if periods_s[kind] > 0 else NEVER
    phase[BACKFILL] = policy.start_s * US_PER_S  # plans round absolute times
    work = scenario.workload
    together = zip(work.words_of("array"), wholes_of(work), strict=True)
    names = [array or whole or f"job {j}" for j, (array, whole) in enumerate(together)]
    _, first, of = np.unique(names, return_index=True, return_inverse=True)
    first_us = work.arrival_us[first]
    order, late_us = np.argsort(first), np.empty(len(first))  # the jobs of an array are submitted at once
    late_us[order] = np.sort(first_us + random.random(len(first)) * US_PER_S) - first_us[order]  # in numeric order
    known_us = work.arrival_us + late_us[of]
    last[EVENT_RUN] = last[BACKFILL] = -1e9
    if policy.reservations:  # the last reservation made before the log begins triggered backfill
        last[BACKFILL] = -random.random() * policy.bf_interval * US_PER_S
    return {
        "phase_us": phase,
        "due_us": due,
        "last_us": last,
        "job_known_us": known_us,
        "draw": [int(random.integers(1, 2**31 - 1))],
    }


def _books(policy: "Slurm", known: dict[str, Any], places: Places) -> dict[str, Any]:
    """Return the arrays that change during the run, with their first values."""
    n_nodes, n_jobs = len(places.cpus), len(known["job_request"])
    n_entries, n_holders = len(known["job_part"]), len(known["holder_keys"])
    n_levels = known["n_levels"]
    n_rows = max(2, n_levels) * int(sum(places.cpus)) + 2
    n_cores = n_nodes * n_words(int(max(places.cpus))) if n_levels else 0
    n_records = min(MOST_RECORDS, 2 * min(policy.bf_max_job_test, n_entries) + 3)
    n_accounts, width, n_sizes = len(known["parent"]), n_words(n_nodes), len(known["size_cpus"])
    n_members, n_users = len(known["member_job"]), int(max(known["job_user"])) + 1
    n_pairs = len(known["request_cpus"]) * len(places.partitions)

    def links(n: int) -> np.ndarray:
        return np.append(np.arange(1, n), -1)

    return {
        "changed_us": [0.0], "noted": [-1.0, -1.0, -1.0], "recheck": [False], "held_wake_us": [NEVER],
        **dict.fromkeys(("array_running", "array_eligible"), np.zeros(max(known["job_array"], default=-1) + 1)),
        "free_cpus": known["node_cpus"], "free_memory": known["node_memory"], "free_kinds": known["node_kinds"],
        "up_nodes": packed(np.ones(n_nodes)),
        "room_version": [0], "room_at": np.full(n_pairs, -1), "has_room": np.zeros(n_pairs),
        "then_cpus": known["node_cpus"], "then_memory": known["node_memory"], "then_kinds": known["node_kinds"],
        **dict.fromkeys(("job_state", "job_in", "job_by", "job_left", "job_level"), np.zeros(n_jobs)),
        **dict.fromkeys(("job_start_us", "job_row"), np.full(n_jobs, -1.0)),
        **dict.fromkeys(
            ("job_end_by_us", "job_charged_us", "job_suspended_us", "job_eligible_us", "job_ages_from_us",
             "job_priority", "job_accrues", "job_must_leave", "job_is_refused", "job_held_until_us", "running", "held"),
            np.zeros(n_jobs),
        ),
        **dict.fromkeys(("row_node", "row_cpus", "row_kind", "row_gpus", "row_memory", "row_tasks"),
                        np.zeros(n_rows)),
        "row_next": links(n_rows), "spare_row": [0],
        "level_cpus": np.tile(places.cpus, n_levels), "level_cores": np.zeros(n_levels * n_cores),
        "shadow": np.zeros(n_cores), "row_cores": np.zeros(n_rows * n_cores // n_nodes),
        **dict.fromkeys(
            ("n_running", "n_held", "n_entries", "n_victims", "n_records", "n_seen", "n_wanted", "n_ends", "n_passed"),
            np.zeros(1)),
        **dict.fromkeys(("entry_job", "entry_part", "entry_priority"), np.zeros(n_entries)),
        **dict.fromkeys(("kept_job", "kept_part", "kept_priority", "rank_tier", "rank_priority", "rank_job"),
                        np.zeros(n_entries if policy.bf_hetjob_prio != "off" else 0)),
        "is_closed": np.zeros(len(places.partitions)),
        **dict.fromkeys(("part_tested", "part_planned"), np.zeros(len(places.partitions))),
        **dict.fromkeys(("may", "not_closed", "chosen", "second_nodes", "ready", "able"), np.zeros(width)),
        **dict.fromkeys(("use_node", "use_cpus", "use_is_in", "got_node", "got_cpus", "planned_from_us"),
                        np.zeros(n_nodes)),
        **dict.fromkeys(("leaf_nodes", "leaf_cpus", "leaf_largest"), np.zeros(known["n_leaves"][0])),
        "most_leaves": [0], "is_least_loaded": [False], "cpus_kind": [-1], "victims": np.zeros(n_jobs),
        "count_of_cpus": np.zeros(int(max(places.cpus)) + 1),
        **dict.fromkeys(("record_begin_us", "record_end_us", "record_row"), np.zeros(n_records)),
        **dict.fromkeys(("record_nodes", "rest_nodes"), np.zeros(n_records * width)), "stretch": np.zeros(3),
        "full_in": np.zeros(n_pairs), "full_us": np.zeros(n_pairs), "n_cycles": [0],
        **dict.fromkeys(("end_us", "end_job", "end_row", "end_node"), np.zeros(n_rows)),
        "ready_at": np.full(n_sizes, -1), **dict.fromkeys(("ready_end", "ready_node"), np.zeros(n_sizes * n_nodes)),
        "n_ready": np.zeros(n_sizes),
        "ready_now": np.zeros(n_sizes * width), "ends_at": [-1],
        "member_is_ready": np.zeros(n_members), "member_part": np.zeros(n_members),
        "group_from_us": np.zeros(len(known["group_first"]) - 1), "group_nodes": np.zeros(width),
        "user_tested": np.zeros(n_users), "association_tested": np.zeros(n_accounts),
        "user_part_tested": np.zeros(n_users * len(places.partitions) if policy.bf_max_job_user_part else 0),
        "array_planned": np.zeros(2), "job_planned_in": np.zeros(n_jobs),
        **dict.fromkeys(("holder_jobs", "holder_accruing", "holder_submitted", "holder_wall_us"), np.zeros(n_holders)),
        "holder_left_at": np.full(n_holders, -1), "holder_left_us": np.zeros(n_holders),
        **dict.fromkeys(("holder_tres", "holder_minutes", "holder_left"), np.zeros(n_holders * N_COUNTED)),
        **dict.fromkeys(("levels", "normalized", "effective"), np.zeros(n_accounts)),
        "billed": np.zeros(known["billing_weight"].shape[1]),
        "user_order": np.flatnonzero(known["is_user"]), "fair_share": np.ones(n_accounts),
        "task_over": np.zeros(known.pop("n_tasks")),
        "wanted": np.zeros(4 * n_jobs + 64), "wanted_job": np.zeros(4 * n_jobs + 64), "wanted_at": np.zeros(5),
    }  # fmt: skip


def classes_of(policy: "Slurm", jobs: Jobs, places: Places) -> dict[str, Any]:
    """Return who may preempt whom: the classes of jobs, which are partitions (by tier) or QOS (by name).

    With QOS, the last class holds the jobs whose QOS is unknown.
    """
    by_qos = policy.preempt_type == "qos"
    exempt_s = {name: one.get("preempt_exempt_time", policy.preempt_exempt_time) for name, one in policy.qos.items()}
    if by_qos:
        names, given = [*policy.qos, ""], [*policy.qos.values(), {}]
        rank = np.array([int(one.get("priority", 0)) for one in given])
        may = np.array([[name in one.get("preempt", ()) for name in names] for one in given])
        number = {name: i for i, name in enumerate(names)}
        own = [number.get(name, len(names) - 1) for name in jobs.qos]
    else:
        given, own = places.options, [-1] * jobs.n
        rank = np.array([int(one.get("priority_tier", 1)) for one in given])
        may = rank[:, None] > rank
    preempt = np.array([PREEMPT_MODES[one.get("preempt_mode", policy.preempt_mode)] for one in given])
    level = may.any(axis=1).astype(int) if by_qos else np.unique(rank, return_inverse=True)[1]
    n_levels = int(level.max()) + 1
    return {
        "job_class": own,
        "class_may": may,
        "class_preempt": preempt,
        "class_grace_us": [float(one.get("grace_time", 0.0)) * US_PER_S for one in given],
        "class_rank": rank,
        "class_level": level,
        "class_spared": np.where(preempt == PREEMPT_MODES["off"], n_levels - 1, level),
        "n_levels": n_levels if policy.preempt_type != "none" and policy.preempt_mode == "suspend" else 0,
        "job_exempt_us": [float(exempt_s.get(name, policy.preempt_exempt_time)) * US_PER_S for name in jobs.qos],
    }
