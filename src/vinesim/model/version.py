"""The package's version, from its metadata."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("vinesim")
except PackageNotFoundError:  # run from a source tree that is not installed
    VERSION = "0+unknown"
