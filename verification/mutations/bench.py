"""Where mutations are tried: a copy of the working tree, with its compiled code."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from verification.mutations.mutation import ROOT, Mutation

LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv", "out", "_build", "generated", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache")
)
OWN_TEST = "tests/verification/test_mutations.py"  # tells that a text has changed, which is no merit of the tests
OPTIONS = ("-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", "--timeout=300")
USAGE, NOTHING = 4, 5  # exit codes of pytest: tests that are not there
NEAREST, SUITE, SURVIVED = "nearest tests", "whole suite", "survived"


class Bench:
    """A copy of the working tree in a folder, where tests are run."""

    def __init__(self, folder: Path):
        self.root = folder / ROOT.name
        self._failed: set[str] = set()  # tests that have caught something
        shutil.copytree(ROOT, self.root, ignore=LEFT_OUT)  # with times, or the compiled code would count as old
        if (ROOT.parent / "shared").exists():
            (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())
        where = self._python("-c", "import vinesim; print(vinesim.__file__)").stdout.strip()
        if not Path(where).is_relative_to(self.root.resolve()):
            raise RuntimeError(f"the copy's tests would run the package in {where}")

    def catch(self, mutation: Mutation, suite: bool = True) -> tuple[str, str]:
        """Which tests catch a mutation, NEAREST or SUITE, and the one that failed; or SURVIVED.

        Raises RuntimeError where there are no such tests.
        """
        with mutation.in_place(self.root):
            ended = []
            for engine in ("reference", "not reference") if mutation.is_compiled else ("",):  # the slow ones at the end
                ended.append(self._run("-n", "0", "-k", engine, *mutation.tests.split()))
                if ended[-1][0] not in (0, NOTHING):
                    break
            codes = [code for code, _ in ended]
            if USAGE in codes or set(codes) == {NOTHING}:
                raise RuntimeError(f"{mutation.meaning}: no tests {mutation.tests}")
            caught = NEAREST
            if codes[-1] in (0, NOTHING) and suite:
                ended.append(self._run("-n", "2", "--dist", "loadgroup", f"--ignore={OWN_TEST}", "tests"))
                caught = SUITE
        code, failed = ended[-1]
        if code in (0, NOTHING):
            return SURVIVED, ""
        self._failed.add(failed)
        return caught, failed

    def check(self) -> None:
        """Raise RuntimeError unless the tests that failed pass as long as nothing is wrong."""
        tests = sorted(test for test in self._failed if "::" in test)
        code, failed = self._run("-n", "0", *tests) if tests else (0, "")
        if code:
            raise RuntimeError(f"without a mutation {failed} fails too")

    def _run(self, *words: str) -> tuple[int, str]:
        """The exit code of pytest, and the test that failed, or in words how pytest ended."""
        done = self._python("-m", "pytest", *OPTIONS, *words)
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.M)
        return done.returncode, found[1] if found else f"exit code {done.returncode}"

    def _python(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        call = ["nice", sys.executable, *words]
        return subprocess.run(call, cwd=self.root, env=environment, capture_output=True, text=True)
