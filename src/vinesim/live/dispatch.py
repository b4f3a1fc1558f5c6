"""How long dispatching took, beyond the kernels: drawn again, request by request, for simulations of a live run.

A draw is the time that a similar request took: of the same application, on the same processor type, of about the same
size, when about as many requests waited. Where fewer than ``LEAST`` requests were similar, size, waiting, type and
application are given up one after another.
"""

from dataclasses import dataclass

import numpy as np

LEAST = 10  # measured requests that are drawn from, at least
SIZES = 4  # classes of sizes of an application, equally frequent


@dataclass(frozen=True)
class Dispatches:
    """The measured dispatches [N] of a run, in us; of a consolidated request its share."""

    application: np.ndarray  # code of each
    unit_type: np.ndarray  # where it ran
    size: np.ndarray
    n_waiting: np.ndarray  # when it was issued
    took_us: np.ndarray  # NaN: it was dropped

    def draw(self, n_types: int, random: np.random.Generator) -> np.ndarray:
        """Return a dispatch of each request on each type, in us, [N, P]."""
        return np.stack([self._on(kind, random) for kind in range(n_types)], axis=1)

    def _on(self, kind: int, random: np.random.Generator) -> np.ndarray:
        n = len(self.took_us)
        found, is_open = np.empty(n), np.ones(n, bool)
        sizes, waiting = self._size_class(), _bit_length(self.n_waiting)
        asked, is_measured = np.full(n, kind), np.isfinite(self.took_us)
        took_us = self.took_us[is_measured]
        levels = [  # what the measured requests are, and what is asked for: from most alike to anything
            ((self.application, self.unit_type, waiting, sizes), (self.application, asked, waiting, sizes)),
            ((self.application, self.unit_type, waiting), (self.application, asked, waiting)),
            ((self.application, self.unit_type), (self.application, asked)),
            ((self.application,), (self.application,)),
        ]
        for measured, wanted in levels:
            drawn, is_enough = _drawn(took_us, tuple(one[is_measured] for one in measured), wanted, random)
            take = is_open & is_enough
            found[take], is_open = drawn[take], is_open & ~is_enough
        found[is_open] = random.choice(took_us, int(is_open.sum()))
        return found

    def _size_class(self) -> np.ndarray:
        """[N]: the class of each request's size among those of its application."""
        found = np.zeros(len(self.size), np.int64)
        for application in np.unique(self.application):
            of = self.application == application
            edges = np.quantile(self.size[of], np.arange(1, SIZES) / SIZES)
            found[of] = np.searchsorted(edges, self.size[of], side="left")
        return found


def waiting_at(issued_us: np.ndarray, arrival_us: np.ndarray) -> np.ndarray:
    """Return how many requests waited when each was issued, without those issued at the same instant."""
    came = np.searchsorted(np.sort(arrival_us), issued_us, side="right")
    return came - np.searchsorted(np.sort(issued_us), issued_us, side="right")


def _bit_length(counts: np.ndarray) -> np.ndarray:
    """[N]: 0, 1, 2 to 3, 4 to 7 and so on as 0, 1, 2, 3 ..."""
    return np.ceil(np.log2(np.maximum(counts, 0) + 1)).astype(np.int64)


def _drawn(
    values: np.ndarray, measured: tuple[np.ndarray, ...], wanted: tuple[np.ndarray, ...], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw for each wanted key one of the values that were measured with it. Returns the draws, and whether there were
    enough values to draw from."""
    n, n_wanted = len(values), len(wanted[0])
    keys = np.concatenate([np.stack(measured, axis=1), np.stack(wanted, axis=1)])
    code = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(code[:n], kind="stable")
    counts = np.bincount(code[:n], minlength=int(code.max()) + 1)
    first = np.concatenate(([0], np.cumsum(counts)))[code[n:]]
    of = counts[code[n:]]
    at = np.minimum(first + (random.random(n_wanted) * of).astype(np.int64), n - 1)
    return values[order[at]], of >= LEAST
