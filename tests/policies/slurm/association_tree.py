"""A tree of associations as the arrays that the rules of fair share take, made of (account, user, parent, shares)."""

from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    keys: list[tuple[str, str]]
    parent: np.ndarray
    shares: np.ndarray
    siblings: np.ndarray
    is_user: np.ndarray
    depth: np.ndarray
    above: np.ndarray

    @property
    def users(self) -> np.ndarray:
        return np.flatnonzero(self.is_user)


def tree_of(rows: list[tuple[str, str, str, float]]) -> Tree:
    """Parents come before their children; a user's parent is its account."""
    parent_of = {(account, user): (parent, "") for account, user, parent, _ in rows}
    shares_of = {(account, user): shares for account, user, _, shares in rows}
    keys = [("root", "")]
    while len(keys) < len(rows):
        keys += [key for key in parent_of if key not in keys and parent_of[key] in keys]
    number = {key: i for i, key in enumerate(keys)}
    parent = np.array([-1, *(number[parent_of[key]] for key in keys[1:])])
    shares = np.array([shares_of[key] for key in keys])
    siblings = np.array([np.maximum(shares[1:], 0)[parent[1:] == up].sum() for up in parent])
    depth = np.zeros(len(keys), int)
    for i in range(1, len(keys)):
        depth[i] = depth[parent[i]] + 1
    above = np.zeros((len(keys), depth.max() + 1), int)
    for i in range(len(keys)):
        up = i
        while up >= 0:
            above[i, depth[up]], up = up, parent[up]
    return Tree(keys, parent, shares, siblings, np.array([bool(user) for _, user in keys]), depth, above)
