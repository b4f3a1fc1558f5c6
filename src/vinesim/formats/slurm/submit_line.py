"""The options of ``sbatch``, ``srun`` and ``salloc`` in a job's SubmitLine.

sacct has no column for many of them: dependencies, begin times, nice, what is asked for of each node. Source: the
manual page of sbatch.
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
)  # of long options: those that take no value, or may take one only behind an equals sign
COMMANDS = frozenset(("sbatch", "srun", "salloc"))
OF_NEEDS = frozenset(  # options of a submission that say what a job needs
    (
        *("nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "mem", "mem-per-cpu", "mem-per-gpu", "gres", "gpus"),
        *("gpus-per-node", "gpus-per-task", "constraint", "dependency", "array", "begin", "nice", "time", "time-min"),
        *("exclusive", "no-requeue", "requeue", "hold", "licenses", "switches", "contiguous", "oversubscribe"),
        *("nodelist", "exclude", "mincpus", "tmp", "core-spec", "deadline", "ntasks-per-core", "ntasks-per-socket"),
    )
)
INHERITED = frozenset(  # by later components of a heterogeneous job
    ("begin", "deadline", "dependency", "hold", "nice", "no-requeue", "requeue", "time", "time-min")
)
_QUOTED = re.compile(r"[\"'\\]")


def submit_options(line: str, component: int = 0) -> Mapping[str, str]:
    """Return the options by long name, "" for those without a value; empty where the line is no command of Slurm's.

    What follows the script, or ``--wrap``, is the job's own. Of an option that is given twice the last one counts. Of a
    heterogeneous job, whose components stand between colons, the options are those of one of them.
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
    if component >= len(components):  # it stands in the script
        return {name: value for name, value in found.items() if name in INHERITED}
    depends = {name: value for one in components for name, value in one.items() if name == "dependency"}
    return components[component] | depends  # what one depends on, all wait for


def _words(line: str) -> list[str]:
    """Return the words of a command; lines without quotes, which most are, take a twentieth of the time."""
    if _QUOTED.search(line) is None:
        return line.split()
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
