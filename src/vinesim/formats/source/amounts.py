"""How amounts of a unit are said: of memory in bytes with their unit, as a person writes them."""

from vinesim.formats.source.quantities import format_bytes

MEMORY = "memory"  # the resource that the key memory of a node stands for


def amount_words(name: str, amount: float) -> str:
    """Say how much of a unit of a type."""
    return format_bytes(amount) if name == MEMORY else f"{amount:g}"
