"""Heterogeneous jobs: their components start all at once or not at all, and only backfill starts them.

Each component is planned by itself, at its place in the queue, but no sooner than the components before it. A component
that could start now keeps its nodes for the cycle, so others wait for these nodes even if the rest of the job has to
wait. At the end of the queue, a job starts if all its components could. The components then choose their nodes again,
from all that have room, and without overlap. A limit that only the components together break is found at this point, so
such a job is planned in each cycle and never starts. If a component finds no nodes, or must preempt others first, the
components before it wait as after a requeue. Components lose their nodes together, unless a limit ends them. Source:
the manual page slurm.conf, and what Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import ELIGIBLE, FILLED
from vinesim.policies.slurm.events import want_event_run
from vinesim.policies.slurm.limits import count_licences, count_running, is_over, lacks_licences
from vinesim.policies.slurm.node_sets import ALL, fill, put
from vinesim.policies.slurm.nodes import find_nodes
from vinesim.policies.slurm.preemption import choose_now
from vinesim.policies.slurm.starting import make_room, put_off, start


def begin_together(s):
    """Mark all components as not planned."""
    fill(s.member_is_ready, False)
    fill(s.group_from_us, 0.0)


def from_us(s, job, now_us):
    """Return the earliest planned start of a job: now, or, for a component, the start of those before it."""
    member = s.job_member[job]
    return max(now_us, s.group_from_us[s.member_group[member]]) if member >= 0 else now_us


def let_follow(s, job, at_us):
    """Record a component's planned start: later components begin no sooner."""
    member = s.job_member[job]
    if member >= 0:
        group = s.member_group[member]
        s.group_from_us[group] = max(s.group_from_us[group], at_us)


def be_ready(s, job, part):
    """Record that a component could start now in a partition."""
    s.member_is_ready[s.job_member[job]], s.member_part[s.job_member[job]] = True, part


def start_together(s, options, now_us):
    """Start the jobs of which all components could start now."""
    for group in range(s.group_first.shape[0] - 1):
        first, end = s.group_first[group], s.group_first[group + 1]
        if not are_ready(s, first, end) or are_over(s, first, end, now_us):
            continue
        found = find_together(s, options, first, end, now_us)
        if found < end:
            make_room(s, options, now_us)
            want_event_run(s, options, now_us)
        fill(s.group_nodes, 0)
        for member in range(first, found):
            job = s.member_job[member]
            if not s.member_is_ready[member]:
                continue
            if found < end:
                put_off(s, options, job, now_us)
            else:
                n_got = choose_other_nodes(s, options, member, now_us)
                s.job_limit_us[job] = s.job_least_us[job]
                start(s, options, job, s.member_part[member], n_got, FILLED, now_us)


def are_ready(s, first, end):
    """Whether all waiting components could start now."""
    n_ready = 0
    for member in range(first, end):
        if s.member_is_ready[member]:
            n_ready += 1
        elif s.job_state[s.member_job[member]] <= ELIGIBLE:
            return False
    return n_ready > 0


def are_over(s, first, end, now_us):
    """Whether a limit, or a lack of licences, keeps a component from starting with those before it."""
    member, is_any = first, False
    while member < end and not is_any:
        job = s.member_job[member]
        if s.member_is_ready[member]:
            is_any = is_over(s, job, s.member_part[member], now_us) or lacks_licences(s, job)
            count_running(s, job, 1)
            count_licences(s, job, -1)
        member += 1
    while member > first:
        member -= 1
        if s.member_is_ready[member]:
            count_running(s, s.member_job[member], -1)
            count_licences(s, s.member_job[member], 1)
    return is_any


def find_together(s, options, first, end, now_us):
    """Return the first component that finds no nodes after those before it, or must preempt others; else ``end``."""
    fill(s.group_nodes, 0)
    s.n_victims[0] = 0
    for member in range(first, end):
        if s.member_is_ready[member] and (choose_other_nodes(s, options, member, now_us) == 0 or s.n_victims[0] > 0):
            return member
    return end


def choose_other_nodes(s, options, member, now_us):
    """Find nodes for a component that no other component of its job has. Returns how many."""
    job, part = s.member_job[member], s.member_part[member]
    find_nodes(s, job, part, now_us, now_us + s.job_least_us[job], s.may)
    for word in range(s.may.shape[0]):
        s.may[word] &= ALL - s.group_nodes[word]
    n_got = choose_now(s, options, job, part, now_us)
    for k in range(n_got):
        put(s.group_nodes, 0, s.got_node[k])
    return n_got
