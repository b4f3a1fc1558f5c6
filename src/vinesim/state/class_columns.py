"""The columns of the model about tasks that hold several units: what classes of them demand of a node.

A lead is a number of units of one type at one node, and a share of each; companions are amounts of other types at the
node.
"""

from typing import Any

import numpy as np

from vinesim.model.workload import ONE_SLOT
from vinesim.state import bit_levels
from vinesim.state.demand import amounts
from vinesim.state.demand_classes import DemandClasses
from vinesim.state.layout import OVERFULL
from vinesim.state.numbering import coded, first_rows


def class_columns(
    classes: DemandClasses, unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, capacity: np.ndarray
) -> dict[str, Any]:
    """Return the columns, by name; ``unit_node``, ``unit_type`` and ``capacity`` are those of the units."""
    n_types = classes.can_lead.shape[1]
    class_lead = np.full(classes.can_lead.shape, -1, np.int32)
    kind, lead_of = np.nonzero(classes.can_lead)
    share = np.where(np.isnan(classes.share), -1.0, classes.share)
    shape = coded([share, classes.units])
    share = share[kind]
    number = coded([lead_of, share, classes.units[kind]])
    class_lead[kind, lead_of] = number
    first = first_rows(number)
    lead_type, shares, lead_units = lead_of[first], share[first], classes.units[kind[first]]
    begins = np.flatnonzero(np.r_[True, (lead_type[1:] != lead_type[:-1]) | (shares[1:] != shares[:-1]), True])
    n_companions = (classes.companion > 0).sum(axis=1)
    used = (classes.companion > 0)[classes.of_task].sum(axis=0)
    by_use = np.argsort(-used, kind="stable")
    n_held = (classes.units - 1 + n_companions)[classes.of_task]
    companion_type = by_use[used[by_use] > 0].astype(np.int32)
    class_share = np.where(np.isnan(classes.share) & (capacity.min() >= 1.0), 1.0, classes.share)  # one slot
    largest = np.zeros(n_types)
    np.maximum.at(largest, unit_type, capacity)
    return {
        "class_units": classes.units.astype(np.int32),
        "class_share": class_share,
        "class_fills": 2.0 * amounts(class_share[:, np.newaxis], largest) > largest * OVERFULL,
        "class_companion": classes.companion,
        "class_named": classes.named,
        "class_lead": class_lead,
        "task_held": np.concatenate([[0], np.cumsum(n_held)]).astype(np.int64),
        "lead_type": lead_type.astype(np.int32),
        "lead_units": lead_units.astype(np.int32),
        "lead_share": np.where(shares < 0, ONE_SLOT, shares),
        "lead_end": np.repeat(begins[1:], np.diff(begins)).astype(np.int32),
        "lead_shape": shape[kind[first]],
        "type_lead": np.searchsorted(lead_type, np.arange(n_types + 1)).astype(np.int32),
        "class_shape": shape,
        "class_types": bit_levels.of_rows(classes.can_lead),
        "companion_type": companion_type,
        "node_sole": _sole_units(unit_node, unit_type, n_nodes, companion_type),
        **_ranked(classes.companion, companion_type),
    }


def _sole_units(unit_node: np.ndarray, unit_type: np.ndarray, n_nodes: int, companion_type: np.ndarray) -> np.ndarray:
    """[V C] int32: each node's unit of the type of each companion, -1 where it has none or several."""
    sole = np.full((n_nodes, len(companion_type)), -1, np.int32)
    for c, p in enumerate(companion_type):
        units = np.flatnonzero(unit_type == p)
        is_alone = np.bincount(unit_node[units], minlength=n_nodes)[unit_node[units]] == 1
        sole[unit_node[units[is_alone]], c] = units[is_alone]
    return sole.ravel()


def _ranked(companion: np.ndarray, companion_type: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of the model about what classes ask of their companions [T, P]: amounts, and their ranks.

    A rank is the number of the amount among those asked of its type; beyond 32,767 amounts neighbours share a rank.
    """
    most = np.iinfo(np.int16).max
    class_rank = np.zeros((len(companion), max(1, len(companion_type))), np.int16)
    class_n_amounts = np.zeros((len(companion), len(companion_type)), np.int32)
    asked, ranks = [], []
    for c, p in enumerate(companion_type):
        amount = np.unique(companion[:, p][companion[:, p] > 0])
        rank = np.arange(1, len(amount) + 1)
        if len(amount) > most:
            rank = 1 + (rank - 1) * most // len(amount)
        class_n_amounts[:, c] = np.searchsorted(amount, companion[:, p], side="right")
        class_rank[:, c] = np.concatenate([[0], rank])[class_n_amounts[:, c]]
        asked.append(amount)
        ranks.append(rank)
    return {
        "class_rank": class_rank,
        "class_n_amounts": class_n_amounts.ravel(),
        "amounts": np.concatenate([*asked, np.empty(0)]),
        "amount_rank": np.concatenate([*ranks, np.empty(0)]).astype(np.int16),
        "first_amount": np.cumsum([0, *map(len, asked)]).astype(np.int32),
    }
