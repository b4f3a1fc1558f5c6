"""Generators by name, with keyword options, for scenario files and the command line."""

import difflib
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from vinesim.model.catalog import SERVER_TASK_TYPES, SERVER_TYPES
from vinesim.model.errors import InputError, InputWarning, Problem
from vinesim.model.python_file import split_file
from vinesim.workloads import neurasmus as neurasmus_kernels
from vinesim.workloads import rbss_nas as rbss_jobs
from vinesim.workloads import symphony_applications
from vinesim.workloads.batches import affinity as servers_affinity
from vinesim.workloads.batches import batches
from vinesim.workloads.identical import five_hundred_jobs, identical_jobs
from vinesim.workloads.job_mix import job_mix
from vinesim.workloads.jobs import jobs
from vinesim.workloads.mix import mix
from vinesim.workloads.neurasmus import neurasmus
from vinesim.workloads.own import generator_in_file, own_generator
from vinesim.workloads.rbss_nas import rbss_nas
from vinesim.workloads.requests import requests
from vinesim.workloads.sized import sized
from vinesim.workloads.spec import GeneratorSpec

GENERATORS = {
    spec.name: spec
    for spec in (
        GeneratorSpec("500jobs", five_hundred_jobs, is_random=False, arrivals_apart=True),
        GeneratorSpec("identical", identical_jobs, is_random=False, arrivals_apart=True),
        GeneratorSpec("mix", mix, arrivals_apart=True),
        GeneratorSpec("sized", sized, arrivals_apart=True),
        GeneratorSpec("jobs", jobs, arrivals_apart=True),
        GeneratorSpec("job_mix", job_mix, own_arrivals=True),
        GeneratorSpec(
            "batches",
            batches,
            SERVER_TYPES,
            SERVER_TASK_TYPES,
            servers_affinity,
            in_batches=True,
            arrivals_apart=True,
        ),
        GeneratorSpec(
            "requests",
            requests,
            symphony_applications.PROCESSOR_TYPES,
            symphony_applications.TASK_TYPES,
            symphony_applications.affinity,
            symphony_applications.overhead,
            symphony_applications.applications,
            takes_task_types=True,
            own_arrivals=True,
        ),
        GeneratorSpec(
            "neurasmus",
            neurasmus,
            neurasmus_kernels.PROCESSOR_TYPES,
            neurasmus_kernels.TASK_TYPES,
            neurasmus_kernels.affinity,
            arrivals_apart=True,
        ),
        GeneratorSpec(
            "rbss_nas",
            rbss_nas,
            rbss_jobs.PROCESSOR_TYPES,
            rbss_jobs.TASK_TYPES,
            rbss_jobs.affinity,
            own_arrivals=True,
        ),
    )
}
ENTRY_POINTS = "vinesim.generators"


@cache
def generators() -> Mapping[str, GeneratorSpec]:
    """Return every registered generator by name: the built-in ones, then those of installed packages."""
    found = dict(GENERATORS)
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            found.setdefault(entry.name, own_generator(entry.name, entry.load()))
        except Exception as wrong:  # a broken package must not affect the others
            warnings.warn(f"generator {entry.name} of an installed package: {wrong}", InputWarning, stacklevel=2)
    return found


def known_generator(name: Any, folder: Path) -> GeneratorSpec | None:
    """Return the generator of that name; None if there is none, or it cannot be used."""
    try:
        return generator(name, folder)
    except (InputError, TypeError):
        return None


def generator(name: str, folder: Path = Path()) -> GeneratorSpec:
    """Return the generator with this name, or load it from ``file.py:function``, relative to ``folder``.

    Raises :class:`InputError` for an unknown name, or a file or function that cannot be used.
    """
    if split_file(name)[0]:
        return generator_in_file(name, folder)
    if name not in generators():
        expected = "one of " + ", ".join(generators()) + ", or file.py:function"
        close = difflib.get_close_matches(name.lower(), list(generators()), 1)
        remedy = f"Did you mean {close[0]}?" if close else "`vinesim generate` lists them."
        raise InputError([Problem(("generator",), expected, repr(name)[:60], remedy)])
    return generators()[name]
