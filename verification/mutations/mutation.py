"""A mutation: texts of the package with what takes their place, and the tests that should notice."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/vinesim")


@dataclass(frozen=True)
class Edit:
    """A text of a file, which must stand there exactly once, and another one in its place."""

    file: str  # below the package
    old: str
    new: str

    @property
    def path(self) -> Path:
        """Where the file is, from the root on."""
        return PACKAGE / self.file

    def made_in(self, text: str) -> str:
        """The file's text with the edit. Raises ValueError unless the old text stands there exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.path} must have this exactly once, and has it {text.count(self.old)} times: {self.old!r}"
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Mutation:
    """A change of meaning. What both engines do is changed in both: their comparison alone would not tell."""

    meaning: str  # what is wrong then, in words
    tests: str  # the nearest tests: files or ids, with spaces between
    edits: tuple[Edit, ...]
    added: str = ""  # the tests that were written for it, as it survived at first
    equivalent: str = ""  # why nobody can see it

    @property
    def files(self) -> list[str]:
        """The files that it changes."""
        return list(dict.fromkeys(edit.file for edit in self.edits))

    @property
    def is_compiled(self) -> bool:
        """Whether it is in what the compiled engine compiles."""
        return any(edit.file.startswith(("core/", "engine/", "state/", "policies/")) for edit in self.edits)

    def texts(self, root: Path) -> dict[Path, str]:
        """The changed files with their new texts. Raises ValueError for a text that is not there exactly once."""
        found: dict[Path, str] = {}
        for edit in self.edits:
            found[edit.path] = edit.made_in(found.get(edit.path) or (root / edit.path).read_text())
        return found

    @contextmanager
    def in_place(self, root: Path) -> Iterator[None]:
        """While this is open, the files below ``root`` are changed; then they are as they were, to their times."""
        before = {path: ((root / path).read_bytes(), (root / path).stat()) for path in self.texts(root)}
        try:
            for path, text in self.texts(root).items():
                (root / path).write_text(text)
            yield
        finally:
            for path, (data, stat) in before.items():
                (root / path).write_bytes(data)
                os.utime(root / path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def mutation(meaning: str, tests: str, *edits: str, added: str = "", equivalent: str = "") -> Mutation:
    """A mutation of ``edits``: file, old text, new text, and again for each text that changes."""
    made = tuple(Edit(*edits[i : i + 3]) for i in range(0, len(edits), 3))
    return Mutation(meaning, tests, made, added, equivalent)
