"""What the Tab key completes, asked for as a shell asks."""

import os
import subprocess
import sys

import pytest


def complete(line: str) -> set[str]:
    """What Bash would be offered for the last word of a line."""
    asked = {"_VINESIM_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    code = "import sys; sys.argv = ['vinesim']; from vinesim.cli.start import main; main()"
    found = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split("\n")) - {""}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vinesim rep", {"report", "reproduce"}),
        ("vinesim run --policy rb_l", {"rb_ljf", "rb_ljf_ba", "rb_ljf_ocl"}),
        ("vinesim policies easy", {"easy_backfill"}),
        ("vinesim run --policy pref --option m", {"mode=only", "mode=first"}),
        ("vinesim run --policy nobody --option m", set()),
        ("vinesim run --option m", set()),
    ],
)
def test_tab_completes(line, expected):
    assert complete(line) == expected
