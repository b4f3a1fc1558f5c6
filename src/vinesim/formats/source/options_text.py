"""Format options for people."""

from collections.abc import Mapping
from typing import Any


def options_text(options: Mapping[str, Any]) -> str:
    """Format options as ``mode=first, in_order=no``."""
    return ", ".join(f"{name}={option_text(value)}" for name, value in options.items())


def option_text(value: Any) -> str:
    """Format a value; true and false become yes and no."""
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"
