"""Words of the family: in which order queues are, how requests are relaxed, and which heaps hold a task."""

BY_ARRIVAL, SHORTEST, LONGEST, LONGEST_AGED = range(4)  # orders of the queues
STRICT, RELAXES, TWO_PHASE, SKIPS_EMPTY = 0, 1, 2, 4  # how requests are relaxed, as flags
STAYS, FROM_TAIL, FROM_HEAD = 0, -1, 1  # whether accelerator tasks may move to a CPU, and from which end they are tried
IN_ORDER, BY_LENGTH, TO_MOVE, BY_CPU_TIME = 1, 2, 4, 8  # the heaps that hold a task, as flags
