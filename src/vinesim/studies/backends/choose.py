"""Open a back-end by name."""

from collections.abc import Callable

from vinesim.model.errors import InputError, Problem
from vinesim.model.packages import is_installed, missing_problem
from vinesim.studies.backends.contract import Backend

BACKENDS = {"loky": "joblib", "dask": "distributed", "ray": "ray"}  # name -> the package it needs


def check_backend(backend: str, workers: int | None, address: str | None) -> None:
    """Raise :class:`InputError` that lists everything wrong with the choice of a back-end."""
    problems = []
    if backend not in BACKENDS:
        problems.append(Problem("--backend", "one of " + ", ".join(BACKENDS), repr(backend)))
    elif not is_installed(BACKENDS[backend]):
        problems.append(missing_problem(f"--backend {backend}", BACKENDS[backend]))
    if workers is not None and workers < 1:
        problems.append(Problem("--workers", "1 or more", f"{workers}"))
    if address is not None and backend == "loky":
        remedy = "Give --backend dask or ray with it."
        problems.append(Problem("--address", "a back-end that has one", "loky, which uses this machine", remedy))
    if problems:
        raise InputError(problems)


def open_backend(
    backend: str, workers: int | None, address: str | None, n_items: int, on_message: Callable[[str], None]
) -> Backend:
    """Start or join the workers of a back-end, for ``n_items`` work items.

    ``workers`` None means all cores of this machine, or all workers of the cluster at the address. A single worker on
    this machine is this process itself. Raises :class:`InputError` if the cluster cannot be reached.
    """
    check_backend(backend, workers, address)
    wanted = workers if workers is not None or address is not None else (1 if n_items == 1 else min(n_items, _cores()))
    if address is None and backend == "loky" and wanted == 1:
        from vinesim.studies.backends.here import Here

        return Here()
    if backend == "loky":
        from vinesim.studies.backends.loky import Loky

        return Loky(min(wanted or 1, n_items))
    if backend == "dask":
        from vinesim.studies.backends.dask import Dask

        return Dask(wanted, address, on_message)
    from vinesim.studies.backends.ray import Ray

    return Ray(wanted, address, on_message)


def _cores() -> int:
    """Return the number of cores that this process may use, considering affinity and control groups."""
    from joblib import cpu_count

    return cpu_count()
