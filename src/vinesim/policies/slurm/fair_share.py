"""Fair share: how far users are from using what their shares promise. Fair tree, Slurm's default, and the classic.

Associations, accounts and users in accounts, are numbered so that parents come before their children, the root first.
``shares`` of -1 stand for ``parent``: the user has the account's own. ``usage`` is the decayed usage, of accounts the
sum of what is in them (``usage.py``).

Fair tree: the level of an association is its part of its siblings' shares divided by its part of their usage. A user
comes before another one if its level is higher, or that of the accounts that they are in, from the root down; so the
children of equal accounts are compared with one another. The factor is the rank, the best first and equal users with
the better one, divided by the number of users.
Classic: 2^(-U/S), with S the product of the parts of the shares down
the tree, and U the usage as a part of all usage, in which a child has some of what its account used beyond its own, by
its shares.
Sources: the manual pages "Fair Tree Fairshare Algorithm" and "Multifactor Priority Plugin", and what Slurm
22.05 was seen to print.
"""

import numpy as np

PARENT = -1.0  # as shares


def part_of_shares(i, parent, shares, siblings):
    """The part of its siblings' shares that an association has; ``siblings[i]`` is the sum of these."""
    return shares[i] / siblings[i] if shares[i] > 0.0 else 0.0


def level_of(i, parent, shares, siblings, usage):
    """The level of an association: infinite without usage or with the shares of its account, 0 without shares."""
    if shares[i] == PARENT or (shares[i] > 0.0 and usage[i] <= 0.0):
        return np.inf
    if shares[i] == 0.0:
        return 0.0
    return part_of_shares(i, parent, shares, siblings) * usage[parent[i]] / usage[i]


def comes_before(one, other, depth, above, levels):
    """Whether a user is ranked before another one. ``above`` has a row for each association: those at each depth, from
    the root down, in whose tree it is."""
    width = above.shape[0] // depth.shape[0]
    for d in range(1, min(depth[one], depth[other]) + 1):
        a, b = levels[above[one * width + d]], levels[above[other * width + d]]
        if a != b:
            return a > b
    return depth[one] < depth[other]


def fair_tree(parent, depth, above, shares, siblings, usage, levels, order, factor):
    """Fill the factor of each user. ``order`` has the users in the order of the last time, and is sorted again."""
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
    """Fill the factor of each association; ``normalized`` and ``effective`` are S and U."""
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
