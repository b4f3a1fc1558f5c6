"""What is loaded when: the compiler and the plots only where they are needed."""

import json
import os
import subprocess
import sys

import pytest

from vinesim.policies.registry import BUILT_IN, find, policies

HEAVY = {"numba", "matplotlib", "duckdb", "scipy", "ray", "msgpack", "psutil", "prometheus_client"}


def loaded_by(code: str, among: set[str] = HEAVY) -> set[str]:
    """The modules of ``among`` in a fresh interpreter after some code."""
    script = f"import sys\n{code}\nprint(*(set(sys.modules) & {among!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import vinesim",
        "import vinesim.cli.main",
        "import vinesim; vinesim.Scenario",
        "import vinesim; vinesim.simulate",
        "from vinesim.policies.registry import policies; policies()",
        "from vinesim.engine.reference_run import ReferenceRun",
    ],
)
def test_light(code):
    assert loaded_by(code) == set()


def test_simulating_loads_no_reader_of_scenario_files():
    assert loaded_by("import vinesim; vinesim.simulate", {"pydantic", "yaml", "typer", "rich"}) == set()


def test_the_command_line_loads_nothing_that_a_command_may_not_need():
    assert loaded_by("import vinesim.cli.main", {"numpy", "pydantic", "yaml", "rich", "asyncio"}) == set()


def test_an_agent_loads_neither_the_manager_nor_policies():
    not_its_own = {"vinesim.live.manager.core", "vinesim.policies.registry", "vinesim.engine.run", "pydantic", "yaml"}
    assert loaded_by("import vinesim.live.serve, vinesim.live.agent.program", not_its_own) == set()


@pytest.mark.parametrize("code", ["find('high')", "resolve('high')"])
def test_a_policy_is_found_without_the_others(code):
    modules = {policy.__module__ for policy in policies().values()}
    found = loaded_by(f"from vinesim.policies.registry import find, resolve; {code}", modules)
    assert found == {"vinesim.policies.online.high"}


def test_the_table_of_policies_has_their_names():
    assert [find(name).name for name in BUILT_IN] == list(BUILT_IN)


AT_THE_END = """
import atexit, gc, json, os, sys
threads = "OPENBLAS_NUM_THREADS"
tell = lambda: print(json.dumps([gc.get_freeze_count(), gc.get_threshold()[0], os.environ[threads]]))
atexit.register(tell)
sys.argv = ["vinesim", "policies", "high"]
from vinesim.cli.start import main
main()
"""


@pytest.mark.parametrize("threads", [None, "2"])
def test_a_command_spends_little_on_what_it_does_not_need(threads):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {"OPENBLAS_NUM_THREADS": threads} if threads else {}
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    n_frozen, threshold, reported = json.loads(done.stdout.splitlines()[-1])
    assert n_frozen > 10_000  # the interpreter does not look through them at the end
    assert threshold == 50_000
    assert reported == (threads or "1")
