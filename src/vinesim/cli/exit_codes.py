"""The exit codes of all commands, in one place; the reference page is made from it."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command says to the shell, or to the script, that called it."""

    DONE = 0  # all is done; a run also where it ended at the horizon that its scenario sets
    RUNS_FAILED = 1  # of a sweep: some runs failed; the same command tries them again
    BAD_INPUT = 2  # the input, an option or the policy is wrong, or the output cannot be written
    STALLED = 3  # a run, or some runs of a sweep, ended with tasks that nothing can ever start; the result is written
    INTERRUPTED = 130  # stopped with Ctrl-C or SIGTERM; what was done so far is kept


_OF_RUN = {"STALLED": ExitCode.STALLED, "INTERRUPTED": ExitCode.INTERRUPTED}


def of_run(reason: str) -> ExitCode:
    """The exit code for why a run ended."""
    return _OF_RUN.get(reason, ExitCode.DONE)


def of_sweep(reasons: Iterable[str], n_failed: int) -> ExitCode:
    """The exit code of a sweep, for why its runs ended."""
    if n_failed:
        return ExitCode.RUNS_FAILED
    return max(map(of_run, set(reasons)), default=ExitCode.DONE)
