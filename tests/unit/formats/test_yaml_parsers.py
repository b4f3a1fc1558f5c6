"""The quick parser of YAML reads what the one in Python does, from the same places, or leaves it to that one."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vinesim.formats.source import yaml_nodes
from vinesim.formats.source.yaml_nodes import compose, is_plain, scalar
from vinesim.model.errors import InputError

VALID = [
    "",
    "a: 1\nb:\n  - x\n  - {c: d, e: [1, 2]}\n",
    "x: &a {p: 'q'}\ny: *a\n",
    "t: |\n  line\n   more\n\n  end\nu: >-\n  folded\n  text\n",
    "'a b': \"c\\td\"\né日: [😀, b]\n",
    "? k\n: v\n",
]
WORDS = "\n,\n  ,\n- ,- ,: ,:,? ,?,#, # c,&a ,*a,*a , ,  ,[,],{,},', '',\",|,|\n,|-\n,|#\n,>\n,|2\n,!x ,!!str ,!,a,b"
WORDS += ",---,--- ,---\n,...\n,%YAML 1.1\n,%YAML 1.2\n,%TAG ! tag:x:\n,key: ,1.5e3,null,<<: ,=,@,`,--,?a,:a,a:b,a#b"
WORDS += ",é,日本,😀,\x85,\u2028,\0,\x07,\x7f,\xa0,\ufffe,\r,\r\n,\t,\ufeff,\\,\\n,\\x41,\\ud800,\\Uffffffff,\\\n"
WORDS += ",[a: b],{a},{a: },[a,]"
PIECES = st.sampled_from([*WORDS.split(","), ",", ", "])
CHANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), PIECES), max_size=7)


def changed(text, changes):
    for at, cut, put in changes:
        text = text[:at] + put + text[at + cut :]
    return text


def read(text):
    """What users see of a text: places, values and tags, or the problem."""
    try:
        return shown(compose(text, "file.yaml"), {})
    except InputError as error:
        return str(error)


def shown(node, seen):
    if node is None or id(node) in seen:
        return node and seen[id(node)]  # an alias
    seen[id(node)] = len(seen)
    mark = node.start_mark
    about = (mark.name, mark.line, mark.column, is_plain(node) or node.tag)
    if isinstance(node, yaml.ScalarNode):
        return about, node.value, repr(scalar(node))
    if isinstance(node, yaml.SequenceNode):
        return about, [shown(item, seen) for item in node.value]
    return about, [(shown(key, seen), shown(value, seen)) for key, value in node.value]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML comes without libyaml")
@settings(max_examples=500, deadline=None)
@given(st.builds(changed, st.sampled_from(VALID), CHANGES))
@example("---")
@example("{a: , b: 1}")
@example("{a? b: 1}")
@example("a: |# c\n  text\n")
@example("!*a!b c")
@example("a:\t1")
@example("a: 1\n\ufeffb: 2")
@example("k" * 1023 + ": 1")
@example("é" * 1024 + ": 1")
@example("é" * 1025 + ": 1")
@example('a: "\\Uffffffff"')
@example('a: "\\ud800"')
def test_both_parsers_read_the_same(text):
    found = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        assert found == read(text)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML comes without libyaml")
def test_a_usual_text_needs_the_quick_one_alone(monkeypatch):
    monkeypatch.delattr(yaml_nodes, "_Loader")
    assert read(VALID[1])
