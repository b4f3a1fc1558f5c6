"""Parse YAML text into nodes with their places, and read scalars by the YAML 1.2 core schema, within size limits."""

import io
import math
import re
from contextlib import suppress
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.resolver import BaseResolver

from vinesim.formats.source.limits import LEVELS, VALUES, too_much
from vinesim.model.errors import InputError, Problem

_SURROGATE = re.compile("[\ud800-\udfff]")
_WHOLE = re.compile(r"[-+]?[0-9]{1,400}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS |= {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan, ".NaN": math.nan}


class _Nodes(Composer, BaseResolver):
    """Composes only nodes, up to the limit. Scalars stay text; only ``scalar`` decides on their meaning."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    name: str
    n_nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.n_nodes += 1
        if self.n_nodes > 2 * VALUES:  # including keys
            raise InputError([too_many_values(self.name)])
        return super().compose_node(parent, index)


class _Loader(_Nodes, yaml.SafeLoader):
    """The parser with good error messages."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode) and (half := _SURROGATE.search(node.value)):  # from an escape sequence
            words = f"expected text, but found U+{ord(half[0]):04X}, which is half a character"
            raise yaml.composer.ComposerError(None, None, words, node.start_mark)
        return node


if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _QuickLoader(_Nodes, CParser):
        """A parser that is several times as fast. Texts on which it might differ from the other one skip it."""

        def __init__(self, text: str, name: str):
            stream = io.StringIO(text)
            stream.name = name  # marks need it
            CParser.__init__(self, stream)
            Composer.__init__(self)
            BaseResolver.__init__(self)

        def compose_node(self, parent: Any, index: Any) -> Any:
            node = super().compose_node(parent, index)
            if isinstance(node, yaml.ScalarNode) and not node.value and not node.style:
                raise yaml.YAMLError("nothing, for which this parser has other places")
            return node


_ODD = re.compile("[\t\ufeff?!]|[|>][-+0-9]*#")  # tabs, byte order marks, complex keys, tags, comments after a | or >
_STR = "tag:yaml.org,2002:str"
_TAGS = {yaml.ScalarNode: _STR, yaml.SequenceNode: "tag:yaml.org,2002:seq", yaml.MappingNode: "tag:yaml.org,2002:map"}


def by_name(node: yaml.MappingNode) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """Map each name in a mapping to its key and value, the first of duplicates; cached, as searching nodes is slow."""
    found: dict[str, tuple[yaml.Node, yaml.Node]] | None = getattr(node, "by_name", None)
    if found is None:
        pairs = [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        found = {key.value: (key, value) for key, value in reversed(pairs)}
        node.by_name = found  # type: ignore[attr-defined]
    return found


def too_many_values(where: str) -> Problem:
    """Return the problem of a document with more values or levels than the limit."""
    remedy = "Put long lists into their own files. Do aliases form a cycle?"
    return too_much(where, f"{VALUES:,} values in {LEVELS} levels", remedy)


def is_plain(node: yaml.Node) -> bool:
    """Whether a node has no explicit tag."""
    if isinstance(node, yaml.ScalarNode) and node.tag == "!" and node.style:
        return True
    return node.tag == _TAGS[type(node)]


def scalar(node: yaml.ScalarNode) -> Any:
    """Return the value of a scalar."""
    return node.value if node.style else plain_value(node.value)  # quoted, or not


def is_plain_text(text: str) -> bool:
    """Whether a text without quotes would be read as the same text."""
    return isinstance(plain_value(text), str)


def plain_value(text: str) -> Any:
    """Return the value of an unquoted text: a number, true, false, None, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    """Return the value of a key or an item of a list; None if there is none."""
    if isinstance(node, yaml.MappingNode):
        found = by_name(node).get(step) if isinstance(step, str) else None
        return None if found is None else found[1]
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None


def _yaml_words(problem: str, context: str) -> tuple[str, str, str]:
    """Convert PyYAML's message to what was expected, what was found, and a remedy."""
    if "'\\t'" in problem:
        return "spaces", "a tab", "Indent YAML with spaces only."
    if "mapping values are not allowed" in problem:
        return "one `key: value` per line", "another colon", "Put text with a colon in quotes."
    if "cannot start any token" in problem:
        character = problem.removeprefix("found character ").removesuffix(" that cannot start any token")
        return "a value", f"one that starts with {character}", "Put it in quotes."
    expected, but, found = problem.removeprefix("expected ").partition(", but ")
    if but:
        found = found.removeprefix("found ").removeprefix("got ")
        expected = "the end of the mapping or list, by its indentation" if expected == "<block end>" else expected
    else:
        expected, found = "YAML", problem.removeprefix("found ") or "something else"
    return expected, ", ".join(words for words in (found, context) if words), ""


def compose(text: str, name: str) -> yaml.Node | None:
    """Return the nodes of a YAML text. Raises :class:`InputError` if it is not YAML."""
    try:
        return _composed(text, name)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark and not name.startswith("--set") else name
        raise InputError([Problem(where, *_yaml_words(error.problem or "", error.context or ""))]) from None
    except yaml.reader.ReaderError as error:
        line, column = text.count("\n", 0, error.position) + 1, error.position - text.rfind("\n", 0, error.position)
        where = name if name.startswith("--set") else f"{name}:{line}:{column}"
        raise InputError([Problem(where, "text", f"the character U+{ord(text[error.position]):04X}")]) from None
    except (yaml.YAMLError, ValueError, IndexError, OverflowError) as error:
        raise InputError([Problem(name, "YAML", str(error).replace("\n", " "))]) from None
    except RecursionError:
        raise InputError([Problem(name, "YAML", "too many levels")]) from None


def _composed(text: str, name: str) -> yaml.Node | None:
    if yaml.__with_libyaml__ and not _ODD.search(text):
        with suppress(yaml.YAMLError, ValueError):  # the other parser has better messages
            return _node(_QuickLoader(text, name), name)
    return _node(_Loader(text), name)


def _node(loader: _Nodes, name: str) -> yaml.Node | None:
    loader.name = name
    return loader.get_single_node()
