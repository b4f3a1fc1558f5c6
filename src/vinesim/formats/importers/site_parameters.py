"""The parameters of slurm.conf that the model uses, the meaning of their texts, and differences between two files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from vinesim.formats.importers.site_options import DURATIONS, PRIORITY_FLAGS, WEIGHTS, priority_flags
from vinesim.formats.slurm.values import NOTHING, duration_s, licences, weights_of


def _number(text: str) -> object:
    return float(text) if text.isdecimal() else text


def _words(text: str) -> object:
    return {word.strip() for word in text.lower().split(",")}


def _last_word(text: str) -> object:
    return text.lower().rpartition("/")[2]


def _flags(text: str) -> object:
    """Return the options that the flags set, and the flags without an effect. Fair tree is the default."""
    flags = set(priority_flags({"priorityflags": text})) - {"FAIR_TREE"}
    options: dict[str, Any] = {}
    for flag in flags & PRIORITY_FLAGS.keys():
        options |= PRIORITY_FLAGS[flag]
    return options, flags - PRIORITY_FLAGS.keys()


Meaning = Callable[[str], object]
PARAMETERS: dict[str, tuple[Meaning, tuple[str, ...]]] = {  # by lower-case name, with the defaults of Slurm's versions
    **dict.fromkeys(WEIGHTS, (_number, ("0",))),
    **dict.fromkeys(DURATIONS, (duration_s, ("7-0",))),
    "prioritycalcperiod": (duration_s, ("5",)),
    "overtimelimit": (duration_s, ("0",)),
    "preemptexempttime": (duration_s, ("0", "-1")),
    "completewait": (partial(duration_s, unit_s=1.0), ("0",)),
    "priorityweighttres": (weights_of, ("",)),
    "licenses": (licences, ("",)),
    "schedulerparameters": (_words, ("",)),
    "preemptmode": (_words, ("off",)),
    "selecttypeparameters": (_words, ("", "none", "cr_cpu", "cr_core_memory")),
    "priorityflags": (_flags, ("",)),
    "priorityfavorsmall": (_words, ("no",)),
    "prioritytype": (_last_word, ("basic", "multifactor")),
    "preempttype": (_last_word, ("none",)),
    "schedulertype": (_last_word, ("backfill",)),
    "topologyplugin": (_last_word, ("", "none", "default", "flat")),
    **dict.fromkeys(("prolog", "epilog"), (bool, ("",))),
}


def differing(settings: Mapping[str, str], shown: Mapping[str, str]) -> list[str]:
    """Return the parameters whose meanings differ between slurm.conf and the output of scontrol."""
    return [name for name in PARAMETERS if name in shown and not _agree(name, settings.get(name, ""), shown[name])]


def _agree(name: str, given: str, shown: str) -> bool:
    meaning, defaults = PARAMETERS[name]
    one, other = ([text] if text not in NOTHING else list(defaults) for text in (given, shown))
    return any(meaning(a) == meaning(b) for a in one for b in other)
