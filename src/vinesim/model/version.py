"""The version of the package, and of the code that decides what its results are."""

import hashlib
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

try:
    VERSION = version("vinesim")
except PackageNotFoundError:  # run from a source tree that is not installed
    VERSION = "0+unknown"

PACKAGE = Path(__file__).parent.parent
# folders whose code asks for results or shows them
NO_RESULTS = {"cli", "explore", "live", "plans", "plots", "report", "reproduction", "__pycache__"}


@cache
def code_version() -> str:
    """Return the version with a hash of the code that results depend on, such as ``0.1.0+c0de5a3f19e2``.

    The number alone names a release. A source tree has the same number from one release to the next, while its code
    changes.
    """
    digest = hashlib.sha256()
    for folder, names, files in os.walk(PACKAGE):  # in half the time that pathlib takes
        names[:] = sorted(set(names) - NO_RESULTS)
        for file in sorted(name for name in files if name.endswith(".py")):
            path = os.path.join(folder, file)
            with open(path, "rb", buffering=0) as stream:
                text = stream.read()
            digest.update(f"{os.path.relpath(path, PACKAGE)} {len(text)}\n".encode() + text)
    number, plus, local = VERSION.partition("+")
    return f"{number}+{local}{'.' if plus else ''}{digest.hexdigest()[:12]}"
