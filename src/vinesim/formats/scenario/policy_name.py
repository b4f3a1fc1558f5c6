"""How a scenario names its policy."""


def split_policy(name: str) -> tuple[str, str]:
    """Split ``file.py:Class`` into the file and ``:Class``; the file is empty for a built-in policy's name."""
    file, colon, kind = name.rpartition(":") if ".py:" in name else (name, "", "")
    return (file, colon + kind) if file.endswith(".py") else ("", name)
