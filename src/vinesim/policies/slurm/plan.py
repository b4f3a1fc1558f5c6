"""Backfill's plan for one cycle: consecutive records of time, each with the nodes that are planned for nobody.

A job that looks for its time asks for stretches of the plan that begin later and later. The records of a stretch form a
queue in two parts, so that each record is read twice in total instead of once per stretch. For the first part, the
nodes left from each record to its last one are kept (``rest_nodes``); for the second, the nodes left in all of it.
"""

from vinesim.policies.slurm.node_sets import ALL, fill, has, remove

NEVER = 1e300
FIRST, LAST, MIDDLE = range(3)  # of stretch: its first and last record, and the last of its first part


def begin_plan(s, from_us, until_us):
    """Begin an empty plan."""
    s.n_records[0] = 1
    s.record_begin_us[0], s.record_end_us[0], s.record_row[0] = from_us, until_us, 0
    for word in range(s.may.shape[0]):
        s.record_nodes[word] = ALL
    fill(s.planned_from_us, NEVER)


def begin_stretch(s):
    """Begin the search for the start of a job."""
    s.stretch[FIRST], s.stretch[LAST], s.stretch[MIDDLE] = 0, -1, -1


def keep_unplanned(s, begin_us, until_us, end_us):
    """Keep only nodes that are planned for nobody during a time, which must begin later than that of the previous call.

    Returns the first end of a record in that time, before the end of the window.
    """
    n, n_words, at = s.n_records[0], s.may.shape[0], s.stretch
    while at[FIRST] < n and s.record_end_us[at[FIRST]] <= begin_us:
        at[FIRST] += 1
    if at[FIRST] >= n:
        return NEVER
    while at[LAST] + 1 < n and s.record_begin_us[at[LAST] + 1] <= until_us:
        at[LAST] += 1
        row = s.record_row[at[LAST]] * n_words
        for word in range(n_words):
            s.second_nodes[word] &= s.record_nodes[row + word]
    if at[FIRST] > at[MIDDLE]:
        begin_second(s)
    first = at[FIRST] * n_words
    for word in range(n_words):
        s.may[word] &= s.rest_nodes[first + word] & s.second_nodes[word]
    ends_us = s.record_end_us[at[FIRST]]
    return ends_us if ends_us < end_us else NEVER


def begin_second(s):
    """Make all records of the stretch its first part."""
    n_words, last = s.may.shape[0], s.stretch[LAST]
    s.stretch[MIDDLE] = last
    fill(s.second_nodes, ALL)
    for i in range(last, s.stretch[FIRST] - 1, -1):
        row = s.record_row[i] * n_words
        for word in range(n_words):
            left = ALL if i == last else s.rest_nodes[(i + 1) * n_words + word]
            s.rest_nodes[i * n_words + word] = left & s.record_nodes[row + word]


def is_unplanned(s, n_got, from_us, until_us):
    """Whether the chosen nodes are planned for nobody during a time."""
    n_words = s.may.shape[0]
    for i in range(s.n_records[0]):
        if s.record_begin_us[i] >= until_us:
            return True
        if s.record_end_us[i] > from_us:
            row = s.record_row[i] * n_words
            for k in range(n_got):
                node = s.got_node[k]
                if not has(s.record_nodes, row, node):
                    return False
    return True


def reserve(s, from_us, until_us, n_got):
    """Plan the chosen nodes for a time, splitting records at its ends."""
    split(s, from_us)
    split(s, until_us)
    n_words = s.may.shape[0]
    for k in range(n_got):
        node = s.got_node[k]
        s.planned_from_us[node] = min(s.planned_from_us[node], from_us)
    for i in range(s.n_records[0]):
        if s.record_begin_us[i] >= from_us and s.record_end_us[i] <= until_us:
            row = s.record_row[i] * n_words
            for k in range(n_got):
                node = s.got_node[k]
                remove(s.record_nodes, row, node)


def split(s, at_us):
    """Split the record that contains a time, so that a record ends there."""
    n, n_words = s.n_records[0], s.may.shape[0]
    if n >= s.record_begin_us.shape[0]:
        return
    for i in range(n):
        if s.record_begin_us[i] < at_us < s.record_end_us[i]:
            for j in range(n, i + 1, -1):
                s.record_begin_us[j], s.record_end_us[j] = s.record_begin_us[j - 1], s.record_end_us[j - 1]
                s.record_row[j] = s.record_row[j - 1]
            for word in range(n_words):
                s.record_nodes[n * n_words + word] = s.record_nodes[s.record_row[i] * n_words + word]
            s.record_begin_us[i + 1], s.record_end_us[i + 1], s.record_row[i + 1] = at_us, s.record_end_us[i], n
            s.record_end_us[i] = at_us
            s.n_records[0] += 1
            return
