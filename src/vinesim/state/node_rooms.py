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
    """[V] of BESIDE; what loads leave room follows from the capacities, if these stay. All units of a node that is down
    are down, so that the lead of a task has no room there."""
    n, n_nodes = len(model.companion_type), len(model.node_rack)
    found = np.zeros(n_nodes if len(model.kind_units) else 0, BESIDE)
    sole = model.node_sole.reshape(len(found), n)
    found["are_sole"] = (sole >= 0).all(axis=1)
    is_sole = found["are_sole"] > 0
    for c, name in enumerate(("first", "second")):
        if c < n:
            found[name] = np.where(is_sole, sole[:, c], 0)
            full, ample = _limits(model.unit_capacity[found[name]], model.asked[model.asked_first[c + 1] - 1])
            is_known = is_sole & capacities_stay
            found[f"{name}_full"], found[f"{name}_ample"] = np.where(is_known, (full, ample), -1.0)
        else:
            found[name] = found["first"]
            found[f"{name}_full"] = found[f"{name}_ample"] = np.inf
    return found


def _limits(capacity: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """The loads from which on units have no room, and up to which they have room for any amount that is asked; -1:
    none."""
    full = capacity * FULL
    ample = np.minimum(capacity * OVERFULL - largest, full) * (1.0 - SLACK)  # below, whatever is rounded
    is_ample = (ample >= 0.0) & (ample < full) & (ample + largest <= capacity * OVERFULL)
    return full, np.where(is_ample, ample, -1.0)


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
