"""Checksums in files, and lists of them."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vinesim.formats.results.checksums import (
    BLANK,
    SUMS,
    add_checksum,
    check_sums,
    is_intact,
    is_text_intact,
    with_checksum,
    write_sums,
)

TEXT = st.binary(max_size=200) | st.sampled_from([BLANK.encode(), b"sha256:", b"sha256:" + b"0" * 63])


@given(TEXT, TEXT, st.data())
@settings(max_examples=200, deadline=None)
def test_every_flipped_bit_and_every_cut_is_found(before, after, data):
    made = with_checksum(before + BLANK.encode() + after)
    assert is_intact(made)
    flipped = bytearray(made)
    flipped[data.draw(st.integers(0, len(made) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert not is_intact(bytes(flipped))
    assert not is_intact(made[: data.draw(st.integers(0, len(made) - 1))])


def test_the_checksum_is_that_of_the_bytes_with_zeros_for_it():
    made = with_checksum(f"a{BLANK}b".encode())
    assert made == f"asha256:{hashlib.sha256(f'a{BLANK}b'.encode()).hexdigest()}b".encode()


def test_a_file_gets_the_same_checksum_in_place(tmp_path):
    data = b"\x00\xff" + BLANK.encode() + b"end"
    (tmp_path / "file").write_bytes(data)
    with open(tmp_path / "file", "r+b") as file:
        add_checksum(file)
    assert (tmp_path / "file").read_bytes() == with_checksum(data)


def test_without_a_place_for_it_there_is_none():
    with pytest.raises(ValueError, match="not found"):
        with_checksum(b"sha256:")
    assert not is_intact(b"")
    assert not is_intact(BLANK.encode())


def test_a_text_may_carry_none(tmp_path):
    file = tmp_path / "study.yaml"
    made = with_checksum(f"a: 1\n# {BLANK}\n".encode())
    for data, is_right in (
        (b"a: 1\n", True),
        (b"a: sha256:1\n", True),
        (made, True),
        (made.replace(b"1\n", b"2\n", 1), False),
        (made.replace(b"\n#", b"\r\n#"), False),
    ):
        file.write_bytes(data)
        assert is_text_intact(file) == is_right


def test_all_that_differs_from_a_list_is_reported(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder").mkdir()
    write_sums(tmp_path)
    assert check_sums(tmp_path, {"a", "b", "c"}, "") == []
    (tmp_path / "a").write_text("A")
    (tmp_path / "b").unlink()
    (tmp_path / "report").write_text("made later")
    (tmp_path / "d").write_text("")
    found = {problem.where: problem.found for problem in check_sums(tmp_path, {"a", "b", "c", "d"}, "")}
    assert found == {
        str(tmp_path / "a"): "other contents: it is damaged",
        str(tmp_path / "b"): "no such file",
        str(tmp_path / "d"): "none",
    }


@pytest.mark.parametrize("text", [b"", b"\xff", b"abc", b"abc def\n", b"abc  a\nabc"])
def test_a_list_that_is_none_is_reported(tmp_path, text):
    (tmp_path / "a").write_text("a")
    (tmp_path / SUMS).write_bytes(text)
    assert check_sums(tmp_path, {"a"}, "")
