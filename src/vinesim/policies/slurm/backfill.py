"""Backfilling: plan the queue in its order, and start jobs that fit now without delaying what is planned.

For each job, the question is when there will be room if running jobs end at their limits (``will_run``). Running jobs
are assumed to end in the order of their limits, in windows of 30 s that double, or grow by ``bf_window_linear``. A
planned job takes whole nodes from its start until the end of its limit, both rounded down to ``bf_resolution``. If a
job finds no room at a time, it is tried again at the next end of a record of the plan, or of a reservation.

Jobs over a limit or without their licences get no plan, nor do the jobs that ``depth.py`` names. A job with
``--time-min`` is planned with that time as its limit, and keeps it if it starts here. A job that fits if others are
preempted is planned, and the others are preempted; it starts no sooner than the next cycle or the next run of the main
scheduler. Source: what Slurm 22.05 was seen to do.
"""

import math

from vinesim.policies.slurm.codes import BY_COMPONENT, ELIGIBLE, FILLED, US_PER_MINUTE, US_PER_S
from vinesim.policies.slurm.consecutive import gather, put_back
from vinesim.policies.slurm.cores import suppose_cores
from vinesim.policies.slurm.depth import begin_tests, is_array_planned, may_be_planned, may_be_tested, note_plan
from vinesim.policies.slurm.ends import (
    begin_ready,
    cpus_after,
    first_after,
    last_end,
    may_be_ready,
    next_end,
    suppose_ends,
)
from vinesim.policies.slurm.events import want_event_run
from vinesim.policies.slurm.heterogeneous import be_ready, begin_together, from_us, let_follow, start_together
from vinesim.policies.slurm.limits import is_over, is_over_there, lacks_licences
from vinesim.policies.slurm.node_sets import ALL, has, n_in, put
from vinesim.policies.slurm.nodes import (
    choose,
    choose_in_use,
    find_nodes,
    first_end_of_reservation,
    has_room_until,
    may_have_room,
)
from vinesim.policies.slurm.plan import begin_plan, begin_stretch, is_unplanned, keep_unplanned, reserve
from vinesim.policies.slurm.preemption import choose_now, class_of
from vinesim.policies.slurm.queue import tidy
from vinesim.policies.slurm.starting import make_room, start

WINDOW_US = 30e6
NEVER = 1e300
MOST_TRIES = 200


def run_backfill(s, options, now_us):
    """Run one cycle."""
    tidy(s)
    end_us = now_us + options.bf_window * US_PER_MINUTE
    begin_plan(s, now_us, end_us)
    begin_tests(s, options)
    begin_together(s)
    if options.hetjob_prio != BY_COMPONENT:
        gather(s, options)
    s.n_cycles[0] += 1
    n_tested, n_started, i, n = 0, 0, 0, s.n_entries[0]
    while i < n:
        job, part, priority = s.entry_job[i], s.entry_part[i], s.entry_priority[i]
        i += 1
        if s.job_state[job] != ELIGIBLE or is_over(s, job, part, now_us) or lacks_licences(s, job):
            continue
        if is_array_planned(s, options, job):
            continue
        n = end_of_startable(s, options, i - 1, n, now_us)
        if n < i or n_tested >= options.bf_max_job_test or 0 < options.bf_max_job_start <= n_started:
            break
        n_tested += 1
        if not may_be_tested(s, options, job, part):
            continue
        plans = may_be_planned(s, options, job, part, priority, now_us)
        if try_job(s, options, job, part, now_us, end_us, plans):
            n_started += 1
    if options.hetjob_prio != BY_COMPONENT:
        put_back(s)
    start_together(s, options, now_us)


def end_of_startable(s, options, first, end, now_us):
    """Return the end of the part of the queue, from the entry ``first`` on, that holds jobs that may start now.

    Plans for jobs behind it would change nothing, because a plan is for one cycle. With 1,000 nodes most cycles end
    here.
    """
    if options.preempts:
        return end
    while end > first and not may_start(s, s.entry_job[end - 1], s.entry_part[end - 1], now_us):
        end -= 1
    return end


def may_start(s, job, part, now_us):
    """Whether the nodes that are free now, and planned for nobody until the job's limit, suffice for the job.

    Once this is false in a cycle, it stays false.
    """
    request, until_us = s.job_request[job], now_us + s.job_least_us[job]
    if s.job_state[job] == ELIGIBLE and s.job_member[job] >= 0:
        return True
    if s.job_state[job] != ELIGIBLE or not may_have_room(s, request, part):
        return False
    at = request * s.part_tier.shape[0] + part
    if s.full_in[at] == s.n_cycles[0] and s.full_us[at] <= until_us:
        return False
    if has_room_until(s, request, part, until_us):
        return True
    s.full_in[at], s.full_us[at] = s.n_cycles[0], until_us
    return False


def try_job(s, options, job, part, now_us, end_us, plans):
    """Start a job, or plan it if ``plans``. Returns whether it starts."""
    request, later_us, limit_us = s.job_request[job], from_us(s, job, now_us), s.job_least_us[job]
    begin_stretch(s)
    begin_ready(s, request)
    for _ in range(MOST_TRIES):
        begin_us = later_us
        find_nodes(s, job, part, begin_us, begin_us + limit_us, s.may)
        later_us = min(first_end_of_reservation(s, job, begin_us, begin_us + limit_us), NEVER)
        later_us = min(later_us, keep_unplanned(s, begin_us, begin_us + limit_us, end_us))
        at_us, n_got = NEVER, 0
        if not options.preempts or n_in(s.may) >= s.request_least[request]:
            at_us, n_got = will_run(s, options, job, part, now_us, later_us)
        if n_got == 0:
            if later_us < end_us and plans:
                continue
            return False
        is_now = at_us <= now_us and begin_us <= now_us
        if is_now and is_over_there(s, options, job, part, n_got, now_us):
            return False
        if is_now and s.job_member[job] >= 0:
            be_ready(s, job, part)
        elif is_now and s.n_victims[0] > 0:
            make_room(s, options, now_us)
            want_event_run(s, options, now_us)
        elif is_now:
            s.job_limit_us[job] = limit_us
            start(s, options, job, part, n_got, FILLED, now_us)
            return True
        if not plans:
            return False
        at_us = max(at_us, begin_us)
        if at_us > later_us:
            continue
        if at_us + limit_us > end_us:
            return False
        if not is_free_then(s, job, part, n_got, at_us, at_us + limit_us):
            if later_us >= NEVER:
                return False
            continue
        if is_over_there(s, options, job, part, n_got, now_us):
            return False
        first_us, until_us = rounded(s, options, at_us), rounded(s, options, at_us + limit_us)
        if until_us > first_us:
            reserve(s, first_us, until_us, n_got)
        note_plan(s, options, job, part)
        let_follow(s, job, at_us)
        return False
    return False


def rounded(s, options, us):
    """Return a time rounded down to ``bf_resolution``, as in the plan."""
    step_us = options.bf_resolution * US_PER_S
    return math.floor((us + s.phase_us[5]) / step_us) * step_us - s.phase_us[5]


def will_run(s, options, job, part, now_us, by_us):
    """Return when a job could start on the nodes that it may have, given the limits of running jobs, and on how many.

    If that is later than ``by_us``, the time is only a lower bound.
    """
    s.n_victims[0] = 0
    request = s.job_request[job]
    is_soon = options.suspends or may_be_ready(s, request, by_us)
    if not is_soon and not options.preempts:
        return NEVER, 0
    size, n_words = s.request_size[request], s.may.shape[0]
    for word in range(n_words):
        s.able[word] = s.may[word] & (ALL if options.suspends else s.ready_now[size * n_words + word])
    n_ready, n_got = n_in(s.able), 0
    if options.preempts:
        n_got = choose_now(s, options, job, part, now_us)
    elif n_ready >= s.request_least[request] and may_have_room(s, request, part):
        n_got = choose(s, request, s.able, s.free_cpus, s.free_memory, s.free_kinds)
    if n_got > 0:
        return now_us, n_got
    if not is_soon:
        return NEVER, 0
    first, n_passed, n_counted, n_cpus = size * s.node_cpus.shape[0], 0, 0, 0
    needs_more = s.size_cpus[size] * s.request_least[request] < s.request_cpus[request]
    k, window_us = next_end(s, 0), WINDOW_US
    while k < s.n_ends[0]:
        end = first_after(s, k, s.end_us[k] + window_us)
        last_us = s.end_us[last_end(s, end)]
        if last_us > by_us:
            return last_us, 1
        while n_passed < s.n_ready[size] and s.ready_end[first + n_passed] < end:
            n_ready += has(s.may, 0, s.ready_node[first + n_passed])
            n_passed += 1
        wider_us = window_us if options.bf_window_linear == 0.0 else options.bf_window_linear * US_PER_S
        k, window_us = next_end(s, end), window_us + wider_us
        if not options.suspends:
            if n_ready < s.request_least[request]:
                continue
            if needs_more:
                n_cpus, n_counted = n_cpus + cpus_after(s, n_counted, end), end
                if n_cpus < s.request_cpus[request]:
                    continue
        for i in range(first, first + n_passed):
            if has(s.may, 0, s.ready_node[i]):
                put(s.able, 0, s.ready_node[i])
        suppose_ends(s, end)
        if options.suspends:
            suppose_cores(s, end, s.class_level[class_of(s, job, part)])
        if options.bf_busy_nodes:
            n_got = choose_in_use(s, request, s.able, s.then_cpus, s.then_memory, s.then_kinds)
        else:
            n_got = choose(s, request, s.able, s.then_cpus, s.then_memory, s.then_kinds)
        if n_got > 0:
            return (last_us if last_us > now_us else now_us + US_PER_S), n_got
    return NEVER, 0


def is_free_then(s, job, part, n_got, at_us, until_us):
    """Whether the chosen nodes are neither planned for anybody nor reserved at the time for which they were chosen."""
    if not is_unplanned(s, n_got, at_us, until_us):
        return False
    find_nodes(s, job, part, at_us, until_us, s.may)
    for k in range(n_got):  # noqa: SIM110 - compiled
        if not has(s.may, 0, s.got_node[k]):
            return False
    return True
