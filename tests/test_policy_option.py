"""``make test-policy NAME=...``: the tests of one policy and no others."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def collected(*words: str, folders: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-p", "no:cacheprovider", *words]
    return subprocess.run([*call, *folders], cwd=ROOT, capture_output=True, text=True)


def test_only_the_tests_of_the_policy_are_run():
    files = "policies/test_battery.py", "policies/test_drf.py", "properties/test_engines_agree.py"
    done = collected("--policy", "rb_ljf", folders=tuple(f"tests/{file}" for file in files))
    names = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(names) > 5
    assert all("rb_ljf" in name for name in names)
    assert not any("rb_ljf_" in name for name in names)
    assert any("test_engines_agree" in name for name in names)
    assert any("test_battery" in name for name in names)


def test_a_policy_that_is_not_there_is_said():
    done = collected("--policy", "nobody", folders=("tests/golden",))
    assert done.returncode == 4
    assert "--policy nobody: expected one of flat, high" in done.stderr
