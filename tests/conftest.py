"""Tests of one policy go to one worker (``--dist loadgroup``), so that its loop is compiled once."""

import pytest

from vinesim.policies.contract import Policy
from vinesim.policies.registry import policies


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put them into the group of the policy that is their parameter."""
    for item in items:
        for value in getattr(item, "callspec", None).params.values() if hasattr(item, "callspec") else ():
            name = value.name if isinstance(value, type) and issubclass(value, Policy) else value
            if isinstance(name, str) and (name in policies() or name.startswith("test_")):
                item.add_marker(pytest.mark.xdist_group(_loop_of(name)))
                break


def _loop_of(name: str) -> str:
    """The policy, or another one that is compiled to the same loop."""
    policy = policies().get(name)
    owner = next((base for base in getattr(policy, "__mro__", ()) if "decide" in vars(base)), None)
    return name if owner is None else getattr(owner, "name", name)
