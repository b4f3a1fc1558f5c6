"""The options of ``sbatch``, ``srun`` and ``salloc`` in a job's SubmitLine.

sacct has no columns for many of them: dependencies, begin times, nice, requests per node. Source: the manual page of
sbatch.
"""

import re
import shlex
from collections.abc import Mapping

SHORT = {
    "A": "account", "a": "array", "b": "begin", "c": "cpus-per-task", "C": "constraint", "d": "dependency",
    "D": "chdir", "e": "error", "F": "nodefile", "G": "gpus", "H": "hold", "i": "input", "J": "job-name",
    "k": "no-kill", "L": "licenses", "m": "distribution", "M": "clusters", "n": "ntasks", "N": "nodes", "o": "output",
    "O": "overcommit", "p": "partition", "q": "qos", "Q": "quiet", "s": "oversubscribe", "S": "core-spec",
    "t": "time", "v": "verbose", "w": "nodelist", "W": "wait", "x": "exclude",
}  # fmt: skip
FLAGS = frozenset(
    (
        *("hold", "no-kill", "overcommit", "oversubscribe", "quiet", "verbose", "wait", "exclusive", "requeue"),
        *("no-requeue", "parsable", "contiguous", "spread-job", "use-min-nodes", "reboot", "ignore-pbs", "test-only"),
        *("kill-on-invalid-dep", "nice", "get-user-env", "propagate", "share"),
    )
)  # long options without a value, or with an optional one after an equals sign
COMMANDS = frozenset(("sbatch", "srun", "salloc"))
OF_NEEDS = frozenset(  # options of a submission about a job's needs
    (
        *("nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "mem", "mem-per-cpu", "mem-per-gpu", "gres", "gpus"),
        *("gpus-per-node", "gpus-per-task", "constraint", "dependency", "array", "begin", "nice", "time", "time-min"),
        *("exclusive", "no-requeue", "requeue", "hold", "licenses", "switches", "contiguous", "oversubscribe"),
        *("nodelist", "exclude", "mincpus", "tmp", "core-spec", "deadline", "ntasks-per-core", "ntasks-per-socket"),
    )
)
INHERITED = frozenset(  # options that later components of a heterogeneous job inherit
    ("begin", "deadline", "dependency", "hold", "nice", "no-requeue", "requeue", "time", "time-min")
)
_QUOTED = re.compile(r"[\"'\\]")


def submit_options(line: str, component: int = 0) -> Mapping[str, str]:
    """Return the options by long name, "" for those without a value; empty if the line is not a command of Slurm.

    Words after the script, or after ``--wrap``, belong to the job. If an option is repeated, the last one counts. The
    components of a heterogeneous job are separated by colons; the options of one of them are returned.
    """
    words = _words(line)
    if not words or words[0].rpartition("/")[2] not in COMMANDS:
        return {}
    found, at = dict[str, str](), 1
    components = [found]
    while at < len(words):
        word = words[at]
        at += 1
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            if not equals and name not in FLAGS and at < len(words):
                value, at = words[at], at + 1
            found[name] = value
        elif word.startswith("-") and len(word) > 1:
            name = SHORT.get(word[1], "")
            if not name:
                continue
            value = word[2:].removeprefix("=")
            if not value and name not in FLAGS and at < len(words):
                value, at = words[at], at + 1
            found[name] = value
        elif word == ":":
            found = {name: value for name, value in found.items() if name in INHERITED}
            components.append(found)
        else:
            break  # the script
    if component >= len(components):  # its options are in the script
        return {name: value for name, value in found.items() if name in INHERITED}
    depends = {name: value for one in components for name, value in one.items() if name == "dependency"}
    return components[component] | depends  # all components wait for the dependencies of each


def _words(line: str) -> list[str]:
    """Split a command into words. A fast path for lines without quotes, the most, takes a twentieth of the time."""
    if _QUOTED.search(line) is None:
        return line.split()
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
