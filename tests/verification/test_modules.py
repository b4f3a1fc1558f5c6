"""Every module of the verification and of the benchmarks can be imported: most of them run only by hand."""

import importlib
import pkgutil

import pytest

import benchmarks
import verification

MODULES = [
    module.name
    for package in (verification, benchmarks)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    if not module.name.endswith("__main__") and "peers" not in module.name
]


@pytest.mark.parametrize("name", MODULES)
def test_it_is_imported(name):
    importlib.import_module(name)
