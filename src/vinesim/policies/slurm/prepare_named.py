"""Find the nodes that each request may have: those with its features, less those it excludes, or those it names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vinesim.formats.slurm.requests import Request
from vinesim.formats.slurm.values import hosts
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.model.errors import Problem
from vinesim.policies.slurm.node_sets import packed
from vinesim.policies.slurm.prepare_nodes import Places

if TYPE_CHECKING:
    from vinesim.policies.slurm.policy import Slurm


def nodes_of_requests(requests: Sequence[Request], places: Places) -> dict[str, Any]:
    """Return the arrays of the sets of nodes. A request that names all of its nodes may use no others."""
    numbers = places.number_of
    allowed, named = dict[tuple[str, str, str], int](), dict[str, int]()
    feature_nodes, named_nodes = list[np.ndarray](), list[np.ndarray]()
    features, lists, counts = list[int](), list[int](), list[int]()
    for one in requests:
        names = set(hosts(one.nodelist))
        if one.nodelist not in named:
            named[one.nodelist] = len(named)
            named_nodes.append(_set_of(one.nodelist, numbers, len(places.names)))
        key = one.constraint, one.exclude, one.nodelist if _names_all(one) else ""
        if key not in allowed:
            allowed[key] = len(allowed)
            feature_nodes.append(nodes_of(one, places))
        features.append(allowed[key])
        lists.append(named[one.nodelist])
        counts.append(len(names))
    return {
        "request_features": features,
        "feature_nodes": packed(feature_nodes),
        "request_named": lists,
        "request_n_named": counts,
        "named_nodes": packed(named_nodes),
    }


def nodes_of(one: Request, places: Places) -> np.ndarray:
    """Return [N] bool: which nodes a request may have, by their features and names."""
    found = np.array([_has(its, one.constraint) for its in places.features], bool)
    found &= ~_set_of(one.exclude, places.number_of, len(places.names))
    return found & _set_of(one.nodelist, places.number_of, len(places.names)) if _names_all(one) else found


def _names_all(one: Request) -> bool:
    names = set(hosts(one.nodelist))
    return bool(names) and one.most_nodes == len(names)


def lacks_named(
    requests: Sequence[Request], request: np.ndarray, parts: Sequence[Sequence[int]], places: Places
) -> np.ndarray:
    """Return which jobs name a node that they cannot have: it is in no partition of theirs, lacks a feature, or is
    excluded."""
    numbers = places.number_of
    found, known = np.zeros(len(request), bool), dict[tuple[int, tuple[int, ...]], bool]()
    wishes = [hosts(one.nodelist) for one in requests]
    for j in np.flatnonzero(np.array([bool(names) for names in wishes])[request]).tolist():
        key = int(request[j]), tuple(parts[j])
        if key not in known:
            one, names = requests[key[0]], wishes[key[0]]
            at = [numbers.get(name, -1) for name in names]
            is_wrong = -1 in at or not set(hosts(one.exclude)).isdisjoint(names)
            is_wrong = is_wrong or not all(_has(places.features[i], one.constraint) for i in at)
            known[key] = is_wrong or not any(places.part_nodes[part][at].all() for part in key[1])
        found[j] = known[key]
    return found


def unknown_names(requests: Sequence[Request], policy: "Slurm") -> list[Problem]:
    """Return a problem for each named node that is not in the option ``nodes``."""
    known = dict.fromkeys(host for one in policy.nodes.values() for host in hosts(str(one.get("names", ""))))
    problems = dict[tuple[str, str], Problem]()
    for one in requests:
        for word in ("nodelist", "exclude"):
            for name in hosts(getattr(one, word)):
                if name not in known:
                    place = "workload", "attribute.request"
                    expected = f"a node of options.nodes after {word}="
                    problems[word, name] = Problem(place, expected, repr(name)[:40], did_you_mean(name, list(known)))
    return list(problems.values())


def _set_of(text: str, numbers: dict[str, int], n: int) -> np.ndarray:
    found = np.zeros(n, bool)
    found[[numbers[name] for name in hosts(text) if name in numbers]] = True
    return found


def _has(features: frozenset[str], constraint: str) -> bool:
    if not constraint:
        return True
    if "|" in constraint:
        return any(one in features for one in constraint.strip("[]()").split("|"))
    return all(one.partition("*")[0] in features for one in constraint.strip("[]()").replace(",", "&").split("&"))
