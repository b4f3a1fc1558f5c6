"""The place of an error in a policy's code: its line, the line's text, and the wrong index."""

import ast
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from vinesim.state import queries


def locate(error: BaseException, file: str) -> tuple[int | None, str]:
    """Return the last line of a file that an error passed through, None if there is none, and the error in words."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, IndexError) and not any(letter.isdigit() for letter in str(error)):
        words += _index(error.__traceback__)  # NumPy names the index, a list does not
    if isinstance(error, AttributeError):
        words += _arguments(error.__traceback__, file)
    if not frames:
        return None, words
    return frames[-1].lineno, words + (f"\n    {frames[-1].line}" if frames[-1].line else "")


def line_of_answer(decide: Callable[..., Any], arguments: tuple[Any, ...], answer: Any) -> int | None:
    """Return the line at which ``decide`` returns this answer, by asking it again; None if it now answers differently,
    because it keeps something in its scratch or draws random numbers."""
    code, line = decide.__code__, None

    def within(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal line
        if event == "line":
            line = frame.f_lineno
        return within

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: within if frame.f_code is code else None)
    try:
        return line if repr(decide(*arguments)) == repr(answer) else None
    except Exception:
        return None
    finally:
        sys.settrace(before)


def at_line(file: str, line: int | None) -> tuple[str, str]:
    """Return a place in a file, and the text of its line, to be put at the end of a message; "" for no line."""
    if line is None:
        return "", ""
    text = linecache.getline(file, line).strip()
    return f", {file}:{line}", f"\n    {text}" if text else ""


def _arguments(trace: TracebackType | None, file: str) -> str:
    """Return what a query takes, if the error is in one that the policy's file called: its arguments may be swapped."""
    frames = [] if trace is None else [found for found, _ in traceback.walk_tb(trace)]
    own = [i for i, frame in enumerate(frames) if frame.f_code.co_filename == file]
    if not own or own[-1] + 1 >= len(frames):
        return ""
    query = vars(queries).get(frames[own[-1] + 1].f_code.co_name)
    if not inspect.isfunction(query):
        return ""
    takes = ", ".join(inspect.signature(query).parameters)
    return f": the arguments of {query.__name__} are ({takes}), in this order"


def _index(trace: TracebackType | None) -> str:
    """Return the index that a list does not have, in words; empty if unknown."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    text = traceback.extract_tb(trace)[-1]
    if text.lineno is None or text.lineno != text.end_lineno:
        return ""
    line = linecache.getline(text.filename, text.lineno).encode()  # columns count bytes
    source = line[text.colno : text.end_colno].decode()
    try:
        found = ast.parse(source.strip(), mode="eval").body
        if not isinstance(found, ast.Subscript):
            return ""
        index = compile(ast.Expression(found.slice), text.filename, "eval")
        return f": index {eval(index, trace.tb_frame.f_globals, trace.tb_frame.f_locals)}"  # noqa: S307 - of the policy
    except Exception:
        return ""
