"""What is loaded when: the compiler and the plots only where they are needed."""

import subprocess
import sys

import pytest

HEAVY = {"numba", "matplotlib", "duckdb", "scipy"}


def loaded_by(code: str) -> set[str]:
    """The heavy modules in a fresh interpreter after some code."""
    script = f"import sys\n{code}\nprint(*(set(sys.modules) & {HEAVY!r}))"
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
        "from vinesim.engine.reference import ReferenceRun",
    ],
)
def test_light(code):
    assert loaded_by(code) == set()
