"""Turn what the policy wants into actions of the engine, one task after another."""

from vinesim.policies.slurm.codes import KILL, START
from vinesim.state.layout import PENDING
from vinesim.state.queries import can_start, drop, is_running, nothing, preempt, start

WANTED, TASK, ROW, GIVEN, PASS = range(5)  # of wanted_at


def next_action(model, state, s):
    """Return the next action for the engine; nothing if there is none."""
    at = s.wanted_at
    while at[WANTED] < s.n_wanted[0]:
        kind, job = s.wanted[at[WANTED]], s.wanted_job[at[WANTED]]
        first, end = model.job_first[job], model.job_first[job + 1]
        if first + at[TASK] >= end:
            if kind == KILL and at[PASS] == 0:
                at[PASS], at[TASK] = 1, 0
                continue
            at[WANTED] += 1
            at[TASK], at[ROW], at[GIVEN], at[PASS] = 0, 0, 0, 0
            continue
        task = first + at[TASK]
        at[TASK] += 1
        if kind == START:
            return start(task, unit_for(model, state, s, job, task))
        if at[PASS] == 1:
            if state.task_unit[task] == PENDING:
                return drop(task)
        elif is_running(model, state, task):
            return preempt(task)
    s.n_wanted[0] = 0
    at[WANTED] = 0
    return nothing()


def unit_for(model, state, s, job, task):
    """Return the unit on which a task starts: one with room, at the node of the job's next row."""
    at = s.wanted_at
    row = s.job_row[job]
    for _ in range(at[ROW]):
        row = s.row_next[row]
    if at[GIVEN] >= s.row_tasks[row]:
        at[ROW], at[GIVEN] = at[ROW] + 1, 0
        row = s.row_next[row]
    at[GIVEN] += 1
    node = s.row_node[row]
    for i in range(model.node_first[node], model.node_first[node + 1]):
        if can_start(model, state, task, i):
            return i
    return -1
