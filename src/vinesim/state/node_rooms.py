"""The index of nodes before the first event: see ``state/node_index.py`` for what it holds and answers."""

import numpy as np

from vinesim.state.layout import BESIDE, COLUMNS, FAN, FULL, OVERFULL, ROOT, SLACK, Model


def empty_rooms(model: Model) -> np.ndarray:
    """[R, at least L + C - 1] the index as if no node had room: it is brought up to date when it is first asked; [0, 0]
    where the units have an order of their own."""
    n_nodes, n_leads = len(model.node_rack), len(model.lead_type)
    if model.node_first[-1] == 0:
        return np.empty((0, 0), np.int16)
    n_above, n_leaves = 1, FAN  # rows: the root, and those below it
    while n_leaves < n_nodes:
        n_above, n_leaves = n_above + n_leaves, n_leaves * FAN
    n_columns = n_leads + max(0, len(model.companion_type) - 1)
    rooms = np.zeros((ROOT + n_above + n_leaves, -(-n_columns // COLUMNS) * COLUMNS), np.int16)
    rooms[:, :n_leads] = -1
    return rooms


def beside(model: Model, capacities_stay: bool) -> np.ndarray:
    """[V C] of BESIDE: the companions at each node; what is ample follows from the capacities, if these stay."""
    n = len(model.companion_type)
    found = np.zeros(len(model.node_sole), BESIDE)
    found["unit"], found["ample"] = model.node_sole, -1.0
    if capacities_stay and n > 0:
        is_sole = found["unit"] >= 0
        capacity = np.where(is_sole, model.unit_capacity[found["unit"]], 0.0)
        largest = np.tile(model.asked[model.asked_first[1:] - 1], len(found) // n)
        ample = np.minimum(capacity * OVERFULL - largest, capacity * FULL) * (1.0 - SLACK)  # below, whatever is rounded
        is_ample = is_sole & (ample >= 0.0) & (ample < capacity * FULL) & (ample + largest <= capacity * OVERFULL)
        found["ample"][is_ample] = ample[is_ample]
    return found


def ranked(companion: np.ndarray, companion_type: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of the model about what classes ask of their companions [T, P]: amounts, and their ranks.

    A rank is the number of the amount among those asked of its type; beyond 32,767 amounts neighbours share a rank.
    """
    most = np.iinfo(np.int16).max
    kind_rank = np.zeros((len(companion), max(1, len(companion_type))), np.int16)
    kind_asks = np.zeros((len(companion), len(companion_type)), np.int32)
    asked, ranks = [], []
    for c, p in enumerate(companion_type):
        amount = np.unique(companion[:, p][companion[:, p] > 0])
        rank = np.arange(1, len(amount) + 1)
        if len(amount) > most:
            rank = 1 + (rank - 1) * most // len(amount)
        kind_asks[:, c] = np.searchsorted(amount, companion[:, p], side="right")
        kind_rank[:, c] = np.concatenate([[0], rank])[kind_asks[:, c]]
        asked.append(amount)
        ranks.append(rank)
    return {
        "kind_rank": kind_rank,
        "kind_asks": kind_asks.ravel(),
        "asked": np.concatenate([*asked, np.empty(0)]),
        "asked_rank": np.concatenate([*ranks, np.empty(0)]).astype(np.int16),
        "asked_first": np.cumsum([0, *map(len, asked)]).astype(np.int32),
    }
