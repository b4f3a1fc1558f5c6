"""Optional packages that some features need, and the error if one is missing."""

import importlib.util
import sys
from importlib.metadata import PackageNotFoundError, requires

from vinesim.model.errors import InputError, Problem


def is_installed(package: str) -> bool:
    """Whether the package can be imported."""
    return importlib.util.find_spec(package) is not None


def missing(where: str, package: str) -> InputError:
    """Return the error for a feature whose package is missing; it says how to install a version that VineSim allows."""
    return InputError([missing_problem(where, package)])


def missing_problem(where: str, package: str) -> Problem:
    """Return the same as a :class:`Problem`, to list with others."""
    return Problem(where, f"the package {package}", "it is not installed", how_to_install(_requirement(package)))


def how_to_install(requirement: str) -> str:
    """Return the command that installs a package for this Python, which need not be the one that the shell finds."""
    return f'Install it: {sys.executable} -m pip install "{requirement}"'


def _requirement(package: str) -> str:
    """Return the package with the version constraint of VineSim's extras."""
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
