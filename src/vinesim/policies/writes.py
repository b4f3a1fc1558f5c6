"""Find forbidden writes of a policy. It may write only to its scratch arrays, whose contents a run repeats.

Checked are assignments, and calls of methods that change a list or an array, through ``model``, ``state`` and ``view``,
through names that stand for parts of them, and through names of the module. Other functions are checked in the same way
if their parameters have these names.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType

from vinesim.model.errors import Problem

ARGUMENTS = ("model", "state", "view")
CHANGING = {"append", "clear", "extend", "fill", "insert", "partition", "pop", "put", "remove", "sort", "update"}
_SCRATCH, _MODULE = ("view", "scratch"), ""  # the first steps of paths
_OF_ONLINE = (
    "writes to the policy's scratch arrays only",
    'Keep what it must remember there, declared as scratch = {"last": ("i8", "one")}: view.scratch.last[0] = 1.',
)
_OF_BATCHES = ("an answer from the arguments alone", "A batch policy remembers nothing between two periods.")
Path = tuple[str, ...]  # of what a name stands for: ("state", "task_unit", "[]")


def wrong_writes(function: FunctionType, file: str, may_keep: bool) -> list[Problem]:
    """Return a problem for each line of a function that writes something else than scratch; ``file`` is what messages
    call its file. With ``may_keep`` names of the module may be written: plain Python may keep what it has computed."""
    return [
        Problem(f"{file}:{line}", expected, target, remedy)
        for line, target, root in _writes(function)
        for expected, remedy in [_OF_BATCHES if root == "self" else _OF_ONLINE]
        if not (may_keep and root == _MODULE)
    ]


@lru_cache(1000)
def _writes(function: FunctionType) -> list[tuple[int, str, str]]:
    """Return (line, what it writes, the first step of its path)."""
    try:
        lines, first = inspect.getsourcelines(function)
        (body,) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return []  # the text is not known, as of a function typed into a shell
    if not isinstance(body, ast.FunctionDef) or body.name != function.__name__:  # the text of another file
        return []
    found = _Names(body).wrong()
    return [(first + node.lineno - 1, ast.unparse(node), path[0]) for node, path in found]


class _Names:
    """What the names in a function stand for."""

    def __init__(self, body: ast.FunctionDef):
        self.body = body
        given = [one.arg for one in body.args.args]
        named = dict(zip(given, ARGUMENTS, strict=False)) if body.name == "decide" else {}
        self.paths: dict[str, Path] = {name: (named.get(name, name),) for name in given if name in (*named, *ARGUMENTS)}
        if given[:1] == ["self"]:
            self.paths["self"] = ("self",)
        nodes = list(ast.walk(body))
        self.shared = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        self.own = ({node.arg for node in nodes if isinstance(node, ast.arg)} | stored) - self.shared
        self.assigned = [pair for node in nodes for pair in _assigned(node)]
        mixed = {target.id for target, value in self.assigned if isinstance(target, ast.Name) and not self.path(value)}
        for target, value in self.assigned:
            path = self.path(value)
            if isinstance(target, ast.Name) and path and target.id not in mixed and path[0] != _MODULE:
                self.paths.setdefault(target.id, path)
        self.calls = [node for node in nodes if isinstance(node, ast.Call)]

    def path(self, value: ast.expr | None) -> Path:
        """Return the path of a part of the arguments or of the module; () for anything else."""
        steps: list[str] = []
        while isinstance(value, ast.Attribute | ast.Subscript):
            steps.append(value.attr if isinstance(value, ast.Attribute) else "[]")
            value = value.value
        if not isinstance(value, ast.Name):
            return ()
        if value.id in self.paths:
            return *self.paths[value.id], *reversed(steps)
        return () if value.id in self.own else (_MODULE, value.id, *reversed(steps))

    def wrong(self) -> Iterator[tuple[ast.expr, Path]]:
        """Yield what is written and must not be, with its path."""
        for target, _ in self.assigned:
            path = self.path(target)
            if isinstance(target, ast.Name):
                if target.id in self.shared:
                    yield target, (_MODULE, target.id)
            elif path and not (path[:2] == _SCRATCH and len(path) > len(_SCRATCH) + 1):
                yield target, path
        for call in self.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in CHANGING:
                path = self.path(call.func.value)
                if len(path) > 1 and path[0] != _MODULE and path[:2] != _SCRATCH:
                    yield call, path


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield (target, value) of what a statement assigns; None for a value that is new."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _pairs(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        yield node.target, node.value
    elif isinstance(node, ast.AugAssign):
        yield node.target, None
    elif isinstance(node, ast.For | ast.comprehension):
        yield from _pairs(node.target, None)
    elif isinstance(node, ast.Delete):
        yield from ((target, None) for target in node.targets)


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    values: list[ast.expr | None] = [None] * len(target.elts)
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        values = list(value.elts)
    for one, of_it in zip(target.elts, values, strict=True):
        yield from _pairs(one, of_it)
