"""Damaged files in a sweep's folder: find them by checksum, report them, and set them aside so that runs repeat."""

import os
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vinesim.formats.results.checksums import is_intact
from vinesim.formats.results.folder import STUDY
from vinesim.formats.source.files import read_bytes, replacing
from vinesim.model.errors import MAX_PROBLEMS, InputError, InputWarning, Problem
from vinesim.studies import journal
from vinesim.studies.journal import intact_lines, read_journals
from vinesim.studies.origin import damaged_files
from vinesim.studies.parts import is_whole, run_files

DAMAGED = "damaged"  # the folder for damaged files
MISMATCH = "a damaged one: its checksum does not match"


@dataclass(frozen=True)
class Damage:
    """A file that has changed since it was written."""

    file: Path
    found: str  # in words


def find_damage(folder: Path) -> list[Damage]:
    """Return all damage in a sweep's folder: its study, parts, journals and inputs."""
    study = folder / STUDY
    found = [Damage(study, MISMATCH)] if study.exists() and not is_intact(read_bytes(study)) else []
    journals = read_journals(folder).n_damaged
    return [
        *found,
        *_damaged_parts(run_files(folder)),
        *(Damage(file, MISMATCH) for file in damaged_files(folder)),
        *(Damage(file, f"{n} damaged line{'s' * (n > 1)}") for file, n in journals.items()),
    ]


def intact_parts(folder: Path) -> list[Path]:
    """Return the parts of a sweep. Raises :class:`InputError` listing damaged ones."""
    files = run_files(folder)
    _refuse(_damaged_parts(files), folder)
    return files


def refuse_damage(folder: Path) -> None:
    """Raise :class:`InputError` listing everything that is damaged."""
    _refuse(find_damage(folder), folder)


def set_aside(folder: Path, damages: Sequence[Damage]) -> None:
    """Move damaged files to a folder of their own, with a warning. The intact lines of a journal are kept."""
    if not damages:
        return
    (folder / DAMAGED).mkdir(exist_ok=True)
    for damage in damages:
        aside = folder / DAMAGED / damage.file.name
        if damage.file.parent.name == journal.FOLDER:
            shutil.copyfile(damage.file, aside)
            _replace(damage.file, intact_lines(damage.file))
        else:
            os.replace(damage.file, aside)
    names = ", ".join(str(damage.file) for damage in damages[:MAX_PROBLEMS])
    more = f" and {len(damages) - MAX_PROBLEMS} more" if len(damages) > MAX_PROBLEMS else ""
    text = f"damaged files are moved to {folder / DAMAGED}, and the sweep repeats what was lost: {names}{more}"
    warnings.warn(text, InputWarning, stacklevel=2)


def _damaged_parts(files: Sequence[Path]) -> list[Damage]:
    return [Damage(file, MISMATCH) for file in files if not is_whole(file)]


def _refuse(damages: Sequence[Damage], folder: Path) -> None:
    remedy = f"Run vinesim sweep again with --out {folder}: it repeats the runs that were lost."
    if damages:
        raise InputError([Problem(str(each.file), "an intact file of a sweep", each.found, remedy) for each in damages])


def _replace(file: Path, data: bytes) -> None:
    with replacing(file) as draft, open(draft, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
