"""The place of an error in a policy's code: its line, the line's text, and the wrong index."""

import ast
import linecache
import traceback
from types import TracebackType


def told(error: BaseException, file: str) -> tuple[int | None, str]:
    """Return the last line of a file that an error passed through, None if there is none, and the error in words."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, IndexError) and not any(letter.isdigit() for letter in str(error)):
        words += _index(error.__traceback__)  # NumPy names the index, a list does not
    if not frames:
        return None, words
    return frames[-1].lineno, words + (f"\n    {frames[-1].line}" if frames[-1].line else "")


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
