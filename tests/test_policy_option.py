"""``make test-policy NAME=...``: the tests of one policy and no others."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.conftest import ByPolicyOrFile, group_of

ROOT = Path(__file__).parents[1]
GROUPED = ["tests/papers/test_claim.py", "tests/unit/test_titles.py"]  # without a policy, and quick


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


def test_tests_of_one_loop_go_to_one_worker():
    battery, option = (
        "tests/policies/test_battery.py::test_a_run_can_be_repeated",
        "tests/policies/test_options.py::test",
    )
    assert group_of(f"{battery}[rb_ljf]") == group_of(f"{option}[a-rb_ljf]") != group_of(f"{battery}[fcfs]")
    assert group_of(f"{option}[a-b]") == group_of(option) == "tests/policies/test_options.py"
    call = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-vv", "-p", "no:cacheprovider"]
    done = subprocess.run([*call, *GROUPED], cwd=ROOT, capture_output=True, text=True)
    ran = {tuple(re.findall(r"^\[(gw\d)\].* (tests/[\w/]+\.py)::", line)) for line in done.stdout.splitlines()} - {()}
    assert sorted(file for ((_, file),) in ran) == GROUPED  # each in one worker


class Worker:
    gateway = SimpleNamespace(id="")
    shutting_down = False

    def __init__(self, sent):
        self.sent, self.left = sent, []

    def send_runtest_some(self, numbers):
        self.sent.append(list(numbers))
        self.left += numbers

    def shutdown(self):
        self.shutting_down = True


def test_what_compiles_for_long_is_not_sent_last():
    sizes = {"unit/test_a": 20, "unit/test_b": 3, "unit/test_c": 30, "properties/test_d": 1, "unit/test_e": 1}
    tests = [f"tests/{file}.py::test_{i}" for file, n in sizes.items() for i in range(n)]
    words = {"tx": ["2*popen"]}
    scheduler = ByPolicyOrFile(SimpleNamespace(getvalue=words.get, option=SimpleNamespace(loadscopereorder=True)))
    sent = []
    workers = [Worker(sent), Worker(sent)]
    for worker in workers:
        scheduler.add_node(worker)
    for worker in workers:
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    while busy := [worker for worker in workers if worker.left]:
        for worker in busy:
            scheduler.mark_test_complete(worker, worker.left.pop(0))
    files = [{group_of(tests[i]) for i in numbers} for numbers in sent]
    assert files == [{f"tests/{file}.py"} for file in sorted(sizes, key=lambda one: "dcabe".index(one[-1]))]
