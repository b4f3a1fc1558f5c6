"""The tree of accounts and users: shares for fair share, and the accounts above each association for limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROOT = "root"


@dataclass
class Accounts:
    """Associations, parents before their children: the root, accounts, users in accounts."""

    parent: list[int]
    names: list[tuple[str, str]]  # account and user
    values: list[Mapping[str, Any]]
    known: dict[tuple[str, str], int] = field(default_factory=dict)  # the index of each name

    @classmethod
    def of(cls, given: Mapping[str, Mapping[str, Any]]) -> "Accounts":
        """Build the tree. An account whose parent is unknown is below the root. Without accounts there is no tree."""
        found = cls([], [], [])
        if not given:
            return found
        found._add(-1, ROOT, "", {})
        left = dict(given)
        while left:
            ready = [name for name, one in left.items() if str(one.get("parent", ROOT)) not in left]
            for name in ready or list(left):
                one = left.pop(name)
                up = found.number(str(one.get("parent", ROOT)), "")
                found._add(max(up, 0), name, "", one)
        for name, one in given.items():
            for user, values in (one.get("users") or {}).items():
                found._add(found.number(name, ""), name, str(user), values or {})
        found._add(0, ROOT, ROOT, {})
        return found

    def _add(self, parent: int, account: str, user: str, values: Mapping[str, Any]) -> None:
        self.known.setdefault((account, user), len(self.names))
        self.parent.append(parent)
        self.names.append((account, user))
        self.values.append(values)

    def number(self, account: str, user: str) -> int:
        """Return the index of an association, or -1 if it does not exist."""
        return self.known.get((account, user), -1)

    def line(self, number: int) -> list[int]:
        """Return an association and all accounts above it."""
        found = []
        while number >= 0:
            found.append(number)
            number = self.parent[number]
        return found

    def priorities(self) -> list[float]:
        """Return the priority of each association, which is inherited from the account above it if not given."""
        found = list[float]()
        for up, one in zip(self.parent, self.values, strict=True):
            found.append(float(one.get("priority", found[up] if up >= 0 else 0.0)))
        return found

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the policy about associations."""
        n = len(self.parent)
        lines = [self.line(i)[::-1] for i in range(n)]
        deepest = max((len(line) for line in lines), default=1)
        above = np.zeros((n, deepest), np.int64)
        for i, line in enumerate(lines):
            above[i, : len(line)] = line
        shares = np.array([float(one.get("shares", 1.0)) for one in self.values])
        below = np.zeros(n + 1)  # of each parent; the root has none, -1
        np.add.at(below, self.parent, np.maximum(shares, 0.0))
        return {
            "parent": self.parent,
            "depth": [len(line) - 1 for line in lines],
            "above": above,
            "raw_shares": shares,
            "sibling_shares": below[np.array(self.parent, int)],
            "is_user": [user != "" for _, user in self.names],
            "usage": [float(one.get("usage", 0.0)) for one in self.values],
        }
