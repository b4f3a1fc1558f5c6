"""The index of nodes before the first event: see ``state/node_index.py`` for what it holds and answers."""

import numpy as np

from vinesim.state.demand import amounts
from vinesim.state.layout import OVERFULL, SLACK, Model


def node_rooms(model: Model) -> np.ndarray:
    """[2 W, L + C - 1] the index of the idle nodes; [0, 0] where the units have an order of their own."""
    n_nodes, n_leads = len(model.node_rack), len(model.lead_type)
    if model.node_first[-1] == 0:
        return np.empty((0, 0), np.float32)
    width = 1 << max(0, n_nodes - 1).bit_length()
    rooms = np.zeros((2 * width, n_leads + max(0, len(model.companion_type) - 1)), np.float32)
    rooms[:, :n_leads] = -1.0
    largest = np.zeros((len(model.companion_type), n_nodes))
    for c, p in enumerate(model.companion_type):
        mine = model.unit_type == p
        np.maximum.at(largest[c], model.unit_node[mine], model.unit_capacity[mine] * (OVERFULL + SLACK))
        if c > 0:
            rooms[width : width + n_nodes, n_leads + c - 1] = largest[c]
    for row in range(n_leads):
        amount = amounts(model.lead_share[row], model.unit_capacity)
        has_room = (model.unit_type == model.lead_type[row]) & (amount <= model.unit_capacity * OVERFULL)
        offers = np.bincount(model.unit_node[has_room], minlength=n_nodes) >= model.lead_units[row]
        rooms[width : width + n_nodes, row] = np.where(offers, largest[0] if len(largest) else 0.0, -1.0)
    level = width
    while level > 1:
        rooms[level // 2 : level] = np.maximum(rooms[level : 2 * level : 2], rooms[level + 1 : 2 * level : 2])
        level //= 2
    return rooms
