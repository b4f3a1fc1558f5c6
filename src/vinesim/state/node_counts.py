"""How many tasks run on each node, before the first event: see ``state/least_busy.py`` for what it is for."""

import numpy as np

from vinesim.state.layout import UNFIT, Model

FEW = 32  # nodes: so many are looked at one by one


def first_counts(model: Model, is_kept: bool) -> list[np.ndarray]:
    """[P, V], [P, V / 64], [P, V / 4096] int32: the numbers before all nodes are counted; or [0, 0] if none is kept."""
    n_types, n = len(model.affinity) if is_kept else 0, len(model.node_rack) if is_kept else 0
    return [np.full((n_types, -(-n // size)), UNFIT, np.int32) for size in (1, 64, 4096)]


def keeps_counts(model: Model, scores_nodes: bool) -> bool:
    """Whether the numbers are kept for a policy that looks for the least busy node."""
    return model.node_first[-1] > 0 and (scores_nodes or len(model.node_rack) > FEW)
