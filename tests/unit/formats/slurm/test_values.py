import math

import pytest

from vinesim.formats.slurm.values import duration_s, hosts, memory_mib, time_s, tres


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30", 1800.0),
        ("10:30", 630.0),
        ("1:30:05", 5405.0),
        ("2-12", 2 * 86400 + 12 * 3600.0),
        ("2-12:30", 2 * 86400 + 12.5 * 3600),
        ("2-00:00:01", 2 * 86400 + 1.0),
        ("UNLIMITED", math.inf),
        ("", None),
        ("soon", None),
    ],
)
def test_durations(text, expected):
    assert duration_s(text) == expected


def test_durations_in_seconds():
    assert duration_s("30", 1.0) == 30.0


def test_times():
    assert time_s("1970-01-02T00:00:01") == 86401.0
    assert time_s("86401") == 86401.0
    assert time_s("1970-01-02T02:00:01+02:00") == 86401.0
    assert [time_s(text) for text in ("Unknown", "None", "", "noon")] == [None] * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64000M", (64000.0, "")),
        ("62.50G", (64000.0, "")),
        ("4Gn", (4096.0, "n")),
        ("2000Mc", (2000.0, "c")),
        ("512", (512.0, "")),
        ("1T", (1048576.0, "")),
        ("0n", (0.0, "n")),
        ("much", None),
    ],
)
def test_memory(text, expected):
    assert memory_mib(text) == expected


def test_resources():
    assert tres("billing=8,cpu=8,mem=4G,node=1,gres/gpu:a100=2,gres/gpu=2") == {
        "billing": 8.0,
        "cpu": 8.0,
        "mem": 4096.0,
        "node": 1.0,
        "gres/gpu:a100": 2.0,
        "gres/gpu": 2.0,
    }
    assert tres("") == {}
    assert tres("cpu,mem=lots,node=2") == {"node": 2.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1", ["n1"]),
        ("n[08-10],login", ["n08", "n09", "n10", "login"]),
        ("n[1,3-4]x", ["n1x", "n3x", "n4x"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("(null)", []),
    ],
)
def test_hosts(text, expected):
    assert hosts(text) == expected


@pytest.mark.parametrize("text", ["n[1", "n[a-b]", "n1,,n2", "n[1-]", "n[0-99999999]"])
def test_hosts_that_are_none(text):
    with pytest.raises(ValueError, match=r"hosts|numbers"):
        hosts(text)
