"""Convert the section ``choose`` of a plan file to choices, and choices to the axes of a study."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from vinesim.formats.plan.document import ChoicePart, RangePart, ValuesPart
from vinesim.formats.source.document import checked_part
from vinesim.formats.source.suggestions import did_you_mean
from vinesim.formats.source.yaml_source import YamlSource, shown
from vinesim.formats.study.axes import AxesReader, label_of, quantities
from vinesim.model.plan import MAX_POINTS, Choice
from vinesim.model.study import Axis

SECTION = "choose"


def choices(
    source: YamlSource, given: Mapping[str, Any], scenario: YamlSource | None, folder: Path, scenario_folder: Path
) -> tuple[Choice, ...]:
    """Return the valid choices; problems are added to the source."""
    reader = AxesReader(source, scenario, folder, scenario_folder, SECTION)
    found: dict[str, Choice] = {}
    for name, value in given.items():
        form, part = _form(source, name, value)
        axes = () if form is None else reader.axes({name: form})
        for axis in axes:
            labels = tuple(label[0] if len(label) == 1 else label_of(list(label)) for label in axis.labels)
            is_ordered = len(labels) > 1 and all(isinstance(x, int | float) and not isinstance(x, bool) for x in labels)
            when = _when(source, name, part.when, found)
            found[name] = Choice(name, labels, axis.settings, is_ordered, when, part.label or "")
    return tuple(found.values())


def _form(source: YamlSource, name: str, value: Any) -> tuple[Any, Any]:
    """Return a choice in the form of a study's axis (None if invalid), its label and its condition."""
    path = (SECTION, name)
    if not isinstance(value, dict):
        return value, ChoicePart(label=None, when=None)
    part: Any
    if "values" in value:
        part = checked_part(source, path, ValuesPart, value)
        return (None if part is None else part.values), part
    if "from" in value or "to" in value:
        part = checked_part(source, path, RangePart, value)
        return (None if part is None else _spaced(source, path, part)), part
    common = {key: item for key, item in value.items() if key in ChoicePart.model_fields}
    part = checked_part(source, path, ChoicePart, common)
    return (None if part is None else {key: item for key, item in value.items() if key not in common}), part


def _spaced(source: YamlSource, path: tuple[str, ...], part: Any) -> Any:
    """Return a range as a list of values, or in a study's notation for a number of values."""
    ends = [getattr(part, "from"), part.to]
    if part.n is not None:
        return {"log" if part.log else "linear": ends, "n": part.n}
    found = quantities(ends)
    if found is None or found[0] > found[1]:
        words = "two numbers or quantities of one kind, from at most to"
        source.add(path, words, f"from {shown(ends[0])} to {shown(ends[1])}", "An empty range has nothing to choose.")
        return None
    step = 1 if part.step is None else part.step
    n = int((found[1] - found[0]) / step + 1e-9) + 1
    if n > MAX_POINTS:
        source.add(path, f"at most {MAX_POINTS:,} values", f"{n:,}", "Give a larger step.")
        return None
    values = [found[0] + i * step for i in range(n)]
    is_whole = all(isinstance(end, int) for end in ends) and float(step).is_integer()
    return [int(value) if is_whole else float(f"{value:.12g}") for value in values]


def _when(
    source: YamlSource, name: str, given: Mapping[str, Any] | None, before: Mapping[str, Choice]
) -> dict[str, tuple[Any, ...]]:
    found = {}
    for other, label in (given or {}).items():
        path = (SECTION, name, "when", other)
        if other not in before:
            expected = "a choice above this one: " + (", ".join(before) or "there is none")
            source.add(path, expected, repr(other), did_you_mean(other, before), at_key=True)
            continue
        labels = {str(each): each for each in before[other].labels}
        wanted = label if isinstance(label, list) else [label]
        for each in wanted:
            if str(each) not in labels:
                expected = f"a label of {other}: " + ", ".join(list(labels)[:20])
                source.add(path, expected, shown(each), did_you_mean(str(each), labels))
        found[other] = tuple(labels[str(each)] for each in wanted if str(each) in labels)
    return found


def axes(choices: tuple[Choice, ...]) -> tuple[Axis, ...]:
    """Return the study's axes: one per choice; choices that depend on each other share one with their cells.

    A choice that is not made sets nothing, so every point of the study is a different scenario.
    """
    return tuple(_axis(group) for group in groups(choices))


def groups(choices: tuple[Choice, ...]) -> list[list[Choice]]:
    """Return the choices in groups that depend on each other, in the order of their first members."""
    of: dict[str, list[Choice]] = {}
    for choice in choices:
        merged = [choice]
        for other in choice.when:
            merged = [*of[other], *(each for each in merged if each not in of[other])]
        for each in merged:
            of[each.name] = merged
    return list({id(group): group for choice in choices for group in [of[choice.name]]}.values())


def cells(group: list[Choice]) -> list[tuple[int, ...]]:
    """Return the position on each choice of a group for each position of its axis; -1 if the choice is not made."""
    found = []
    for cell in product(*(range(-1 if choice.when else 0, len(choice)) for choice in group)):
        at = {choice.name: position for choice, position in zip(group, cell, strict=True)}
        if all(_is_made(choice, group, at) == (at[choice.name] >= 0) for choice in group):
            found.append(cell)
    return found


def _is_made(choice: Choice, group: list[Choice], at: Mapping[str, int]) -> bool:
    by_name = {each.name: each for each in group}
    return all(at[other] >= 0 and by_name[other].labels[at[other]] in labels for other, labels in choice.when.items())


def _axis(group: list[Choice]) -> Axis:
    if len(group) == 1:
        (choice,) = group
        return Axis((choice.name,), tuple((label,) for label in choice.labels), choice.settings)
    labels, settings = [], []
    for cell in cells(group):
        made = [(choice, position) for choice, position in zip(group, cell, strict=True) if position >= 0]
        first, *rest = made
        words = [str(first[0].labels[first[1]]), *(f"{choice.name}={choice.labels[i]}" for choice, i in rest)]
        labels.append((", ".join(words),))
        settings.append({key: value for choice, i in made for key, value in choice.settings[i].items()})
    return Axis((group[0].name,), tuple(labels), tuple(settings))
