"""The controls of a scenario: what its file says, and the options of its policy and its generator, as keys of --set."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from vinesim.formats.source.quantities import QUANTITY
from vinesim.formats.study.axes import quantities
from vinesim.model.batching import ROLES, WHEN_FULL
from vinesim.model.errors import Steps, dotted
from vinesim.model.network import PRESETS
from vinesim.model.scenario_rules import PREEMPTION
from vinesim.model.titles import AXES, axis_title
from vinesim.policies.contract import Policy
from vinesim.policies.registry import policies
from vinesim.policies.replacing import kind_of
from vinesim.workloads.registry import generators

GROUPS = {  # of the page, by the section of the scenario
    "datacenter": "Datacenter",
    "processor_types": "Engines",
    "arrivals": "Load",
    "workload": "Load",
    "policy": "Policy",
    "options": "Policy",
    "period": "Policy",
    "preemption": "Policy",
    "network": "Network",
    "prices": "Prices and power",
    "power": "Prices and power",
    "energy": "Prices and power",
    "partitions": "Quotas",
    "failures": "Failures",
    "horizon": "Run",
    "seed": "Run",
}
REACH = 10  # a slider goes from a tenth of the file's value to ten times it; a number of units to four times
MOST_MORE = 4
LEAST_MOST = 10
WORDS = {
    "layout": ("blocks", "alternate"),
    "preemption": PREEMPTION,
    "preset": tuple(PRESETS),
    "role": ROLES,
    "when_full": WHEN_FULL,
}
_NOT_SHOWN = ("rack", "shelf", "n_racks", "n_shelves", "data_rack")  # places, not amounts
_OF_FILES = ("profile", "token_bytes")  # of engines: what belongs to a model or was measured
_DATES = ("start_s",)  # of the log
_OF_NODES = ("intra_rack", "inter_rack")
_AMOUNTS = (".cores", ".capacity")  # of a unit, which are above 0
_QUOTAS = (
    "quota",
    "user_quota",
    "borrowing_limit",
    "lending_limit",
    "weight",
)  # of a partition; the rest of it are places
_OF_FAILURES = {"until": "time until a node fails", "repair": "time until it is repaired"}
_FROM_NOTHING = {  # how far a slider goes whose value is 0
    r"_bytes$": 1e6,
    r"_us$": 1000.0,
    r"^priority_weight_|_prio_reserve$": 10_000.0,
    r"_age_reserve$|_exempt_time$|_linear$": 3600.0,  # s
}
MAX_CONTROLS = 200  # of a file that lists its units one by one, or of a site with many users, the first ones


@dataclass(frozen=True)
class Control:
    """One control. ``value`` is what the scenario has without changes of the page."""

    key: str  # as in --set
    title: str
    group: str
    kind: str  # number, choice or switch
    value: Any
    words: tuple[Any, ...] = ()  # of a choice
    unit: str = ""  # behind the number, if the file writes one
    low: float = 0.0
    high: float = 1.0
    is_whole: bool = False
    is_log: bool = False


def controls_of(data: Mapping[str, Any], policy: Any = None) -> list[Control]:
    """Return the controls of a scenario's document, with the options of this policy, or of its own.

    Of more than ``MAX_CONTROLS``, those of the policy, the load and the seed are there, and the first of the others."""
    found = _all_controls(data, policy)
    others = [control.key for control in found if not _is_of_all(control)]
    left_out = set(others[max(0, MAX_CONTROLS - len(found) + len(others)) :])
    once = [control for control in found if control.key not in left_out]
    types = data.get("processor_types")
    titles = [_title(control.key, types) for control in once]
    named = [
        replace(control, title=title if titles.count(title) == 1 else f"{title} ({control.key})")
        for control, title in zip(once, titles, strict=True)
    ]
    order = list(dict.fromkeys(GROUPS.values()))
    return sorted(named, key=lambda control: order.index(control.group))


def n_left_out(data: Mapping[str, Any]) -> int:
    """Return how many controls a scenario's document has beyond those that a page shows."""
    return max(0, len(_all_controls(data, None)) - MAX_CONTROLS)


def _all_controls(data: Mapping[str, Any], policy: Any) -> list[Control]:
    """Return all of them, without their titles."""
    chosen = data.get("policy", "high") if policy is None else policy
    found = [*_written(data), *_of_generator(data), *_of_network(data), *_of_policy(data, chosen)]
    if data.get("seed") is None:
        found.append(_number(("seed",), 0))
    work = data.get("workload")
    if isinstance(work, Mapping) and work.get("load") is None:
        found.append(_number(("workload", "load"), 1.0))
    return list({control.key: control for control in found}.values())


def _is_of_all(control: Control) -> bool:
    """Whether any scenario may have it, however many things its file lists."""
    return control.key in ("policy", "seed", "workload.load") or re.fullmatch(r"options[.]\w+", control.key) is not None


def _title(key: str, types: Any) -> str:
    """Return the words of a control, such as ``GPU units of rack 0``, ``Price of GPU`` or ``Tasks per job``."""
    is_amount = key.endswith(_AMOUNTS)
    if key in AXES or key.startswith("partitions") or (".units." in key and not is_amount):
        words = axis_title(key).words
        return words[:1].upper() + words[1:]
    section, *rest = re.split(r"[.]", re.sub(r"\[(\d+)\]", r".\1", key))
    if section in ("prices", "power"):
        return f"{'Price' if section == 'prices' else 'Power'} of {', '.join(rest)}"
    if section == "failures" and len(rest) == 3 and rest[1] in _OF_FAILURES:
        number, times, what = rest
        kind = "" if number == "0" else f", failures {number}"
        return f"{_in_words(what)} {'of the ' if what != 'mean' else ''}{_OF_FAILURES[times]}{kind}"
    if section == "datacenter":
        numbers = [word for word in rest if word.isdigit()]
        where = [f"{name} {number}" for name, number in zip(("of rack", "kind"), numbers, strict=False)]
        if is_amount and "units" in rest:
            return " ".join([_in_words(rest[-1]), "of", rest[-2], *where])
        what = "nodes" if rest[-1] == "count" and "nodes" in rest else "racks" if rest[-1] == "count" else rest[-1]
        return " ".join([_in_words(what), *([] if what == "racks" and numbers == ["0"] else where)])
    if section == "processor_types":
        return f"{', '.join([_in_words(rest[2]), *rest[3:]])} of {types[int(rest[0])].get('name', rest[0])}"
    named = [word for word in rest if word != "options"] or [section]
    return ", ".join([_in_words(named[0]), *named[1:]])


def _in_words(name: str) -> str:
    words = re.sub(r"^n_|_(us|bytes|s)$", "", name).replace("_", " ")
    return words[:1].upper() + words[1:]


def _written(data: Mapping[str, Any]) -> Iterator[Control]:
    """Yield the controls of what the file says."""
    for section in GROUPS:
        if section == "partitions":
            parts = data.get(section)
            for i, part in enumerate(parts if isinstance(parts, list) else ()):
                if isinstance(part, Mapping):
                    yield from _below((section, i), {name: part[name] for name in _QUOTAS if name in part})
        elif section == "processor_types":
            types = data.get(section)
            for i, one in enumerate(types if isinstance(types, list) else ()):
                if isinstance(one, Mapping) and isinstance(one.get("batching"), Mapping):
                    yield from _below((section, i, "batching"), one["batching"])
        elif section not in ("policy", "options") and data.get(section) is not None:
            yield from _below((section,), data[section])


def _below(steps: Steps, value: Any) -> Iterator[Control]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name not in (*_NOT_SHOWN, *_OF_FILES):
                yield from _below((*steps, name), item)
    elif isinstance(value, list) and steps[0] in ("datacenter", "failures"):
        for i, item in enumerate(value):
            yield from _below((*steps, i), item)
    elif steps[-1] in WORDS and value in WORDS[str(steps[-1])]:
        yield _choice(steps, value, WORDS[str(steps[-1])])
    elif isinstance(value, bool):
        yield Control(dotted(steps), "", GROUPS[str(steps[0])], "switch", value)
    elif isinstance(value, int | float) or _quantity(value):
        yield _number(steps, value)


def _quantity(value: Any) -> tuple[float, str] | None:
    """Return the number and the unit of a text such as ``7 us``."""
    if not isinstance(value, str) or quantities([value]) is None:
        return None
    found = re.fullmatch(QUANTITY, value)
    return (float(found[1]), found[2]) if found else None


def _choice(steps: Steps, value: Any, words: tuple[Any, ...]) -> Control:
    return Control(dotted(steps), "", GROUPS[str(steps[0])], "choice", value, words)


def _number(steps: Steps, value: Any, *, is_whole: bool | None = None) -> Control:
    """Return a slider around the value: even steps for whole numbers, even ratios for others."""
    number, unit = _quantity(value) or (float(value), "")
    whole = isinstance(value, int) if is_whole is None else is_whole
    if steps[0] == "seed":
        low, high, is_log = 0.0, max(100.0, number), False
    elif steps[0] == "datacenter" and whole:
        least = 1.0 if dotted(steps).endswith((*_AMOUNTS, ".per_shelf", ".power_cap")) else 0.0
        low, high, is_log = least, max(LEAST_MOST, MOST_MORE * number), False
    elif number > 0:
        low, high, is_log = number / REACH, number * REACH, True
        if whole:
            low, high = max(1.0, math.floor(low)), max(LEAST_MOST, math.ceil(high))
    else:
        most = next((high for name, high in _FROM_NOTHING.items() if re.search(name, str(steps[-1]))), LEAST_MOST)
        low, high, is_log = min(0.0, number), most, False
    key = dotted(steps)
    return Control(key, "", GROUPS[str(steps[0])], "number", value, (), unit, low, high, whole, is_log)


def _of_generator(data: Mapping[str, Any]) -> Iterator[Control]:
    """Yield the numbers among the options of the generator that the file leaves at their defaults."""
    work = data.get("workload") or {}
    spec = generators().get(str(work.get("generator"))) if isinstance(work, Mapping) else None
    if spec is None:
        return
    given = {*(work.get("options") or {}), "iat_us"}  # the time is that of arrivals
    for name, option in spec.options.items():
        is_number = isinstance(option.default, int | float) and not isinstance(option.default, bool)
        if is_number and name not in given and name not in _NOT_SHOWN:
            yield _number(("workload", "options", name), option.default, is_whole=option.type is int)


def _of_network(data: Mapping[str, Any]) -> Iterator[Control]:
    """Yield the preset, and the bandwidths that it has if the file writes no others."""
    given = data.get("network")
    if isinstance(given, str) and given in PRESETS:
        yield _choice(("network",), given, tuple(PRESETS))
    elif given is None or (isinstance(given, Mapping) and "file" not in given):
        preset = (given or {}).get("preset", "paper")
        yield _choice(("network", "preset"), preset, tuple(PRESETS))
        for name in _OF_NODES:
            value = getattr(PRESETS.get(preset), name, None)
            if name not in (given or {}) and value is not None:
                yield _number(("network", name), f"{value * 8 / 1000:g} Gb/s")


def _of_policy(data: Mapping[str, Any], policy: Any) -> Iterator[Control]:
    own = data.get("policy", "high")
    names = tuple(policies())
    yield _choice(("policy",), own, names if own in names else (own, *names))
    kind = kind_of(policy, loads_files=True)
    if kind is None:
        return
    given = data.get("options") or {}
    for item in fields(kind):
        value = given.get(item.name, item.default)
        if item.name in _DATES:
            continue
        if isinstance(value, Mapping):
            yield from _below(("options", item.name), value)
        elif control := _option(kind, item.name, value):
            yield control


def _option(kind: type[Policy], name: str, value: Any) -> Control | None:
    """Return the control of a policy's option; None for one that is neither a number nor a choice."""
    steps, choices = ("options", name), kind.choices()
    if name in choices:
        return _choice(steps, value, choices[name])
    if isinstance(value, bool):
        return Control(dotted(steps), "", GROUPS["options"], "switch", value)
    if isinstance(value, int | float) and math.isfinite(value):
        return _number(steps, value)
    return _number(steps, value) if _quantity(value) else None
