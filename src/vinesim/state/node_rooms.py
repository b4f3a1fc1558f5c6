"""The index of nodes before the first event: see ``state/node_index.py`` for what it holds and answers."""

import numpy as np

from vinesim.model.arrays import distinct
from vinesim.state.demand import amounts
from vinesim.state.layout import BESIDE, COLUMNS, FAN, FULL, OVERFULL, ROOT, SLACK, Model


def node_rooms(model: Model) -> np.ndarray:
    """[R, at least L + C - 1] the index of the idle nodes; [0, 0] where the units have an order of their own."""
    n_nodes, n_leads = len(model.node_rack), len(model.lead_type)
    if model.node_first[-1] == 0:
        return np.empty((0, 0), np.int16)
    n_columns = n_leads + max(0, len(model.companion_type) - 1)
    leaves = np.zeros((n_columns, n_nodes), np.int16)
    leaves[:n_leads] = -1
    first = np.zeros(n_nodes, np.int16)
    for c, p in enumerate(model.companion_type):
        ranks = _ranks(model, c, p, n_nodes)
        if c > 0:
            leaves[n_leads + c - 1] = ranks
        else:
            first = ranks
    for processor_type in distinct(model.lead_type):
        mine = model.unit_type == processor_type
        node, capacity = model.unit_node[mine], model.unit_capacity[mine]
        offers = distinct(node)
        for row in np.flatnonzero(model.lead_type == processor_type):
            if row == 0 or model.lead_end[row] != model.lead_end[row - 1]:  # else of the same share
                has_room = amounts(model.lead_share[row], capacity) <= capacity * OVERFULL
                n_offered = np.bincount(node[has_room], minlength=n_nodes)[offers]
            leaves[row, offers] = np.where(n_offered >= model.lead_units[row], first[offers], -1)
    width = 1
    n_above: list[int] = []  # rows a level, from the root to the one above the leaves
    while width < n_nodes or not n_above:
        n_above.append(width)
        width *= FAN
    begin = ROOT + sum(n_above)  # of the leaves
    rooms = np.zeros((begin + width, -(-n_columns // COLUMNS) * COLUMNS), np.int16)
    rooms[:, :n_leads] = -1
    rooms[begin : begin + n_nodes, :n_columns] = leaves.T
    for n in reversed(n_above):
        below = rooms[begin : begin + n * FAN]
        rooms[begin - n : begin] = below.reshape(n, FAN, -1).max(axis=1)
        begin -= n
    return rooms


def _ranks(model: Model, c: int, processor_type: int, n_nodes: int) -> np.ndarray:
    """[V] the rank of the largest amount that fits on each idle node's unit of a companion's type with most room."""
    largest, mine = np.zeros(n_nodes), model.unit_type == processor_type
    np.maximum.at(largest, model.unit_node[mine], model.unit_capacity[mine] * (OVERFULL + SLACK))
    begin, end = model.asked_first[c], model.asked_first[c + 1]
    ranks = np.concatenate([[0], model.asked_rank[begin:end]])
    return ranks[np.searchsorted(model.asked[begin:end], largest, side="right")].astype(np.int16)


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
