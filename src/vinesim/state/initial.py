"""Model -> State: builds the arrays that a run changes, all allocated here."""

import numpy as np

from vinesim.model.workload import NO_GANG
from vinesim.state import bit_levels
from vinesim.state.layout import ATTACHED, ENDED, PENDING, RUN, Model, State, has_shared_speed
from vinesim.state.node_counts import first_counts, keeps_counts
from vinesim.state.node_rooms import beside, empty_rooms


def first_units(model: Model) -> np.ndarray:
    """[N] int32: the units of the tasks before the run: PENDING, or ATTACHED to the first task of their gang."""
    units = np.full(len(model.task_operations), PENDING, np.int32)
    if len(model.job_gang) and (model.job_gang != NO_GANG).any():
        is_attached = np.repeat(model.job_gang != NO_GANG, np.diff(model.job_first))
        is_attached[model.job_first[:-1]] = False
        units[is_attached] = ATTACHED
    return units


def build_state(
    model: Model,
    seed: int,
    counts_free: bool = True,
    ends_early: bool = False,
    scores_nodes: bool = False,
    counts_kinds: bool = False,
    counts_tasks: bool = False,
    indexes_nodes: bool = True,
    sets_offers: bool = False,
) -> State:
    """Return the state before the first event: every unit idle, no job arrived.

    ``counts_free`` keeps the counts of units with room that make ``random_free`` fast; ``ends_early`` keeps what is
    needed where segments may end before their tasks are done; ``scores_nodes`` the scores of nodes, ``counts_kinds``
    how many tasks of each type run on each node, and ``counts_tasks`` how many in all, if there are many nodes;
    ``indexes_nodes`` the index of nodes with room, where tasks hold several units. ``sets_offers`` says that the policy
    may change what units offer.
    """
    n_units, n_tasks, n_types = len(model.unit_type), len(model.task_operations), len(model.affinity)
    n_groups = len(model.group_task_type)
    run = np.zeros(1, RUN)
    run["timer_us"] = np.inf
    run["random"] = np.uint64(seed)
    run["n_with_room"] = n_units
    run["found_task"] = run["gang_task"] = run["gang_refused"] = run["gang_event"] = -1
    run["n_changes_seen"] = run["n_changes_counted"] = run["n_stale"] = -1
    run["queue_now"] = run["queue_newest"] = run["queue_ahead"] = run["interrupted"] = -1
    free = bit_levels.empty(n_types + 1, n_units)
    free_count = np.zeros((n_types + 1, -(-n_units // 4096) if counts_free else 0), np.int64)
    for row in range(n_types + 1):
        members = np.flatnonzero(model.unit_type == row) if row < n_types else np.arange(n_units)
        bit_levels.fill(free, row, members)
        if counts_free:
            free_count[row] = np.bincount(members >> 12, minlength=free_count.shape[1])
    heads = bit_levels.empty(1, n_tasks if n_groups > 1 else 1)
    n_early = n_tasks if ends_early else 0
    running = bit_levels.empty(1, max(1, n_early))
    task_unit = first_units(model)
    group_head = np.zeros(n_groups, np.int64)
    if n_groups > 1:
        pending = np.flatnonzero(task_unit == PENDING)
        found, first = np.unique(model.task_group[pending], return_index=True)
        group_head[:] = n_tasks
        group_head[found] = pending[first]
    has_gangs = len(model.job_gang) > 0
    n_members = int(np.diff(model.job_first)[model.job_gang != NO_GANG].max(initial=0)) if has_gangs else 0
    is_shared, has_vectors = has_shared_speed(model), len(model.kind_units) > 0
    rooms = empty_rooms(model) if has_vectors and (indexes_nodes or has_gangs) else np.empty((0, 0), np.int16)
    keeps_offers = has_vectors and scores_nodes
    n_offers = (int(model.kind_shape.max(initial=-1)) + 1) * model.kind_types.shape[1]
    n_kinds, n_nodes = len(model.ranking), len(model.node_rack)
    counts_tasks = counts_tasks and keeps_counts(model, scores_nodes)
    notes_changes = scores_nodes or counts_tasks
    busy = first_counts(model, counts_tasks)
    return State(
        run=run,
        task_unit=task_unit,
        task_init_us=np.full(n_tasks, np.nan),
        task_start_us=np.full(n_tasks, np.nan),
        task_finish_us=np.full(n_tasks, np.nan),
        task_follower=np.full(n_tasks, -1, np.int32),
        task_interrupted=np.full(n_early, -1, np.int32),
        task_left=np.ones(n_tasks) if ends_early else np.empty(0, np.int8),  # by this type loops are compiled
        task_before_us=np.zeros(n_early),
        task_work_us=np.zeros(n_early),
        task_attained_us=np.zeros(n_early),
        task_event=np.full(n_early, -1, np.int64),
        task_killed=np.zeros(n_early if len(model.job_limit_us) else 0, np.uint8),
        running=running[0],
        running_1=running[1],
        running_2=running[2],
        ended=np.zeros(0, ENDED),
        ended_held=np.zeros((0, 2), np.int64),
        unit_open=np.array(model.unit_capacity),
        unit_load=np.zeros(n_units),
        unit_tasks=np.zeros(n_units, np.int32),
        free=free[0],
        free_1=free[1],
        free_2=free[2],
        free_count=free_count,
        heads=heads[0],
        heads_1=heads[1],
        heads_2=heads[2],
        group_head=group_head,
        group_pending=np.zeros(n_groups, np.int64),
        queue_head=np.full(8 * 256, -1, np.int64),
        queue_tail=np.full(8 * 256, -1, np.int64),
        queue_min_us=np.zeros(8 * 256),
        queue_used=np.zeros(8 * 4, np.uint64),
        queue_next=np.full(n_tasks, -1, np.int32),
        queue_previous=np.full(n_tasks if is_shared or ends_early else 0, -1, np.int32),
        work_done=np.zeros(n_units),
        work_at_us=np.zeros(n_units),
        work_due=np.zeros(n_tasks if is_shared else 0),
        work_first=np.full(n_units, -1, np.int64),
        work_next=np.full(n_tasks if is_shared else 0, -1, np.int32),
        work_event=np.full(n_units, -1, np.int64),
        held_unit=np.full(model.task_held[-1] if has_vectors else 0, -1, np.int32),
        held_before=np.zeros(model.task_held[-1] if has_vectors and (has_gangs or ends_early) else 0),
        tried_unit=np.zeros(n_units if ends_early else 0, np.int32),
        load_before=np.full(n_units if ends_early else 0, np.nan),
        quota_held=np.zeros(len(model.quota_limit)),
        quota_tasks=np.zeros(len(model.quota_limit), np.int64),
        gang_unit=np.full(n_members, -1, np.int32),
        gang_before=np.zeros(n_members),
        node_members=np.zeros(len(model.node_rack) if has_gangs else 0, np.int32),
        node_offer=np.zeros(len(model.node_rack) if has_gangs else 0, np.int32),
        unit_held=np.zeros(n_units if has_vectors else 0, np.int32),
        node_change=np.zeros(n_nodes, np.int64) if notes_changes else np.empty(0, np.int8),  # as for task_left
        node_score=np.zeros((n_kinds, n_nodes) if scores_nodes else (0, 0), np.int32),
        node_score_1=np.zeros((n_kinds, -(-n_nodes // 64)) if scores_nodes else (0, 0), np.int32),
        node_score_2=np.zeros((n_kinds, -(-n_nodes // 4096)) if scores_nodes else (0, 0), np.int32),
        changed_node=np.zeros(1 << n_nodes.bit_length() if notes_changes else 0, np.int32),
        kind_seen=np.full(n_kinds if scores_nodes else 0, -1, np.int64),
        kind_score=np.zeros(n_kinds if scores_nodes else 0, np.int64),
        node_busy=busy[0],
        node_busy_1=busy[1],
        node_busy_2=busy[2],
        node_beside=beside(model, not sets_offers),
        node_offers=np.zeros((n_nodes, n_offers) if keeps_offers else (0, 0), np.uint64),
        node_fitting=np.zeros(n_nodes * len(model.companion_type) if keeps_offers else 0, np.int32),
        node_kinds=np.zeros((n_nodes, n_kinds) if counts_kinds else (0, 0), np.int32),
        node_room=rooms,
        node_is_stale=np.zeros(n_nodes if len(rooms) else 0, np.uint8),
        stale_node=np.zeros(n_nodes if len(rooms) else 0, np.int32),
    )
