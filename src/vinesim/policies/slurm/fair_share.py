"""Usage and fair share: what each association has used, and how far it is below what its shares promise.

Usage is billing units x seconds, and halves with each half life H. At each calculation, a period P after the last one,
usage U becomes U 2^(-P/H) + n b 2^(-n/H) for a job that ran n seconds of that period and is billed b units. When a job
ends, what it ran since the last calculation is added in the same way. H = 0 means that usage never decays.

Associations (accounts, and users in accounts) are numbered so that parents come before their children, the root first.
The usage of an account is the sum of what is in it. ``shares`` of -1 stand for ``parent``: the user has the account's.

Fair tree, Slurm's default: the level of an association is its part of its siblings' shares divided by its part of their
usage. Users are compared from the root down, by the levels of the accounts that they are in and then by their own; the
one with the higher level comes first. The factor of a user is its rank divided by the number of users; the best user
has the highest rank, and equal users share the better one.

Classic: 2^(-U/S). S is the product of the parts of the shares down the tree. U is the usage as a part of all usage, to
which a child adds a part of what its account used beyond the child's own usage, in proportion to its shares.

Sources: the manual pages "Fair Tree Fairshare Algorithm" and "Multifactor Priority Plugin", and what Slurm 22.05 was
seen to print.
"""

import numpy as np

PARENT = -1.0  # as shares


def decayed(usage, seconds, half_life_s):
    """Return the share of usage that is left after some seconds."""
    return usage * 2.0 ** (-seconds / half_life_s) if half_life_s > 0.0 else usage


def of_job(seconds, billing, half_life_s):
    """Return the usage that a job adds if it ran this many seconds since the last calculation."""
    return decayed(seconds * billing, seconds, half_life_s)


def add_up(parent, is_user, usage):
    """Set the usage of each account to the sum of what is in it. Parents come before their children."""
    for i in range(parent.shape[0]):
        if not is_user[i]:
            usage[i] = 0.0
    for i in range(parent.shape[0] - 1, 0, -1):
        usage[parent[i]] += usage[i]


def part_of_shares(i, parent, shares, siblings):
    """Return an association's part of its siblings' shares; ``siblings[i]`` is the sum of these."""
    return shares[i] / siblings[i] if shares[i] > 0.0 else 0.0


def level_of(i, parent, shares, siblings, usage):
    """Return the level of an association: infinite without usage or with its account's shares, 0 without shares."""
    if shares[i] == PARENT or (shares[i] > 0.0 and usage[i] <= 0.0):
        return np.inf
    if shares[i] == 0.0:
        return 0.0
    return part_of_shares(i, parent, shares, siblings) * usage[parent[i]] / usage[i]


def comes_before(one, other, depth, above, levels):
    """Whether a user is ranked before another one.

    ``above`` has a row for each association: its accounts from the root down, and itself, indexed by depth.
    """
    width = above.shape[0] // depth.shape[0]
    for d in range(1, min(depth[one], depth[other]) + 1):
        a, b = levels[above[one * width + d]], levels[above[other * width + d]]
        if a != b:
            return a > b
    return depth[one] < depth[other]


def fair_tree(parent, depth, above, shares, siblings, usage, levels, order, factor):
    """Compute the factor of each user. ``order`` has the users as ranked last time, and is sorted again."""
    for i in range(1, parent.shape[0]):
        levels[i] = level_of(i, parent, shares, siblings, usage)
    n = order.shape[0]
    for i in range(1, n):
        user, j = order[i], i
        while j > 0 and comes_before(user, order[j - 1], depth, above, levels):
            order[j] = order[j - 1]
            j -= 1
        order[j] = user
    rank = n
    for i in range(n):
        if i > 0 and comes_before(order[i - 1], order[i], depth, above, levels):
            rank = n - i
        factor[order[i]] = rank / n


def classic(parent, shares, siblings, usage, normalized, effective, factor):
    """Compute the factor of each association; ``normalized`` and ``effective`` are S and U."""
    normalized[0], effective[0], factor[0] = 1.0, 1.0, 0.5
    for i in range(1, parent.shape[0]):
        up = parent[i]
        if shares[i] == PARENT:
            normalized[i], effective[i], factor[i] = normalized[up], effective[up], factor[up]
            continue
        part = part_of_shares(i, parent, shares, siblings)
        own = usage[i] / usage[0] if usage[0] > 0.0 else 0.0
        normalized[i] = normalized[up] * part
        effective[i] = own if up == 0 else own + (effective[up] - own) * part
        factor[i] = 2.0 ** (-effective[i] / normalized[i]) if normalized[i] > 0.0 else 0.0
