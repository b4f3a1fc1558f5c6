"""Values that files should not have, as they are written in a file."""

from random import Random

NUMBERS = (
    *("0", "-0", "-0.0", "-1", "0.1", "-0.5", "1e-300", "1e15", "1e300", "-1e300", "1e999", "nan", "NaN", ".nan"),
    *("inf", ".inf", "-.inf", "Infinity", "2147483648", "9223372036854775808", "18446744073709551616", "1_000", "0x7f"),
    *("1e3", "1,5", "1e", "9" * 31, "9" * 400, "-" + "9" * 400, "0." + "0" * 400 + "1"),
)
WORDS = (
    *(
        "",
        " ",
        "null",
        "~",
        "true",
        "yes",
        "a",
        "none",
        "*",
        "*a",
        "&a",
        "!!python/name:os.system",
        "{",
        "]",
        ": ",
        "- ",
    ),
    *("'", '"', "\\", "%", "#", "|", "=1+1", "'; DROP TABLE jobs; --", "../../../etc/passwd", "/dev/zero", "<script>"),
    *(
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "over\rwritten",
        "\u202egnp",
        "\u2028",
        "\x00",
        "\x85",
        "\ufeff",
        "é",
        "😀",
    ),
    *("\ud800", "a" * 100_000, "2024-02-30T25:61:00", "2024-03-31T02:30:00", "12:34", "1-02:03:04"),
)
UNITS = ("us", "ms", "s", "h", "d", "GB", "GiB", "MiB", "Gb/s", "W", "kWh", "%", "m", "k", "parsec", "U+0073")
COUNTS = (10, 1000, 10**6, 10**9, 10**12, 10**18)
DEPTHS = (20, 1000, 50_000)


def value(random: Random) -> str:
    """Return any of them."""
    return random.choice(random.choice((NUMBERS, WORDS)))


def with_unit(text: str, random: Random) -> str:
    """Return a number with another unit, or none."""
    number = text.split()[0].rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%/") if text.split() else ""
    return random.choice((f"{number} {random.choice(UNITS)}", f"{number}{random.choice(UNITS)}", number))


def larger(text: str, random: Random) -> str:
    """Return a number that is far larger, if it is one."""
    try:
        return f"{int(float(text) * random.choice(COUNTS))}"
    except (ValueError, OverflowError):
        return f"{random.choice(COUNTS)}"


def misspelt(text: str, random: Random) -> str:
    """Return a word with a wrong letter, or none at all."""
    at = random.randrange(len(text) + 1)
    return random.choice(
        (text[:at] + text[at + 1 :], f"{text[:at]}x{text[at:]}", text.upper(), f" {text}", value(random))
    )
