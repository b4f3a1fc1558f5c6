"""Comments, docstrings and pages name files that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "vinesim"
PACKAGES = "|".join(sorted(one.name for one in PACKAGE.iterdir() if (one / "__init__.py").exists()))
MENTIONED = re.compile(rf"(?<![\w/.-])(?:{PACKAGES})(?:/\w+)*/\w+\.py\b")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
TEXTS = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.md"), *(one for one in PAGES if one.name != "CHANGELOG.md")]


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in TEXTS}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_file_that_is_mentioned_is_there(folder):
    for path in (one for one in TEXTS if one.parent == folder):
        text = path.read_text()
        places = (path.parent, PACKAGE, ROOT)  # a page of the documentation may have its own folder by that name
        missing = {name for name in MENTIONED.findall(text) if not any((place / name).exists() for place in places)}
        assert not missing, path
