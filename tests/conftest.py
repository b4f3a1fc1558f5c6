"""Tests of one policy: those go to one worker (``--dist loadgroup``), so that its loop is compiled once, and
``--policy NAME`` runs them alone. So do the other tests of a file, which share what its fixtures made. What one test
leaves to the next. And the browser of the tests of pages."""

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from vinesim.engine import engine_choice
from vinesim.policies.contract import Policy
from vinesim.policies.registry import policies


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--policy``."""
    parser.addoption("--policy", metavar="NAME", help="run only the tests that have this policy as a parameter")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests by the policy that is their parameter, the others by file; leave out those of other policies."""
    wanted = config.getoption("--policy")
    if wanted is not None and wanted not in policies():
        raise pytest.UsageError(f"--policy {wanted}: expected one of {', '.join(policies())}")
    names = {item: _policy_of(item) for item in items}
    for item, name in names.items():
        if name is not None or item.get_closest_marker("xdist_group") is None:
            group = item.nodeid.partition("::")[0] if name is None else _loop_of(name)
            item.add_marker(pytest.mark.xdist_group(group))
    if wanted is not None:
        config.hook.pytest_deselected(items=[item for item in items if names[item] != wanted])
        items[:] = [item for item in items if names[item] == wanted]


def _policy_of(item: pytest.Item) -> str | None:
    """The name of the first policy among a test's parameters."""
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        name = value.name if isinstance(value, type) and issubclass(value, Policy) else value
        if isinstance(name, str) and (name in policies() or name.startswith("test_")):
            return name
    return None


def _loop_of(name: str) -> str:
    """The policy, or another one that is compiled to the same loop."""
    policy = policies().get(name)
    owner = next((base for base in getattr(policy, "__mro__", ()) if "decide" in vars(base)), None)
    return name if owner is None else getattr(owner, "name", name)


def pytest_configure() -> None:
    """Let Ctrl-C end the processes of tests also where a shell started this one in the background, and ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Look for cycles less often, and not among what stays: the tests and all modules."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure() -> None:
    """What is left at the end can be freed again: some libraries complain about each object that is not."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_runs_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs of other tests took does not choose the engine: it would be compiled for, sooner or later, or not."""
    monkeypatch.setattr(engine_choice, "_took_s", {})


CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, or a skip that says how to get one. Of one module: it keeps an event loop running."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make setup installs it"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium: `apt-get install chromium`, or name another one with CHROMIUM=/path/to/it")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()
