"""Select the numbers to compute, so that no others are."""

from collections.abc import Sequence


class Record:
    """The numbers whose dotted names begin with one of some prefixes; all numbers if none is given."""

    def __init__(self, prefixes: Sequence[str] = ()):
        self._prefixes = tuple(prefixes)

    def __call__(self, name: str) -> bool:
        """Whether the number, or any number below that name, is wanted."""
        inside = f"{name}."
        return not self._prefixes or any(
            name == prefix or name.startswith(f"{prefix}.") or prefix.startswith(inside) for prefix in self._prefixes
        )


EVERYTHING = Record()
