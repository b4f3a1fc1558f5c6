"""One damaged input: drawn from an area by a seed and a number, so that it can be made again."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from verification.fuzz.parquet import damaged_parquet
from verification.fuzz.samples import Sample
from verification.fuzz.tables import damaged_table
from verification.fuzz.texts import damaged_bytes
from verification.fuzz.trees import damaged_json, damaged_yaml

STRUCTURE = 0.7  # of the inputs of a format that has one


class Input(NamedTuple):
    """A folder's files, of which one is damaged."""

    sample: Sample
    files: Mapping[str, bytes | None]  # None: a folder in place of the file
    damage: str


def input_of(samples: Sequence[Sample], seed: int, number: int) -> Input:
    """Return an input of an area."""
    random = Random(f"{seed} {samples[0].area} {number}")
    sample = random.choice(samples)
    files: dict[str, bytes | None] = dict(sample.files)
    if sample.area == "results" and random.random() < 0.2:
        return Input(sample, files, _misplaced(files, sample, random))
    data, structure = sample.files[sample.target], _structure(sample.target)
    if structure is not None and random.random() < STRUCTURE:
        files[sample.target], damage = structure(data, random)
    else:
        files[sample.target], damage = damaged_bytes(data, random)
    return Input(sample, files, damage)


def _misplaced(files: dict[str, bytes | None], sample: Sample, random: Random) -> str:
    """Put something else in place of a file."""
    target, folder = sample.target, sample.target.partition("/")[0]
    damage = random.choice(("missing", "a folder", "another file of the folder"))
    if damage == "missing":
        del files[target]
    elif damage == "a folder":
        files[target] = None
    else:
        files[target] = files[random.choice([name for name in sorted(files) if name.startswith(f"{folder}/")])]
    return damage


def _structure(name: str) -> Callable[[bytes, Random], tuple[bytes, str]] | None:
    of_text = {".yaml": damaged_yaml, ".json": damaged_json}.get(Path(name).suffix, damaged_table)
    if name.endswith((".parquet", ".lock", ".gz")):
        return damaged_parquet if not name.startswith(("run/", "sweep/", "plan/")) else None

    def change(data: bytes, random: Random) -> tuple[bytes, str]:
        text, damage = of_text(data.decode(), random)
        return text.encode(errors="surrogatepass"), damage

    return change
