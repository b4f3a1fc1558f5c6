"""The exit codes of all commands; the reference page is generated from them."""

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The code that a command returns to the shell or script that called it."""

    DONE = 0  # success; also a run that ended at the horizon of its scenario
    RUNS_FAILED = 1  # some runs of a sweep failed; repeat the command to try them again
    BAD_INPUT = 2  # the input, an option or the policy is wrong, or the output cannot be written
    STALLED = 3  # a run, or some runs of a sweep, ended with tasks that can never start; the result is written
    NO_PLAN = 4  # no point of a plan keeps its limits, or none is decided; the answer is written
    INTERRUPTED = 130  # stopped by Ctrl-C or SIGTERM; what was done so far is kept


_OF_RUN = {"STALLED": ExitCode.STALLED, "INTERRUPTED": ExitCode.INTERRUPTED}


def of_run(reason: str) -> ExitCode:
    """Return the exit code for the reason why a run ended."""
    return _OF_RUN.get(reason, ExitCode.DONE)


def of_sweep(reasons: Iterable[str], n_failed: int) -> ExitCode:
    """Return the exit code of a sweep from the reasons why its runs ended."""
    if n_failed:
        return ExitCode.RUNS_FAILED
    return max(map(of_run, set(reasons)), default=ExitCode.DONE)
