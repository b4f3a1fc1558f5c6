"""Values as Slurm writes them: times, durations, memory, lists of hosts and of trackable resources (TRES).

Sources: the manual pages of slurm.conf, sacct, sacctmgr and sbatch, Slurm 22.05 to 25.05.
"""

import datetime
import math
import re

UNLIMITED = frozenset(("UNLIMITED", "INFINITE", "-1", "4294967295"))
NOTHING = frozenset(("", "Unknown", "None", "N/A", "(null)", "NONE", "n/a"))
LATEST_S = 253402300800.0  # the year 10000
MAX_HOSTS = 1_000_000  # most hosts of one list
MIB = {"K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
WEIGHED = ("cpu", "mem", "node", "gres/gpu")  # modelled resources
COUNTED = (*WEIGHED, "billing")  # resources with limits
OF_TYPE, LICENCE = "gres/gpu:", "license/"  # prefixes of names of GPU types and of licences
_DURATION = re.compile(r"(?:(\d{1,12})-)?(\d{1,12})(?::(\d{1,12}))?(?::(\d{1,12}))?(?:\.\d+)?", re.ASCII)
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)B?([nc]?)", re.IGNORECASE)
_HOST = re.compile(r"[^,\[\]]+|\[[^\[\]]*\]|,")


def time_s(text: str) -> float | None:
    """Parse a date in local time without a zone, or a number, as s since 1970; None unless it is before year 10000."""
    if text in NOTHING:
        return None
    try:
        found = float(text)
    except ValueError:
        try:
            date = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        found = (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp()
    return found if 0.0 <= found < LATEST_S else None


def duration_s(text: str, unit_s: float = 60.0) -> float | None:
    """Parse a duration, in s, infinite for UNLIMITED; None if it is not one.

    A number such as ``30`` is in ``unit_s``, minutes by default. Other forms are ``10:00``, ``1:30:00``, ``2-12`` and
    ``2-00:00:00``.
    """
    if text.upper() in UNLIMITED:
        return math.inf
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        return None
    days, *parts = found.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:  # days-hours, days-hours:minutes, days-hours:minutes:seconds
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
        return float(int(days) * 86400 + hours * 3600 + minutes * 60 + seconds)
    if len(numbers) == 1:
        return numbers[0] * unit_s
    hours, minutes, seconds = numbers if len(numbers) == 3 else (0, *numbers)
    return float(hours * 3600 + minutes * 60 + seconds)


def memory_mib(text: str) -> tuple[float, str] | None:
    """Parse an amount of memory, in MiB, and its reference: ``n`` per node, ``c`` per CPU, "" if not given.

    Examples are ``64000M``, ``62.50G``, ``4Gn`` and ``2000Mc``; plain numbers are MiB. None if it is not an amount.
    """
    found = _MEMORY.fullmatch(text.strip())
    if found is None:
        return None
    number, unit, of = found.groups()
    return float(number) * MIB[unit.upper() or "M"], of.lower()


def exact(value: float) -> str:
    """Format a number with all its digits: ``:g`` would round the seconds of a year or the MiB of a large node."""
    return f"{value:.15g}"


def tres(text: str) -> dict[str, float]:
    """Parse a list of resources, such as ``cpu=16,mem=64G,gres/gpu:a100=4``, by name; memory in MiB.

    Parts of another form are left out.
    """
    found = {}
    for item in text.split(","):
        name, _, amount = item.partition("=")
        name = name.strip().lower()
        if name == "mem" and (memory := memory_mib(amount)) is not None:
            found[name] = memory[0]
        elif name and amount:
            number = _number(amount)
            if number is not None:
                found[name] = number
    return found


def weights_of(text: str) -> dict[str, float]:
    """Parse a list of weights of resources, such as ``CPU=1.0,Mem=0.25G,GRES/gpu=2``, by name in lower case.

    A weight of memory is per unit that follows it in the text, and per MiB in the result. Parts of another form are
    left out.
    """
    found = {}
    for item in text.split(","):
        name, _, weight = item.strip().lower().partition("=")
        match = re.fullmatch(r"(\d*\.?\d+|\d+\.)([kmgtp]?)", weight.strip())
        if name and match:
            found[name.strip()] = float(match[1]) / MIB[match[2].upper() or "M"]
    return found


def licences(text: str) -> dict[str, float]:
    """Parse a list of licences, such as ``matlab:2,ansys@server``, by name; the default number is one.

    Choices between licences, ``a|b``, are left out.
    """
    found = dict[str, float]()
    for item in [] if "|" in text else text.split(","):
        name, _, amount = item.strip().partition(":")
        number = _number(amount) if amount else 1.0
        if name and name not in NOTHING and number is not None:
            found[name] = found.get(name, 0.0) + number
    return found


def _number(text: str) -> float | None:
    """Parse a number with an optional factor: ``4``, ``2K``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text.strip())
    return float(found[1]) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[found[2]] if found else None


def hosts(text: str) -> list[str]:
    """Expand a list of hosts, in its order: ``n[01-03,7],login`` is n01, n02, n03, n7, login.

    Several brackets in a name are multiplied, as in ``r[1-2]n[1-3]``. Raises ValueError for a list that is invalid or
    too long.
    """
    if text in NOTHING:
        return []
    found, current = list[str](), [""]
    for part in _HOST.findall(text):
        if part == ",":
            found, current = found + current, [""]
        elif part.startswith("["):
            suffixes = _numbers(part[1:-1])
            _check_number(len(current) * len(suffixes))
            current = [name + suffix for name in current for suffix in suffixes]
        else:
            current = [name + part for name in current]
    found += current
    _check_number(len(found))
    if "".join(_HOST.findall(text)) != text or "" in found:
        raise ValueError(f"no list of hosts: {text[:60]!r}")
    return found


def readable_hosts(text: str) -> list[str]:
    """Expand a list of hosts as :func:`hosts` does; empty for a list that is cut off or too long."""
    try:
        return hosts(text)
    except ValueError:
        return []


def _numbers(text: str) -> list[str]:
    found = list[str]()
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if not (low.isascii() and low.isdigit() and (not dash or (high.isascii() and high.isdigit()))):
            raise ValueError(f"no range of numbers: {part[:20]!r}")
        first, last = int(low), int(high or low)
        if last < first:
            raise ValueError(f"no range of numbers: {part[:20]!r}")
        _check_number(len(found) + last - first + 1)
        found += [f"{number:0{len(low)}d}" for number in range(first, last + 1)]
    return found


def _check_number(n: int) -> None:
    if n > MAX_HOSTS:
        raise ValueError(f"more than {MAX_HOSTS:,} hosts")
