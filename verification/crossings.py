"""How many files a run crosses from its YAML to summary.json, and how often building the scenario goes back to one.

    python -m verification.crossings [scenario.yaml]

A file counts where a function of it is called. The *director* is the module that puts the scenario together: from it
the calls into the other modules of ``formats`` are written down in their order, and a *return* is a call into a module
that was called before, with another one in between. It looks at whichever VineSim is imported, so that an older one can
be measured with ``PYTHONPATH``.
"""

import inspect
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import vinesim

PACKAGE = Path(vinesim.__file__).parent
DIRECTORS = ("formats/scenario/file.py", "formats/scenario_file.py")  # now, and in version 0.1


class Crossings:
    """What a profiler of calls writes down."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.calls: list[str] = []  # from the director into other modules of formats, neighbours that are alike once

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a module's or a class's body
            return
        file = _inside(frame)
        if file is None:
            return
        self.files[file] = None
        caller = None if frame.f_back is None else _inside(frame.f_back)
        is_step = caller in DIRECTORS and file not in DIRECTORS and file.startswith("formats/")
        if is_step and self.calls[-1:] != [file]:
            self.calls.append(file)

    @property
    def returns(self) -> int:
        """How often a module is called again after another one."""
        return len(self.calls) - len(set(self.calls))

    def rooms(self) -> dict[str, int]:
        """Files crossed by package, or room of one."""
        found: dict[str, int] = {}
        for file in self.files:
            room = "/".join(file.split("/")[:-1]) or "vinesim"
            found[room] = found.get(room, 0) + 1
        return found


def _inside(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else None


def crossings(scenario: Path) -> Crossings:
    """Of ``vinesim run scenario --out ...``, the second time: the first one loads what is loaded once."""
    from vinesim.cli.errors import report_errors
    from vinesim.cli.main import app

    found, words = Crossings(), sys.argv
    with tempfile.TemporaryDirectory() as folder:
        for profile in (None, found):
            out = Path(folder) / ("warm" if profile is None else "measured")
            sys.argv = ["vinesim", "run", str(scenario), "--engine", "reference", "--out", str(out), "--json"]
            sys.setprofile(profile)
            try:
                code = report_errors(app)
            finally:
                sys.setprofile(None)
                sys.argv = words
            assert code == 0
            assert (out / "summary.json").exists()
    return found


def main(arguments: Sequence[str]) -> None:
    """Print the figures."""
    scenario = Path(arguments[0] if arguments else "examples/quickstart.yaml")
    found = crossings(scenario)
    print(f"{PACKAGE}: {scenario}", file=sys.stderr)
    print(f"files: {len(found.files)}", file=sys.stderr)
    for room, n in sorted(found.rooms().items()):
        print(f"  {n:3} {room}", file=sys.stderr)
    print(f"returns: {found.returns}, in {len(found.calls)} steps", file=sys.stderr)
    for file in found.calls:
        print(f"  {file}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
