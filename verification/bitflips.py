"""Damage the files of sweeps and results, and see that it is found: ``python -m verification.bitflips [BITS]``.

Bits are flipped one at a time, files cut, blocks set to zero and files swapped, in every kind of file: in sweeps that
are finished, stopped, with runs that failed, and broken off while their study grew; and in results of single runs.

Of a sweep, `report` and `compare` must refuse the folder and name the file, or give what they give of the undamaged
one; the next `sweep` must name it, or say nothing, and leave the data set that it leaves of the undamaged one, byte for
byte. Of a result, `report`, `explain` and `timeline` must refuse it or give the same. Damage is *found* where it is
named, *harmless* where nothing differs, *missed* where anything differs without a word or a program breaks. A journal
that was cut is as a kill leaves it: its last lines are gone, and with them why runs failed, until they are done again.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from verification.damage_cases import Case, chunks_of_four, results, sweeps
from vinesim.model.errors import InputError

Found = dict[tuple[str, str], Counter[str]]
OUTCOMES = ("found", "harmless", "as after a kill", "missed")


@dataclass(frozen=True)
class Harm:
    """What is done to a file."""

    name: str
    do: Callable[[Path, random.Random], list[Path]]  # the files that it changed


def flip(file: Path, dice: random.Random) -> list[Path]:
    """Flip one bit."""
    data = bytearray(file.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    file.write_bytes(data)
    return [file]


def cut(file: Path, dice: random.Random) -> list[Path]:
    """Cut the file after a random length."""
    data = file.read_bytes()
    file.write_bytes(data[: dice.randrange(len(data))])
    return [file]


def blank(file: Path, dice: random.Random) -> list[Path]:
    """Set a block to zero."""
    data = bytearray(file.read_bytes())
    size = min(len(data), dice.choice([8, 64, 512, 4096]))
    at = dice.randrange(len(data) - size + 1)
    data[at : at + size] = bytes(size)
    file.write_bytes(data)
    return [file]


def swap(file: Path, dice: random.Random) -> list[Path]:
    """Exchange the file with any other file of the folder."""
    root = file.parent.parent if file.parent.name in ("runs", "journal", "inputs") else file.parent
    other = dice.choice([path for path in _files(root) if path != file])
    ours, theirs = file.read_bytes(), other.read_bytes()
    file.write_bytes(theirs)
    other.write_bytes(ours)
    return [file, other] if ours != theirs else []


HARMS = (Harm("bit", flip), Harm("cut", cut), Harm("block", blank), Harm("swap", swap))


def judge(case: Case, kind: str, harm: Harm, work: Path, dice: random.Random) -> str:
    """Damage a file of this kind in a copy of the folder, and return which of ``OUTCOMES`` follows."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(case.folder, work)
    file = dice.choice([path for path in _files(work) if _kind(path) == kind])
    touched = harm.do(file, dice)
    named, same = _attempt(lambda: case.read(work), case.expected, touched)
    if case.go_on is None:
        return "found" if named else "harmless" if same else "missed"
    reported, is_mended = _attempt(lambda: case.go_on(work), case.after, touched)
    if not is_mended or (reported and not named and harm.name != "swap"):
        return "missed"
    if not (named or same):
        return "as after a kill" if harm.name == "cut" and kind == "journal" and not reported else "missed"
    return "found" if named or reported else "harmless"


def _attempt(do: Callable[[], object], expected: object, touched: list[Path]) -> tuple[bool, bool]:
    """Whether a touched file was named, by an error or a warning, and whether all is as expected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: object = do()
        except InputError as error:
            return any(path.name in str(error) for path in touched), False
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return False, False
    words = " ".join(str(warning.message) for warning in caught)
    return any(path.name in words for path in touched), found == expected


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _kind(file: Path) -> str:
    return {"runs": "part", "journal": "journal", "inputs": "input"}.get(file.parent.name, file.name)


def measure(cases: Sequence[Case], work: Path, n_bits: int, n_others: int, seed: int) -> Found:
    """Return the outcomes by kind of file and harm. Harms are spread over all kinds, six times as many on
    sweeps."""
    dice = random.Random(seed)
    found: Found = defaultdict(Counter)
    kinds = [
        (case, kind)
        for case in cases
        for kind in sorted({_kind(path) for path in _files(case.folder)}) * (1 if case.go_on is None else 6)
    ]
    dice.shuffle(kinds)
    for harm in HARMS:
        for i in range(n_bits if harm.name == "bit" else n_others):
            case, kind = kinds[i % len(kinds)]
            title = f"{'result' if case.go_on is None else 'sweep'}: {kind}"
            found[title, harm.name][judge(case, kind, harm, work, dice)] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.bitflips", description=__doc__)
    parser.add_argument("bits", nargs="?", type=int, default=2500, help="bits to flip (default 2500)")
    parser.add_argument("--others", type=int, default=300, help="of each other kind of damage (default 300)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name, chunks_of_four():
        folder = Path(name)
        cases = [*sweeps(folder), *results(folder)]
        found = measure(cases, folder / "work", arguments.bits, arguments.others, arguments.seed)
    print(f"{'':30}{'':7}{'n':>7}" + "".join(f"{name:>17}" for name in OUTCOMES))
    for (title, harm), counts in sorted(found.items()):
        print(_row(title, harm, counts))
    for harm in HARMS:
        print(_row("all", harm.name, sum((c for (_, name), c in found.items() if name == harm.name), Counter())))
    n_missed = sum(counts["missed"] for counts in found.values())
    print(f"{n_missed} missed, in {time.perf_counter() - begun:.0f} s")
    return 1 if n_missed else 0


def _row(title: str, harm: str, counts: Counter[str]) -> str:
    return f"{title:30}{harm:7}{counts.total():7,}" + "".join(f"{counts[name]:17,}" for name in OUTCOMES)


if __name__ == "__main__":
    sys.exit(main())
