"""Read Kubernetes objects as ``kubectl get ... -o json`` prints them: texts, amounts and times.

Amounts are quantities such as 500m, 64Gi or 1e3; times are RFC 3339 dates. Source: the Kubernetes API, v1.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vinesim.formats.importers.counts import to_time_us
from vinesim.formats.source.files import read_text
from vinesim.model.errors import InputError, Problem

_QUANTITY = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?")
_SCALES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3} | {u: 1e3 ** (2 + i) for i, u in enumerate("MGTPE")}
_SCALES |= {f"{u}i": 1024.0 ** (1 + i) for i, u in enumerate("KMGTPE")}
GPU_LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name")
HOST = "kubernetes.io/hostname"
COMMAND = "kubectl get nodes,pods --all-namespaces -o json"


class Holds(NamedTuple):
    """The resources that a pod requests or a node has."""

    cores: float = 0.0
    memory_bytes: float = 0.0
    gpus: float = 0.0


def items_of(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, which holds lists or separate objects. Raises :class:`InputError`."""
    text, found, at = read_text(path), list[dict[str, Any]](), 0
    decoder = json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", at)) + 1
            remedy = f"Write the file with: {COMMAND}"
            raise InputError(
                [Problem(f"{path}:{line}", "objects of Kubernetes as JSON", str(error)[:60], remedy)]
            ) from None
        items = value.get("items", [value]) if isinstance(value, dict) else value
        found += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if not any("kind" in item for item in found):
        expected = "a list of objects with a kind, such as Node and Pod"
        raise InputError([Problem(str(path), expected, "none", f"Write the file with: {COMMAND}")])
    return found


def at(item: Any, *keys: str) -> Any:
    """Return the value at a path in an object; None if there is none."""
    for key in keys:
        item = item.get(key) if isinstance(item, dict) else None
    return item


def each(item: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list at a path."""
    found = at(item, *keys)
    yield from (one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def texts(item: Any, *keys: str) -> dict[str, str]:
    """Return the texts of an object at a path, such as labels, by key."""
    found = at(item, *keys)
    return {key: str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def quantity(value: Any) -> float:
    """Parse a quantity; 0 if it is not one."""
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None:
        return 0.0
    return float(match[1]) * _SCALES.get(match[2] or "", 1.0) * 10.0 ** int(match[3] or 0)


def seconds(value: Any) -> float | None:
    """Parse a date, s since 1970; None if it is not one."""
    found = to_time_us(value) if isinstance(value, str) and "-" in value else None
    return None if found is None else found / 1e6


def when(item: Any, kind: str) -> float | None:
    """Return when a condition of this type became true, s since 1970; None if it did not."""
    for one in each(item, "status", "conditions"):
        if one.get("type") == kind and one.get("status") == "True":
            return seconds(one.get("lastTransitionTime"))
    return None


def held(amounts: Mapping[str, Any]) -> Holds:
    """Return cores, memory and GPUs, given amounts by resource."""
    gpus = sum(quantity(value) for name, value in amounts.items() if name.endswith("/gpu"))
    return Holds(quantity(amounts.get("cpu", 0)), quantity(amounts.get("memory", 0)), gpus)


def requested(spec: Any) -> Holds:
    """Return what a pod requests: the sum of its containers or, if larger, an init container."""
    main, first = [Holds()], [Holds()]
    for one in each(spec, "containers"):
        main.append(_of_container(one))
    for one in each(spec, "initContainers"):
        (main if one.get("restartPolicy") == "Always" else first).append(_of_container(one))
    together = [sum(amounts) for amounts in zip(*main, strict=True)]
    before = [max(amounts) for amounts in zip(*first, strict=True)]
    overhead = held(at(spec, "overhead") or {})
    return Holds(*(max(a, b) + c for a, b, c in zip(together, before, overhead, strict=True)))


def _of_container(one: Any) -> Holds:
    return held(texts(one, "resources", "limits") | texts(one, "resources", "requests"))


def gpu_type_of(labels: Mapping[str, str]) -> str:
    """Return the type of the GPUs by the labels of a node; empty if no label gives it."""
    return next((labels[name] for name in GPU_LABELS if labels.get(name)), "")


def wanted_gpus(spec: Any) -> str:
    """Return the types of GPUs that a pod may have, as A|B; empty if any."""
    if kind := gpu_type_of(texts(spec, "nodeSelector")):
        return kind
    rules = "requiredDuringSchedulingIgnoredDuringExecution"
    for term in each(spec, "affinity", "nodeAffinity", rules, "nodeSelectorTerms"):
        for rule in each(term, "matchExpressions"):
            if rule.get("key") in GPU_LABELS and rule.get("operator") == "In":
                return "|".join(map(str, rule.get("values") or []))
    return ""


def keeps_apart(item: Any, spec: Any) -> str:
    """Return the group of the pod if at most one pod of that group may be at a node; empty otherwise."""
    labels = texts(item, "metadata", "labels")
    rules = "requiredDuringSchedulingIgnoredDuringExecution"
    for term in each(spec, "affinity", "podAntiAffinity", rules):
        selector = texts(term, "labelSelector", "matchLabels")
        for rule in each(term, "labelSelector", "matchExpressions"):
            values = rule.get("values") or []
            key = str(rule.get("key"))
            if rule.get("operator") != "In" or labels.get(key) not in values:
                return ""
            selector[key] = labels[key]
        if term.get("topologyKey") == HOST and selector and selector.items() <= labels.items():
            return "one_of_" + "_".join(re.sub(r"\W+", "_", f"{k}_{v}") for k, v in sorted(selector.items()))
    return ""


def has_other_rules(spec: Any) -> bool:
    """Whether a pod restricts its nodes in a way that is not imported."""
    labels = set(texts(spec, "nodeSelector")) - {*GPU_LABELS, "kubernetes.io/os", "kubernetes.io/arch"}
    spreads = any(True for _ in each(spec, "topologySpreadConstraints"))
    return bool(labels) or spreads or bool(at(spec, "affinity", "podAffinity"))
