"""Messages about compiling: that it begins if a policy's machine code is not on the disk, and what went wrong.

If Numba cannot compile a policy, it tells a story of a hundred lines, from the innermost cause outwards, with
everything that it has tried on the way. Little of it is about the policy: the first file and line that are neither
Numba's nor the engine's, and the words just before them. A message gives the policy's author that line, and says what
is wrong there.
"""

import linecache
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from vinesim.core.checked_math import PlainOnly
from vinesim.core.code import PACKAGE
from vinesim.engine.contract import BrokenContract
from vinesim.model.errors import PolicyError
from vinesim.policies.contract import OnlinePolicy, Policy, title_of
from vinesim.policies.declarations import rules_of

PLACE = re.compile(
    r'(?:During: [^\n]* at|Raised from) (?P<file>\S+) \((?P<line>\d+)\)|File "(?P<of>[^"]+)", line (?P<at>\d+)'
)
BEGIN = re.compile(r"Failed in nopython mode pipeline[^\n]*\n")
END = re.compile(r"^\s*(?:There are|During|File|- Of which|[Rr]aised from)|\. Raised from", re.MULTILINE)
WRONG_CALL = re.compile(r"to signature '(?P<signature>.*?)' due to \"TypeError: (?P<why>.*?)\"", re.DOTALL)
NO_CALL = re.compile(r"No implementation of function .*?>>> (?P<call>.*)", re.DOTALL)
TYPE = re.compile(r"(?:Reference|ArraysType)\((Model|State|Scratch|Options)\w*(?: \w+)?\)")
ROOMS = ("core", "engine", "jit", "policies", "state")
OTHERS = tuple(PACKAGE / room for room in ROOMS)  # with what Numba has itself


def words_of(error: Exception, own: str = "") -> str:
    """Return what is wrong, after the file and line if they are known, and with the line's text; else after ``own``,
    the place of the policy's function."""
    story = str(error)
    place = next((found for found in PLACE.finditer(story) if not _is_of_others(found)), None)
    known = _known(story)
    if place is None:
        return (f"{own}: " if own else "") + (known or _cause(story))
    file, line = _file_of(place), int(place["line"] or place["at"])
    source = linecache.getline(str(file), line).strip()
    what = known or _what(story[: place.start()])
    return f"{file}:{line}: {what}" + (f"\n    {source}" if source else "")


def _file_of(place: re.Match[str]) -> Path:
    return Path(place["file"] or place["of"]).resolve()


def _is_of_others(place: re.Match[str]) -> bool:
    from vinesim.jit.kernels import NUMBA

    file = _file_of(place)
    return any(file.is_relative_to(other) for other in (NUMBA, *OTHERS)) or not linecache.getlines(str(file))


def _known(story: str) -> str | None:
    """Return the words for a frequent mistake; None for any other."""
    if "attribute 'task' of type" in story or "expected Action" in story:
        return "decide must return start(...), wait_until(...) or nothing(), on every way through it"
    if "built-in function or_" in story:  # of start, drop ... in core/actions.py, and scores
        return "a task, a unit or a score is no whole number; int(...) makes one"
    if "NRT required" in story:
        return "it makes a list, an array or another new object"
    if PlainOnly.__name__ in story:
        return "a function that only plain Python can call"
    if "exception_match" in story:
        return "compiled code cannot catch one kind of error: test for the cause before, such as a divisor of 0"
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


@contextmanager
def _announced(name: str, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled when Numba starts; it looks for the code on disk before that."""
    if on_message is None or "numba" not in sys.modules:  # nothing can be compiled
        yield
        return
    words = f"compiling the policy {name} for this machine: a few seconds, until its code or VineSim changes"
    to_say = [partial(on_message, words)]

    def say() -> None:
        while to_say:
            to_say.pop()()

    from vinesim.jit.events import listening

    with listening(say, lambda: None):
        yield


@contextmanager
def timing_compilation() -> Iterator[Callable[[], float]]:
    """Provide how long, in s, Numba has compiled on this thread since then: code is compiled when it is first used."""
    if "numba" not in sys.modules:
        yield lambda: 0.0
        return
    thread, begun, total = threading.get_ident(), [], 0.0

    def begin() -> None:
        if threading.get_ident() == thread:
            begun.append(time.perf_counter())

    def end() -> None:
        nonlocal total
        if threading.get_ident() == thread and begun:  # else Ctrl-C came as it began
            since = begun.pop()
            total += 0.0 if begun else time.perf_counter() - since

    from vinesim.jit.events import listening

    with listening(begin, end):
        yield lambda: total


_has_begun = False


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Let :func:`has_begun` be false until the compiler is done; KeyboardInterrupt gets a note that says so."""
    global _has_begun
    _has_begun = False
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(f"the policy {name} was being compiled")
        raise
    _has_begun = True


def has_begun() -> bool:
    """Whether the last run of the process is compiled, so that some of it may be done."""
    return _has_begun


def _own_place(policy: Policy) -> str:
    """Return the file and line of the function that the policy's author wrote; empty if its text is not known."""
    if not isinstance(policy, OnlinePolicy):
        return ""
    code = rules_of(type(policy))[0].__code__
    return f"{code.co_filename}:{code.co_firstlineno}" if linecache.getlines(code.co_filename) else ""


class NotCompiled(PolicyError):
    """A policy that the compiler refuses."""


@contextmanager
def announce_compilation(policy: Policy, on_message: Callable[[str], None] | None) -> Iterator[None]:
    """Report that a policy is being compiled, if it is; turn compiler errors into messages for the user."""
    name = title_of(policy)
    try:
        with _announced(name, on_message):
            yield
    except BrokenContract:
        raise
    except Exception as wrong:
        if "numba" not in type(wrong).__module__:
            raise
        from vinesim.core.loops import forget_refused

        forget_refused()
        raise NotCompiled(
            f"policy {name} cannot be compiled: {words_of(wrong, _own_place(policy))}\n"
            "Use numbers, arrays and the queries only, and no new arrays; or set compiled = False and run it with "
            "--engine reference."
        ) from None
