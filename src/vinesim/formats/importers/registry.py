"""All importers: the modules of this package that declare an ``IMPORTER``."""

from importlib import import_module
from pkgutil import iter_modules

from vinesim.formats import importers as package
from vinesim.formats.importers.declaration import Importer


def importers() -> dict[str, Importer]:
    """Return the importers by name, in the order of their files."""
    found = {}
    for file in iter_modules(package.__path__):
        declared = getattr(import_module(f"{package.__name__}.{file.name}"), "IMPORTER", None)
        if isinstance(declared, Importer):
            found[declared.name] = declared
    return found
