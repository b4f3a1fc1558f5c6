"""Codes in the arrays of the policy: states, actions of the scheduler, preemption modes, dependencies."""

from vinesim.formats.slurm.values import COUNTED

# states of a job
ABSENT, HELD, ELIGIBLE, RUNNING, SUSPENDED, OVER = range(6)

# periodic actions of the scheduler: indices of ``due_us``
CALCULATION, LIMITS, WAKE, EVENT_RUN, FULL_RUN, BACKFILL = range(6)

# what happens to a job that is preempted
OFF, CANCEL, REQUEUE, SUSPEND = range(4)
PREEMPT_MODES = {"off": OFF, "cancel": CANCEL, "requeue": REQUEUE, "suspend": SUSPEND}

# which scheduler started a job
MAIN, FILLED = range(2)

# which tier and priority the components of a heterogeneous job get: the lowest, mean or highest among them
BY_COMPONENT, BY_MINIMUM, BY_MEAN, BY_MAXIMUM = range(4)
HETJOB_PRIORITIES = {"off": BY_COMPONENT, "min": BY_MINIMUM, "avg": BY_MEAN, "max": BY_MAXIMUM}

# dependencies
AFTER, AFTER_ANY, AFTER_OK, AFTER_NOT_OK = range(4)
DEPENDENCIES = {
    "after": AFTER,
    "afterany": AFTER_ANY,
    "afterok": AFTER_OK,
    "afternotok": AFTER_NOT_OK,
    "aftercorr": AFTER_OK,
}

# what the scheduler wants of the engine
START, STOP, KILL = range(3)

# resources that limits count: COUNTED
CPU, MEMORY, NODE, GPU, BILLING = range(5)
N_COUNTED = len(COUNTED)

# GPUs that a job asks for
NO_KIND, ANY_KIND = -1, -2

US_PER_S = 1e6
US_PER_MINUTE = 6e7
