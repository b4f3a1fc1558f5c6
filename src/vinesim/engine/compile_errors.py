"""What Numba says of a policy that it cannot compile, for its author: which line, and what is wrong there.

Numba tells a story of a hundred lines, from the innermost cause outwards, with all that it has tried on the way. Little
of it is about the policy: the file and the line that come first of those that are neither Numba's nor the engine's, and
the words just before.
"""

import linecache
import re
from pathlib import Path

from vinesim.core.code import PACKAGE
from vinesim.jit.kernels import NUMBA

PLACE = re.compile(
    r'(?:During: [^\n]* at|Raised from) (?P<file>\S+) \((?P<line>\d+)\)|File "(?P<of>[^"]+)", line (?P<at>\d+)'
)
BEGIN = re.compile(r"Failed in nopython mode pipeline[^\n]*\n")
END = re.compile(r"^\s*(?:There are|During|File|- Of which|[Rr]aised from)|\. Raised from", re.MULTILINE)
WRONG_CALL = re.compile(r"to signature '(?P<signature>.*?)' due to \"TypeError: (?P<why>.*?)\"", re.DOTALL)
NO_CALL = re.compile(r"No implementation of function .*?>>> (?P<call>.*)", re.DOTALL)
TYPE = re.compile(r"(?:Reference|ArraysType)\((Model|State|Scratch|Options)\w*(?: \w+)?\)")
OTHERS = (NUMBA, *(PACKAGE / room for room in ("core", "engine", "jit", "state")))


def words_of(error: Exception) -> str:
    """Return what is wrong, after the file and line where that is known, and with the line's text."""
    story = str(error)
    place = next((found for found in PLACE.finditer(story) if not _is_of_others(found)), None)
    known = _known(story)
    if place is None:
        return known or _cause(story)
    file, line = _file_of(place), int(place["line"] or place["at"])
    source = linecache.getline(str(file), line).strip()
    what = known or _what(story[: place.start()])
    return f"{file}:{line}: {what}" + (f"\n    {source}" if source else "")


def _file_of(place: re.Match[str]) -> Path:
    return Path(place["file"] or place["of"]).resolve()


def _is_of_others(place: re.Match[str]) -> bool:
    file = _file_of(place)
    return any(file.is_relative_to(other) for other in OTHERS) or not linecache.getlines(str(file))


def _known(story: str) -> str | None:
    """What is often wrong, in its own words."""
    if "attribute 'task' of type" in story or "expected Action" in story:
        return "decide must return start(...), wait_until(...) or nothing(), on every way through it"
    if "built-in function or_" in story:  # of start, drop ... in core/queries.py, and scores
        return "a task, a unit or a score is no whole number; int(...) makes one"
    if "NRT required" in story:
        return "it makes a list, an array or another new object"
    if "Untyped global name" in story:
        return story[story.index("Untyped global name") :].splitlines()[0]
    return None


def _what(story: str) -> str:
    """Return the cause, from the text before the place where it went wrong."""
    if any(_is_of_others(place) for place in PLACE.finditer(story)):
        return "Numba cannot compile this"  # and says of its own parts why
    return _cause(story)


def _cause(story: str) -> str:
    """Return the innermost cause."""
    begin = list(BEGIN.finditer(story))
    text = story[begin[-1].end() :] if begin else story
    end = END.search(text)
    text = TYPE.sub(lambda found: found[1].lower(), text[: end.start()] if end else text)
    if found := WRONG_CALL.search(text):
        return f"{found['why']}; it takes {found['signature']}"
    if found := NO_CALL.search(text):
        return f"there is no {_line(found['call'])}"
    return _line(text)


def _line(words: str) -> str:
    """Return words on one line, with the values that are known in place of their types."""
    return " ".join(re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", words).split())[:300]
