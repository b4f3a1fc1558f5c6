"""The main scheduler: go through the queue in order, and start the jobs that fit now.

The first job of a partition that lacks room closes the partition until the end of the run, and its nodes for the jobs
of all others. So does any component of a heterogeneous job, because only backfill starts it. A job that names all the
nodes that it wants closes only these. Some jobs close nothing: those over a limit, those without their licences, those
too young or of too low a priority for a plan (``depth.py``), and those stopped only by a reservation. Source: what
Slurm 22.05 was seen to do.
"""

from vinesim.policies.slurm.codes import ELIGIBLE, MAIN
from vinesim.policies.slurm.depth import is_passed_by
from vinesim.policies.slurm.limits import is_over, is_over_there, lacks_licences
from vinesim.policies.slurm.node_sets import ALL, fill
from vinesim.policies.slurm.nodes import choose, find_nodes, first_end_of_reservation
from vinesim.policies.slurm.preemption import choose_now
from vinesim.policies.slurm.queue import tidy
from vinesim.policies.slurm.starting import make_room, start


def run_main(s, options, most, now_us):
    """Try the first ``most`` entries of the queue."""
    tidy(s)
    fill(s.is_closed, False)
    fill(s.not_closed, ALL)
    fill(s.part_tested, 0)
    n_tried, n_started = 0, 0
    for i in range(s.n_entries[0]):
        job, part = s.entry_job[i], s.entry_part[i]
        if s.job_state[job] != ELIGIBLE:
            continue  # it has just started in another partition
        if 0 < options.partition_job_depth <= s.part_tested[part]:
            continue
        s.part_tested[part] += 1
        n_tried += 1
        if n_tried > most:
            break
        if s.is_closed[part]:
            continue
        if is_over(s, job, part, now_us):
            if options.assoc_limit_stop:
                close(s, part)
            continue
        if s.job_member[job] >= 0:
            close(s, part)  # only backfill starts it
        elif not lacks_licences(s, job) and try_entry(s, options, job, part, s.entry_priority[i], now_us):
            n_started += 1
            if n_started == options.sched_max_job_start:
                break


def try_entry(s, options, job, part, priority, now_us):
    """Start a job if it fits now, otherwise close its partition or named nodes. Returns whether it starts."""
    find_nodes(s, job, part, now_us, now_us + s.job_limit_us[job], s.may)
    for word in range(s.may.shape[0]):
        s.may[word] &= s.not_closed[word]
    n_got = choose_now(s, options, job, part, now_us)
    if n_got > 0 and is_over_there(s, options, job, part, n_got, now_us):
        if options.assoc_limit_stop:
            close(s, part)
        return False
    if n_got > 0 and make_room(s, options, now_us):
        start(s, options, job, part, n_got, MAIN, now_us)
        return True
    if not is_passed_by(s, options, job, priority, now_us) and not is_stopped_by_reservation(s, job, part, now_us):
        if names_all(s, s.job_request[job]):
            close_nodes(s, s.named_nodes, s.request_named[s.job_request[job]])
        else:
            close(s, part)
    return False


def names_all(s, request):
    """Whether a request names at least as many nodes as it needs."""
    return s.request_n_named[request] >= s.request_least[request]


def close(s, part):
    """Start no more jobs of a partition in this run, nor other jobs on its nodes."""
    s.is_closed[part] = True
    close_nodes(s, s.part_nodes, part)


def close_nodes(s, nodes, number):
    """Start no more jobs on the nodes of a set in this run."""
    n_words = s.not_closed.shape[0]
    for word in range(n_words):
        s.not_closed[word] &= ALL - nodes[number * n_words + word]


def is_stopped_by_reservation(s, job, part, now_us):
    """Whether only reservations keep a job from fitting on empty nodes."""
    end_us = now_us + s.job_limit_us[job]
    if first_end_of_reservation(s, job, now_us, end_us) >= 1e300:
        return False
    find_nodes(s, job, part, now_us, end_us, s.may)
    if choose(s, s.job_request[job], s.may, s.node_cpus, s.node_memory, s.node_kinds) > 0:
        return False
    n_words = s.may.shape[0]
    for word in range(n_words):
        s.may[word] = s.part_nodes[part * n_words + word] & s.up_nodes[word]
    return choose(s, s.job_request[job], s.may, s.node_cpus, s.node_memory, s.node_kinds) > 0
