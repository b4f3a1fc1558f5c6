"""Damage to the bytes of a file, whatever its format is."""

import gzip
from collections.abc import Callable
from random import Random

JUNK = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b"'",
    b",",
    b"\t",
    b"\x1b[2J",
    b"\xed\xa0\x80",
    b"PK\x03\x04",
)


def damaged_bytes(data: bytes, random: Random) -> tuple[bytes, str]:
    """Return bytes with changes, and what they are."""
    done = []
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(list(CHANGES))
        data = CHANGES[name](data, random)
        done.append(name)
    return data, "; ".join(done)


def _flipped(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 4, 64)) if data else 0):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _with_junk(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(JUNK) * random.choice((1, 1, 1000)) + data[at:]


def _without_some(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at + random.randrange(1, 200) :]


def _as_text(encoding: str) -> Callable[[bytes, Random], bytes]:
    return lambda data, random: data.decode("latin-1").encode(encoding)


CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "bits flipped": _flipped,
    "cut off": _cut,
    "bytes put in": _with_junk,
    "bytes taken out": _without_some,
    "empty": lambda data, random: b"",
    "twice": lambda data, random: data + data,
    "only zeros": lambda data, random: bytes(len(data)),
    "another file": lambda data, random: random.randbytes(random.choice((1, 100, 10_000))),
    "as UTF-16": _as_text("utf-16"),
    "as UTF-32": _as_text("utf-32-le"),
    "as EBCDIC": lambda data, random: data.decode("latin-1").encode("cp037", "replace"),
    "with a byte order mark": lambda data, random: b"\xef\xbb\xbf" + data,
    "line ends of another system": lambda data, random: data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\r"))),
    "packed": lambda data, random: gzip.compress(data, mtime=0),
    "packed and cut off": lambda data, random: _cut(gzip.compress(data, mtime=0), random),
}
