"""The one place where text becomes text for a terminal: what others named can neither move nor colour it."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

LEAST_COLUMNS = 60  # a narrower terminal wraps the lines itself: tables without numbers would help nobody

# What a terminal obeys, or what changes the order in which a line is read, and a line's end.
_OBEYED = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_outputs: list[TextIO] = []  # standard output of the command that runs


@contextmanager
def only_results() -> Iterator[None]:
    """Keep standard output for what the command writes to :func:`output`; what anything else prints is a message.

    Policies, generators and Ray print too, and a document for a program must hold nothing else.
    """
    _outputs.append(output())
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _outputs.pop()


def output() -> TextIO:
    """Return the stream of a command's result."""
    return _outputs[-1] if _outputs else sys.stdout


def visible(text: object) -> str:
    """Write the text as one line, with control characters as ``\\x1b``, ``\\n`` or ``\\u202e``."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), str(text))


def say(text: object = "", *, err: bool = False) -> None:
    """Print one line on standard output, or on standard error."""
    print(visible(text), file=sys.stderr if err else output())


def warn(text: object) -> None:
    """Print one line about the command on standard error."""
    say(f"vinesim: {text}", err=True)
