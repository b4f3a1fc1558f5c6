"""Building blocks of the scenario and study files: sections, and checks that say what they expected."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError


def wrong(expected: str, found: str, remedy: str = "") -> PydanticCustomError:
    """Return the exception for a failed check, which is a problem without a place."""
    return PydanticCustomError("problem", "{expected}", {"expected": expected, "found": found, "remedy": remedy})


class Part(BaseModel):
    """A part of a document. Nothing is guessed: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


def one_of(*names: str) -> Any:
    """Return a check that exactly one of the keys is present."""

    def check(part: Any) -> Any:
        given = [name for name in names if getattr(part, name) is not None]
        if len(given) != 1:
            expected = "exactly one of " + ", ".join(names)
            raise wrong(expected, " and ".join(given) or "none of them", "Keep one." if given else "")
        return part

    return model_validator(mode="after")(check)


def schema_one_of(*names: str) -> dict[str, Any]:
    """Return the check of :func:`one_of` as JSON Schema."""
    return {"oneOf": [{"required": [name]} for name in names]}
