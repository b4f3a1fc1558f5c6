"""What ``--set`` changes in the scenario of a study."""

import warnings
from dataclasses import replace

from vinesim.formats.scenario.keys import key_of
from vinesim.formats.source.yaml_source import steps_of
from vinesim.formats.study.file import scenario_source
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.study import Study
from vinesim.policies.documents import prepared


def changed_study(study: Study, changes: list[str]) -> Study:
    """Return the study with other values in its scenario. Raises :class:`InputError`."""
    if any(change.partition("=")[0].strip() == "seed" for change in changes):
        raise InputError([Problem("--set", "a key of the scenario other than seed", "seed", "Set seed: in the study.")])
    keys = [change.partition("=")[0].strip() for change in changes]
    on_axes = [key for key in keys if _is_on_axis(study, key)]
    if on_axes:
        expected, remedy = "a key that no axis of the study sets", "The axis would override it: change the study."
        raise InputError([Problem("--set", expected, key, remedy) for key in on_axes])
    source, notes = prepared(scenario_source(study).overridden(changes), study.folder)
    for text in notes:
        warnings.warn(text, InputWarning, stacklevel=2)
    return replace(study, scenario=source.data, origin=source)


def _is_on_axis(study: Study, key: str) -> bool:
    """Whether an axis sets the key, or something that contains it, at each of its positions."""
    steps = key_of(steps_of(key) or (key,))

    def sets(name: str) -> bool:
        set_steps = key_of(steps_of(name) or (name,))
        return steps[: len(set_steps)] == set_steps

    return any(all(any(map(sets, settings)) for settings in axis.settings) for axis in study.axes)
