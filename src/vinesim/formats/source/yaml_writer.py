"""Write data as YAML that VineSim reads back unchanged, whatever texts it contains.

PyYAML quotes texts by the rules of YAML 1.1, where ``1e3`` is text and ``yes`` is not; VineSim reads YAML 1.2.
"""

import os
from typing import Any

import yaml

from vinesim.formats.source.files import replacing
from vinesim.formats.source.yaml_nodes import is_plain_text
from vinesim.model.errors import InputError, Problem

WIDTH = 120


def as_yaml(document: Any) -> str:
    """Return a document as YAML, with a new line for each key. Raises :class:`InputError` for Python objects."""
    try:
        return yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=None
        )
    except yaml.representer.RepresenterError as error:
        remedy = "Give a policy by its name or as file.py:Class."
        raise InputError([Problem("study", "values a file can hold", repr(error.args[-1])[:60], remedy)]) from None


def write_yaml(path: str | os.PathLike[str], document: Any) -> None:
    """Write a document, completely or not at all. Raises :class:`InputError`."""
    with replacing(path) as draft:
        draft.write_text(as_yaml(document), encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    def represent(self, data: Any) -> None:
        node = self.represent_data(data)
        if isinstance(node, yaml.CollectionNode):
            node.flow_style = False
        self.serialize(node)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Quote a text unless VineSim would read it back unchanged without quotes."""
    is_safe = is_plain_text(value) and value.isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, None if is_safe else '"')


_Dumper.add_representer(str, _text)
