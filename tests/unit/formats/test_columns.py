"""The quick reader of text columns and its slow twin: one meaning, every problem with its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.papers import columns as columns_module
from vinesim.formats.papers import lines
from vinesim.formats.papers.columns import parse_quick, parse_slow, read_columns
from vinesim.formats.papers.lines import Column, locate
from vinesim.model.errors import InputError

COLUMNS = (Column("a"), Column("b", is_number=True), Column("c"))

field = st.one_of(
    st.integers(0, 2**64).map(str),
    st.integers(-5, 99).map(str),
    st.floats(allow_nan=True).map(repr),
    st.sampled_from(["007", "1e3", "1.", ".5", "+3", "1_0", "--", "nan", "-0", "1e999", "é", "1e-400", "9" * 30]),
    st.text("0123456789.eE+-", min_size=1, max_size=6),
)
good = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 10**6) | st.floats(0, 1e18), st.integers(0, 300))
good_line = good.map(lambda v: " ".join(map(repr, v)))
any_line = st.lists(field, max_size=5).map(" ".join)
space = st.sampled_from(["", " ", "\t", "  \t"])
end = st.sampled_from(["\n", "\r\n", "\n\n", " # comment\n", "#\n", "\n# whole line\n"])


def text_of(line):
    return st.lists(st.tuples(space, line, space, end).map("".join), max_size=6).map("".join)


def outcome(parse):
    try:
        arrays, problems = parse()
    except InputError as error:
        return str(error)
    return [a.tolist() for a in arrays], [a.dtype for a in arrays], problems


@settings(max_examples=1000, deadline=None)
@given(text_of(good_line) | text_of(good_line | any_line))
def test_quick_reader_gives_what_the_slow_one_gives(text):
    chunk = (text + "\n").encode()
    quick = parse_quick(chunk, COLUMNS)
    slow = outcome(lambda: parse_slow("f", 1, chunk, COLUMNS))
    if quick is not None:
        assert outcome(lambda: (quick, [])) == slow


@settings(max_examples=300, deadline=None)
@given(text_of(good.map(lambda v: f"{v[0] // 10} {v[1]!r} {v[2]}")))
def test_quick_reader_takes_plain_files_however_spaced(text):
    assert parse_quick((text + "\n").encode(), COLUMNS) is not None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60) | text_of(any_line).map(str.encode))
def test_any_bytes_give_values_or_an_input_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(data)
    refused, arrays = None, []
    try:
        arrays = read_columns(path, COLUMNS)
    except InputError as error:
        refused = error
    if refused:
        assert all(str(path) in problem.where for problem in refused.problems)
    else:
        assert len({len(a) for a in arrays}) == 1


def test_small_pieces_give_what_one_piece_gives(tmp_path, monkeypatch):
    path = tmp_path / "f.txt"
    rng = np.random.default_rng(0)
    rows = [
        f"{a} {b:.3f} {c}" for a, b, c in zip(rng.integers(0, 2**40, 500), rng.random(500), range(500), strict=True)
    ]
    path.write_text("\ufeff# first\n" + "\n".join(rows), encoding="utf-8")
    whole = read_columns(path, COLUMNS)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 64)
    pieces = read_columns(path, COLUMNS)
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))
    assert whole[2].tolist() == list(range(500))
    assert locate(path, [(0, 0), (499, 0), (250, 0)]) == [f"{path}:{line}:1" for line in (2, 501, 252)]


def test_problems_are_told_in_order_with_places_and_counted(tmp_path, monkeypatch):
    path = tmp_path / "f.txt"
    path.write_bytes(
        b"1 2 3\n" * 3 + b"1 2\n  x 2 3\r\n1 -2 3\n1 2 3.5\n1 2 3 4\n99999999999999999999 1 1\n" + b"y\n" * 30
    )
    monkeypatch.setattr(lines, "CHUNK_BYTES", 16)
    with pytest.raises(InputError) as caught:
        read_columns(path, COLUMNS)
    where = [problem.where for problem in caught.value.problems]
    assert where[:6] == [f"{path}:{place}" for place in ("4:3", "5:3", "6:3", "7:5", "8:7", "9:1")]
    assert caught.value.n_problems == 36
    assert len(where) == 20


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "none"),
        (b"# only a comment\n\n", "none"),
        (b"1 2 3\n\x00\x01\n", "binary"),
        (b"1 2 3 # caf\xe9\n", "binary"),
        (b"\xff\xfe1\x00", "binary"),
        (b"1 nan 3\n", "nan"),
        (b"1 inf 3\n", "inf"),
        (b"9223372036854775808 1 1\n", "9223372036854775808"),
        (b"1 9223372036854775808 1\n", "9223372036854775808"),
        (b"1 1e19 1\n", "1e19"),
        (b"\xc2\xb2 1 1\n", "²"),
        (b"1" * 3_000_000, "more"),
    ],
)
def test_wrong_files_are_refused(tmp_path, data, found):
    path = tmp_path / "f.txt"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_columns(path, COLUMNS)
    assert found in caught.value.problems[0].found


def test_largest_numbers_are_exact(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("9223372036854775807 9223372036854775807 0\n")
    a, b, _ = read_columns(path, COLUMNS)
    assert a.tolist() == [2**63 - 1]
    assert b.tolist() == [2.0**63]


def test_a_plain_piece_never_needs_the_slow_reader(tmp_path, monkeypatch):
    path = tmp_path / "f.txt"
    path.write_text("# a comment\n" + "1\t2.5  3 # c\n" * 1000)
    monkeypatch.setattr(columns_module, "parse_slow", None)
    assert len(read_columns(path, COLUMNS)[0]) == 1000
