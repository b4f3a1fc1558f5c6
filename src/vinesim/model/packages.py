"""Packages that only some features need, and what to say where one is missing."""

import importlib.util
from importlib.metadata import PackageNotFoundError, requires

from vinesim.model.errors import InputError, Problem


def is_installed(package: str) -> bool:
    """Whether the package can be imported here."""
    return importlib.util.find_spec(package) is not None


def missing(where: str, package: str) -> InputError:
    """The error for a feature without its package; it says how to install what VineSim's metadata asks for."""
    return InputError([missing_problem(where, package)])


def missing_problem(where: str, package: str) -> Problem:
    """The same as a :class:`Problem`, to list beside others."""
    remedy = f'Install it: python -m pip install "{_requirement(package)}"'
    return Problem(where, f"the package {package}", "it is not installed", remedy)


def _requirement(package: str) -> str:
    """The package with the versions that an extra of VineSim names."""
    try:
        named = requires("vinesim") or []
    except PackageNotFoundError:
        named = []
    for line in named:
        requirement, _, marker = line.partition(";")
        name = requirement.strip()
        if "extra" in marker and name.startswith(package) and not name[len(package) :][:1].isalnum():
            return name
    return package
