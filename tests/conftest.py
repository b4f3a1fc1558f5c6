"""Tests of one policy: those go to one worker (``--dist loadgroup``), so that its loop is compiled once, and
``--policy NAME`` runs them alone. So do the other tests of a file, which share what its fixtures made. What one test
leaves to the next. And the browser of the tests of pages."""

import gc
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from vinesim.engine import engine_choice
from vinesim.policies.contract import Policy
from vinesim.policies.registry import policies

ROOT = Path(__file__).parents[1]
SHARE_RUNS = {"tests/papers/test_reproduce.py": "tests/papers/test_verdicts.py"}  # of one file, what another made
COMPILING = 40  # tests that take as long as a file of properties compiles


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--policy``."""
    parser.addoption("--policy", metavar="NAME", help="run only the tests that have this policy as a parameter")


def pytest_collection(session: pytest.Session) -> None:
    """Make every second worker import the tests of a folder from the last file to the first.

    In a new checkout, pytest compiles each file, which takes ten seconds. Two workers in the same order would both
    compile all of them; in opposite orders, each compiles half.
    """
    if os.environ.get("PYTEST_XDIST_WORKER", "0")[-1] not in "13579":
        return
    for folder in (Path(given).resolve() for given in session.config.args):
        for file in sorted(folder.rglob("test_*.py"), reverse=True) if folder.is_relative_to(ROOT) else ():
            with suppress(Exception, pytest.skip.Exception):  # its errors are reported when it is collected
                import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of policies other than the one of ``--policy``."""
    wanted = config.getoption("--policy")
    if wanted is not None and wanted not in policies():
        raise pytest.UsageError(f"--policy {wanted}: expected one of {', '.join(policies())}")
    if wanted is not None:
        names = {item: _policy_of(item) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if names[item] != wanted])
        items[:] = [item for item in items if names[item] == wanted]


def _policy_of(item: pytest.Item) -> str | None:
    """Return the name of the first policy among a test's parameters."""
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        name = value.name if isinstance(value, type) and issubclass(value, Policy) else value
        if isinstance(name, str) and (name in policies() or name.startswith("test_")):
            return name
    return None


def _loop_of(name: str) -> str:
    """Return the policy, or another one that shares its compiled loop."""
    policy = policies().get(name)
    owner = next((base for base in getattr(policy, "__mro__", ()) if "decide" in vars(base)), None)
    return name if owner is None else getattr(owner, "name", name)


class ByPolicyOrFile(LoadScopeScheduling):
    """Sends the tests of a policy's loop to one worker, and the other tests of a file. Not by ``xdist_group``: pytest
    9.2 does not read the name that xdist 3.8 gives a test for that."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Those with the most tests go first, as xdist has it, but a test of properties may compile for as long as many
        others take: sent as the last one, it would keep one worker busy while the other has nothing left."""
        waiting = self.workqueue
        waiting.move_to_end(max(waiting, key=lambda group: _weight(group, len(waiting[group]))), last=False)
        super()._assign_work_unit(node)


def _weight(group: str, n_tests: int) -> int:
    return n_tests + (COMPILING if group.startswith("tests/properties/") else 0)


def group_of(nodeid: str) -> str:
    """Return the group of tests that go to one worker with this one."""
    file, _, test = nodeid.partition("::")
    for name in test.partition("[")[2].removesuffix("]").split("-"):
        if name in policies() or name.startswith("test_"):
            return _loop_of(name)
    return SHARE_RUNS.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Use our scheduler for ``--dist loadgroup``."""
    return ByPolicyOrFile(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_configure() -> None:
    """Let Ctrl-C end the processes of tests, even if a shell started this one in the background and ignores Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Collect garbage less often, and leave out permanent objects: the tests and all modules."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_unconfigure() -> None:
    """Unfreeze permanent objects, because some libraries warn about objects that are not freed."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _others_do_not_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the engine independently of other tests and programs: forget how long earlier runs took, and measure CPU
    time. Otherwise a busy machine would compile for short runs, and become busier."""
    monkeypatch.setattr(engine_choice, "_took_s", {})
    monkeypatch.setattr(engine_choice, "time", SimpleNamespace(perf_counter=time.process_time))


CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a headless Chromium for one module, because it keeps an event loop running; skip if there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make setup installs it"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium: `apt-get install chromium`, or name another one with CHROMIUM=/path/to/it")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()
